//! Every access through one engine, in order.

use reuselens_attribute::Columns;
use reuselens_distance::Engine;
use reuselens_locality::{DeferredHistogram, ElementHistograms, ExactHistogram, KeyedHistograms};
use reuselens_units::{Bytes, Distance};

use super::{CountMethod, Counted, RunEvent, is_exact};
use crate::budget::LOOK_AT_MEMORY_EVERY;

/// Counts accesses by cell, and those that are not near for all cells together: what is near is
/// added at the end, see [`add_near`].
pub(super) fn add_told_apart(
    histogram: &mut DeferredHistogram,
    keyed: &mut KeyedHistograms,
    (cells, distances): (&[u32], &[Distance]),
    far: &mut Vec<Distance>,
) {
    far.clear();
    keyed.add_column_with_far(cells, distances, far);
    histogram.add_column(far);
}

/// Adds what was counted by cell alone.
pub(super) fn add_near(histogram: &mut ExactHistogram, keyed: &KeyedHistograms) {
    for (distance, accesses) in keyed.near() {
        histogram.add(distance, accesses);
    }
}

/// One engine over the whole trace.
pub(super) struct Exact {
    engine: Box<dyn Engine>,
    /// What it is called in the report.
    name: &'static str,
    /// Those of the last piece are the first.
    distances: Vec<Distance>,
    touches: usize,
    histogram: DeferredHistogram,
    /// Nothing is attributed: totals only.
    totals_only: bool,
    /// Memory for the distances that are not near.
    far: Vec<Distance>,
    keyed: KeyedHistograms,
    elements: ElementHistograms,
    accesses: u64,
}

impl Exact {
    pub(super) fn new(engine: Box<dyn Engine>, name: &'static str, totals_only: bool) -> Self {
        Exact {
            engine,
            name,
            distances: Vec::new(),
            touches: 0,
            histogram: DeferredHistogram::new(),
            totals_only,
            far: Vec::new(),
            keyed: KeyedHistograms::new(),
            elements: ElementHistograms::new(),
            accesses: 0,
        }
    }
}

impl CountMethod for Exact {
    fn event(&mut self, _event: RunEvent) {}

    fn by_thread(&self) -> bool {
        false
    }

    fn add(&mut self, columns: &Columns) {
        let touches = columns.items.len();
        if self.distances.len() < touches {
            self.distances.resize(touches, Distance::COLD);
        }
        self.touches = touches;
        let distances = &mut self.distances[..touches];
        self.engine.process(&columns.items, distances);
        self.keyed.move_all(&columns.merged);
        if self.totals_only {
            self.histogram.add_column(distances);
        } else {
            add_told_apart(
                &mut self.histogram,
                &mut self.keyed,
                (&columns.cells, distances),
                &mut self.far,
            );
        }
        if !columns.elements.is_empty() {
            self.elements.add_column(&columns.elements, distances);
        }
        self.accesses += touches as u64;
    }

    fn distances(&self) -> Option<&[Distance]> {
        Some(&self.distances[..self.touches])
    }

    fn accesses(&self) -> u64 {
        self.accesses
    }

    fn steps(&self) -> u64 {
        self.accesses()
    }

    fn memory(&self) -> Bytes {
        self.engine.memory_ahead(LOOK_AT_MEMORY_EVERY)
            + self.histogram.memory()
            + self.keyed.memory()
            + self.elements.memory()
    }

    /// Nothing can be given up.
    fn shrink(&mut self, _limit: Bytes, _whole: Bytes) -> bool {
        false
    }

    fn finish(self: Box<Self>) -> Counted {
        let mut histogram = self.histogram.finish();
        add_near(&mut histogram, &self.keyed);
        Counted {
            keyed: self.keyed,
            elements: self.elements,
            ..Counted::of(self.name, is_exact(self.name), histogram)
        }
    }
}
