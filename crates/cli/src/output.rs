//! [`Show`]: the options of all commands that show a profile, and the code that follows them:
//! summary, page, exports.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::thread::{Builder, ScopedJoinHandle};

use clap::{Args, ValueEnum};
use reuselens::profile::{Dimension, Profile};
use reuselens::units::shown_json;
use reuselens_report::{
    Bins, Checked, DiffOptions, HtmlOptions, JsonOptions, ShownProfile, TextOptions, Viewer,
};

use crate::exit::Usage;
use crate::options::dimension;
pub use crate::results::{
    Results, check_outputs, first_free, is_standard_output, is_where_standard_output_goes, name_of,
    numbered, stem, with_ending, write_text, write_whole,
};
use crate::say::{self, tell};
use crate::sources::{Embedding, ProfileOrigin};

/// What two profiles are to each other, and what is asked for beside the difference.
#[derive(Clone, Copy, Debug, Default)]
pub struct DifferenceKind {
    /// One program with a small and a large input, instead of before and after a change.
    pub inputs: bool,
    /// Show the error of the second histogram against the first.
    pub error: bool,
}

/// Options of everything that shows a profile.
#[derive(Args, Clone, Debug)]
pub struct Show {
    /// Group accesses by: program, thread, function, line, object, element, context, instruction,
    /// path (several allowed); program alone is the fastest: the curve without a breakdown
    #[arg(long, value_name = "WHAT", value_parser = dimension, value_delimiter = ',', help_heading = "Output")]
    pub by: Vec<Dimension>,

    /// Rank by misses in a cache of this size: bytes (48K, 2MiB; 48K:12 shows the misses with sets
    /// of 12 ways too) or a cache of this machine (L1, L2, L3); without it in the one in which
    /// misses cost the most time
    #[arg(long, value_name = "SIZE", help_heading = "Output")]
    pub cache: Option<String>,

    /// Bins of the histogram in --json and --csv
    #[arg(long, value_enum, default_value = "log2", help_heading = "Output")]
    pub bins: BinsArg,

    /// Write JSON (schema reuselens/1); `-` is standard output, and then nothing else is printed
    /// there
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,

    /// Write the groups as CSV; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub csv: Option<PathBuf>,

    /// Write the groups as Parquet; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub parquet: Option<PathBuf>,

    /// Write the miss-ratio curve as CSV; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub csv_curve: Option<PathBuf>,

    /// Write the histogram of the whole run as CSV; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub csv_histogram: Option<PathBuf>,

    /// Write the miss-ratio curve as a picture (SVG); `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub svg: Option<PathBuf>,

    /// Write the miss-ratio curve as a picture (PNG); `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub png: Option<PathBuf>,

    /// Write what a viewer of profiles opens, by the ending: .folded (flame graphs), .callgrind
    /// (kcachegrind), .speedscope.json or .pb.gz (pprof) (several allowed)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export: Vec<PathBuf>,

    #[command(flatten)]
    pub sources: Embedding,

    /// How many lines, objects and so on the summary names
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = top, help_heading = "Output")]
    pub top: usize,

    /// Overwrite files
    #[arg(short, long, help_heading = "Output")]
    pub force: bool,

    /// Print no summary and no progress; a result that is incomplete is still reported
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    /// Say more: twice as many lines in each list
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Output")]
    pub verbose: u8,
}

/// A profile as files and on the terminal.
pub struct Rendered {
    /// Content of the profile's file.
    pub file: Vec<u8>,
    /// The HTML page.
    pub page: String,
    /// The summary; empty where none is wanted.
    pub summary: String,
}

/// The result of a thread; a panic in it is passed on.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Bins of a histogram.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum BinsArg {
    /// One bin per power of two
    Log2,
    /// One bin per distance that occurs
    Exact,
}

impl Show {
    fn bins(&self) -> Bins {
        match self.bins {
            BinsArg::Log2 => Bins::Log2,
            BinsArg::Exact => Bins::Exact,
        }
    }

    /// Whether standard output belongs to an export.
    pub fn standard_output_is_taken(&self) -> bool {
        self.export_files().any(|path| is_standard_output(path))
    }

    /// The files of exports that were asked for.
    pub fn export_files(&self) -> impl Iterator<Item = &PathBuf> {
        [
            &self.json,
            &self.csv,
            &self.parquet,
            &self.csv_curve,
            &self.csv_histogram,
            &self.svg,
            &self.png,
        ]
        .into_iter()
        .flatten()
        .chain(&self.export)
    }

    /// The summary on standard output, unless that belongs to an export or is not wanted.
    pub fn summary(&self, shown: &ShownProfile<'_>) -> anyhow::Result<()> {
        let text = self.summary_text(shown)?;
        Ok(say::bytes(text.as_bytes())?)
    }

