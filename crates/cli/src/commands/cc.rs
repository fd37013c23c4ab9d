//! `reuselens cc`, `c++`, `fortran`: calls the system's compiler with instrumentation.
//!
//! All arguments are the compiler's, so they are taken before the command line is parsed. The
//! program may also be called by the names `reuselens-cc`, `reuselens-c++`, `reuselens-fortran`
//! (links to it), for build systems that want a compiler without a space in it.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

use clap::Parser as _;
use reuselens::capture::toolchain;
pub use reuselens::capture::toolchain::Language;

use super::Cli;
use crate::exit::{Outcome, usage};
use crate::say::{stdout, tell};

/// Call the system's compiler with instrumentation switched on
///
/// Use it as CC=, CXX= or FC= of make, CMake or configure: make CC="reuselens cc".
/// All arguments are the compiler's own, and these are ours:
///
///   --llvm              take LLVM 19 and a pass of ours, which costs a fraction of the hooks
///   --llvm=blocks       the same, with basic blocks, for --by path
///   --rl-compiler=NAME  take another compiler (clang, gcc-13)
///   --rl-names          record only the program's own RecordAccess calls
///   --rl-rustflags      alone: print flags for rustc
///   --help              alone: print this
///
/// The compiler's own help: --help with any other argument (-v --help), or gcc --help.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, verbatim_doc_comment)]
pub struct Args {
    /// The compiler's arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMPILER ARGS"
    )]
    arguments: Vec<OsString>,
}

impl Args {
    /// Runs the compiler.
    pub fn run(self, language: Language) -> Outcome {
        if self.arguments.is_empty() {
            anyhow::bail!(
                "no arguments for the compiler; use it as one, for instance: \
                 reuselens cc -O2 program.c -o program"
            );
        }
        if self.arguments == ["--help"] {
            return Ok(help(language));
        }
        if self.arguments == ["--rl-rustflags"] {
            writeln!(stdout(), "{}", toolchain::rust_flags()?)?;
            return Ok(ExitCode::SUCCESS);
        }
        let status = toolchain::compile_announcing_pass(language, &self.arguments, || {
            tell!(
                "reuselens: --llvm is used for the first time: compiling its pass, once (ten seconds to a minute) …"
            );
        })?;
        Ok(code_of(status))
    }
}

/// Our exit code for a compiler that has ended: its own, or as shells say of signals.
pub fn code_of(status: ExitStatus) -> ExitCode {
    let code = status
        .code()
        .or(status.signal().map(|signal| 128 + signal))
        .unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// A call of a compiler.
pub struct CompilerCall {
    language: Language,
    arguments: Args,
}

impl CompilerCall {
    /// Runs the compiler.
    pub fn run(self) -> Outcome {
        self.arguments.run(self.language)
    }
}

/// The call of a compiler that a command line is, if it is one.
pub fn asked_for(mut words: impl Iterator<Item = OsString>) -> Option<CompilerCall> {
    let program = words.next()?;
    let name = Path::new(&program)
        .file_name()?
        .to_string_lossy()
        .into_owned();
    let language = match name.strip_prefix("reuselens-").and_then(language) {
        Some(language) => language,
        None => language(words.next()?.to_str()?)?,
    };
    Some(CompilerCall {
        language,
        arguments: Args {
            arguments: words.collect(),
        },
    })
}

/// Our own help: that of the compiler has none of our options.
fn help(language: Language) -> ExitCode {
    let verb = match language {
        Language::C => "cc",
        Language::Cxx => "c++",
        Language::Fortran => "fortran",
    };
    match Cli::try_parse_from(["reuselens", "help", verb]) {
        Err(help) => usage(help),
        Ok(_) => ExitCode::SUCCESS,
    }
}

fn language(name: &str) -> Option<Language> {
    match name {
        "cc" => Some(Language::C),
        "c++" => Some(Language::Cxx),
        "fortran" => Some(Language::Fortran),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiler_is_asked_for_by_command_or_link_name() {
        let call = |line: &str| asked_for(line.split(' ').map(OsString::from));
        let found = call("/usr/bin/reuselens c++ -c a.cc --help").unwrap();
        assert_eq!(found.language, Language::Cxx);
        assert_eq!(found.arguments.arguments, ["-c", "a.cc", "--help"]);
        let linked = call("reuselens-fortran a.f").unwrap();
        assert_eq!(linked.language, Language::Fortran);
        assert_eq!(linked.arguments.arguments, ["a.f"]);
        assert!(call("reuselens profile -- cc").is_none());
        assert!(call("reuselens").is_none());
    }
}
