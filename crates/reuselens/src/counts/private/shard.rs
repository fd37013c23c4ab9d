//! Some of the program threads, each with an engine of its own, and what is counted of them
//! together.

use std::collections::BTreeMap;
use std::ops::Range;

use reuselens_attribute::Columns;
use reuselens_distance::{Bounded, CountingTree, Engine, Previous, PreviousAccess};
use reuselens_locality::{
    ElementHistograms, ExactHistogram, KeyedHistograms, ReuseTimeCounts, ReuseTimes,
};
use reuselens_units::{Bytes, Distance};

use crate::budget::LOOK_AT_MEMORY_EVERY;
use crate::counts::gather::append;
use crate::counts::previous::{Ahead, add_last, between};
use crate::engines::by_name;

/// Bytes that a touch can add to what is held, in small structures, of which each is held beside
/// its successor while it grows; for large ones see [`may_become`].
const TOUCH: u64 = 768;
/// Bytes that a new program thread adds, at most.
const LANE: u64 = 256 << 10;

/// Bytes that a cell takes on a shard which names it or a later one: of distances, and of forward
/// ones.
const CELL: u64 = 2 * 192;
/// The same for an element.
const ELEMENT: u64 = 64;

/// The cells and elements that touches name, all smaller ones included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Named {
    cells: u64,
    elements: u64,
}

impl Named {
    fn by(touches: &Columns) -> Self {
        let end = |numbers: &[u32]| numbers.iter().max().map_or(0, |top| u64::from(*top) + 1);
        Named {
            cells: end(&touches.cells),
            elements: end(&touches.elements),
        }
    }

    pub(super) fn with(self, other: Named) -> Self {
        Named {
            cells: self.cells.max(other.cells),
            elements: self.elements.max(other.elements),
        }
    }

    /// Bytes of what these have and `known`, fewer or as many, have not.
    pub(super) fn beyond(self, known: Named) -> u64 {
        (self.cells - known.cells) * CELL + (self.elements - known.elements) * ELEMENT
    }
}

/// What each program thread gets.
#[derive(Clone, Debug)]
pub(super) struct EngineConfig {
    /// The name of its engine, one that [`by_name`] knows.
    pub engine: &'static str,
    /// The smallest distance that need not be told.
    pub max_distance: Option<u64>,
    pub reuse_times: bool,
    pub forward: bool,
}

impl EngineConfig {
    fn engine(&self) -> Box<dyn Engine> {
        match self.max_distance {
            Some(limit) => Box::new(Bounded::new(limit)),
            // The name has been tried by whoever made the configuration.
            None => by_name(self.engine).unwrap_or_else(|_| Box::new(CountingTree::new())),
        }
    }

    fn lane(&self) -> ThreadEngine {
        ThreadEngine {
            engine: self.engine(),
            previous: (self.reuse_times || self.forward).then(Previous::new),
            times: self.reuse_times.then(ReuseTimeCounts::new),
            held: 0,
        }
    }
}

/// A part of a batch.
#[derive(Debug)]
enum BatchRun {
    /// The number of a program thread, and the number of its item accesses that come next.
    ItemBatch(u32, usize),
    /// The number of a program thread that has ended: its engine retires.
    End(u32),
}

/// Item accesses of the program threads of a shard, in order.
#[derive(Debug, Default)]
pub(super) struct ThreadBatch {
    columns: Columns,
    runs: Vec<BatchRun>,
    /// Bytes that it can add to what is held, beside room for cells.
    growth: u64,
    named: Named,
}

impl ThreadBatch {
    pub(super) fn push(&mut self, lane: u32, touches: &Columns) {
        append(&mut self.columns, touches);
        self.runs.push(BatchRun::ItemBatch(lane, touches.len()));
        self.growth += touches.len() as u64 * TOUCH;
        self.named = self.named.with(Named::by(touches));
    }

    /// A program thread begins.
    pub(super) fn begin(&mut self) {
        self.growth += LANE;
    }

    /// A program thread is over.
    pub(super) fn end(&mut self, lane: u32) {
        self.runs.push(BatchRun::End(lane));
    }

    /// The number of pieces.
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The number of touches.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The cells and elements that the shard must have room for.
    pub(super) fn named(&self) -> Named {
        self.named
    }

    /// Bytes that it can add to what is held, beside room for those.
    pub(super) fn growth(&self) -> u64 {
        self.growth
    }

    pub(super) fn clear(&mut self) {
        self.columns.clear();
        self.runs.clear();
        self.growth = 0;
        self.named = Named::default();
    }
}

/// One program thread.
struct ThreadEngine {
    engine: Box<dyn Engine>,
    previous: Option<Previous>,
    times: Option<ReuseTimeCounts>,
    /// Bytes that it held after its last touches, and may take before the next look.
    held: u64,
}

