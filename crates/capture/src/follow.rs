//! [`Follower`]: follows rewritten processes through `exec`. A process asks before it calls `exec`
//! ([`Exec`]); the follower then traces it, waits until the new program is loaded, puts the
//! rewriter into that, and stops tracing. If the call fails, it only stops tracing.
//!
//! The caller must go on reading blocks meanwhile, so [`Follower::follow`] never waits for long: it
//! keeps its state and continues at the next call.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reuselens_wire::{Exec, ExecState, Limits};

use crate::built_in::BuiltIn;
use crate::inject::{Refusal, Tracee, WaitOutcome, inject};
use crate::segment::{Segment, futex_wake_all};

/// What became of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// It is rewritten, or has the run time in it.
    Seen,
    /// Its accesses are not recorded: its path, and why if that is known.
    Unseen(String),
    /// It ended meanwhile: its number, and the status that `wait` gave.
    Ended(u32, i32),
}

/// Why a program is not recorded that may not have writable code.
const NOT_EXECUTABLE: &str = " (under PR_SET_MDWE, systemd's MemoryDenyWriteExecute)";
/// How often to look for the new program.
const PAUSE: Duration = Duration::from_micros(50);
/// How long to wait for a program before blocks are read again. Most need less than a millisecond.
const STAY: Duration = Duration::from_millis(20);

/// Follows processes through `exec`, one at a time. To be used by one thread only, because only the
/// thread that traces a process may control it.
#[derive(Default)]
pub struct Follower {
    current: Option<Following>,
    /// Threads whose `exec` failed and that are still traced: tracing ends when they stop or end.
    going: Vec<Following>,
}

/// A thread that is calling `exec`.
struct Following {
    pid: u32,
    thread: Tracee,
    /// Its process, whose id the thread has after `exec`.
    process: Tracee,
    since: Instant,
}

/// What became of a thread that called `exec`.
enum ExecOutcome {
    /// The new program is recorded.
    Seen,
    /// The new program is not recorded: its path, and why, if that is known.
    Unseen(String),
    /// The process has ended: the status of `wait`.
    Ended(i32),
    /// The call failed: the old program goes on.
    Failed,
    /// The thread has ended, and its process may go on.
    Lost,
}

/// The current state of a thread that is traced.
enum Look<'a> {
    /// It runs.
    Runs,
    /// It is stopped: which of the two was found, the signal, and the event of `ptrace`.
    Stopped(&'a Tracee, i32, i32),
    /// The process has ended: the status of `wait`.
    Ended(i32),
    /// The thread is gone, and its process is not, or its end is reported elsewhere.
    Lost,
}

impl Follower {
    /// Answers a process that asks before its `exec`, if there is one, and waits up to 20
    /// milliseconds for the new program; if it takes longer, later calls continue. Returns what
    /// became of a program, once that is known. Without `answers`, no further process is answered.
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
            let outcome = if dead {
                ExecOutcome::Lost
            } else {
                // It waits for the answer.
                unseen(exec.pid.load(Ordering::SeqCst), "")
            };
            return Some(over(exec.pid.load(Ordering::SeqCst), outcome, exec));
        }
        let following = self.current.take()?;
        let Some(outcome) = following.stay(exec, &segment.path()) else {
            self.current = Some(following);
            return None;
        };
        let pid = following.pid;
        match outcome {
            ExecOutcome::Failed => {
                let _ = following.thread.interrupt();
                self.going.push(following);
            }
            ExecOutcome::Lost => {}
            // Nothing is left of the old program.
            ExecOutcome::Seen | ExecOutcome::Unseen(_) | ExecOutcome::Ended(_) => {
                self.going.retain(|going| going.pid != pid);
            }
        }
        Some(over(pid, outcome, exec))
    }

    /// Answers the request of a process, if there is one, and begins to trace its thread. An error
    /// if that was not possible.
    fn begin(&mut self, exec: &Exec) -> Option<io::Result<()>> {
        if exec.state.load(Ordering::SeqCst) != ExecState::Asked as u32 {
            return None;
        }
        let pid = exec.pid.load(Ordering::SeqCst);
        let tid = exec.tid.load(Ordering::SeqCst);
        if !Path::new(&format!("/proc/{pid}/task/{tid}")).exists() {
            // The process that asked is dead, or a program has written over its request.
            return Some(Err(io::Error::from_raw_os_error(libc::ESRCH)));
        }
        let thread = Tracee::new(tid);
        // The thread may still be traced since an earlier `exec` of it failed.
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

    /// Stops tracing threads whose `exec` failed. Returns the end of a process, if one is found
    /// meanwhile.
    fn hear(&mut self) -> Option<Followed> {
        let mut ended = None;
        let turn = self.current.as_ref();
        // The next event of the process's id may be another thread's new program.
        let waits = |going: &Following| {
            going.is_first_thread() && turn.is_some_and(|turn| turn.pid == going.pid)
        };
        self.going.retain(|going| {
            if waits(going) {
                return true;
            }
            match going.look() {
                Look::Runs => return true,
                Look::Stopped(stopped, signal, event) => {
                    let _ = stopped.let_go(if event == 0 { signal } else { 0 });
                }
                Look::Ended(status) => ended = Some(Followed::Ended(going.pid, status)),
                Look::Lost => {}
            }
            false
        });
        ended
    }
}

