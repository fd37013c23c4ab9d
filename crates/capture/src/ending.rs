//! Ends a program when its recording has stopped, if that was asked for.

use std::time::{Duration, Instant};

/// How long a program may take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(2);

/// A program that is being ended.
#[derive(Default)]
pub struct Ending {
    pids: Vec<u32>,
    asked: Option<Instant>,
}

impl Ending {
    /// Asks these processes to end (`SIGTERM`).
    pub fn begin(&mut self, pids: &[u32]) {
        self.pids = pids.to_vec();
        self.asked = Some(Instant::now());
        self.send(libc::SIGTERM);
    }

    /// Ends those that have not (`SIGKILL`), once they have had their time.
    pub fn look(&mut self) {
        if self.asked.is_some_and(|at| at.elapsed() > PATIENCE) {
            self.asked = None;
            self.send(libc::SIGKILL);
        }
    }

    fn send(&self, signal: i32) {
        for pid in &self.pids {
            if let Ok(pid) = libc::pid_t::try_from(*pid)
                && pid > 0
            {
                // SAFETY: no pointers; the processes are the measured program's.
                unsafe { libc::kill(pid, signal) };
            }
        }
    }
}
