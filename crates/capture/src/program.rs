//! Starts a program to be measured: [`Launch`] is what to start and how, [`Launch::start`] decides
//! whether to rewrite it, starts it, and puts the rewriter into it. Also finds out why a program
//! could not be started, for the message.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use reuselens_io::{command_error, find_program, shell_words};
use reuselens_trace::{ProcessEnd, Stop};
use reuselens_wire::UNLIMITED;

use crate::built_in::BuiltIn;
use crate::dispositions::Inherited;
use crate::exec_arguments::ExecArguments;
use crate::functions::{self, FunctionPlace};
use crate::inject::{Refusal, Tracee, WaitOutcome, inject};
use crate::{CaptureError, ControlOptions};

/// How a program's accesses are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Capture {
    /// Compiled in if the program has the run time in it, else rewriting.
    #[default]
    Automatic,
    /// By the run time that `reuselens cc` builds into programs.
    CompiledIn,
    /// By rewriting the program's code while it runs.
    Rewriting,
}

/// A program to measure.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The program and its arguments; the program is looked up like a shell does.
    pub command: Vec<OsString>,
    /// Variables that the program has in its environment beside those of this process.
    pub environment: Vec<(&'static str, OsString)>,
    /// Leave address-space randomisation on. Off by default, so that two runs see the same
    /// addresses and give the same profile.
    pub randomise: bool,
    /// Send the program's standard output to our standard error, because our standard output is
    /// for something else.
    pub output_to_error: bool,
    /// How accesses are recorded.
    pub capture: Capture,
    /// Record basic blocks, too ([`reuselens_trace::BasicBlock`]): the path that the program takes.
    /// They are recorded by rewriting and by code built with `--llvm=blocks`, not by the compiler's
    /// hooks.
    pub basic_blocks: bool,
    /// Which accesses are recorded.
    pub control: ControlOptions,
    /// Requests that the program end, with a signal for it. A second request kills it.
    pub stop: Stop,
}

/// A program that was started.
pub(crate) struct Started {
    pub child: Child,
    /// Whether its code is rewritten.
    pub rewritten: bool,
    /// What was built into it.
    pub built_in: BuiltIn,
}

