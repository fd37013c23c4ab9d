//! A program that runs by a placement file.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reuselens_placement::PlacementFile;
use tempfile::TempDir;
use thiserror::Error;

use crate::layout::head;
use crate::program::{self, ProgramError};
use crate::segment::{ModuleSeen, ObjectOutcome, PlanWords, TierOutcome};
use crate::ways::{System, Way, WayError, Ways, resolve};

/// The preloaded library; empty on other processors than x86-64.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"));
/// The variable that names the plan.
const VARIABLE: &str = "REUSELENS_PLACEMENT";
/// Tiers of a plan, at most.
const MAX_TIERS: usize = 15;
/// How often somebody who asks for an end is heard.
const PAUSE: Duration = Duration::from_millis(50);

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
    /// Whether pages were found elsewhere than planned, in tiers that the system did not forbid.
    pub fn is_misplaced(&self) -> bool {
        let is_forbidden = self.tiers.iter().any(TierOutcome::is_forbidden);
        !is_forbidden && self.objects.iter().any(|object| object.elsewhere > 0)
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
        program::check(&path, file, is_loose)?;
        let ways = resolve(file, ways, &System::now())?;
        Ok(PlacedProgram {
            command: command.to_vec(),
            path,
            segment: PlanWords::new(file, &ways, verifies, is_loose),
            ways,
        })
    }

    /// How each tier is made, as in the placement file.
    pub fn ways(&self) -> &[Way] {
        &self.ways
    }

    /// Runs the program to its end. `asked` is the signal of somebody who asks for an end, if
    /// anybody does: the program gets it.
    ///
    /// # Errors
    /// If the program does not start.
    pub fn run(
        mut self,
        asked: impl Fn() -> Option<i32> + Send + 'static,
    ) -> Result<PlacedRun, RunError> {
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
        let start = |source| RunError::Start {
            program: self.command[0].clone(),
            source,
        };
        let mut child = Command::new(&self.path)
            .args(&self.command[1..])
            .env("LD_PRELOAD", preload)
            .env(VARIABLE, &plan)
            .arg0(&self.command[0])
            .spawn()
            .map_err(start)?;
        let ended = std::sync::Arc::new(AtomicBool::new(false));
        let (pid, watched) = (child.id() as i32, ended.clone());
        let watcher = std::thread::Builder::new().spawn(move || {
            while !watched.load(Ordering::Acquire) {
                if let Some(signal) = asked() {
                    // SAFETY: the child is not waited for before `ended`, so the number is its.
                    unsafe { libc::kill(pid, signal) };
                    return;
                }
                std::thread::sleep(PAUSE);
            }
        });
        let status = child.wait();
        ended.store(true, Ordering::Release);
        drop(watcher);
        let status = status.unwrap_or_else(|_| ExitStatus::from_raw(0));
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
