//! The command line as clap reads it ([`Cli`], [`Verb`]). Each command is in the file of its name.

mod compare;
mod export;
mod generate;
mod run;
mod serve;
mod shared;
mod speculate;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::Outcome;

/// Keep exact answers about a graph while its edges come and go
#[derive(Debug, Parser)]
#[command(name = "presponse", version, about, long_about = LONG, max_term_width = 100)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Verb,
}

impl Cli {
    /// The arguments of this process.
    ///
    /// # Errors
    /// Wrong ones, and requests for help.
    pub fn read() -> Result<Self, clap::Error> {
        let command = with_negative_numbers(Self::command());
        Self::from_arg_matches(&command.try_get_matches()?)
    }
}

/// The same command, whose options take `-5` as a value and report what they take instead. As an
/// unknown option it would get a tip that does not help.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        if arg.get_action().takes_values() {
            arg.allow_negative_numbers(true)
        } else {
            arg
        }
    });
    command.mut_subcommands(with_negative_numbers)
}

const LONG: &str = "Keep exact answers about a graph while its edges come and go: depths of a \
breadth-first search, connected components, triangles per vertex.\n\nStart with a graph and a \
stream of changes made up:\n\n  presponse generate delaunay --vertices 32768 -o mesh.txt\n  \
presponse generate changes mesh.txt --count 100000 -o mesh.stream\n  \
presponse run mesh.txt --stream mesh.stream --batch 100";

/// All commands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    Run(run::Args),
    Compare(compare::Args),
    Speculate(speculate::Args),
    Serve(serve::Args),
    Generate(generate::Args),
    Export(export::Args),
}

impl Verb {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        match self {
            Self::Run(args) => args.run(),
            Self::Compare(args) => args.run(),
            Self::Speculate(args) => args.run(),
            Self::Serve(args) => args.run(),
            Self::Generate(args) => args.run(),
            Self::Export(args) => args.run(),
        }
    }
}
