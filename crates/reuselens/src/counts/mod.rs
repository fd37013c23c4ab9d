//! From columns of touches to counts of distances: one file per way of counting.

mod exact;
mod gather;
mod parallel;
mod piped;

use std::num::NonZeroUsize;

use reuselens_attribute::Columns;
use reuselens_locality::{ElementHistograms, ExactHistogram, KeyedHistograms, Warning};
use reuselens_units::Bytes;

use crate::{AnalysisOptions, Error};

/// Takes the touches of a trace in order and counts their distances.
pub(crate) trait Counts {
    /// Counts a piece of the trace.
    fn add(&mut self, columns: &Columns);

    /// The accesses (item touches) so far.
    fn accesses(&self) -> u64;

    /// The memory held; where the work goes on elsewhere, no less than that.
    fn memory(&self) -> Bytes;

    /// Waits for work that goes on elsewhere, so that [`memory`](Self::memory) is what is held.
    fn settle(&mut self) {}

    /// What was counted.
    fn finish(self: Box<Self>) -> Counted;
}

/// Everything that was counted, and how.
pub(crate) struct Counted {
    /// Name of the engine that did it.
    pub engine: String,
    /// Whether the counts are exact.
    pub exact: bool,
    /// Bound on the error of a miss ratio, where there is one.
    pub error_bound: Option<f64>,
    /// All accesses.
    pub histogram: ExactHistogram,
    /// The accesses of each cell.
    pub keyed: KeyedHistograms,
    /// The accesses of each element, if they were asked for.
    pub elements: ElementHistograms,
    /// What the reader of the report must know.
    pub warnings: Vec<Warning>,
}

/// A new way of counting, as the options have it.
///
/// # Errors
/// If there is no such engine.
pub(crate) fn begin(options: &AnalysisOptions) -> Result<Box<dyn Counts>, Error> {
    let threads = threads(options);
    if options.engine == parallel::NAME {
        let memory = crate::analysis::memory_limit(options);
        return Ok(Box::new(parallel::Parallel::new(threads, memory)));
    }
    let engine = reuselens_distance::by_name(&options.engine)?;
    let exact = Box::new(exact::Exact::new(engine));
    if threads.get() == 1 {
        return Ok(exact);
    }
    Ok(Box::new(piped::Piped::new(exact)))
}

/// The threads that an analysis may work on.
fn threads(options: &AnalysisOptions) -> NonZeroUsize {
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    options.threads.unwrap_or_else(all)
}
