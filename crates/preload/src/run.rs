//! A program that runs by a placement file.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

use reuselens_io::{retry_interrupted, why_not_run};
use reuselens_placement::PlacementFile;
use tempfile::TempDir;
use thiserror::Error;

use crate::layout::{MAX_TIERS, PLAN_VARIABLE, head};
use crate::program::{self, ProgramError};
use crate::segment::{ModuleSeen, ObjectOutcome, PlanWords, TierOutcome};
use crate::ways::{System, Way, WayError, Ways, resolve};

/// The preloaded library; empty on other processors than x86-64.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"));

/// Why a program did not run by a placement file.
#[derive(Debug, Error)]
pub enum RunError {
    /// The program does not allow it.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A tier cannot be made.
    #[error(transparent)]
    Way(#[from] WayError),
    /// The file has nothing, or too much.
    #[error("the placement file has {0}")]
    File(&'static str),
    /// The processor is another one.
    #[error("reuselens run is for Linux on x86-64")]
    Processor,
    /// The plan or the library could not be written.
    #[error("cannot write the plan for the program to {}: {source}", .folder.display())]
    Write {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The program started, and the system does not say how it ended.
    #[error("cannot wait for {}: {source}", .program.to_string_lossy())]
    Wait {
        /// The program.
        program: OsString,
        /// The system's error.
        source: io::Error,
    },
    /// The program is a script that does not say by what.
    #[error(
        "{program} is no program, nor a script whose first line names what runs it (#!/bin/sh); a shell would run it as one of its own: write sh {program} after the --"
    )]
    Script {
        /// The script.
        program: String,
    },
    /// The program did not start.
    #[error("cannot start {}: {source}", .program.to_string_lossy())]
    Start {
        /// The program.
        program: OsString,
        /// The system's error.
        source: io::Error,
    },
}

/// A program that is ready to run by a placement file.
#[derive(Debug)]
pub struct PlacedProgram {
    command: Vec<OsString>,
    path: PathBuf,
    ways: Vec<Way>,
    segment: PlanWords,
}

/// What became of a run.
#[derive(Clone, Debug)]
pub struct PlacedRun {
    /// How the program ended.
    pub status: ExitStatus,
    /// Processes that the preloaded library started in; 0 if it was not loaded at all.
    pub processes: u64,
    /// Of those, the ones whose `malloc` is their own.
    pub own_allocators: u64,
    /// Blocks for which no addresses could be reserved.
    pub no_range: u64,
    /// Objects, as in the placement file.
    pub objects: Vec<ObjectOutcome>,
    /// Tiers, as in the placement file.
    pub tiers: Vec<TierOutcome>,
    /// The modules that the file names, by name.
    pub modules: Vec<ModuleSeen>,
}

impl PlacedRun {
    /// Whether pages of any object [are misplaced](Self::has_misplaced).
    pub fn is_misplaced(&self) -> bool {
        self.objects.iter().any(|object| self.has_misplaced(object))
    }

