//! `reuselens simt`: the commands about GPU kernels.

pub mod analyze;
pub mod diff;
pub mod input;
pub mod map;
pub mod pictures;
pub mod run;
mod typed;
mod watch;

use crate::exit::Outcome;

/// See how the threads of a GPU kernel share data, and what another mapping of threads would gain
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: SimtCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SimtCommand {
    Run(run::Args),
    Analyze(analyze::Args),
    Diff(diff::Args),
    Map(map::Args),
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        match self.command {
            SimtCommand::Run(args) => args.run(),
            SimtCommand::Analyze(args) => args.run(),
            SimtCommand::Diff(args) => args.run(),
            SimtCommand::Map(args) => args.run(),
        }
    }
}
