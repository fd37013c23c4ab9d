//! Every access through one engine, in order.

use reuselens_attribute::Columns;
use reuselens_distance::{ENGINES, Engine};
use reuselens_locality::{ElementHistograms, ExactHistogram, KeyedHistograms};
use reuselens_units::{Bytes, Distance};

use super::{Counted, Counts, More};

/// One engine over the whole trace.
pub(super) struct Exact {
    engine: Box<dyn Engine>,
    distances: Vec<Distance>,
    histogram: ExactHistogram,
    /// Nothing is told apart.
    whole: bool,
    keyed: KeyedHistograms,
    elements: ElementHistograms,
    accesses: u64,
}

impl Exact {
    pub(super) fn new(engine: Box<dyn Engine>, whole: bool) -> Self {
        Exact {
            engine,
            distances: Vec::new(),
            histogram: ExactHistogram::new(),
            whole,
            keyed: KeyedHistograms::new(),
            elements: ElementHistograms::new(),
            accesses: 0,
        }
    }
}

impl Counts for Exact {
    fn add(&mut self, columns: &Columns) {
        let distances = &mut self.distances;
        distances.resize(columns.items.len(), Distance::COLD);
        self.engine.process(&columns.items, distances);
        self.histogram.add_column(distances);
        if !self.whole {
            self.keyed.add_column(&columns.cells, distances);
        }
        if !columns.elements.is_empty() {
            self.elements.add_column(&columns.elements, distances);
        }
        self.accesses += columns.items.len() as u64;
    }

    fn accesses(&self) -> u64 {
        self.accesses
    }

    fn memory(&self) -> Bytes {
        self.engine.memory()
            + self.histogram.memory()
            + self.keyed.memory()
            + self.elements.memory()
    }

    fn distances(&self) -> Option<&[Distance]> {
        Some(&self.distances)
    }

    fn finish(self: Box<Self>) -> Counted {
        let name = self.engine.name();
        Counted {
            engine: name.to_owned(),
            exact: ENGINES
                .iter()
                .any(|engine| engine.name == name && engine.exact),
            error_bound: None,
            error_bounds: None,
            histogram: self.histogram,
            keyed: self.keyed,
            elements: self.elements,
            more: More::default(),
            warnings: Vec::new(),
        }
    }
}
