//! [`Arguments`]: the command line of a compiler, as far as `reuselens cc` must know what it asks
//! for: whether it compiles and links, whether it has sources, and our own options, which are taken
//! out.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::response;

/// How far the compiler goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompilerPhase {
    /// Neither objects nor programs: a query, or preprocessing.
    Neither,
    /// Objects or assembly.
    Compile,
    /// A program or a library.
    Link,
}

/// A compiler's arguments, and what they ask for.
#[derive(Debug)]
pub struct Arguments {
    /// All arguments but our own options.
    pub passed_on: Vec<OsString>,
    /// `--rl-compiler=NAME`.
    pub compiler: Option<OsString>,
    /// `--rl-names`: record only the program's own calls.
    pub names_only: bool,
    /// `--llvm`: the LLVM pass in place of hooks.
    pub llvm: bool,
    /// `--llvm=blocks`: the LLVM pass, recording basic blocks, too.
    pub basic_blocks: bool,
    pub phase: CompilerPhase,
    pub has_sources: bool,
    /// `-x`: the compiler treats all inputs that follow as sources in that language.
    pub has_language: bool,
    pub has_debug_level: bool,
    pub is_shared: bool,
    pub is_static: bool,
    /// `-nostdlib`.
    is_bare: bool,
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
            llvm: false,
            basic_blocks: false,
            phase: CompilerPhase::Link,
            has_sources: false,
            has_language: false,
            has_debug_level: false,
            is_shared: false,
            is_static: false,
            is_bare: false,
        };
        let mut has_inputs = false;
        let mut value_of = None;
        for argument in arguments {
            if found.is_ours(argument) {
                continue;
            }
            found.passed_on.push(argument.clone());
            for word in response::words(argument) {
                has_inputs |= found.word(&word, &mut value_of);
            }
        }
        if !has_inputs {
            found.phase = CompilerPhase::Neither;
        }
        found
    }

    /// The words that are passed on.
    pub fn words(&self) -> impl Iterator<Item = &OsStr> {
        self.passed_on.iter().map(OsString::as_os_str)
    }

    fn is_ours(&mut self, argument: &OsStr) -> bool {
        let text = argument.to_string_lossy();
        if let Some(name) = text.strip_prefix("--rl-compiler=") {
            self.compiler = Some(name.into());
            return true;
        }
        self.names_only |= text == "--rl-names";
        self.basic_blocks |= text == "--llvm=blocks";
        self.llvm |= text == "--llvm" || self.basic_blocks;
        ["--rl-names", "--llvm", "--llvm=blocks"].contains(&text.as_ref())
    }

    /// Takes in a word. Returns whether it is an input. `value_of` is the option whose value the
    /// word is, if any; it is set if the word is an option whose value comes next.
    fn word(&mut self, word: &OsStr, value_of: &mut Option<String>) -> bool {
        let text = word.to_string_lossy();
        if let Some(option) = value_of.take() {
            if option == "-x" {
                self.language(&text);
            }
            return false;
        }
        if text.starts_with('-') && text != "-" {
            *value_of = WITH_VALUE
                .contains(&text.as_ref())
                .then(|| text.clone().into_owned());
            self.option(&text);
            return false;
        }
        self.has_sources |= text == "-" || is_source(word);
        true
    }

    /// `-x LANGUAGE`: the language of the inputs after it.
    fn language(&mut self, name: &str) {
        self.has_language = true;
        self.has_sources |= name != "none";
    }

    fn option(&mut self, text: &str) {
        match text {
            "-c" | "-S" if self.phase == CompilerPhase::Link || self.is_bare => {
                self.phase = CompilerPhase::Compile
            }
            "-E" | "-M" | "-MM" | "-fsyntax-only" | "-r" | "--version" | "--help" => {
                self.phase = CompilerPhase::Neither;
            }
            // Our run time needs the C library.
            "-nostdlib" if self.phase == CompilerPhase::Link => {
                self.phase = CompilerPhase::Neither;
                self.is_bare = true;
            }
            "-shared" => self.is_shared = true,
            "-static" | "-static-pie" | "--static" => self.is_static = true,
            _ if text.starts_with("-x") && text.len() > 2 => self.language(&text[2..]),
            _ if text.starts_with("-print-") || text.starts_with("-dump") => {
                self.phase = CompilerPhase::Neither;
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