    /// The text of that summary; empty if there is none.
    fn summary_text(&self, shown: &ShownProfile<'_>) -> anyhow::Result<String> {
        if self.quiet || self.standard_output_is_taken() {
            return Ok(String::new());
        }
        let options = TextOptions {
            cache: self.cache(shown.profile())?,
            width: terminal_width(),
            color: color(),
            top: self.top(),
            by: self.dimensions(),
        };
        Ok(reuselens_report::summary_of(shown, &options))
    }

    /// What a run shows of its profile. The three are made at the same time: for a program with
    /// many groups each takes tenths of a second.
    pub fn render(
        &self,
        shown: &ShownProfile<'_>,
        title: &str,
        origin: ProfileOrigin,
    ) -> anyhow::Result<Rendered> {
        let file = || shown.profile().to_bytes();
        let summary = || self.summary_text(shown);
        std::thread::scope(|scope| {
            // If the system refuses a thread, its work is done here.
            let file_thread = Builder::new().spawn_scoped(scope, file);
            let summary_thread = Builder::new().spawn_scoped(scope, summary);
            let page = self.page(shown, title, origin)?;
            Ok(Rendered {
                file: file_thread.map_or_else(|_| file(), joined),
                page,
                summary: summary_thread.map_or_else(|_| summary(), joined)?,
            })
        })
    }

    /// The comparison of two profiles of these names on standard output.
    pub fn difference(
        &self,
        before: &Profile,
        after: &Profile,
        how: DifferenceKind,
        names: [String; 2],
    ) -> anyhow::Result<()> {
        if self.quiet || self.standard_output_is_taken() {
            return Ok(());
        }
        let options = self.diff_options(after, how, names)?;
        let text = reuselens_report::diff(before, after, &options)?;
        Ok(say::bytes(text.as_bytes())?)
    }

    /// The comparison in Markdown.
    pub fn difference_markdown(
        &self,
        before: &Profile,
        after: &Profile,
        how: DifferenceKind,
        names: [String; 2],
    ) -> anyhow::Result<String> {
        let options = self.diff_options(after, how, names)?;
        Ok(reuselens_report::diff_markdown(before, after, &options)?)
    }

    /// The comparison as JSON, with the limits that were checked, if it was asked for.
    pub fn difference_json(
        &self,
        before: &Profile,
        after: &Profile,
        how: DifferenceKind,
        names: [String; 2],
        checked: &Checked<'_>,
    ) -> anyhow::Result<()> {
        let Some(path) = &self.json else {
            return Ok(());
        };
        let options = self.diff_options(after, how, names)?;
        let text = reuselens_report::diff_json(before, after, &options, Some(checked))?;
        self.write(path, shown_json(&text).as_bytes())
    }

    fn diff_options(
        &self,
        after: &Profile,
        how: DifferenceKind,
        names: [String; 2],
    ) -> anyhow::Result<DiffOptions> {
        Ok(DiffOptions {
            cache: self.cache(after)?,
            width: terminal_width(),
            color: color(),
            top: self.top(),
            by: self.dimensions(),
            inputs: Some(how.inputs),
            error: how.error,
            names,
        })
    }

    /// The dimensions asked for; lines, objects and contexts if none were.
    fn dimensions(&self) -> Vec<Dimension> {
        if self.by.is_empty() {
            vec![Dimension::Line, Dimension::Object, Dimension::Context]
        } else {
            self.by.clone()
        }
    }

    /// Those of `by` that exports have. For ids, dimensions of which nothing is known are left out
    /// unless they were asked for.
    fn exported(&self, profile: &Profile, by: &[Dimension]) -> Vec<Dimension> {
        let all = !profile.method.ids || !self.by.is_empty();
        let exported = by.iter().filter(|by| all || profile.has_names(**by));
        exported.copied().collect()
    }

    fn top(&self) -> usize {
        self.top << self.verbose.min(8)
    }

    /// A line on standard output, where the summary goes.
    pub fn say(&self, text: &str) -> anyhow::Result<()> {
        if !self.quiet && !self.standard_output_is_taken() {
            say::line(text)?;
        }
        Ok(())
    }

    /// The page of a profile from there.
    pub fn page(
        &self,
        shown: &ShownProfile<'_>,
        title: &str,
        origin: ProfileOrigin,
    ) -> anyhow::Result<String> {
        let profile = shown.profile();
        let options = HtmlOptions {
            title: title.to_owned(),
            cache: self.cache(profile)?,
            sources: self.sources.texts(profile, origin),
            ..HtmlOptions::default()
        };
        Ok(reuselens_report::page_of(shown, &options))
    }

