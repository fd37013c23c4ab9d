//! `reuselens run`: run a program with its data where a placement file says.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;

use reuselens_placement::{MAX_FILE_BYTES, PlacementFile};
use reuselens_preload::{PlacedProgram, PlacedRun, RunError, SignalForwarder, WayError, Ways};
use reuselens_report::{placed_run_text, placed_run_warnings};

use crate::exit::{LIMIT_BROKEN, Outcome, Usage};
use crate::files::{is_profile, read_text, unreadable};
use crate::interrupt;
use crate::output::{color, terminal_width, top};
use crate::say::tell;

/// Run a program as it is, with its data where a placement file says
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens run --placement FILE [OPTIONS] -- PROGRAM [ARGS]")]
pub struct Args {
    /// The placement file, from `reuselens place PROFILE -o FILE`
    #[arg(long, value_name = "FILE")]
    placement: PathBuf,

    /// How tiers are made: `huge`, `madvise`, `hugetlb` or `node:N`, for all tiers or for one of
    /// them (TIER=WAY) [default: what the file says, else huge pages for tiers of DRAM]
    #[arg(long, value_name = "WAY")]
    r#as: Vec<String>,

    /// Ask the kernel where the pages of each object are; print a table, and exit with 3 if some
    /// are not as planned, or if a tier had no room for planned bytes
    #[arg(long)]
    verify: bool,

    /// Rows of the table: the N largest objects [default: those of at least 1 % of the bytes]
    #[arg(long, value_name = "N", value_parser = top, requires = "verify")]
    top: Option<usize>,

    /// Accept another build of the program or of a library: find allocations at the same offsets
    /// in files of the same names
    #[arg(long)]
    loosely: bool,

    /// Print no warnings, and no table
    #[arg(short, long)]
    quiet: bool,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

impl Args {
    /// Runs it.
    pub fn run(self) -> Outcome {
        let file = read_placement(&self.placement)?;
        let ways = Ways::parse(&self.r#as).map_err(|error| Usage(format!("--as: {error}")))?;
        let placed = PlacedProgram::new(&file, &self.command, &ways, self.verify, self.loosely)
            .map_err(|error| match error {
                RunError::Way(WayError::InFile { .. }) => {
                    anyhow::anyhow!("{}: {error}", self.placement.display())
                }
                error => error.into(),
            })?;
        let signals = Arc::new(SignalForwarder::default());
        let forwarder = Arc::clone(&signals);
        interrupt::forward_by(move |signal| forwarder.forward(signal));
        let run = placed.run(&signals)?;
        if !self.quiet {
            for warning in placed_run_warnings(&file, &run) {
                tell!("reuselens: warning: {warning}");
            }
            if self.verify {
                let text = placed_run_text(&file, &run, self.top, terminal_width(), color());
                tell!("{}", text.trim_end());
            }
        }
        Ok(code(&run, self.verify))
    }
}

/// The exit code: the program's, unless pages are not as planned, or planned bytes were left out.
fn code(run: &PlacedRun, verifies: bool) -> ExitCode {
    if verifies && (run.is_misplaced() || run.left_out() > 0) {
        ExitCode::from(LIMIT_BROKEN)
    } else {
        passed_on(run.status)
    }
}

/// A program's exit status; 128 and the number of the signal that ended it, as in shells.
fn passed_on(status: ExitStatus) -> ExitCode {
    let signal = status.signal().map(|signal| 128 + signal);
    ExitCode::from((signal.or(status.code()).unwrap_or(1) & 0xff) as u8)
}

fn read_placement(path: &Path) -> anyhow::Result<PlacementFile> {
    if is_profile(path) {
        anyhow::bail!(
            "{0} is a profile and no placement file; make one of it with `reuselens place {0} --fast SIZE -o NAME.rlplace`",
            path.display()
        );
    }
    let text = read_text(path, MAX_FILE_BYTES).map_err(|error| {
        let next = "`reuselens place PROFILE --fast SIZE -o NAME.rlplace` writes such a file";
        unreadable(path, &error, next)
    })?;
    let file = PlacementFile::from_toml(&text);
    file.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))
}
