//! `reuselens gpu`: the commands about GPU kernels.

pub mod analyze;
pub mod bypass;
mod bypassed_run;
pub mod diff;
mod diff_runs;
pub mod input;
pub mod instrument;
pub mod map;
mod passes;
pub mod pictures;
pub mod report;
pub mod run;
mod typed;

use crate::exit::Outcome;

/// See how the threads of a GPU kernel share data, and what another mapping of threads would gain
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: GpuCommand,
}

#[derive(Debug, clap::Subcommand)]
enum GpuCommand {
    Run(run::Args),
    Analyze(analyze::Args),
    Instrument(instrument::Args),
    Bypass(bypass::Args),
    Diff(diff::Args),
    Map(map::Args),
    Report(report::Args),
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        match self.command {
            GpuCommand::Run(args) => args.run(),
            GpuCommand::Analyze(args) => args.run(),
            GpuCommand::Instrument(args) => args.run(),
            GpuCommand::Bypass(args) => args.run(),
            GpuCommand::Diff(args) => args.run(),
            GpuCommand::Map(args) => args.run(),
            GpuCommand::Report(args) => args.run(),
        }
    }
}
