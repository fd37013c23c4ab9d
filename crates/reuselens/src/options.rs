//! What to analyse and how.

use std::num::NonZeroUsize;

use reuselens_attribute::{DataFilter, Kinds, NamesMode};
use reuselens_units::{Bytes, Granularity};

/// What to analyse and how; the default is what `reuselens profile` does without options.
#[derive(Clone, Debug)]
pub struct AnalysisOptions {
    /// Name of the engine, or `auto`.
    pub engine: String,
    /// Bytes per item; `None` = this machine's cache line. Traces of ids always have granularity 1.
    pub granularity: Option<Granularity>,
    /// Which accesses count.
    pub kinds: Kinds,
    /// Which data count.
    pub data: DataFilter,
    /// Whether a statement of the program's own marks counts an element once.
    pub names: NamesMode,
    /// Whether accesses are told apart by calling context.
    pub contexts: bool,
    /// Whether accesses are counted per element where the element size is known.
    pub elements: bool,
    /// Threads to work on; `None` = one per processor. The results do not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// The most memory that the analysis may take; `None` = three quarters of what is free.
    pub memory_limit: Option<Bytes>,
}

impl Default for AnalysisOptions {
    fn default() -> Self {
        AnalysisOptions {
            engine: "auto".to_owned(),
            granularity: None,
            kinds: Kinds::All,
            data: DataFilter::All,
            names: NamesMode::Instruction,
            contexts: true,
            elements: false,
            threads: None,
            memory_limit: None,
        }
    }
}
