//! Programs that take the place of rewritten ones (`exec`): they are stopped at their first instruction,
//! and the rewriter is put into them too.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use reuselens_wire::{Exec, ExecState};

use crate::inject::{Stop, Tracee, inject};
use crate::program::BuiltIn;
use crate::segment::{Segment, futex_wake_all};

/// What became of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// It is rewritten, or has the run time in it.
    Seen,
    /// Its accesses are not seen: its path.
    Unseen(String),
    /// It ended meanwhile: its number, and the status that `wait` gave.
    Ended(u32, i32),
}

/// How often to look for the new program.
const PAUSE: Duration = Duration::from_micros(50);

/// Answers a process that is about to call `exec`, if one asks, and stays until it has.
pub fn follow(segment: &Segment) -> Option<Followed> {
    let exec = &segment.header().exec;
    if exec.state.load(Ordering::SeqCst) != ExecState::Asked as u32 {
        return None;
    }
    let pid = exec.pid.load(Ordering::SeqCst);
    let tracee = Tracee::new(exec.tid.load(Ordering::SeqCst));
    let watched = tracee.seize().is_ok();
    let answer = if watched {
        ExecState::Watched
    } else {
        ExecState::Refused
    };
    exec.state.store(answer as u32, Ordering::SeqCst);
    futex_wake_all(&exec.state);
    let outcome = if watched {
        stay(&tracee, &Tracee::new(pid), exec, &segment.path())
    } else {
        Outcome::Unseen
    };
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    exec.state.store(ExecState::Idle as u32, Ordering::SeqCst);
    exec.pid.store(0, Ordering::SeqCst);
    Some(match outcome {
        Outcome::Seen => Followed::Seen,
        Outcome::Unseen => Followed::Unseen(path.display().to_string()),
        Outcome::Ended(status) => Followed::Ended(pid, status),
    })
}

enum Outcome {
    Seen,
    Unseen,
    Ended(i32),
}

/// Puts the rewriter into a program whose `exec` is not quite over: the kernel has yet to write the
/// call's result into a register.
fn put_into(tracee: &Tracee, segment: &str) -> bool {
    let over = tracee.finish_call().and_then(|()| tracee.wait(false));
    matches!(over, Ok(Stop::Signal(libc::SIGTRAP, _))) && inject(tracee, segment, 0).is_ok()
}

/// What comes next of a thread that is about to become another program. If it is not the first of its process it has that
/// one's number then; whose stop it is.
fn look<'a>(thread: &'a Tracee, process: &'a Tracee) -> (&'a Tracee, io::Result<Stop>) {
    if thread == process {
        return (process, process.wait(true));
    }
    // Before that nothing is heard of the process here, unless it is a child of ours and ends.
    match process.wait(true) {
        Ok(Stop::Not) | Err(_) => {}
        stop => return (process, stop),
    }
    match thread.wait(true) {
        // The thread has gone over into the other, or is about to.
        Err(_) if process.is_there() => (thread, Ok(Stop::Not)),
        // Its own end is not that of the process: what `exec` takes the place of is the process.
        Ok(Stop::Gone(_)) => (thread, Ok(Stop::Not)),
        stop => (thread, stop),
    }
}

/// Waits for the new program.
fn stay(thread: &Tracee, process: &Tracee, exec: &Exec, segment: &str) -> Outcome {
    const EVENT_EXEC: i32 = libc::PTRACE_EVENT_EXEC;
    let mut failed = false;
    loop {
        let (stopped, stop) = look(thread, process);
        match stop {
            Ok(Stop::Signal(libc::SIGTRAP, EVENT_EXEC)) => {
                let exe = process.executable();
                let seen = BuiltIn::at(Path::new(&exe)).run_time || put_into(process, segment);
                // It may have been killed meanwhile.
                let _ = process.let_go();
                return if seen { Outcome::Seen } else { Outcome::Unseen };
            }
            Ok(Stop::Signal(..)) if failed => {
                let _ = stopped.let_go();
                return Outcome::Seen;
            }
            Ok(Stop::Signal(signal, 0)) => drop(stopped.go(signal)),
            Ok(Stop::Signal(..)) => drop(stopped.go(0)),
            Ok(Stop::Not) => std::thread::sleep(PAUSE),
            Ok(Stop::Gone(status)) => return Outcome::Ended(status),
            Err(_) => return Outcome::Seen,
        }
        if !failed && exec.state.load(Ordering::SeqCst) == ExecState::Failed as u32 {
            failed = true;
            // It goes on as it was.
            let _ = thread.interrupt();
        }
    }
}
