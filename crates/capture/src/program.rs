//! Starting a program.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use reuselens_trace::ProcessEnd;

use crate::CaptureError;

/// A program to measure.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The program and its arguments; the program is looked up like a shell does.
    pub command: Vec<OsString>,
    /// Leave address-space randomisation on. Off by default, so that two runs see the same
    /// addresses and give the same profile.
    pub randomise: bool,
    /// What the program prints on its standard output goes to our standard error, because our
    /// standard output is for something else.
    pub output_to_error: bool,
}

impl Launch {
    /// Starts the program with `segment` in its environment.
    pub(crate) fn start(&self, segment: &str) -> Result<Child, CaptureError> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(CaptureError::NotFound {
                program: OsString::new(),
            });
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env(reuselens_wire::ENVIRONMENT, segment);
        if self.output_to_error {
            command.stdout(io::stderr());
        }
        let randomise = self.randomise;
        // SAFETY: the closure makes two async-signal-safe calls in the child.
        unsafe {
            command.pre_exec(move || {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                libc::signal(libc::SIGQUIT, libc::SIG_DFL);
                if !randomise {
                    // Where this is forbidden the addresses differ from run to run; no harm else.
                    libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
                }
                Ok(())
            });
        }
        command.spawn().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => CaptureError::NotFound {
                program: program.clone(),
            },
            _ => CaptureError::Start {
                program: program.clone(),
                source,
            },
        })
    }
}

/// While a program runs, Ctrl-C is for the program; we stay to report what it did.
pub(crate) fn leave_interrupts_to_the_program() {
    // SAFETY: sets two signals to be ignored.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGQUIT, libc::SIG_IGN);
    }
}

/// Ctrl-C is for us again.
pub(crate) fn take_interrupts_back() {
    // SAFETY: sets two signals to their default.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_DFL);
        libc::signal(libc::SIGQUIT, libc::SIG_DFL);
    }
}

pub(crate) fn process_end(status: ExitStatus) -> ProcessEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProcessEnd::Exit(code),
        (None, Some(signal)) => ProcessEnd::Signal(signal),
        (None, None) => ProcessEnd::Unknown,
    }
}
