//! [`SimtError`]: why a stream, a graph, a netlist, a mapping or options cannot be used.

use thiserror::Error;

/// Why a stream, a netlist or a partition cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimtError {
    /// The stream could not be read.
    #[error(transparent)]
    Trace(#[from] reuselens_trace::TraceError),
    /// A size is beyond what positions and items are counted in.
    #[error("{what}: {found} are too many, and {limit} is the limit; {hint}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many there may be.
        limit: u64,
        /// What to do.
        hint: &'static str,
    },
    /// The items take more than their half of the memory: they have to be read in classes, one
    /// after the other.
    #[error("what is known of the distinct items takes more than half of {limit} bytes")]
    TooManyItems {
        /// The memory that the analysis may take.
        limit: u64,
    },
    /// A text is not what its format promises.
    #[error("{name}, line {line}: {what}")]
    Text {
        /// The file, or a name for it.
        name: String,
        /// From 1; 0 if no line is to blame.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// Options that do not fit the run.
    #[error("{0}")]
    Unfit(String),
}
