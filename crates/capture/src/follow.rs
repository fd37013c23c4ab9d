//! Programs that take the place of rewritten ones (`exec`): they are stopped at their first
//! instruction, and the rewriter is put into them too.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reuselens_wire::{Exec, ExecState};

use crate::built_in::BuiltIn;
use crate::inject::{Stop, Tracee, inject};
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
/// How long to stay with a program before others are read again. Most need less than a thousandth
/// of a second.
const STAY: Duration = Duration::from_millis(20);

/// Looks after processes that are about to call `exec`, one at a time. To be used by one thread
/// only, as tracing is.
#[derive(Default)]
pub struct Follower {
    current: Option<Following>,
    /// Threads that could not become another program: they are let go when they stop, or their end
    /// is heard.
    going: Vec<Following>,
}

/// A thread that is about to become another program.
struct Following {
    pid: u32,
    thread: Tracee,
    /// Its process, whose number it has then.
    process: Tracee,
    since: Instant,
}

enum Outcome {
    Seen,
    Unseen,
    Ended(i32),
    /// It goes on as it was.
    Failed,
}

/// What is found of a thread that is traced.
enum Look<'a> {
    Runs,
    Stopped(&'a Tracee, i32, i32),
    /// The process is gone: the status of `wait`.
    Ended(i32),
    /// It is gone, and its process is not: or that is for others to hear.
    Lost,
}

impl Follower {
    /// Answers a process that is about to call `exec`, if one asks, and stays with it for a moment;
    /// later calls find what becomes of it after that. Never waits for long: the caller must go on
    /// reading, because other processes wait for that. Without `answers` no process is answered any
    /// more.
    pub fn follow(&mut self, segment: &Segment, answers: bool) -> Option<Followed> {
        if let Some(ended) = self.hear() {
            return Some(ended);
        }
        let exec = &segment.header().exec;
        if self.current.is_none()
            && answers
            && let Err(refused) = self.begin(exec)?
        {
            // A dead process needs no rewriter.
            let dead = refused.raw_os_error() == Some(libc::ESRCH);
            let outcome = if dead { Outcome::Seen } else { Outcome::Unseen };
            return Some(over(exec.pid.load(Ordering::SeqCst), &outcome, exec));
        }
        let following = self.current.take()?;
        let Some(outcome) = following.stay(exec, &segment.path()) else {
            self.current = Some(following);
            return None;
        };
        let followed = over(following.pid, &outcome, exec);
        if matches!(outcome, Outcome::Failed) {
            let _ = following.thread.interrupt();
            self.going.push(following);
        }
        Some(followed)
    }

    /// Begins to trace a thread, if one asks for that.
    fn begin(&mut self, exec: &Exec) -> Option<io::Result<()>> {
        if exec.state.load(Ordering::SeqCst) != ExecState::Asked as u32 {
            return None;
        }
        let pid = exec.pid.load(Ordering::SeqCst);
        let tid = exec.tid.load(Ordering::SeqCst);
        if !Path::new(&format!("/proc/{pid}/task/{tid}")).exists() {
            // Whoever asked is dead, or a program has written over the question.
            return Some(Err(io::Error::from_raw_os_error(libc::ESRCH)));
        }
        let thread = Tracee::new(tid);
        // It may not have been let go yet since it tried before.
        let known = self.going.iter().position(|going| going.thread == thread);
        let seized = match known {
            Some(known) => {
                self.going.swap_remove(known);
                Ok(())
            }
            None => thread.seize(),
        };
        let answer = if seized.is_ok() {
            ExecState::Watched
        } else {
            ExecState::Refused
        };
        if seized.is_ok() {
            self.current = Some(Following {
                pid,
                thread,
                process: Tracee::new(pid),
                since: Instant::now(),
            });
        }
        exec.state.store(answer as u32, Ordering::SeqCst);
        futex_wake_all(&exec.state);
        Some(seized)
    }

    /// Lets those go that could not become another program; the end of a process that is heard
    /// meanwhile.
    fn hear(&mut self) -> Option<Followed> {
        let mut ended = None;
        self.going.retain(|going| match going.look() {
            Look::Runs => true,
            Look::Stopped(stopped, signal, event) => {
                let _ = stopped.let_go(if event == 0 { signal } else { 0 });
                false
            }
            Look::Ended(status) => {
                ended = Some(Followed::Ended(going.pid, status));
                false
            }
            Look::Lost => false,
        });
        ended
    }
}

