//! `reuselens reorder`: estimates what another order of a program's statements could gain.

use std::path::PathBuf;
use std::process::ExitCode;

use reuselens::io::{path_of, text_of};
use reuselens::units::Granularity;

use crate::exit::Outcome;
use crate::files::open_trace;
use crate::options::{granularity, without_exports};
use crate::output::{DifferenceKind, Show, stem, with_ending, write_whole};

/// Bring uses of the same data together in a trace of statements, as far as dependences permit: an
/// estimate of what reordering could gain
#[derive(clap::Args, Debug)]
#[command(mut_args = without_exports)]
pub struct Args {
    /// A trace of a program with debug information, or that names its data and marks its statements
    /// (RecordAccess, RecordStatement)
    trace: PathBuf,

    /// Bytes per item: an element
    #[arg(long, value_name = "BYTES", default_value = "8", value_parser = granularity)]
    granularity: Granularity,

    /// Call the outputs FILE.program.rlprof and FILE.reordered.rlprof [default: the trace's name]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    #[command(flatten)]
    show: Show,
}

impl Args {
    /// Reads, reorders, compares.
    pub fn run(mut self) -> Outcome {
        self.show.refuse_exports()?;
        let mut source = open_trace(&self.trace, None)?;
        let name = self
            .output
            .clone()
            .unwrap_or_else(|| path_of(&stem(&self.trace)));
        let paths = ["program.rlprof", "reordered.rlprof"].map(|ending| with_ending(&name, ending));
        let command = [text_of(&self.trace)];
        let done = reuselens::reorder(&mut *source, &command, self.granularity)?;
        for (path, profile) in paths.iter().zip([&done.program, &done.reordered]) {
            write_whole(path, &profile.to_bytes(), self.show.force)?;
        }
        let names = paths.map(|path| path.display().to_string());
        if self.show.cache.is_none() {
            self.show.cache = done.differing_cache().map(|bytes| bytes.to_string());
        }
        self.show.difference(
            &done.program,
            &done.reordered,
            DifferenceKind::default(),
            names.clone(),
        )?;
        let [before, after] = names;
        let statements = if done.lines {
            "runs of source lines"
        } else {
            "statements"
        };
        self.show.say(&format!(
            "{} {statements}; every dependence between them is kept.\nNext: reuselens diff {before} {after} --html reordered.html",
            done.statements
        ))?;
        Ok(ExitCode::SUCCESS)
    }
}
