//! Distances in bytes of a trace of objects that have sizes: one pass on one thread.
//!
//! Distances are exact, and counted in units of the granularity: the hits of a cache whose size is
//! a multiple of it are exact. Nearly all distances of a large trace differ, so that a counter for
//! each would make memory grow with the length of the trace. From [`EXACT_UNITS`] units on there
//! are 256 counters to an octave, and the hits are exact for sizes between two counters: those that
//! are multiples of 1/256 of the power of two below them.

use reuselens_distance::WeightedTree;
use reuselens_hugepages::{catch, out_of_memory};
use reuselens_io::FileError;
use reuselens_locality::ExactHistogram;
use reuselens_profile::Machine;
use reuselens_trace::{Block, Projection, Source, Step, TraceError};
use reuselens_units::{Accesses, Bytes, Distance, Granularity};

use crate::analysis::Pass;
use crate::attribution::Attribution;
use crate::attribution::Uncounted;
use crate::budget::{LOOK_AT_MEMORY_EVERY, Looks};
use crate::counts::{Addition, Counted};
use crate::stopping::EarlyEnd;
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
    if source.project(Projection::Sizes) {
        Ok(())
    } else {
        Err(Error::NoSizes)
    }
}

/// The part of [`check`] that needs no trace.
///
/// # Errors
/// [`Error::Together`].
pub(crate) fn check_options(options: &AnalysisOptions) -> Result<(), Error> {
    let shared = options.sharing == reuselens_profile::Sharing::Shared;
    let refused = [
        (options.engine != "auto", "--engine"),
        (!shared, "--sharing"),
        (options.paths, "--by path"),
        (options.causes.is_some(), "--why"),
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
    let mut pass = Weighing {
        attribution: Attribution::new(source, machine, options),
        weighed: Weighed::new(options.weight_unit()),
        limit: options.memory_limit(),
        looks: Looks::new(),
    };
    let read = catch(|| pass.read(source, options, progress));
    let stop = read.unwrap_or_else(|refused| Ok(Some(EarlyEnd::Refused(refused))))?;
    Ok(Pass {
        attribution: pass.attribution,
        accesses: pass.weighed.accesses,
        counted: pass.weighed.finish(),
        stop,
    })
}

/// The state of a pass.
struct Weighing {
    attribution: Attribution,
    weighed: Weighed,
    limit: Bytes,
    looks: Looks,
}

impl Weighing {
    /// Reads all of `source`. Why it ended before, if it did.
    ///
    /// # Errors
    /// Those of the source, if there was nothing before.
    fn read(
        &mut self,
        source: &mut dyn Source,
        options: &AnalysisOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Option<EarlyEnd>, Error> {
        source.read_ahead_within(options.memory_ahead());
        let mut requests = Requests::default();
        let mut block = Block::new();
        loop {
            match source.next(&mut block) {
                Ok(Step::Event(event)) => self.attribution.event(event),
                Ok(Step::End) => return Ok(None),
                Err(error) => return EarlyEnd::because(error, self.weighed.accesses > 0).map(Some),
                Ok(Step::Block) => {
                    requests.read(&block, options);
                    if let Err(error) = self.weighed.add(&requests, source) {
                        return Ok(Some(EarlyEnd::Broken(error)));
                    }
                    progress(Progress {
                        accesses: Accesses(self.weighed.accesses),
                        source_bytes: source.progress(),
                    });
                    if let Some(refused) = out_of_memory() {
                        return Ok(Some(EarlyEnd::Refused(refused)));
                    }
                    if let Some(needed) = self.too_much_memory(source.memory()) {
                        let limit = self.limit;
                        return Ok(Some(EarlyEnd::LimitReached { needed, limit }));
                    }
                }
            }
        }
    }

    /// The memory held, `of_source` by the source, if it is time to look, and it is more than it
    /// may be.
    fn too_much_memory(&mut self, of_source: Bytes) -> Option<Bytes> {
        let cells = self.attribution.cells();
        let looks = &mut self.looks;
        let ahead = looks.ahead(self.weighed.accesses, of_source, cells)?;
        let held = self.weighed.memory_ahead() + self.attribution.memory() + of_source + ahead;
        (held > self.limit).then_some(held)
    }
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
    cold: Weight,
    /// By number of the distance ([`number`]). A histogram of distances would have a page of memory
    /// for each counter beyond the exact ones, which lie far apart.
    weights: Vec<Weight>,
    accesses: u64,
}

/// What was requested at a distance.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    requests: u64,
    bytes: u64,
}

impl Weight {
    fn add(&mut self, bytes: u64) {
        self.requests += 1;
        // Saturates as a histogram does.
        self.bytes = self.bytes.saturating_add(bytes.max(1));
    }
}

impl Weighed {
    fn new(unit: Granularity) -> Self {
        Weighed {
            tree: WeightedTree::new(),
            unit,
            distances: Vec::new(),
            cold: Weight::default(),
            weights: Vec::new(),
            accesses: 0,
        }
    }

    /// # Errors
    /// If the sizes sum to more than 2⁶³ bytes.
    fn add(&mut self, requests: &Requests, source: &dyn Source) -> Result<(), TraceError> {
        let more = requests.bytes.iter().map(|&bytes| u128::from(bytes.max(1)));
        if more.sum::<u128>() + u128::from(self.tree.total().get()) > u128::from(MOST) {
            return Err(TraceError::File(FileError::Corrupt {
                path: source.describe().into(),
                what: "its objects have more than 8 EiB: are these their sizes?".to_owned(),
                position: format!("request {}", self.accesses),
            }));
        }
        self.distances.resize(requests.ids.len(), Distance::COLD);
        self.tree
            .process(&requests.ids, &requests.bytes, &mut self.distances);
        for (distance, &bytes) in self.distances.iter().zip(&requests.bytes) {
            match distance.items() {
                None => self.cold.add(bytes),
                Some(distance) => {
                    let number = number(distance / self.unit.bytes());
                    if number >= self.weights.len() {
                        self.weights.resize(number + 1, Weight::default());
                    }
                    self.weights[number].add(bytes);
                }
            }
        }
        self.accesses += requests.ids.len() as u64;
        Ok(())
    }

    /// The memory held, and that which it takes if a table grows before the next look.
    fn memory_ahead(&self) -> Bytes {
        let weights = self.weights.capacity() * size_of::<Weight>();
        self.tree.memory_ahead(LOOK_AT_MEMORY_EVERY) + Bytes(weights as u64)
    }

    fn finish(self) -> Counted {
        let mut histogram = ExactHistogram::new();
        let mut bytes = ExactHistogram::new();
        histogram.add(Distance::COLD, self.cold.requests);
        bytes.add(Distance::COLD, self.cold.bytes);
        for (number, weight) in self.weights.iter().enumerate() {
            let distance = Distance::new(last_of(number));
            if (number as u64) < EXACT_UNITS {
                histogram.add(distance, weight.requests);
                bytes.add(distance, weight.bytes);
            } else {
                histogram.add_far(distance, weight.requests);
                bytes.add_far(distance, weight.bytes);
            }
        }
        let mut counted = Counted::exactly(NAME, histogram);
        counted.add(RequestedBytes {
            bytes,
            unit: self.unit,
            requests: self.accesses,
        });
        counted
    }
}

/// The bytes requested by distance.
struct RequestedBytes {
    bytes: ExactHistogram,
    /// Of distances.
    unit: Granularity,
    requests: u64,
}

impl Addition for RequestedBytes {
    fn write(self: Box<Self>, into: &mut Uncounted) {
        let profile = &mut into.profile;
        profile.granularity = self.unit;
        profile.references = self.requests;
        profile.requested_bytes = Some(self.bytes);
    }
}

/// The number of a distance: its own below [`EXACT_UNITS`], and from there on that of its bin.
fn number(units: u64) -> usize {
    if units < EXACT_UNITS {
        return units as usize;
    }
    let octave = units.ilog2() - EXACT_UNITS.ilog2();
    let bin = units >> (units.ilog2() - DIGITS) & ((1 << DIGITS) - 1);
    EXACT_UNITS as usize + (octave << DIGITS) as usize + bin as usize
}

/// The last of the distances with a number, at which all of them are counted: so that a cache that
/// holds all of these has all their hits.
fn last_of(number: usize) -> u64 {
    let Some(beyond) = (number as u64).checked_sub(EXACT_UNITS) else {
        return number as u64;
    };
    let dropped = EXACT_UNITS.ilog2() - DIGITS + (beyond >> DIGITS) as u32;
    let first = (beyond & ((1 << DIGITS) - 1) | 1 << DIGITS) << dropped;
    first | ((1 << dropped) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_counted_at_the_end_of_their_bin() {
        for units in [0, 1, 511, EXACT_UNITS - 1] {
            assert_eq!(
                (number(units) as u64, last_of(number(units))),
                (units, units)
            );
        }
        let mut last = EXACT_UNITS - 1;
        for _ in 0..10_000 {
            let first = last + 1;
            assert_eq!(number(first), number(last) + 1);
            last = last_of(number(first));
            assert!(last - first < first >> DIGITS);
            assert_eq!(number(last), number(first));
        }
    }
}
