//! `reuselens shard`: analyses a piece of a trace; `merge` puts the pieces together.

use std::path::PathBuf;

use reuselens::io::{AtomicFile, path_of, text_of};
use reuselens::shard::{Piece, TraceIdentity, analyze_shard};
use reuselens::units::{Bytes, counted};

use crate::exit::{self, Outcome, Usage};
use crate::files::open_trace;
use crate::options::{self, Analysis};
use crate::output::{stem, write_whole};
use crate::progress::Meter;
use crate::say::{say, tell};
use crate::shell_words::quoted;
use crate::watched::DamageWatch;

/// Analyse a piece of a trace, anywhere; `merge` puts the pieces together (NAME.I-of-N.rlpart)
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens shard I/N TRACE [OPTIONS]")]
pub struct Args {
    /// Which piece of how many, from 1/N to N/N
    #[arg(value_name = "I/N")]
    piece: Piece,

    /// The trace: a file
    trace: PathBuf,

    /// The format of the trace (see `reuselens formats`); without it, found from its content
    #[arg(long, value_name = "NAME", value_parser = options::format)]
    format: Option<String>,

    /// The part's file [default: NAME.I-of-N.rlpart]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Overwrite the file
    #[arg(short, long, help_heading = "Output")]
    force: bool,

    /// Say nothing but errors
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,

    #[command(flatten)]
    analysis: Analysis,
}

impl Args {
    /// Reads and analyses.
    pub fn run(self) -> Outcome {
        let options = self.analysis.options(&[])?;
        if self.analysis.seed.is_some() {
            let text = "--seed is for samples, and a piece is always counted exactly; leave it out";
            return Err(Usage(text.to_owned()).into());
        }
        let trace = TraceIdentity::of_file(&self.trace).map_err(reuselens::Error::from)?;
        let mut source = DamageWatch::new(open_trace(&self.trace, self.format.as_deref())?);
        let name = stem(&self.trace);
        let pieces = (self.piece.number(), self.piece.of());
        let all = self
            .output
            .as_ref()
            .map_or_else(|| all_parts(&name, pieces.1), |_| "PART…".to_owned());
        let path = self
            .output
            .unwrap_or_else(|| part_path(&name, pieces.0, pieces.0, pieces.1));
        // What cannot be written is known before the work.
        AtomicFile::check(&path, self.force)?;
        let mut meter = Meter::new("analysing", self.quiet);
        let command = vec![text_of(&self.trace)];
        let part = analyze_shard(
            &mut source,
            trace,
            command,
            &options,
            self.piece,
            &mut |progress| {
                meter.tick(progress);
            },
        )?;
        meter.finish();
        let bytes = part.to_bytes();
        write_whole(&path, &bytes, self.force)?;
        let is_truncated = source.damage().is_some() || part.is_truncated();
        if let Some(damage) = source.damage() {
            tell!("reuselens: warning: {damage}; the part holds everything before that");
        }
        if !self.quiet {
            say!(
                "{}: piece {} of the trace, {}, {}{}",
                path.display(),
                part.name(),
                counted(part.accesses(), "access", "accesses"),
                Bytes(bytes.len() as u64),
                remark(is_truncated)
            )?;
            say!(
                "Next: when all {} are there, reuselens merge {all}",
                pieces.1
            )?;
        }
        Ok(exit::done(is_truncated))
    }
}

/// What the line about a part ends with.
pub(super) fn remark(is_truncated: bool) -> String {
    if is_truncated {
        format!("  {}", reuselens_report::TRUNCATED)
    } else {
        String::new()
    }
}

/// A shell pattern for the files of all pieces. It matches no part that was merged from some of
/// them, which would be counted twice.
fn all_parts(name: &str, of: u32) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./+@%,".contains(letter);
    let name = if name.chars().all(plain) && !name.starts_with('-') {
        name.to_owned()
    } else {
        format!("./{}", quoted(name))
    };
    let digits = of.ilog10() + 1;
    let patterns = (1..=digits).map(|digits| {
        let number = "[0-9]".repeat(digits as usize);
        format!("{name}.{number}-of-{of}.rlpart")
    });
    patterns.collect::<Vec<_>>().join(" ")
}

/// What the file of these pieces is called.
pub fn part_path(name: &str, first: u32, last: u32, of: u32) -> PathBuf {
    if first == last {
        path_of(&format!("{name}.{first}-of-{of}.rlpart"))
    } else {
        path_of(&format!("{name}.{first}-{last}-of-{of}.rlpart"))
    }
}
