//! Distances in bytes of a trace of objects that have sizes: one pass on one thread.
//!
//! Distances are exact, and counted in units of the granularity: the hits of a cache whose size is
//! a multiple of it are exact. Nearly all distances of a large trace differ, so that a counter for
//! each would make memory grow with the length of the trace. From [`EXACT_UNITS`] units on there
//! are 256 counters to an octave, and the hits are exact for sizes between two counters: those that
//! are multiples of 1/256 of the power of two below them.

use reuselens_distance::WeightedTree;
use reuselens_locality::{ExactHistogram, Machine};
use reuselens_trace::{Block, Source, Step, TraceError};
use reuselens_units::{Accesses, Bytes, Distance, Granularity};

use crate::analysis::Pass;
use crate::attribution::Attribution;
use crate::budget::{LOOK_AT_MEMORY_EVERY, memory_limit};
use crate::counts::{Counted, More};
use crate::stopping::Stop;
use crate::{AnalysisOptions, Error, Progress};

/// The name of the engine in reports.
const NAME: &str = "weighted";

/// Distances below this number of units have a counter each: below 4 MiB with the usual unit.
const EXACT_UNITS: u64 = 1 << 16;

/// Binary digits of a larger distance that are kept after the first: 256 counters to an octave.
const DIGITS: u32 = 8;

/// The most bytes that all objects may have.
const MOST: u64 = 1 << 63;

/// Refuses a trace without sizes, and options that weighed distances have no use for. From here on
/// `source` delivers sizes.
///
/// # Errors
/// [`Error::NoSizes`]; [`Error::Together`].
pub(crate) fn check(source: &mut dyn Source, options: &AnalysisOptions) -> Result<(), Error> {
    check_options(options)?;
    match source.with_sizes() {
        true => Ok(()),
        false => Err(Error::NoSizes),
    }
}

/// The part of [`check`] that needs no trace.
///
/// # Errors
/// [`Error::Together`].
pub(crate) fn check_options(options: &AnalysisOptions) -> Result<(), Error> {
    let shared = options.sharing == reuselens_locality::Sharing::Shared;
    let refused = [
        (options.engine != "auto", "--engine"),
        (!shared, "--sharing"),
        (options.paths, "--by path"),
        (options.elements, "--elements"),
        (options.max_distance.is_some(), "--max-distance"),
        (options.reuse_times, "--times"),
        (options.forward, "--forward"),
        (options.sample.is_some(), "--sample"),
        (
            options.granularity == Some(Granularity::BYTE),
            "--granularity 1",
        ),
    ];
    match refused.iter().find(|(is_asked, _)| *is_asked) {
        None => Ok(()),
        Some((_, other)) => Err(Error::Together {
            one: "--weigh bytes",
            other,
            why: "distances in bytes have one engine, which counts them in units of 2 bytes or more over all requests",
        }),
    }
}

