//! Options that several commands have.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use reuselens::AnalysisOptions;
use reuselens::attribute::{DataFilter, Kinds, NamesMode};
use reuselens::distance::EngineError;
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

    /// Threads to work on [default: one for each processor]; the results do not depend on it
    #[arg(long, value_name = "N", help_heading = "Analysis")]
    pub threads: Option<NonZeroUsize>,

    /// Stop before the analysis takes more memory than this [default: three quarters of what is free]
    #[arg(long, value_name = "SIZE", help_heading = "Analysis")]
    pub memory_limit: Option<Bytes>,
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
            threads: self.threads,
            memory_limit: self.memory_limit,
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
fn granularity(text: &str) -> Result<Granularity, String> {
    if text == "auto" {
        let line = reuselens::this_machine().line();
        return Ok(line.unwrap_or(Granularity::LINE_64));
    }
    let bytes: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    Granularity::new(bytes.get()).map_err(|error| error.to_string())
}

/// The name of an engine that there is.
fn engine(text: &str) -> Result<String, String> {
    match reuselens::distance::by_name(text) {
        Ok(_) | Err(EngineError::Whole { .. }) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A dimension by its name.
pub fn dimension(text: &str) -> Result<Dimension, String> {
    text.parse().map_err(|error| format!("{error}"))
}