    /// Writes the exports that were asked for.
    pub fn exports(&self, shown: &ShownProfile<'_>) -> anyhow::Result<()> {
        let profile = shown.profile();
        let by = self.exported(profile, &self.dimensions());
        let cache = self.cache(profile)?;
        if let Some(path) = &self.json {
            let (bins, by) = (self.bins(), by.clone());
            let options = JsonOptions { bins, by, cache };
            let text = reuselens_report::json_of(shown, &options);
            self.write(path, shown_json(&text).as_bytes())?;
        }
        if let Some(path) = &self.csv {
            self.write(path, reuselens_report::groups_csv(profile, &by).as_bytes())?;
        }
        if let Some(path) = &self.csv_curve {
            self.write(path, reuselens_report::curve_csv(profile).as_bytes())?;
        }
        if let Some(path) = &self.csv_histogram {
            let text = reuselens_report::histogram_csv(profile, self.bins());
            self.write(path, text.as_bytes())?;
        }
        if let Some(path) = &self.svg {
            self.write(path, reuselens_report::curve_svg(profile).as_bytes())?;
        }
        if let Some(path) = &self.png {
            self.write(path, &reuselens_report::curve_png(profile))?;
        }
        if let Some(path) = &self.parquet {
            self.write(path, &reuselens_report::groups_parquet(profile, &by)?)?;
        }
        if !self.export.is_empty() && !has_stacks(profile) {
            tell!(
                "reuselens: warning: nothing is known of functions, lines and data here, so a viewer shows one row; profile \
                 a program, without --by program"
            );
        }
        for path in &self.export {
            self.write(path, &viewer(path)?.export(profile, cache))?;
        }
        Ok(())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
        if is_standard_output(path) {
            say::bytes(bytes)?;
            return Ok(());
        }
        write_whole(path, bytes, self.force)
    }

    /// Refuses exports of one profile, for commands that are about several.
    pub fn refuse_exports(&self) -> Result<(), Usage> {
        if self.export_files().next().is_none() {
            return Ok(());
        }
        Err(Usage(
            "--json, --csv, --parquet, --svg, --png and --export are of one profile, for instance: \
             reuselens report PROFILE --json FILE"
                .to_owned(),
        ))
    }

    /// Refuses tables of one profile, for commands that compare two.
    pub fn refuse_tables(&self) -> Result<(), Usage> {
        if self.export_files().count() == usize::from(self.json.is_some()) {
            return Ok(());
        }
        Err(Usage(
            "--csv, --parquet, --svg, --png and --export are of one profile, for instance: reuselens report PROFILE --csv FILE; --json exports \
             the comparison"
                .to_owned(),
        ))
    }

    /// Fails before the work if something would fail after it: exports that cannot be written, or a
    /// cache that this machine does not have.
    pub fn check(&self) -> anyhow::Result<()> {
        self.cache_of(&reuselens::this_machine())?;
        self.check_exports()
    }

    /// Fails before the work if exports cannot be written.
    pub fn check_exports(&self) -> anyhow::Result<()> {
        self.check_exports_and(None)
    }

    /// [`check_exports`](Self::check_exports), with one that only this command has.
    pub fn check_exports_and(&self, more: Option<&PathBuf>) -> anyhow::Result<()> {
        for path in &self.export {
            viewer(path)?;
        }
        if check_outputs(self.export_files().chain(more), self.force)? > 1 {
            let text = "only one export can have standard output; name a file for the others";
            return Err(Usage(text.to_owned()).into());
        }
        Ok(())
    }
}

/// Whether anything is known that a viewer shows.
fn has_stacks(profile: &Profile) -> bool {
    let mut by = [Dimension::Function, Dimension::Context, Dimension::Object].into_iter();
    by.any(|by| profile.has_names(by))
}

/// The format of a file for a viewer, by its ending.
fn viewer(path: &Path) -> Result<Viewer, Usage> {
    Viewer::of(path).ok_or_else(|| {
        let (path, endings) = (path.display(), Viewer::ENDINGS);
        Usage(format!(
            "the ending of {path} does not say which viewer it is for; --export writes {endings}, \
             each to a file"
        ))
    })
}

/// How many rows a list has: 1 or more.
pub fn top(text: &str) -> Result<usize, String> {
    let message = "a list has 1 row or more; write for instance --top 5, or -q for no summary";
    rows_of_list(text).ok_or_else(|| message.to_owned())
}

/// A number of rows: 1 or more.
pub fn rows_of_list(text: &str) -> Option<usize> {
    text.parse().ok().filter(|rows| *rows > 0)
}

pub fn color() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Columns of the summary: the value of `COLUMNS`, else the width of the terminal, if a standard
/// stream is one.
pub fn terminal_width() -> usize {
    const DEFAULT: usize = 100;
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|text| text.parse().ok());
    let terminal = || Some(usize::from(terminal_size::terminal_size()?.0.0));
    columns.or_else(terminal).unwrap_or(DEFAULT).clamp(60, 160)
}