    /// The planned bytes that were left to the ordinary allocator, though the system does not
    /// forbid their tiers.
    pub fn left_out(&self) -> u64 {
        let allowed = self.objects.iter().filter(|object| {
            let tier = self.tiers.get(object.tier);
            !tier.is_some_and(TierOutcome::is_forbidden)
        });
        let bytes = allowed.map(|object| object.no_room_bytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// Whether pages of an object were found elsewhere than planned, though the system does not
    /// forbid its tier.
    pub fn has_misplaced(&self, object: &ObjectOutcome) -> bool {
        let tier = self.tiers.get(object.tier);
        object.elsewhere > 0 && !tier.is_some_and(TierOutcome::is_forbidden)
    }
}

impl std::fmt::Debug for PlanWords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlanWords").finish_non_exhaustive()
    }
}

impl PlacedProgram {
    /// Checks that `command` (program and arguments; the program is looked up as a shell does) can
    /// run by `file`. With `verifies` the kernel is asked where pages are; with `is_loose` modules
    /// are found by name, whatever their build.
    ///
    /// # Errors
    /// If the program, or this machine, does not allow it.
    pub fn new(
        file: &PlacementFile,
        command: &[OsString],
        ways: &Ways,
        verifies: bool,
        is_loose: bool,
    ) -> Result<PlacedProgram, RunError> {
        if LIBRARY.is_empty() {
            return Err(RunError::Processor);
        }
        if file.objects.is_empty() {
            return Err(RunError::File("no objects, so there is nothing to place"));
        }
        if file.tiers.len() > MAX_TIERS {
            return Err(RunError::File("more than 15 tiers"));
        }
        let program = command.first().map_or(OsStr::new(""), OsString::as_os_str);
        let path = program::find(program)?;
        let wrappers = program::check(&path, file, is_loose)?;
        let ways = resolve(file, ways, &System::now())?;
        Ok(PlacedProgram {
            command: command.to_vec(),
            path,
            segment: PlanWords::new(file, &ways, &wrappers, verifies, is_loose),
            ways,
        })
    }

    /// How each tier is made, as in the placement file.
    pub fn ways(&self) -> &[Way] {
        &self.ways
    }

    /// Runs the program to its end, and passes the signals of `signals` on to it. The effect of
    /// `SIGCHLD` is set to the default.
    ///
    /// # Errors
    /// If the program does not start, or cannot be waited for.
    pub fn run(mut self, signals: &SignalForwarder) -> Result<PlacedRun, RunError> {
        let folder = std::env::temp_dir();
        let write = |source| RunError::Write {
            folder: folder.clone(),
            source,
        };
        let place = TempDir::with_prefix("reuselens-").map_err(write)?;
        let (library, plan) = (place.path().join("preload.so"), place.path().join("plan"));
        std::fs::write(&library, LIBRARY).map_err(write)?;
        std::fs::write(&plan, self.segment.to_bytes()).map_err(write)?;
        let mut preload = library.into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        let start = |source| not_started(&self.path, &self.command[0], source);
        // Where SIGCHLD is ignored, the system forgets how a child ended.
        // SAFETY: no handler of anybody is replaced by a wrong one: the default is always sound.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        let mut child = Command::new(&self.path)
            .args(&self.command[1..])
            .env("LD_PRELOAD", preload)
            .env(PLAN_VARIABLE, &plan)
            .arg0(&self.command[0])
            .spawn()
            .map_err(start)?;
        let pid = child.id() as libc::pid_t;
        signals.begin(pid);
        let ended = wait_for_end(pid);
        signals.end();
        let status = ended.and_then(|()| child.wait());
        let status = status.map_err(|source| RunError::Wait {
            program: self.command[0].clone(),
            source,
        })?;
        let counted = std::fs::read(&plan).map_err(write)?;
        self.segment.update(&counted);
        Ok(PlacedRun {
            status,
            processes: self.segment.head(head::STARTED),
            own_allocators: self.segment.head(head::OWN_ALLOCATOR),
            no_range: self.segment.head(head::NO_RANGE),
            objects: self.segment.objects(),
            tiers: self.segment.tiers(&self.ways),
            modules: self.segment.modules(),
        })
    }
}

/// Why a program did not start: what its file is, where the system does not execute it.
fn not_started(path: &Path, program: &OsStr, source: io::Error) -> RunError {
    let is_refused = source.raw_os_error() == Some(libc::ENOEXEC);
    let program = program.to_owned();
    match why_not_run(path).filter(|_| is_refused) {
        Some(why) => RunError::Start {
            program,
            source: io::Error::new(io::ErrorKind::InvalidData, why),
        },
        None if is_refused => RunError::Script {
            program: program.to_string_lossy().into_owned(),
        },
        None => RunError::Start { program, source },
    }
}

/// Waits until a child has ended, and leaves it to be waited for: its number stays its own.
fn wait_for_end(pid: libc::pid_t) -> io::Result<()> {
    let options = libc::WEXITED | libc::WNOWAIT;
    retry_interrupted(|| {
        // SAFETY: all bytes of the structure may be 0.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: the system writes into the structure.
        match unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, options) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    })
}

