//! `reuselens analyze`: makes a profile of a trace.

use std::path::PathBuf;

use clap::ValueEnum;
use reuselens::io::text_of;
use reuselens::trace::{Source, Stoppable};
use reuselens_report::ShownProfile;

use crate::exit::{self, Outcome};
use crate::files::{open_part, refuse_what_is_no_trace};
use crate::interrupt;
use crate::options::{self, Analysis};
use crate::output::{Results, Show, name_of};
use crate::part::{self, PartArgs};
use crate::progress::Meter;
use crate::sources::ProfileOrigin;

/// Analyse a trace file: summary, NAME.rlprof, NAME.html
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens analyze TRACE [OPTIONS]")]
pub struct Args {
    /// The trace; `-` is standard input
    trace: PathBuf,

    /// The format of the trace (see `reuselens formats`); without it, found from its content
    #[arg(long, value_name = "NAME", value_parser = options::format)]
    format: Option<String>,

    /// Call the outputs FILE.rlprof and FILE.html
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Weigh the objects of a cache trace by their sizes: distances in bytes, misses per request
    /// and per byte; for formats with sizes (oraclegeneral, vscsi, csv with ids and sizes)
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Analysis")]
    weigh: Option<Weigh>,

    #[command(flatten)]
    part: PartArgs,
    #[command(flatten)]
    analysis: Analysis,
    #[command(flatten)]
    show: Show,
}

/// What objects are weighed by.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Weigh {
    /// Their sizes
    Bytes,
}

impl Args {
    /// Reads and analyses.
    pub fn run(self) -> Outcome {
        self.show.check()?;
        let mut options = self.analysis.options(&self.show.by)?;
        if self.weigh.is_some() {
            options.weigh_bytes = true;
            reuselens::check(&options)?;
        }
        refuse_what_is_no_trace(&self.trace, self.format.as_deref())?;
        let mut part = self.part.selection(&self.trace, self.format.as_deref())?;
        // Allocations and calls before the part, and by other threads, show the objects and
        // contexts of its accesses; of a program that names its accesses, the number of items of
        // each.
        part.state = true;
        let chosen = part::chosen(&part);
        let source = open_part(&self.trace, self.format.as_deref(), part, false)?;
        let mut source = Stoppable::new(source, interrupt::graceful());
        self.show.check_cache(source.has_addresses(), &options)?;
        let name = name_of(&self.trace, self.output.as_deref(), self.show.force);
        let results = Results::begin(self.output.as_deref(), &name, self.show.force)?;
        let mut meter = Meter::new("analysing", self.show.quiet);
        let command = vec![text_of(&self.trace)];
        let tick = &mut |progress| meter.tick(progress);
        let mut profile = reuselens::analyze_segmented(&mut source, command, &options, tick)?;
        profile.method.recorded = true;
        meter.finish();
        if let Some(chosen) = chosen {
            part::refuse_nothing(&profile, &chosen, &self.trace)?;
        }
        let shown = ShownProfile::new(&profile);
        let rendered = self.show.render(&shown, &name, ProfileOrigin::Anywhere)?;
        results.finish(&shown, &rendered, &self.show, "analyse another trace")?;
        Ok(interrupt::code().unwrap_or_else(|| exit::done(profile.is_truncated())))
    }
}
