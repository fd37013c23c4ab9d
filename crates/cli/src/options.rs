//! Options that several commands have.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use reuselens::AnalysisOptions;
use reuselens::attribute::{DataFilter, Kinds, NamesMode};
use reuselens::capture::Capture;
use reuselens::locality::Dimension;
use reuselens::units::{Bytes, Granularity};

/// Options of everything that analyses.
#[derive(Args, Clone, Debug)]
pub struct Analysis {
    /// Bytes of a data item, a power of two; `auto` is this machine's cache line
    #[arg(long, value_name = "BYTES", default_value = "auto", value_parser = granularity, help_heading = "Analysis")]
    pub granularity: Option<Granularity>,

    /// Which accesses count
    #[arg(long, value_enum, default_value = "all", help_heading = "Analysis")]
    pub kind: Kind,

    /// Which data count
    #[arg(long, value_enum, default_value = "all", help_heading = "Analysis")]
    pub data: Data,

    /// The engine (see `reuselens engines`)
    #[arg(
        long,
        value_name = "NAME",
        default_value = "auto",
        value_parser = engine,
        help_heading = "Analysis"
    )]
    pub engine: String,

    /// Worker threads of engines that can use several [default: one per processor]
    #[arg(long, value_name = "N", help_heading = "Analysis")]
    pub threads: Option<NonZeroUsize>,

    /// With --engine hp-rda: leave distances beyond the number of items as they were merged
    #[arg(long, help_heading = "Analysis")]
    pub disable_adjusting: bool,

    /// With the program's own RecordStatement marks: count an element once per statement
    #[arg(
        long,
        value_enum,
        default_value = "instruction",
        help_heading = "Analysis"
    )]
    pub names: Names,

    /// Do not tell accesses apart by calling context
    #[arg(long, help_heading = "Analysis")]
    pub no_contexts: bool,

    /// Count accesses per element of arrays whose element size is known
    #[arg(long, help_heading = "Analysis")]
    pub elements: bool,

    /// Tell only distances below so many items, in memory that grows with that number alone
    #[arg(long, value_name = "ITEMS", value_parser = number, help_heading = "Analysis")]
    pub max_distance: Option<u64>,

    /// Count reuse times too, and from them the average footprint
    #[arg(long, conflicts_with = "max_distance", help_heading = "Analysis")]
    pub times: bool,

    /// Count forward distances too: how far ahead of each access is the next to its item
    #[arg(long, conflicts_with = "max_distance", help_heading = "Analysis")]
    pub forward: bool,

    /// The most memory for the analysis: with the engine auto, samples are taken beyond, others stop [default: three
    /// quarters of what is free]
    #[arg(long, value_name = "SIZE", help_heading = "Analysis")]
    pub memory_limit: Option<Bytes>,

    /// Look at this share of the items only (0.01, 1%), with a bound on the error; engines sampled and auto
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = "Analysis")]
    pub sample: Option<f64>,

    /// Where the chance of a sample comes from: another number, another sample
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Analysis")]
    pub seed: u64,
}

impl Analysis {
    /// What the library is asked for.
    pub fn options(&self) -> AnalysisOptions {
        AnalysisOptions {
            engine: self.engine.clone(),
            granularity: self.granularity,
            kinds: match self.kind {
                Kind::All => Kinds::All,
                Kind::Loads => Kinds::Loads,
                Kind::Stores => Kinds::Stores,
            },
            data: match self.data {
                Data::All => DataFilter::All,
                Data::Heap => DataFilter::Heap,
                Data::Stack => DataFilter::Stack,
                Data::Static => DataFilter::Static,
            },
            names: match self.names {
                Names::Instruction => NamesMode::Instruction,
                Names::Statement => NamesMode::Statement,
            },
            contexts: !self.no_contexts,
            elements: self.elements,
            max_distance: self.max_distance,
            reuse_times: self.times,
            forward: self.forward,
            threads: self.threads,
            adjusting: !self.disable_adjusting,
            memory_limit: self.memory_limit,
            sample: self.sample,
            seed: self.seed,
        }
    }
}

/// How accesses are seen.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CaptureWay {
    /// Compiled in if the program carries it, else rewriting
    Auto,
    /// By what `reuselens cc` builds in
    CompiledIn,
    /// By rewriting the code while it runs: any program, libraries and stack included
    Rewriting,
}

impl From<CaptureWay> for Capture {
    fn from(way: CaptureWay) -> Self {
        match way {
            CaptureWay::Auto => Capture::Automatic,
            CaptureWay::CompiledIn => Capture::CompiledIn,
            CaptureWay::Rewriting => Capture::Rewriting,
        }
    }
}

/// Which accesses count.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Kind {
    /// Loads and stores
    All,
    /// What reads
    Loads,
    /// What writes
    Stores,
}

/// Which data count.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Data {
    /// All data
    All,
    /// Blocks from allocation calls
    Heap,
    /// Stacks of threads
    Stack,
    /// Variables with a symbol
    Static,
}

/// What counts as an access where a statement names an element twice.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Names {
    /// Each mention counts
    Instruction,
    /// A statement counts an element once
    Statement,
}

/// `auto`, or a power of two.
pub fn granularity(text: &str) -> Result<Granularity, String> {
    if text == "auto" {
        let line = reuselens::this_machine().line();
        return Ok(line.unwrap_or(Granularity::LINE_64));
    }
    let bytes: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    Granularity::new(bytes.get()).map_err(|error| error.to_string())
}

/// A number of accesses or items: digits, with `k`, `M` or `G` for a thousand, a million, a billion.
pub fn number(text: &str) -> Result<u64, String> {
    let units = [("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
    let unit = units
        .iter()
        .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
    let (digits, size) = unit.unwrap_or((text, 1_u64));
    let number = digits.replace(['_', ','], "").parse::<u64>().ok();
    number
        .and_then(|number| number.checked_mul(size))
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("'{text}' is no number above 0; write for instance 4M or 4000000"))
}

/// A share above 0 and up to 1, as a number or in percent.
fn rate(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 0.01),
        None => (text, 1.0),
    };
    let rate = number.parse::<f64>().map(|number| number * unit);
    rate.ok()
        .filter(|rate| *rate > 0.0 && *rate <= 1.0)
        .ok_or_else(|| {
            "a rate is above 0 and at most 1; use for instance --sample 0.01, or --sample 1%"
                .to_owned()
        })
}

/// The name of an engine that there is.
fn engine(text: &str) -> Result<String, String> {
    let found = reuselens::distance::find(text);
    found
        .map(|_| text.to_owned())
        .map_err(|error| error.to_string())
}

/// A dimension by its name.
pub fn dimension(text: &str) -> Result<Dimension, String> {
    text.parse().map_err(|error| format!("{error}"))
}