impl Drop for Follower {
    /// Stops tracing all threads, so that none is left stopped.
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

/// Ends a process's turn, so that the next one can ask. Returns what became of it.
fn over(pid: u32, outcome: ExecOutcome, exec: &Exec) -> Followed {
    exec.state.store(ExecState::Idle as u32, Ordering::SeqCst);
    // Another process may have taken the turn of a dead one already.
    let order = Ordering::SeqCst;
    let _ = exec.pid.compare_exchange(pid, 0, order, order);
    match outcome {
        ExecOutcome::Unseen(path) => Followed::Unseen(path),
        ExecOutcome::Ended(status) => Followed::Ended(pid, status),
        ExecOutcome::Seen | ExecOutcome::Failed | ExecOutcome::Lost => Followed::Seen,
    }
}

/// The program that a process runs is not recorded, for this reason; one that was killed meanwhile
/// is lost. To be asked while the process is held: once it goes on, it may end before its path is
/// read.
fn unseen(pid: u32, why: &str) -> ExecOutcome {
    match std::fs::read_link(format!("/proc/{pid}/exe")) {
        Ok(path) => ExecOutcome::Unseen(format!("{}{why}", path.display())),
        Err(_) => ExecOutcome::Lost,
    }
}

/// Puts the rewriter into a program that is stopped in `exec`, before the kernel has written the
/// call's result into a register: lets the call finish first.
fn put_into(tracee: &Tracee, pid: u32, segment: &str, limits: Limits) -> ExecOutcome {
    let unseen = |why: &str| unseen(pid, why);
    let put = || match tracee.finish_call() {
        Ok(WaitOutcome::Signal(libc::SIGTRAP, _)) => match inject(tracee, segment, limits) {
            Ok(()) => ExecOutcome::Seen,
            Err(Refusal::NotExecutable) => unseen(NOT_EXECUTABLE),
            Err(Refusal::NoRoom) => unseen(" (a limit leaves no room)"),
            Err(_) => unseen(""),
        },
        Ok(WaitOutcome::Gone(status)) => ExecOutcome::Ended(status),
        _ => unseen(""),
    };
    tracee.hold_signals(put).unwrap_or_else(|_| unseen(""))
}

impl Following {
    /// The current state of the thread. Only events of the thread itself are taken: other threads
    /// of its process may be traced too, and theirs are left to them.
    fn look(&self) -> Look<'_> {
        match self.thread.wait(true) {
            Ok(WaitOutcome::Signal(signal, event)) => {
                return Look::Stopped(&self.thread, signal, event);
            }
            Ok(WaitOutcome::Not) => return Look::Runs,
            Ok(WaitOutcome::Gone(status)) if self.is_first_thread() => return Look::Ended(status),
            // A thread does not end by a successful `exec`: so the call failed, and the thread
            // ended by itself or with its process.
            Ok(WaitOutcome::Gone(_)) => return Look::Lost,
            Err(_) if self.is_first_thread() || !self.process.is_ours() => return Look::Lost,
            Err(_) => {}
        }
        // By `exec`, the thread has its process's id now.
        match self.process.wait(true) {
            Ok(WaitOutcome::Signal(signal, event)) => Look::Stopped(&self.process, signal, event),
            Ok(WaitOutcome::Gone(status)) => Look::Ended(status),
            Ok(WaitOutcome::Not) | Err(_) => Look::Runs,
        }
    }

    fn is_first_thread(&self) -> bool {
        self.thread == self.process
    }

    /// Waits up to 20 milliseconds for the new program; `None` if it takes longer.
    fn stay(&self, exec: &Exec, segment: &str) -> Option<ExecOutcome> {
        const EVENT_EXEC: i32 = libc::PTRACE_EVENT_EXEC;
        loop {
            match self.look() {
                Look::Stopped(_, libc::SIGTRAP, EVENT_EXEC) => {
                    return Some(self.arrived(exec, segment));
                }
                Look::Stopped(stopped, signal, 0) => drop(stopped.go(signal)),
                Look::Stopped(stopped, ..) => drop(stopped.go(0)),
                Look::Ended(status) => return Some(ExecOutcome::Ended(status)),
                Look::Lost => return Some(ExecOutcome::Lost),
                Look::Runs if exec.state.load(Ordering::SeqCst) == ExecState::Failed as u32 => {
                    return Some(ExecOutcome::Failed);
                }
                Look::Runs if self.since.elapsed() > STAY => return None,
                Look::Runs => std::thread::sleep(PAUSE),
            }
        }
    }

    /// The new program is loaded: puts the rewriter into it, unless it has the run time, and stops
    /// tracing.
    fn arrived(&self, exec: &Exec, segment: &str) -> ExecOutcome {
        let outcome = if BuiltIn::at(Path::new(&self.process.executable())).run_time {
            ExecOutcome::Seen
        } else {
            let limits = exec.limits.each_ref();
            let limits = limits.map(|limit| limit.load(Ordering::SeqCst));
            put_into(&self.process, self.pid, segment, limits)
        };
        // It may have been killed meanwhile.
        let _ = self.process.let_go(0);
        outcome
    }
}
