//! `reuselens convert`: copies a trace into another form.

use std::io::Write;
use std::path::{Path, PathBuf};

use reuselens::formats;
use reuselens::formats::{Converted, Target, WarpTarget, convert, convert_warps};
use reuselens::io::AtomicFile;
use reuselens::trace::{Source, TraceError};
use reuselens::units::{Granularity, counted};

use super::gpu::input;
use crate::exit::{self, Outcome, Usage};
use crate::files::{is_native, is_warp_stream, open_part, refuse_what_is_no_trace};
use crate::options;
use crate::output::is_where_standard_output_goes;
use crate::part::{self, PartArgs};
use crate::say::{self, say, tell};
use crate::watched::DamageWatch;

/// Copy a trace, or a stream of warp instructions, into another form
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens convert IN OUT [OPTIONS]")]
pub struct Args {
    /// The trace to read; `-` is standard input
    input: PathBuf,
    /// The file to write; `-` is standard output (text only)
    output: PathBuf,
    /// The form to write; without it, what the output's name ends in: native for .rltrace, parquet
    /// for .parquet, else text
    #[arg(long, value_name = "FORM", value_parser = ["text", "parquet", "native"])]
    to: Option<String>,
    /// The format of the input; without it, found from its content
    #[arg(long, value_name = "NAME", value_parser = options::format)]
    format: Option<String>,
    #[command(flatten)]
    part: PartArgs,
    /// With `--to text`: write item numbers of this granularity instead of addresses
    #[arg(long, value_name = "BYTES")]
    granularity: Option<u64>,
    /// Overwrite the output
    #[arg(short, long)]
    force: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// Endings of other files than traces, or of traces that cannot be read; [`formats`] knows those of
/// formats and compressions.
const NO_TRACE: [&str; 3] = ["tsv", "bz2", "rlprof"];

impl Args {
    /// Copies.
    pub fn run(self) -> Outcome {
        if self.format.is_none() && is_warp_stream(&self.input) {
            return self.run_warps();
        }
        refuse_what_is_no_trace(&self.input, self.format.as_deref())?;
        let mut part = self.part.selection(&self.input, self.format.as_deref())?;
        let target = self.target()?;
        let chosen = part::chosen(&part);
        part.state = matches!(target, Target::Native);
        let source = open_part(&self.input, self.format.as_deref(), part, true)?;
        let mut source = DamageWatch::new(source);
        let has_addresses = source.has_addresses();
        let to_standard_output = self.output == Path::new("-");
        let done = if to_standard_output {
            if !matches!(target, Target::Text(_)) {
                return Err(self.only_text_to_standard_output().into());
            }
            // Errors of the conversion name the output themselves.
            let mut text = std::io::BufWriter::new(say::stdout().out);
            let done = convert(&mut source, target, &mut text, &self.output)?;
            text.flush()?;
            something(done)?
        } else {
            let mut file = AtomicFile::create(&self.output, self.force)?;
            let done = something(convert(&mut source, target, &mut file, &self.output)?)?;
            // A trace that was cut off has a message of its own.
            let is_nothing = done.accesses == 0 && done.incomplete.is_none();
            if let Some(chosen) = chosen.filter(|_| is_nothing) {
                return Err(part::nothing(&chosen, &self.input).into());
            }
            file.commit()?;
            done
        };
        if let Some(error) = done.incomplete {
            tell!("reuselens: warning: {error}; the copy holds everything before that");
        }
        if done.processes > 1 && matches!(target, Target::Text(_)) {
            tell!(
                "reuselens: warning: {} processes share this text: equal addresses of different processes look the same",
                done.processes
            );
        }
        // What is said must not be a part of the copy.
        let is_copy = to_standard_output || is_where_standard_output_goes(&self.output);
        if !self.quiet && !is_copy {
            say!(
                "{}: {} in {}",
                self.output.display(),
                counted(done.rows, "row", "rows"),
                counted(done.blocks, "block", "blocks")
            )?;
            say!("Next: {}", self.next(has_addresses))?;
        }
        Ok(exit::done(source.damage().is_some()))
    }

