//! From columns of touches to counts of distances: one file per way of counting.

mod exact;
mod sampled;
mod shares;

use reuselens_attribute::Columns;
use reuselens_distance::EngineError;
use reuselens_locality::{
    BoundedCurve, ElementHistograms, ExactHistogram, KeyedHistograms, Warning,
};
use reuselens_units::Bytes;

use crate::{AnalysisOptions, Error};

/// Takes the touches of a trace in order and counts their distances.
pub(crate) trait Counts {
    /// Counts a piece of the trace.
    fn add(&mut self, columns: &Columns);

    /// The accesses (item touches) so far.
    fn accesses(&self) -> u64;

    /// The memory held.
    fn memory(&self) -> Bytes;

    /// Gives memory up, to hold at most `limit` from now on, where that is possible without losing the rest of the
    /// trace. The whole analysis may have `whole`. False if it is not: nothing is given up then, or not enough.
    fn shrink(&mut self, _limit: Bytes, _whole: Bytes) -> bool {
        false
    }

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
    /// That for each cache size.
    pub error_bounds: Option<BoundedCurve>,
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
/// If there is no such engine, or it does not sample and is to.
pub(crate) fn begin(options: &AnalysisOptions) -> Result<Box<dyn Counts>, Error> {
    let seed = options.seed;
    match (options.engine.as_str(), options.sample) {
        ("auto" | "sampled", Some(rate)) => Ok(Box::new(sampled::Sampled::at(rate, seed))),
        ("sampled", None) => Ok(Box::new(sampled::Sampled::at(RATE, seed))),
        ("auto", None) => Ok(Box::new(sampled::Sampled::when_memory_is_short(seed))),
        (name, Some(_)) => {
            reuselens_distance::check_name(name)?;
            let name = name.to_owned();
            Err(EngineError::NotSampled { name }.into())
        }
        (name, None) => {
            let engine = reuselens_distance::by_name(name)?;
            Ok(Box::new(exact::Exact::new(engine)))
        }
    }
}

/// The rate of the sampled engine where none is given.
const RATE: f64 = 0.01;