impl Launch {
    /// The functions with the name that is to be recorded; none if no name was given.
    pub(crate) fn functions(&self) -> Result<Vec<FunctionPlace>, CaptureError> {
        let (Some(name), Some(program)) = (&self.control.function, self.command.first()) else {
            return Ok(Vec::new());
        };
        // A program that is not there is reported when it is started.
        let Some(path) = find_program(program) else {
            return Ok(Vec::new());
        };
        match functions::find(&path, name) {
            Ok(Ok(places)) => Ok(places),
            Ok(Err(missing)) => Err(CaptureError::NoFunction {
                program: program.clone(),
                function: name.clone(),
                hint: missing.hint(),
            }),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Whether the program is rewritten.
    fn rewrites(&self, program: &OsString, built_in: BuiltIn) -> Result<bool, CaptureError> {
        Ok(match self.capture {
            Capture::Rewriting => true,
            // Block records are expanded only on the reading side, too late to leave accesses out.
            _ if self.control.leaves_out() && built_in.block_records => {
                return Err(CaptureError::NotControlled {
                    program: program.clone(),
                });
            }
            Capture::Automatic if !built_in.run_time => true,
            // Its hooks would be measured with it.
            Capture::Automatic if self.basic_blocks && !built_in.basic_blocks => {
                return Err(CaptureError::NoBasicBlocks {
                    program: program.clone(),
                });
            }
            Capture::Automatic | Capture::CompiledIn => false,
        })
    }

    /// Whether basic blocks can be seen of all that is recorded: hooks of compilers do not see
    /// them, and options can leave parts of the program out.
    pub fn can_see_basic_blocks(&self) -> bool {
        let built_in = self.command.first().map(|program| BuiltIn::of(program));
        let built_in = built_in.unwrap_or_default();
        let can = match self.capture {
            Capture::Rewriting => true,
            Capture::Automatic => !built_in.run_time || built_in.basic_blocks,
            Capture::CompiledIn => built_in.basic_blocks,
        };
        can && !self.control.leaves_out()
    }

    /// Starts the program with `segment` in its environment.
    pub(crate) fn start(&self, segment: &str) -> Result<Started, CaptureError> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(CaptureError::NotFound {
                program: OsString::new(),
                why: None,
            });
        };
        let built_in = BuiltIn::of(program);
        let rewritten = self.rewrites(program, built_in)?;
        let spawned = self.spawn(program, arguments, segment, rewritten);
        let spawned = spawned.map_err(|source| command_error(program, source));
        let child = spawned.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => CaptureError::NotFound {
                program: program.clone(),
                why: not_looked_for(Path::new(program)),
            },
            _ => CaptureError::Start {
                program: program.clone(),
                source: explained(program, source),
            },
        })?;
        let mut started = Started {
            child,
            rewritten,
            built_in,
        };
        if rewritten {
            let result = take_over(&Tracee::new(started.child.id()), segment);
            result.map_err(|refusal| started.refused(program, &refusal))?;
        }
        Ok(started)
    }

    /// Starts a program; a file that the kernel does not execute is run by a shell if it is the
    /// text of a script.
    fn spawn(
        &self,
        program: &OsString,
        arguments: &[OsString],
        segment: &str,
        rewritten: bool,
    ) -> io::Result<Child> {
        let refused = match self.spawn_file(program, arguments, segment, rewritten) {
            Ok(child) => return Ok(child),
            Err(error) => error,
        };
        let command = [std::slice::from_ref(program), arguments].concat();
        let words = shell_words(&command, refused)?;
        self.spawn_file(&words[0], &words[1..], segment, rewritten)
    }

    /// Starts a program that the kernel executes by itself.
    fn spawn_file(
        &self,
        program: &OsStr,
        arguments: &[OsString],
        segment: &str,
        rewritten: bool,
    ) -> io::Result<Child> {
        let variables = self.environment.iter().cloned();
        let variables = variables.chain([(reuselens_wire::ENVIRONMENT, segment.into())]);
        let variables = variables.map(|(name, value)| (name.into(), value));
        let exec = ExecArguments::new(program, arguments, variables)?;
        let mut command = Command::new(program);
        if self.output_to_error {
            command.stdout(io::stderr());
        }
        let (randomise, inherited) = (self.randomise, Inherited::now());
        let us = std::process::id();
        // SAFETY: the closure makes a few async-signal-safe calls in the child.
        unsafe {
            command.pre_exec(move || {
                inherited.set_up();
                libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
                if !randomise {
                    // If this is forbidden, addresses differ from run to run; nothing else changes.
                    libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
                }
                if rewritten {
                    be_traced(us)?;
                }
                // Before std's own call, which would hand to a shell what the kernel refuses.
                Err(exec.execute())
            });
        }
        command.spawn()
    }
}

/// Lets process `parent` trace this one, between `fork` and `exec`: makes async-signal-safe calls
/// alone.
///
/// `PTRACE_TRACEME` makes the current parent the tracer. If reuselens was killed after the fork,
/// that is another process, which never resumes this one. So the kernel kills this process with its
/// parent until it is traced; a traced process is released when its tracer dies.
fn be_traced(parent: u32) -> io::Result<()> {
    let check = |result: libc::c_long| match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: system calls without pointers.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL).into())?;
        if libc::getppid() as u32 != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        check(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0))?;
        check(libc::prctl(libc::PR_SET_PDEATHSIG, 0).into())
    }
}

impl Started {
    /// The program cannot be rewritten: kills it, for it must not run unrecorded. Returns the
    /// error.
    fn refused(&mut self, program: &OsString, refusal: &Refusal) -> CaptureError {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let reason = match refusal {
            Refusal::Foreign => "it is not a 64-bit program for x86 processors".to_owned(),
            Refusal::System(error) if is_gone(error) => {
                return CaptureError::Vanished {
                    program: program.clone(),
                };
            }
            Refusal::NoRoom => return CaptureError::short_of_space(program),
            Refusal::NotExecutable => {
                "it may have no memory that is both writable and executable (PR_SET_MDWE, systemd's \
                 MemoryDenyWriteExecute)"
                    .to_owned()
            }
            Refusal::System(error) if error.raw_os_error() == Some(libc::ENOMEM) => {
                return CaptureError::short_of_space(program);
            }
            Refusal::System(error) => format!("the system does not let it be traced ({error})"),
        };
        CaptureError::Rewriting {
            program: program.clone(),
            reason,
        }
    }
}