    /// Copies a stream of warp instructions of GPU kernels.
    fn run_warps(self) -> Outcome {
        let target = self.warp_target()?;
        let mut source = input::open(&self.input)?;
        let to_standard_output = self.output == Path::new("-");
        let done = if to_standard_output {
            if target != WarpTarget::Text {
                return Err(self.only_text_to_standard_output().into());
            }
            let mut text = std::io::BufWriter::new(say::stdout().out);
            let done = convert_warps(&mut *source, target, &mut text, &self.output)?;
            text.flush()?;
            done
        } else {
            let file = AtomicFile::create(&self.output, self.force)?;
            let mut buffered = std::io::BufWriter::new(file);
            let done = convert_warps(&mut *source, target, &mut buffered, &self.output)?;
            let file = buffered.into_inner().map_err(|error| error.into_error())?;
            file.commit()?;
            done
        };
        if let Some(error) = &done.incomplete {
            tell!("reuselens: warning: {error}; the copy holds everything before that");
        }
        let is_copy = to_standard_output || is_where_standard_output_goes(&self.output);
        if !self.quiet && !is_copy {
            say!(
                "{}: {} by {} of warps in {}",
                self.output.display(),
                counted(done.accesses, "access", "accesses"),
                counted(done.records, "memory instruction", "memory instructions"),
                counted(done.launches, "launch", "launches")
            )?;
            if target == WarpTarget::Parquet {
                say!("Next: {}", self.next(true))?;
            }
        }
        Ok(exit::done(done.incomplete.is_some()))
    }

    /// The form to copy a stream of warp instructions into.
    fn warp_target(&self) -> Result<WarpTarget, Usage> {
        self.check_name()?;
        let granularity = self.granularity.map(|_| "--granularity");
        if let Some(option) = self.part.first_given().or(granularity) {
            return Err(Usage(format!(
                "{option} is for traces of programs, and {} is a stream of warp instructions; \
                 `reuselens record --kernel NAME --launches NUMBERS` records a part of it",
                self.input.display()
            )));
        }
        if self.to.is_none() && self.ending() == Some("rlwarp") {
            return Err(Usage(format!(
                "{} ends in .rlwarp, which is not written here; name a file that ends in .txt or \
                 .parquet, or say --to text",
                self.output.display()
            )));
        }
        match self.form() {
            "text" => Ok(WarpTarget::Text),
            "parquet" => Ok(WarpTarget::Parquet),
            _ => Err(Usage(format!(
                "{} is a stream of warp instructions, which is copied to text or parquet only",
                self.input.display()
            ))),
        }
    }

    fn only_text_to_standard_output(&self) -> Usage {
        Usage(format!(
            "only text goes to standard output; name a file for --to {}",
            self.form()
        ))
    }

    fn next(&self, has_addresses: bool) -> String {
        match self.form() {
            "parquet" => "read it with pandas, DuckDB or any other reader of Parquet".to_owned(),
            "text" if has_addresses && self.granularity.is_none() => format!(
                "reuselens analyze {}, where each address is an item; for lines of 64 bytes, convert with --granularity 64",
                self.output.display()
            ),
            "text" if is_native(&self.input) => format!(
                "reuselens analyze {}, for its distances; lines and objects have names in {} alone",
                self.output.display(),
                self.input.display()
            ),
            _ => format!("reuselens analyze {}", self.output.display()),
        }
    }

    /// The form to write: the one asked for, or that of the output's name.
    fn form(&self) -> &str {
        match (&self.to, self.ending()) {
            (Some(form), _) => form,
            (None, Some("rltrace")) => "native",
            (None, Some("parquet")) => "parquet",
            _ => "text",
        }
    }

    /// Refuses to write text under a name with another format's ending, as which it would be read.
    fn check_name(&self) -> Result<(), Usage> {
        let ending = self.ending().unwrap_or_default();
        if self.to.is_some()
            || !NO_TRACE.contains(&ending) && !formats::name_says_otherwise(&self.output)
        {
            return Ok(());
        }
        Err(Usage(format!(
            "{} ends in .{ending}, which cannot be written; name a file that ends in .rltrace, .parquet or .txt, or say --to text",
            self.output.display()
        )))
    }

    /// What the output's name ends in.
    fn ending(&self) -> Option<&str> {
        self.output.extension()?.to_str()
    }

    fn target(&self) -> Result<Target, Usage> {
        self.check_name()?;
        let granularity = self.granularity.map(Granularity::new).transpose();
        let granularity = granularity.map_err(|error| Usage(error.to_string()))?;
        match (Target::named(self.form()), granularity) {
            (Some(Target::Text(_)), granularity) => Ok(Target::Text(granularity)),
            (Some(target), None) => Ok(target),
            (Some(_), Some(_)) => Err(Usage("--granularity goes with --to text only".to_owned())),
            (None, _) => Err(Usage(format!("'{}' cannot be written", self.form()))),
        }
    }
}

/// Fails if the source was cut off before its first access, since an empty copy is no beginning of
/// it.
fn something(done: Converted) -> Result<Converted, TraceError> {
    match done.incomplete {
        Some(error) if done.rows == 0 => Err(error),
        _ => Ok(done),
    }
}