impl ThreadEngine {
    fn memory(&self) -> Bytes {
        #[cfg(test)]
        tests::LOOKS.set(tests::LOOKS.get() + 1);
        let previous = self.previous.as_ref();
        let previous = previous.map(|it| it.memory_ahead(LOOK_AT_MEMORY_EVERY));
        self.engine.memory_ahead(LOOK_AT_MEMORY_EVERY) + previous.unwrap_or_default()
    }
}

/// What a shard that held so much can hold when batches of so much growth are done. A table of
/// which it was not yet seen that it will grow takes half as much again then, and beside that what
/// it was: two and a half times, at most.
pub(super) fn may_become(held: u64, growth: u64) -> u64 {
    3 * held + growth
}

/// What was counted. Sums, in whatever order.
#[derive(Default)]
pub(super) struct Sums {
    pub histogram: ExactHistogram,
    pub keyed: KeyedHistograms,
    pub elements: ElementHistograms,
    pub times: ReuseTimes,
    pub forward: KeyedHistograms,
}

impl Sums {
    pub(super) fn merge(&mut self, more: Sums) {
        self.histogram.merge(&more.histogram);
        self.keyed.merge(&more.keyed);
        self.elements.merge(more.elements);
        self.times.merge(&more.times);
        self.forward.merge(&more.forward);
    }

    fn memory(&self) -> Bytes {
        self.histogram.memory()
            + self.keyed.memory()
            + self.elements.memory()
            + self.forward.memory()
    }
}

/// Some program threads. Whoever works on it, it gets the same touches in the same order and the
/// same pieces, so that what it holds and when does not depend on who works.
pub(super) struct ThreadShard {
    config: EngineConfig,
    lanes: BTreeMap<u32, ThreadEngine>,
    /// Bytes that these hold: looked at once per program thread and look, they would be all that
    /// an analysis of many threads does.
    held: u64,
    sums: Sums,
    distances: Vec<Distance>,
    found: Vec<PreviousAccess>,
    ahead: Ahead,
}

impl ThreadShard {
    pub(super) fn new(config: EngineConfig) -> Self {
        ThreadShard {
            config,
            lanes: BTreeMap::new(),
            held: 0,
            sums: Sums::default(),
            distances: Vec::new(),
            found: Vec::new(),
            ahead: Ahead::default(),
        }
    }

    /// Counts a batch.
    pub(super) fn work(&mut self, batch: &ThreadBatch) {
        let mut start = 0;
        for run in &batch.runs {
            match *run {
                BatchRun::ItemBatch(lane, count) => {
                    self.touch(lane, &batch.columns, start..start + count);
                    start += count;
                }
                BatchRun::End(lane) => self.end(lane),
            }
        }
    }

    /// Counts touches of a program thread: a range of the columns.
    pub(super) fn touch(&mut self, lane: u32, columns: &Columns, range: Range<usize>) {
        let (items, cells) = (&columns.items[range.clone()], &columns.cells[range.clone()]);
        let config = &self.config;
        let lane = self.lanes.entry(lane).or_insert_with(|| config.lane());
        let (sums, distances) = (&mut self.sums, &mut self.distances);
        distances.resize(items.len(), Distance::COLD);
        lane.engine.process(items, distances);
        sums.histogram.add_column(distances);
        sums.keyed.add_column(cells, distances);
        if let Some(elements) = columns.elements.get(range) {
            sums.elements.add_column(elements, distances);
        }
        if let Some(previous) = &mut lane.previous {
            self.found.resize(items.len(), PreviousAccess::FIRST);
            previous.process(items, cells, &mut self.found);
            if let Some(times) = &mut lane.times {
                times.add_column(self.found.iter().map(between));
            }
            if self.config.forward {
                self.ahead.add(&mut sums.forward, &self.found, distances);
            }
        }
        let held = lane.memory().get();
        self.held = self.held - lane.held + held;
        lane.held = held;
    }

    /// Retires the engine of a program thread that has ended, and frees its memory.
    pub(super) fn end(&mut self, lane: u32) {
        let Some(lane) = self.lanes.remove(&lane) else {
            return;
        };
        self.held -= lane.held;
        let Some(previous) = lane.previous else {
            return;
        };
        if let Some(times) = lane.times {
            let last = previous.last_accesses().map(|(after, _)| after);
            self.sums.times.merge(&times.finish(last));
        }
        if self.config.forward {
            add_last(&mut self.sums.forward, &previous);
        }
    }

    /// The memory held. Cost: a look at every cell.
    pub(super) fn memory(&self) -> Bytes {
        self.sums.memory() + Bytes(self.held)
    }

    /// What was counted, at the end of all threads.
    pub(super) fn finish(mut self) -> Sums {
        while let Some((&lane, _)) = self.lanes.first_key_value() {
            self.end(lane);
        }
        self.sums
    }
}

#[cfg(test)]
mod tests;