/// Whether any user may execute a file.
fn is_executable(about: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o111 != 0
}

/// A hint for a file that is not executable, guessed by its name.
fn not_executable(path: &Path) -> String {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let verb = match &*ending.to_lowercase() {
        "cc" | "cpp" | "cxx" => "c++",
        "f" | "for" | "f90" | "f95" | "f03" | "f08" => "fortran",
        _ => "cc",
    };
    let name = path.display();
    if ending == "rltrace" {
        return format!("it is a trace; analyse it: reuselens analyze {name}");
    }
    if ending == "rlprof" {
        return format!("it is a profile; show it: reuselens report {name}");
    }
    format!(
        "it is not executable; compile it if it is source code (reuselens {verb} {name} -o NAME, then ./NAME), else chmod +x {name}"
    )
}

/// A hint if the program was not found in the search path, and a file of that name is in this
/// directory.
fn not_looked_for(program: &Path) -> Option<String> {
    let about = std::fs::metadata(program).ok()?;
    // A path with a folder is not searched for: the file's interpreter is missing then.
    if !about.is_file() || program.components().count() > 1 || program.is_absolute() {
        return None;
    }
    Some(if is_executable(&about) {
        format!(
            "no such program; the file in this directory is ./{}",
            program.display()
        )
    } else {
        not_executable(program)
    })
}

/// A better explanation than the system's for why a program could not be started, if its file shows
/// one.
fn explained(program: &OsString, error: io::Error) -> io::Error {
    let path = std::path::Path::new(program);
    let Ok(about) = std::fs::metadata(path) else {
        return error;
    };
    let why = if about.is_dir() {
        "it is a directory; name a program in it".to_owned()
    } else if !about.is_file() {
        "it is no regular file; name a program's file".to_owned()
    } else if error.kind() == io::ErrorKind::PermissionDenied && !is_executable(&about) {
        not_executable(path)
    } else {
        return error;
    };
    io::Error::new(error.kind(), why)
}

/// Whether a request failed because the process has ended. Its memory is of no bytes then, so that
/// reading from it and writing to it end early.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, UnexpectedEof, WriteZero};
    matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ECHILD))
        || matches!(error.kind(), NotFound | UnexpectedEof | WriteZero)
}

/// Waits for the stop at the program's first instruction, and puts the rewriter in.
fn take_over(tracee: &Tracee, segment: &str) -> Result<(), Refusal> {
    loop {
        match tracee.wait(false)? {
            WaitOutcome::Signal(libc::SIGTRAP, _) => break,
            // A signal has come before the program.
            WaitOutcome::Signal(signal, _) => tracee.go(signal)?,
            WaitOutcome::Gone(_) => return Err(io::Error::from_raw_os_error(libc::ESRCH).into()),
            WaitOutcome::Not => {}
        }
    }
    tracee.hold_signals(|| inject(tracee, segment, [UNLIMITED; 4]))??;
    Ok(tracee.let_go(0)?)
}

/// Makes this process ignore `SIGXFSZ`: a limit on the size of files becomes an error of the write
/// that meets it, as a full disk does, and does not end this process. Measured programs start with
/// the signal's default.
pub fn report_size_limits() {
    // SAFETY: sets a signal to be ignored.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// How a process ended, by the status that the system gives for it.
pub fn process_end(status: ExitStatus) -> ProcessEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProcessEnd::Exit(code),
        (None, Some(signal)) => ProcessEnd::Signal(signal),
        (None, None) => ProcessEnd::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orphaned_child_is_not_traced() {
        let spawn = |parent: u32| {
            let mut command = Command::new("true");
            // SAFETY: the closure makes a few async-signal-safe calls in the child.
            unsafe { command.pre_exec(move || be_traced(parent)) };
            command.spawn()
        };
        // The child's parent is this process, and not that with the number 0.
        let refused = spawn(0).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ESRCH));
        let mut child = spawn(std::process::id()).unwrap();
        let tracee = Tracee::new(child.id());
        assert_eq!(
            tracee.wait(false).unwrap(),
            WaitOutcome::Signal(libc::SIGTRAP, 0)
        );
        tracee.let_go(0).unwrap();
        assert!(child.wait().unwrap().success());
    }
}