/// Counts all of `source`, which delivers sizes.
///
/// # Errors
/// Those of the source, if there was nothing before.
pub(crate) fn count(
    source: &mut dyn Source,
    machine: &Machine,
    options: &AnalysisOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Pass, Error> {
    let mut attribution = Attribution::new(source, machine, options);
    let mut requests = Requests::default();
    let mut weighed = Weighed::new(options.weight_unit());
    let limit = memory_limit(options);
    let mut next_look = LOOK_AT_MEMORY_EVERY;
    let mut block = Block::new();
    let stop = loop {
        match source.next(&mut block) {
            Ok(Step::Event(event)) => attribution.event(event),
            Ok(Step::End) => break None,
            Err(error) => break Some(Stop::because(error, weighed.accesses > 0)?),
            Ok(Step::Block) => {
                requests.read(&block, options);
                if let Err(error) = weighed.add(&requests, source) {
                    break Some(Stop::Broken(error));
                }
                progress(Progress {
                    accesses: Accesses(weighed.accesses),
                    source_bytes: source.progress(),
                });
                if weighed.accesses >= next_look {
                    next_look = weighed.accesses + LOOK_AT_MEMORY_EVERY;
                    let needed = weighed.memory() + source.memory();
                    if needed > limit {
                        break Some(Stop::OutOfMemory { needed, limit });
                    }
                }
            }
        }
    };
    Ok(Pass {
        attribution,
        accesses: weighed.accesses,
        counted: weighed.finish(),
        stop,
    })
}

/// The requests of a block.
#[derive(Default)]
struct Requests {
    ids: Vec<u64>,
    bytes: Vec<u64>,
}

impl Requests {
    /// Replaces them by those of `block` that count.
    fn read(&mut self, block: &Block, options: &AnalysisOptions) {
        self.ids.clear();
        self.bytes.clear();
        for (at, &kind) in block.kinds().iter().enumerate() {
            if !kind.is_access() || !options.kinds.counts(kind) {
                continue;
            }
            self.ids.push(block.addrs()[at]);
            self.bytes.push(block.access_bytes(at));
        }
    }
}

/// What was counted so far.
struct Weighed {
    tree: WeightedTree,
    unit: Granularity,
    distances: Vec<Distance>,
    /// Requests by distance, in units.
    histogram: ExactHistogram,
    /// Bytes requested by distance, in units.
    bytes: ExactHistogram,
    accesses: u64,
}

impl Weighed {
    fn new(unit: Granularity) -> Self {
        Weighed {
            tree: WeightedTree::new(),
            unit,
            distances: Vec::new(),
            histogram: ExactHistogram::new(),
            bytes: ExactHistogram::new(),
            accesses: 0,
        }
    }

    /// # Errors
    /// If the sizes sum to more than 2⁶³ bytes.
    fn add(&mut self, requests: &Requests, source: &dyn Source) -> Result<(), TraceError> {
        let more = requests.bytes.iter().map(|&bytes| u128::from(bytes.max(1)));
        if more.sum::<u128>() + u128::from(self.tree.total().get()) > u128::from(MOST) {
            return Err(TraceError::Corrupt {
                path: source.describe().into(),
                what: "its objects have more than 8 EiB: are these their sizes?".to_owned(),
                position: format!("request {}", self.accesses),
            });
        }
        self.distances.resize(requests.ids.len(), Distance::COLD);
        self.tree
            .process(&requests.ids, &requests.bytes, &mut self.distances);
        for (distance, &bytes) in self.distances.iter().zip(&requests.bytes) {
            let distance = match distance.items() {
                None => Distance::COLD,
                Some(bytes) => Distance::new(counter(bytes / self.unit.bytes())),
            };
            self.histogram.add(distance, 1);
            self.bytes.add(distance, bytes.max(1));
        }
        self.accesses += requests.ids.len() as u64;
        Ok(())
    }

    fn memory(&self) -> Bytes {
        self.tree.memory() + self.histogram.memory() + self.bytes.memory()
    }

    fn finish(self) -> Counted {
        Counted {
            more: More {
                requested_bytes: Some(self.bytes),
                ..More::default()
            },
            ..Counted::exactly(NAME, self.histogram)
        }
    }
}

/// The distance that a distance is counted at: itself, or the last of those that share its counter,
/// so that a cache that holds all of these has all their hits.
fn counter(units: u64) -> u64 {
    if units < EXACT_UNITS {
        return units;
    }
    let dropped = units.ilog2() - DIGITS;
    units | ((1 << dropped) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_hold_what_is_below_the_end_of_a_bin() {
        for units in [0, 1, 511, EXACT_UNITS - 1] {
            assert_eq!(counter(units), units);
        }
        let mut last = EXACT_UNITS - 1;
        for _ in 0..10_000 {
            let first = last + 1;
            last = counter(first);
            assert!(last - first < first >> DIGITS);
            assert_eq!((counter(last), counter(last + 1) > last), (last, true));
        }
    }
}
