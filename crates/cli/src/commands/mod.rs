//! The command line as clap reads it ([`Cli`], [`Command`]). Each command is in the file of its
//! name.

pub mod advise;
pub mod analyze;
pub mod cc;
pub mod check;
pub mod completions;
pub mod convert;
pub mod demo;
pub mod diff;
pub mod engines;
pub mod explain;
pub mod formats;
pub mod gpu;
pub mod info;
pub mod man;
pub mod merge;
pub mod nvcc;
pub mod place;
pub mod predict;
pub mod profile;
pub mod record;
pub mod reorder;
pub mod report;
pub mod run;
pub mod shard;

use clap::{Parser, Subcommand};

use crate::exit::Outcome;

/// See how far apart a program reuses its data
#[derive(Debug, Parser)]
#[command(name = "reuselens", version, about, long_about = LONG, max_term_width = 100)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

const LONG: &str = "See how far apart a program reuses its data, why it misses in its caches, and which \
lines, functions and arrays it is.\n\nStart with a program as it is, or with `reuselens demo`:\n\n  \
reuselens profile -- gzip -k README.md\n\nor with your own, compiled for it:\n\n  \
make CC=\"reuselens cc\"\n  reuselens profile -- ./program";

/// All commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Profile(Box<profile::Args>),
    Record(record::Args),
    Analyze(analyze::Args),
    Shard(shard::Args),
    Merge(merge::Args),
    Report(report::Args),
    Diff(diff::Args),
    Check(check::Args),
    Advise(advise::Args),
    Explain(explain::Args),
    Place(place::Args),
    Run(run::Args),
    Predict(predict::Args),
    Reorder(reorder::Args),
    #[command(visible_alias = "simt")]
    Gpu(gpu::Args),
    Demo(demo::Args),
    #[command(name = "cc")]
    Cc(cc::Args),
    #[command(name = "c++")]
    Cxx(cc::Args),
    Fortran(cc::Args),
    Nvcc(nvcc::Args),
    Info(info::Args),
    Convert(convert::Args),
    Formats(formats::Args),
    Engines(engines::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        match self {
            Command::Profile(args) => args.run(),
            Command::Record(args) => args.run(),
            Command::Analyze(args) => args.run(),
            Command::Shard(args) => args.run(),
            Command::Merge(args) => args.run(),
            Command::Report(args) => args.run(),
            Command::Diff(args) => args.run(),
            Command::Check(args) => args.run(),
            Command::Advise(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Place(args) => args.run(),
            Command::Run(args) => args.run(),
            Command::Predict(args) => args.run(),
            Command::Reorder(args) => args.run(),
            Command::Gpu(args) => args.run(),
            Command::Demo(args) => args.run(),
            Command::Cc(args) => args.run(cc::Language::C),
            Command::Cxx(args) => args.run(cc::Language::Cxx),
            Command::Fortran(args) => args.run(cc::Language::Fortran),
            Command::Nvcc(args) => args.run(),
            Command::Info(args) => args.run(),
            Command::Convert(args) => args.run(),
            Command::Formats(args) => args.run(),
            Command::Engines(args) => args.run(),
            Command::Completions(args) => args.run(),
            Command::Man(args) => args.run(),
        }
    }

    /// What helps where the system refuses this command memory, beside allowing more.
    pub fn advice(&self) -> &'static str {
        match self {
            Command::Profile(_) | Command::Analyze(_) | Command::Demo(_) => {
                "or keep below it with --memory-limit 64M, or take a larger --granularity"
            }
            Command::Shard(_) => {
                "or cut the trace into more pieces: reuselens shard I/N TRACE with a larger N"
            }
            Command::Merge(_) => {
                "or merge neighbours two at a time: reuselens merge PART PART -o BOTH.rlpart"
            }
            Command::Record(_) => {
                "the accesses recorded so far are in NAME.rltrace.partial: \
                 `reuselens analyze NAME.rltrace.partial`"
            }
            Command::Predict(_) => {
                "or predict from smaller profiles: reuselens analyze --no-contexts, or a larger --granularity"
            }
            Command::Gpu(_) => "or take less: --threads 1 --memory-limit 64M",
            _ => "or give it smaller files",
        }
    }
}
