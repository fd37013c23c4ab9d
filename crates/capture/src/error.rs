//! [`CaptureError`]: why a program could not be measured or compiled, with a message for the user.
//! Failures while a program runs are mostly no errors but remarks in the report (`running`).

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use reuselens_hugepages::{address_space_limit, data_limit};
use thiserror::Error;

/// Why a program could not be measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// There is no such program.
    #[error("cannot run '{}': {}", program.display(), why.as_deref().unwrap_or("no such program; is the path right (./NAME for one in this directory)?"))]
    NotFound {
        /// What was typed.
        program: OsString,
        /// What a file of that name is, if there is one where programs are not looked for.
        why: Option<String>,
    },
    /// The program could not be started.
    #[error("cannot run '{}': {source}", program.display())]
    Start {
        /// What was typed.
        program: OsString,
        /// The system's reason.
        source: io::Error,
    },
    /// The program cannot be rewritten while it runs.
    #[error("cannot see the accesses of '{}': {reason}; build it with `reuselens cc` (or c++, fortran) in place of the compiler", program.display())]
    Rewriting {
        /// What was typed.
        program: OsString,
        /// Why.
        reason: String,
    },
    /// A limit leaves no room for what is put into the program.
    #[error("cannot measure '{}': its {limit}, which leaves no room for what reuselens maps there; {remedy}", program.display())]
    ShortOfSpace {
        /// What was typed.
        program: OsString,
        /// Which limit it has.
        limit: String,
        /// How to raise it.
        remedy: &'static str,
    },
    /// The program's own stores cannot leave accesses out.
    #[error("'{}' was built with --llvm, which cannot leave accesses out between others; build it with `reuselens cc` without --llvm, or as it is without reuselens", program.display())]
    NotControlled {
        /// What was typed.
        program: OsString,
    },
    /// The program was gone before any of its accesses could be seen.
    #[error("'{}' ended before anything of it was seen; was it killed?", program.display())]
    Vanished {
        /// What was typed.
        program: OsString,
    },
    /// The program wrote over the shared memory before any of its accesses were read.
    #[error("'{}' wrote over the memory that it shares with reuselens before anything was read from it; look for the stray writes (gcc -fsanitize=address, or valgrind), and measure again", program.display())]
    Damaged {
        /// What was typed.
        program: OsString,
    },
    /// The program was built so that its basic blocks are not seen.
    #[error("'{}' was built with `reuselens cc`, whose hooks do not see its basic blocks; build it with --llvm=blocks, or as it is without reuselens", program.display())]
    NoBasicBlocks {
        /// What was typed.
        program: OsString,
    },
    /// There is no function of the name that was asked for.
    #[error("'{}' and its libraries have no function called '{function}'; {hint}", program.display())]
    NoFunction {
        /// What was typed.
        program: OsString,
        /// The name.
        function: String,
        /// Which functions there are, and what to type.
        hint: String,
    },
    /// The system gave no shared memory.
    #[error(
        "cannot make the shared memory for the accesses: {source}; is there a limit? `ulimit -f unlimited` and `ulimit -v unlimited` take it away"
    )]
    Segment {
        /// The system's reason.
        source: io::Error,
    },
    /// A file of the run time could not be written.
    #[error("cannot write {}: {source}; set XDG_CACHE_HOME to a directory that can be written", path.display())]
    RunTime {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The compiler could not be run.
    #[error("cannot run the compiler '{}': {source}; name another one with --rl-compiler=NAME", compiler.display())]
    Compiler {
        /// Its name.
        compiler: OsString,
        /// The system's reason.
        source: io::Error,
    },
    /// The LLVM pass cannot be used.
    #[error(
        "cannot use the LLVM pass: {reason}; install LLVM 19 (Debian and Ubuntu: apt install clang-19 llvm-19-dev, and flang-19 for Fortran), or leave --llvm out"
    )]
    Llvm {
        /// Why.
        reason: String,
    },
    /// The compiler makes programs for another processor or system.
    #[error(
        "'{}' compiles for {target}, and what reuselens compiles in is for Linux on x86-64; build with the compiler alone, have valgrind's lackey or DynamoRIO's drmemtrace record a trace there, and analyse it here: reuselens analyze TRACE (docs/limits.md, Other machines)", compiler.display()
    )]
    OtherTarget {
        /// Its name.
        compiler: OsString,
        /// What it compiles for, as its arguments or its name have it.
        target: String,
    },
    /// The compiler's arguments ask for something that capture cannot do.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl CaptureError {
    /// There is no room in a program: names the limit that this process has too, if it has one.
    pub(crate) fn short_of_space(program: &OsStr) -> CaptureError {
        let [space, data] = [address_space_limit(), data_limit()];
        let of = |bytes: Option<u64>| {
            let bytes = bytes.map(reuselens_units::Bytes);
            bytes.map_or_else(String::new, |bytes| format!(" to {bytes}"))
        };
        let (limit, remedy) = match (space, data) {
            (None, Some(_)) => (
                format!(
                    "writable memory is limited{} (ulimit -d, RLIMIT_DATA)",
                    of(data)
                ),
                "raise the limit by 1 GiB, or take it away: ulimit -d unlimited",
            ),
            _ => (
                format!(
                    "address space is limited{} (ulimit -v, RLIMIT_AS)",
                    of(space)
                ),
                "raise the limit by 4 GiB, or take it away: ulimit -v unlimited",
            ),
        };
        CaptureError::ShortOfSpace {
            program: program.to_owned(),
            limit,
            remedy,
        }
    }

    /// Whether the program does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, CaptureError::NotFound { .. })
    }
}
