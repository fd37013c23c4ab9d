//! What can go wrong before, while and after a program runs.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a program could not be measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// There is no such program.
    #[error("cannot run '{}': no such program; is the path right (./NAME for one in this directory)?", program.display())]
    NotFound {
        /// What was typed.
        program: OsString,
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
    /// The system gave no shared memory.
    #[error("cannot make the shared memory for the accesses: {source}")]
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
    /// The compiler's arguments ask for something that capture cannot do.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl CaptureError {
    /// Whether the program does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, CaptureError::NotFound { .. })
    }
}
