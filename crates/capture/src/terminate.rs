//! [`Termination`]: ends the measured processes when the recording has stopped, if that is wanted:
//! asks them by `SIGTERM`, and kills those that have not ended two seconds later.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long a program may take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(2);

/// The processes that are being terminated; none by default.
#[derive(Default)]
pub struct Termination {
    processes: Vec<Process>,
    asked: Option<Instant>,
}

impl Termination {
    /// Asks these processes to end (`SIGTERM`).
    pub fn begin(&mut self, pids: &[u32]) {
        self.processes = pids.iter().filter_map(|pid| Process::find(*pid)).collect();
        self.asked = Some(Instant::now());
        self.send(libc::SIGTERM);
    }

    /// Kills those that have not ended in time (`SIGKILL`).
    pub fn look(&mut self) {
        if self.asked.is_some_and(|at| at.elapsed() > PATIENCE) {
            self.asked = None;
            self.send(libc::SIGKILL);
            self.processes.clear();
        }
    }

    fn send(&self, signal: i32) {
        self.processes.iter().for_each(|found| found.send(signal));
    }
}

/// A process to send signals to.
enum Process {
    /// By a descriptor, which does not refer to another process that gets the same number later.
    Held(OwnedFd),
    /// By its number, on kernels without such descriptors (before Linux 5.3).
    Number(libc::pid_t),
}

impl Process {
    /// The process with this number; `None` if there is none.
    fn find(pid: u32) -> Option<Process> {
        let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0)?;
        // SAFETY: no pointers; the descriptor is ours from here on.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        match i32::try_from(fd) {
            // SAFETY: it was opened just now.
            Ok(fd) if fd >= 0 => Some(Process::Held(unsafe { OwnedFd::from_raw_fd(fd) })),
            _ => {
                let gone = std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH);
                (!gone).then_some(Process::Number(pid))
            }
        }
    }

    fn send(&self, signal: i32) {
        // SAFETY: no pointers but one that is null; the processes are the measured program's.
        unsafe {
            match self {
                Process::Held(fd) => {
                    let nothing = std::ptr::null::<libc::siginfo_t>();
                    let fd = fd.as_raw_fd();
                    libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, nothing, 0);
                }
                Process::Number(pid) => {
                    libc::kill(*pid, signal);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn asked_process_ends_and_missing_ones_are_skipped() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let mut termination = Termination::default();
        termination.begin(&[child.id(), 0, u32::MAX]);
        assert_eq!(termination.processes.len(), 1);
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
        assert!(Process::find(child.id()).is_none());
        // The descriptor still refers to the process that has ended: no other one is killed.
        termination.send(libc::SIGKILL);
    }
}
