//! `reuselens gpu report`: what the kernels of a stream do with memory, as `profile` shows it of a
//! CUDA program.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reuselens::trace::TraceError;
use reuselens::units::shown;
use reuselens_gpu_advisor::{Advisor, AdvisorOptions, Ledger};
use reuselens_report::{GpuRun, RunOrigin};
use reuselens_warp::{WarpBatch, WarpSink, WarpSource, WarpStep};

use super::input::open;
use crate::cuda::{CacheModel, GpuResults, named};
use crate::exit::Outcome;
use crate::output::{Show, stem};

/// Analyse what the kernels of a stream do with memory: the summary, page and file of a run that
/// `profile` makes of a CUDA program
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A stream of warp instructions (`record` and `gpu run` write one), or an Accel-Sim trace
    stream: PathBuf,

    /// Name of the file of the run, NAME.rlgpu; the page is NAME.html
    #[arg(short, long, value_name = "NAME")]
    output: Option<PathBuf>,

    #[command(flatten)]
    model: CacheModel,

    #[command(flatten)]
    show: Show,
}

impl Args {
    /// Analyses all launches of the stream. Of a damaged stream what came before the damage is
    /// shown, and then the error.
    pub fn run(self) -> Outcome {
        let mut source = open(&self.stream)?;
        let name = stem(&self.stream);
        let mut results = GpuResults::begin(self.output.as_deref(), &name, &self.show)?;
        results.again = "record and gpu report";
        let (run, read) = stream_run(&self.stream, &mut *source, self.model.advisor());
        results.finish(run, &self.show)?;
        read?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What the kernels of a stream do, as far as it can be read, and why no further.
pub fn stream_run(
    path: &Path,
    source: &mut dyn WarpSource,
    options: AdvisorOptions,
) -> (GpuRun, Result<(), TraceError>) {
    let mut advisor = Advisor::new(options);
    let read = read(source, &mut advisor);
    let called = shown(&path.display().to_string()).into_owned();
    let run = GpuRun {
        origin: RunOrigin::Stream,
        ..named(called, advisor.finish(), Ledger::default())
    };
    (run, read)
}

/// Takes all that a source has.
fn read(source: &mut dyn WarpSource, advisor: &mut Advisor) -> Result<(), TraceError> {
    let mut batch = WarpBatch::new();
    loop {
        match source.next(&mut batch)? {
            WarpStep::Launch(launch) => advisor.launch(&launch)?,
            WarpStep::Batch => advisor.batch(&batch)?,
            WarpStep::End => return Ok(()),
        }
    }
}
