//! `reuselens profile`: run a program, analyse while it runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reuselens::capture::{Launch, Running};
use reuselens::locality::Outcome as Ended;

use crate::control::Control;
use crate::exit::Outcome;
use crate::options::{Analysis, CaptureWay};
use crate::output::{Results, Show};
use crate::progress::Meter;

/// Run a program and analyse while it runs: summary, NAME.rlprof, NAME.html
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The program and its arguments, after `--`
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,

    /// Call the outputs FILE.rlprof and FILE.html
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// End with the program's exit status
    #[arg(long)]
    pass_status: bool,

    /// Leave the randomisation of addresses on (runs then differ a little)
    #[arg(long)]
    randomise: bool,

    /// How the program's accesses are seen
    #[arg(long, value_enum, default_value = "auto", value_name = "WAY")]
    capture: CaptureWay,

    #[command(flatten)]
    control: Control,
    #[command(flatten)]
    analysis: Analysis,
    #[command(flatten)]
    show: Show,
}

impl Args {
    /// Runs and analyses.
    pub fn run(self) -> Outcome {
        let options = self.analysis.options(&self.show.by)?;
        let control = self.control.options(false)?;
        self.show.check()?;
        self.show.check_cache(true, &options)?;
        let name = program_name(&self.command);
        let results = Results::begin(self.output.as_deref(), &name, self.show.force)?;
        let launch = Launch {
            command: self.command.clone(),
            randomise: self.randomise,
            output_to_error: self.show.standard_output_is_taken(),
            capture: self.capture.into(),
            control,
        };
        let mut running = Running::start(&launch)?;
        let mut meter = Meter::new("analysing", self.show.quiet);
        let words = self
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let profile = reuselens::analyze(&mut running, words, &options, &mut |progress| {
            meter.tick(progress)
        })?;
        meter.finish();
        running.check_seen()?;
        if !running.saw_run_time() {
            anyhow::bail!(not_instrumented(&self.command));
        }
        results.finish(&profile, &self.show.page(&profile, &name)?, &self.show)?;
        Ok(status(&profile.outcome, self.pass_status))
    }
}

/// What to say about a program without our run time in it.
pub fn not_instrumented(command: &[OsString]) -> String {
    let program = command
        .first()
        .map(|word| word.to_string_lossy().into_owned())
        .unwrap_or_default();
    format!(
        "{program} was not built with reuselens, so none of its accesses were seen; build it with \
         `reuselens cc` (or c++, fortran) in place of the compiler, for instance: \
         make clean && make CC=\"reuselens cc\""
    )
}

/// The file name of the program, to call its outputs by.
pub fn program_name(command: &[OsString]) -> String {
    let name = command.first().and_then(|word| Path::new(word).file_name());
    name.map_or_else(
        || "program".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// The program's own exit status, if that is wanted.
pub fn status(ended: &Ended, pass: bool) -> ExitCode {
    match ended {
        Ended::Exit(status) if pass => ExitCode::from((*status & 0xff) as u8),
        Ended::Signal(signal) if pass => ExitCode::from((128 + (*signal & 0x7f)) as u8),
        _ => ExitCode::SUCCESS,
    }
}
