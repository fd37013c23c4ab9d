//! `reuselens gpu report`: what the kernels of a stream do with memory, as `profile` shows it of a
//! CUDA program.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reuselens::trace::TraceError;
use reuselens::units::shown;
use reuselens_gpu_advisor::{Advisor, AdvisorOptions, Ledger};
use reuselens_ptx::LaunchSelection;
use reuselens_report::{GpuRun, RunOrigin};
use reuselens_warp::{WarpBatch, WarpSink, WarpSource, WarpStep};

use super::input::open;
use crate::cuda::{CacheModel, GpuResults, SelectedLaunches, named, warn_of_selection};
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
    selected: SelectedLaunches,

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
        let mut selection = self.selected.selection();
        let options = self.model.advisor();
        let (run, read) = stream_run(&self.stream, &mut *source, options, &mut selection);
        if read.is_ok() {
            // A stream has no accesses that were left out.
            warn_of_selection(&selection, 0);
        }
        results.finish(run, &self.show)?;
        read?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What the chosen launches of a stream do, as far as it can be read, and why no further.
pub fn stream_run(
    path: &Path,
    source: &mut dyn WarpSource,
    options: AdvisorOptions,
    selection: &mut LaunchSelection,
) -> (GpuRun, Result<(), TraceError>) {
    let mut advisor = Advisor::new(options);
    let read = read(source, &mut advisor, selection);
    let called = shown(&path.display().to_string()).into_owned();
    let run = GpuRun {
        origin: RunOrigin::Stream,
        unanalysed_launches: selection.left_out(),
        ..named(called, advisor.finish(), Ledger::default())
    };
    (run, read)
}

/// Takes the chosen launches of a source.
fn read(
    source: &mut dyn WarpSource,
    advisor: &mut Advisor,
    selection: &mut LaunchSelection,
) -> Result<(), TraceError> {
    let mut batch = WarpBatch::new();
    let mut is_taken = false;
    loop {
        match source.next(&mut batch)? {
            WarpStep::Launch(launch) => {
                is_taken = selection.takes(&launch.kernel);
                if is_taken {
                    advisor.launch(&launch)?;
                }
            }
            WarpStep::Batch if is_taken => advisor.batch(&batch)?,
            WarpStep::Batch => {}
            WarpStep::End => return Ok(()),
        }
    }
}