impl Drop for Follower {
    /// No thread is left stopped.
    fn drop(&mut self) {
        const ROUNDS: usize = 100;
        if let Some(following) = self.current.take() {
            let _ = following.thread.interrupt();
            self.going.push(following);
        }
        for _ in 0..ROUNDS {
            self.hear();
            if self.going.is_empty() {
                return;
            }
            std::thread::sleep(20 * PAUSE);
        }
    }
}

/// Lets the next process ask.
fn over(pid: u32, outcome: &Outcome, exec: &Exec) -> Followed {
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    exec.state.store(ExecState::Idle as u32, Ordering::SeqCst);
    // Another may have taken a dead one's turn already.
    let order = Ordering::SeqCst;
    let _ = exec.pid.compare_exchange(pid, 0, order, order);
    match (outcome, path) {
        (Outcome::Unseen, Some(path)) => Followed::Unseen(path.display().to_string()),
        (Outcome::Ended(status), _) => Followed::Ended(pid, *status),
        _ => Followed::Seen,
    }
}

/// Puts the rewriter into a program whose `exec` is not quite over: the kernel has yet to write the
/// call's result into a register.
fn put_into(tracee: &Tracee, segment: &str) -> Outcome {
    match tracee.finish_call().and_then(|()| tracee.wait(false)) {
        Ok(Stop::Signal(libc::SIGTRAP, _)) if inject(tracee, segment, 0).is_ok() => Outcome::Seen,
        Ok(Stop::Gone(status)) => Outcome::Ended(status),
        _ => Outcome::Unseen,
    }
}

impl Following {
    /// Looks what became of the thread. If it is not the first of its process it has that one's
    /// number once it is another program, so both are asked.
    fn look(&self) -> Look<'_> {
        match self.process.wait(true) {
            Ok(Stop::Signal(signal, event)) => return Look::Stopped(&self.process, signal, event),
            Ok(Stop::Gone(status)) => return Look::Ended(status),
            Ok(Stop::Not) if self.thread == self.process => return Look::Runs,
            Err(_) if self.thread == self.process => return Look::Lost,
            // Before that nothing is heard of the process here, unless it is a child of ours and
            // ends.
            Ok(Stop::Not) | Err(_) => {}
        }
        match self.thread.wait(true) {
            Ok(Stop::Signal(signal, event)) => Look::Stopped(&self.thread, signal, event),
            Ok(Stop::Not) => Look::Runs,
            // It has gone over into the other, which is ours then.
            Err(_) if self.process.is_ours() => Look::Runs,
            // A thread that becomes another program does not end: so `exec` failed, and the thread
            // ended by itself or with its process.
            Ok(Stop::Gone(_)) | Err(_) => Look::Lost,
        }
    }

    /// Waits for the new program for a moment; `None` if it has yet to come.
    fn stay(&self, exec: &Exec, segment: &str) -> Option<Outcome> {
        const EVENT_EXEC: i32 = libc::PTRACE_EVENT_EXEC;
        loop {
            match self.look() {
                Look::Stopped(_, libc::SIGTRAP, EVENT_EXEC) => return Some(self.arrived(segment)),
                Look::Stopped(stopped, signal, 0) => drop(stopped.go(signal)),
                Look::Stopped(stopped, ..) => drop(stopped.go(0)),
                Look::Ended(status) => return Some(Outcome::Ended(status)),
                Look::Lost => return Some(Outcome::Seen),
                Look::Runs if exec.state.load(Ordering::SeqCst) == ExecState::Failed as u32 => {
                    return Some(Outcome::Failed);
                }
                Look::Runs if self.since.elapsed() > STAY => return None,
                Look::Runs => std::thread::sleep(PAUSE),
            }
        }
    }

    /// The new program is there.
    fn arrived(&self, segment: &str) -> Outcome {
        let outcome = if BuiltIn::at(Path::new(&self.process.executable())).run_time {
            Outcome::Seen
        } else {
            put_into(&self.process, segment)
        };
        // It may have been killed meanwhile.
        let _ = self.process.let_go(0);
        outcome
    }
}
