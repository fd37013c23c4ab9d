//! Every access through one engine, of which nobody asks whose it was.

use reuselens_attribute::Columns;
use reuselens_distance::Engine;
use reuselens_units::{Bytes, Distance};

use super::{CountMethod, Counted, RunEvent, is_exact};
use crate::TalliedHistogram;
use crate::budget::LOOK_AT_MEMORY_EVERY;

/// Item accesses that are counted together: few enough that what is left of them stays in a near
/// cache until then.
const TOGETHER: usize = 1 << 14;

/// One engine over the whole trace, and one histogram.
pub(super) struct TotalCounts {
    engine: Box<dyn Engine>,
    /// What it is called in the report.
    name: &'static str,
    histogram: TalliedHistogram,
    accesses: u64,
}

impl TotalCounts {
    pub(super) fn new(engine: Box<dyn Engine>, name: &'static str) -> Self {
        TotalCounts {
            engine,
            name,
            histogram: TalliedHistogram::new(),
            accesses: 0,
        }
    }
}

impl CountMethod for TotalCounts {
    fn event(&mut self, _event: RunEvent) {}

    fn by_thread(&self) -> bool {
        false
    }

    fn add(&mut self, columns: &Columns) {
        for items in columns.items.chunks(TOGETHER) {
            self.histogram.add(|tally| self.engine.tally(items, tally));
        }
        self.accesses += columns.items.len() as u64;
    }

    fn distances(&self) -> Option<&[Distance]> {
        None
    }

    fn accesses(&self) -> u64 {
        self.accesses
    }

    fn steps(&self) -> u64 {
        self.accesses()
    }

    fn memory(&self) -> Bytes {
        self.engine.memory_ahead(LOOK_AT_MEMORY_EVERY) + self.histogram.memory()
    }

    /// Nothing can be given up.
    fn shrink(&mut self, _limit: Bytes, _whole: Bytes) -> bool {
        false
    }

    fn finish(self: Box<Self>) -> Counted {
        Counted::of(self.name, is_exact(self.name), self.histogram.finish())
    }
}