/// Where signals for the program go, whatever thread they come in.
#[derive(Debug, Default)]
pub struct SignalForwarder(Mutex<Forwarding>);

#[derive(Debug)]
enum Forwarding {
    /// The program has not started: signals are kept for it.
    Kept(Vec<i32>),
    /// The program runs. Signals are sent under the lock, so the number is its.
    To(libc::pid_t),
    /// The program has ended.
    Ended,
}

impl Default for Forwarding {
    fn default() -> Self {
        Forwarding::Kept(Vec::new())
    }
}

impl SignalForwarder {
    /// Passes a signal on; false if the program has ended. A `SIGINT` that the terminal sends to
    /// the program too is not passed on.
    pub fn forward(&self, signal: i32) -> bool {
        match &mut *self.lock() {
            Forwarding::Kept(signals) => signals.push(signal),
            Forwarding::To(pid) => send(*pid, signal),
            Forwarding::Ended => return false,
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Forwarding> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program has started.
    fn begin(&self, pid: libc::pid_t) {
        let mut forwarding = self.lock();
        if let Forwarding::Kept(signals) = &*forwarding {
            signals.iter().for_each(|signal| send(pid, *signal));
        }
        *forwarding = Forwarding::To(pid);
    }

    /// The program has ended, and its number may be that of another process from here on.
    fn end(&self) {
        *self.lock() = Forwarding::Ended;
    }
}

/// Sends a signal to the program, unless the terminal sends it to both.
fn send(pid: libc::pid_t, signal: i32) {
    // SAFETY: no pointers. The child is waited for only after `SignalForwarder::end`, so the number
    // is its.
    unsafe {
        // It fails where the standard input is not the terminal that controls this process.
        let is_in_front = libc::tcgetpgrp(0) == libc::getpgrp();
        if signal != libc::SIGINT || !is_in_front {
            libc::kill(pid, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn every_signal_reaches_the_program() {
        let script = "trap 'n=$((n+1)); [ $n = 2 ] && exit 5' TERM; echo; \
            while :; do sleep 0.02; done";
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdout(std::process::Stdio::piped());
        let signals = SignalForwarder::default();
        let mut child = command.spawn().unwrap();
        let mut ready = [0];
        let out = child.stdout.as_mut().unwrap();
        std::io::Read::read_exact(out, &mut ready).unwrap();
        let pid = child.id() as libc::pid_t;
        // One before the program is known, and one after.
        assert!(signals.forward(libc::SIGTERM));
        signals.begin(pid);
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(signals.forward(libc::SIGTERM));
        wait_for_end(pid).unwrap();
        signals.end();
        assert!(!signals.forward(libc::SIGTERM));
        assert_eq!(child.wait().unwrap().code(), Some(5));
        assert!(wait_for_end(pid).is_err());
    }

    #[test]
    fn forbidden_tier_hides_no_misplaced_pages_of_another() {
        let tier = |error| TierOutcome {
            way: Way::Node(0),
            peak: 0,
            refused: u64::from(error != 0),
            error,
        };
        let object = |tier| ObjectOutcome {
            tier,
            elsewhere: 1,
            ..ObjectOutcome::default()
        };
        let mut run = PlacedRun {
            status: ExitStatus::from_raw(0),
            processes: 1,
            own_allocators: 0,
            no_range: 0,
            objects: vec![object(0)],
            tiers: vec![tier(libc::EPERM), tier(0)],
            modules: Vec::new(),
        };
        assert!(!run.is_misplaced());
        run.objects.push(object(1));
        assert!(run.is_misplaced());
    }

    #[test]
    fn ended_child_is_left_to_be_waited_for() {
        let mut child = Command::new("sh")
            .args(["-c", "kill -9 $$"])
            .spawn()
            .unwrap();
        wait_for_end(child.id() as libc::pid_t).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }
}
