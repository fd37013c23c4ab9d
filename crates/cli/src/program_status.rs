//! [`StatusOptions`]: which exit code a command has that runs a program: the program's, as
//! `perf stat`, `valgrind` and `strace` have it, unless `--ignore-status` is given.
//!
//! Where reuselens itself fails and the program succeeds, the exit code is that of
//! [`exit`](crate::exit).

use std::process::ExitCode;

use reuselens::profile::signal_name;
use reuselens::trace::ProcessEnd;

use crate::exit;
use crate::say::tell;

/// The code of the remark that a limit of the user has stopped the recording.
const STOPPED: &str = "stopped";

/// Options for the exit code of a command that runs a program.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct StatusOptions {
    /// End with 0 also if the program fails [default: end with the program's exit status]
    #[arg(long)]
    ignore_status: bool,

    /// End with the program's exit status, which is the default
    #[arg(long, hide = true, conflicts_with = "ignore_status")]
    pass_status: bool,
}

impl StatusOptions {
    /// The same for a program that is ended on purpose if `limited`, which `--then-stop` does at
    /// the limit that one of the `remarks` names (their codes): its end is no failure.
    pub fn unless_stopped<'a>(
        self,
        limited: bool,
        mut remarks: impl Iterator<Item = &'a str>,
    ) -> StatusOptions {
        StatusOptions {
            ignore_status: self.ignore_status || (limited && remarks.any(|code| code == STOPPED)),
            ..self
        }
    }

    /// The exit code of a command that has done its work: the program's, unless it is ignored.
    /// Prints on standard error which signal ended the program and, if no report does (`tell`),
    /// that it failed.
    pub fn code(self, name: &str, ended: ProcessEnd, tell: bool) -> ExitCode {
        match ended {
            ProcessEnd::Signal(signal) => {
                let signal = signal_name(signal);
                tell!(
                    "reuselens: {name} was ended by {signal}; what was recorded until then is here"
                );
            }
            ProcessEnd::Exit(status) if status != 0 && tell => {
                tell!("reuselens: {name} exited with status {status}");
            }
            _ => {}
        }
        if self.ignore_status {
            return ExitCode::SUCCESS;
        }
        ExitCode::from(exit_status(ended))
    }

    /// The end of a command that failed while its program ran to its end: prints how the program
    /// ended if that was not well. The exit code is the program's if it is one of a failure too and
    /// is not ignored.
    pub fn failed_beside(
        self,
        error: anyhow::Error,
        name: &str,
        ended: ProcessEnd,
    ) -> exit::Outcome {
        match ended {
            ProcessEnd::Signal(signal) => {
                tell!("reuselens: {name} was ended by {}", signal_name(signal));
            }
            ProcessEnd::Exit(status) if status != 0 => {
                tell!("reuselens: {name} exited with status {status}");
            }
            _ => {}
        }
        match exit_status(ended) {
            status if !self.ignore_status && status != 0 => {
                exit::report(&error);
                Ok(ExitCode::from(status))
            }
            _ => Err(error),
        }
    }
}

/// The exit status of a program as shells have it: 128 plus the number of the signal that ended it.
fn exit_status(ended: ProcessEnd) -> u8 {
    match ended {
        ProcessEnd::Exit(status) => (status & 0xff) as u8,
        ProcessEnd::Signal(signal) => (128 + (signal & 0x7f)) as u8,
        ProcessEnd::Unknown => 0,
    }
}
