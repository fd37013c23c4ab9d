//! From columns of touches to counts of distances: one file per way of counting.

mod exact;
mod extras;

use reuselens_attribute::Columns;
use reuselens_distance::{Bounded, Engine};
use reuselens_locality::{ElementHistograms, ExactHistogram, KeyedHistograms, Warning};
use reuselens_units::{Bytes, Distance};

use crate::{AnalysisOptions, Error};
pub(crate) use extras::More;

/// Takes the touches of a trace in order and counts their distances.
pub(crate) trait Counts {
    /// Counts a piece of the trace.
    fn add(&mut self, columns: &Columns);

    /// The accesses (item touches) so far.
    fn accesses(&self) -> u64;

    /// The memory held.
    fn memory(&self) -> Bytes;

    /// The distance of each access of the piece that was added last, where the way of counting has
    /// them at that time: empty before the first piece, and never there where it has not.
    fn distances(&self) -> Option<&[Distance]> {
        None
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
    /// All accesses.
    pub histogram: ExactHistogram,
    /// The accesses of each cell.
    pub keyed: KeyedHistograms,
    /// The accesses of each element, if they were asked for.
    pub elements: ElementHistograms,
    /// What else was counted.
    pub more: More,
    /// What the reader of the report must know.
    pub warnings: Vec<Warning>,
}

/// A new way of counting, as the options have it.
///
/// # Errors
/// If there is no such engine, or it cannot do what else is asked for.
pub(crate) fn begin(options: &AnalysisOptions) -> Result<Box<dyn Counts>, Error> {
    let engine = bounded(options, reuselens_distance::by_name(&options.engine)?)?;
    let counts: Box<dyn Counts> = Box::new(exact::Exact::new(engine));
    more(options, counts)
}

/// The engine, or one in bounded memory if a largest distance is given.
fn bounded(options: &AnalysisOptions, engine: Box<dyn Engine>) -> Result<Box<dyn Engine>, Error> {
    match options.max_distance {
        None => Ok(engine),
        Some(_) if options.reuse_times || options.forward => Err(Error::UnboundedTable),
        Some(limit) if engine.name() == "counting" => Ok(Box::new(Bounded::new(limit))),
        Some(_) => Err(Error::NotBounded {
            engine: engine.name().to_owned(),
        }),
    }
}

/// With what else is asked for.
fn more(options: &AnalysisOptions, counts: Box<dyn Counts>) -> Result<Box<dyn Counts>, Error> {
    let (times, forward) = (options.reuse_times, options.forward);
    if forward && counts.distances().is_none() {
        return Err(Error::NoForward {
            engine: options.engine.clone(),
        });
    }
    Ok(match times || forward {
        true => Box::new(extras::Extras::new(counts, times, forward)),
        false => counts,
    })
}
