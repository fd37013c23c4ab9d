//! What the compiler is asked to do.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// How far the compiler goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Neither objects nor programs: a query, or preprocessing.
    Neither,
    /// Objects or assembly.
    Compile,
    /// A program or a library.
    Link,
}

/// The arguments, looked at.
#[derive(Debug)]
pub struct Arguments {
    /// All but ours.
    pub passed_on: Vec<OsString>,
    /// `--rl-compiler=NAME`.
    pub compiler: Option<OsString>,
    /// `--rl-names`: record only the program's own calls.
    pub names_only: bool,
    pub stage: Stage,
    pub has_sources: bool,
    pub has_debug_level: bool,
    pub is_shared: bool,
    pub is_static: bool,
}

/// Options whose value is the next argument, which is then no input.
const WITH_VALUE: [&str; 24] = [
    "-o",
    "-I",
    "-L",
    "-D",
    "-U",
    "-l",
    "-x",
    "-include",
    "-isystem",
    "-idirafter",
    "-iquote",
    "-imacros",
    "-iprefix",
    "-isysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-T",
    "-u",
    "-z",
    "-J",
];

const SOURCES: [&str; 31] = [
    "c", "i", "ii", "cc", "cp", "cxx", "cpp", "c++", "C", "CPP", "m", "mm", "f", "for", "ftn",
    "fpp", "F", "FOR", "FTN", "FPP", "f90", "f95", "f03", "f08", "f18", "F90", "F95", "F03", "F08",
    "F18", "f23",
];

impl Arguments {
    pub fn read(arguments: &[OsString]) -> Arguments {
        let mut found = Arguments {
            passed_on: Vec::with_capacity(arguments.len()),
            compiler: None,
            names_only: false,
            stage: Stage::Link,
            has_sources: false,
            has_debug_level: false,
            is_shared: false,
            is_static: false,
        };
        let mut inputs = 0;
        let mut value_follows = false;
        for argument in arguments {
            let text = argument.to_string_lossy();
            if let Some(name) = text.strip_prefix("--rl-compiler=") {
                found.compiler = Some(name.into());
                continue;
            }
            if text == "--rl-names" {
                found.names_only = true;
                continue;
            }
            found.passed_on.push(argument.clone());
            if std::mem::take(&mut value_follows) {
                found.has_sources |= text.starts_with("c++") || text == "c";
                continue;
            }
            value_follows = WITH_VALUE.contains(&text.as_ref());
            if text.starts_with('-') && text != "-" {
                found.option(&text);
            } else {
                inputs += 1;
                found.has_sources |= text == "-" || is_source(argument);
            }
        }
        if inputs == 0 {
            found.stage = Stage::Neither;
        }
        found
    }

    fn option(&mut self, text: &str) {
        match text {
            "-c" | "-S" if self.stage == Stage::Link => self.stage = Stage::Compile,
            "-E" | "-M" | "-MM" | "-fsyntax-only" | "-r" | "--version" | "--help" | "-nostdlib" => {
                self.stage = Stage::Neither;
            }
            "-shared" => self.is_shared = true,
            "-static" | "-static-pie" | "--static" => self.is_static = true,
            _ if text.starts_with("-print-") || text.starts_with("-dump") => {
                self.stage = Stage::Neither;
            }
            _ if is_debug_level(text) => self.has_debug_level = true,
            _ => {}
        }
    }
}

/// `-g`, `-g0` … `-g3`, `-ggdb`, `-gdwarf-4`, but not `-gsplit-dwarf` or `-gz`, which set no level.
fn is_debug_level(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("-g") else {
        return false;
    };
    rest.is_empty()
        || rest.starts_with(|first: char| first.is_ascii_digit())
        || rest.starts_with("gdb")
        || rest.starts_with("dwarf")
}

fn is_source(argument: &OsStr) -> bool {
    Path::new(argument)
        .extension()
        .and_then(OsStr::to_str)
        .is_some_and(|extension| SOURCES.contains(&extension))
}
