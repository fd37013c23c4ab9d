//! The counts of a segment of a trace whose first accesses wait for what came before.

use reuselens_attribute::Columns;
use reuselens_distance::{Recency, Shard};
use reuselens_locality::{DeferredHistogram, ElementHistograms, KeyedHistograms};
use reuselens_units::{Bytes, Distance};

use super::moves::Moves;
use crate::budget::LOOK_AT_MEMORY_EVERY;

/// What waits of a segment: its items by first and by last access, and for each first access the
/// cell and the element that it counts for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub recency: Recency,
    pub cells: Vec<u32>,
    /// Empty if none is of an element; else as long as the others.
    pub elements: Vec<u32>,
}

impl Waiting {
    /// Notes the keys of first accesses that come after those that there are.
    fn push(&mut self, cell: u32, element: u32) {
        self.cells.push(cell);
        if element != 0 {
            self.elements.resize(self.cells.len() - 1, 0);
            self.elements.push(element);
        }
    }

    /// The column of elements as long as that of cells, if there are any.
    fn complete(&mut self) {
        if !self.elements.is_empty() {
            self.elements.resize(self.cells.len(), 0);
        }
    }

    /// Replaces the cells of the pending accesses by those that they were merged into.
    pub fn move_cells(&mut self, moves: &Moves) {
        for cell in &mut self.cells {
            *cell = moves.now(*cell);
        }
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        let items = self.recency.firsts.capacity() + self.recency.lasts.capacity();
        let keys = self.cells.capacity() + self.elements.capacity();
        Bytes((items * 8 + keys * 4) as u64)
    }
}

/// Accesses whose distance is known: all, by cell, by element.
#[derive(Default)]
pub(crate) struct Known {
    pub histogram: DeferredHistogram,
    pub keyed: KeyedHistograms,
    pub elements: ElementHistograms,
    pub accesses: u64,
    /// The columns without what waits.
    distances: Vec<Distance>,
    cells: Vec<u32>,
    numbers: Vec<u32>,
}

impl Known {
    /// Counts columns of equal length (`elements` may be empty).
    pub fn add(&mut self, distances: &[Distance], cells: &[u32], elements: &[u32]) {
        self.histogram.add_column(distances);
        self.keyed.add_column(cells, distances);
        if !elements.is_empty() {
            self.elements.add_column(elements, distances);
        }
        self.accesses += distances.len() as u64;
    }

    /// Counts those of the columns that are not cold; the cells and elements of the others go to
    /// `waiting`, in order.
    pub fn add_known(
        &mut self,
        distances: &[Distance],
        cells: &[u32],
        elements: &[u32],
        waiting: &mut Waiting,
    ) {
        let (mut distances_known, mut cells_known, mut numbers) = (
            std::mem::take(&mut self.distances),
            std::mem::take(&mut self.cells),
            std::mem::take(&mut self.numbers),
        );
        for (at, (&distance, &cell)) in distances.iter().zip(cells).enumerate() {
            let element = elements.get(at).copied().unwrap_or(0);
            if distance.is_cold() {
                waiting.push(cell, element);
            } else {
                distances_known.push(distance);
                cells_known.push(cell);
                numbers.push(element);
            }
        }
        waiting.complete();
        if elements.is_empty() {
            numbers.clear();
        }
        self.add(&distances_known, &cells_known, &numbers);
        distances_known.clear();
        cells_known.clear();
        numbers.clear();
        (self.distances, self.cells, self.numbers) = (distances_known, cells_known, numbers);
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        let columns =
            self.distances.capacity() * 8 + (self.cells.capacity() + self.numbers.capacity()) * 4;
        self.histogram.memory()
            + self.keyed.memory()
            + self.elements.memory()
            + Bytes(columns as u64)
    }
}

/// The engine of a segment, and the first accesses that wait.
#[derive(Default)]
pub(crate) struct SegmentCounts {
    shard: Shard,
    waiting: Waiting,
    distances: Vec<Distance>,
    moves: Moves,
}

impl SegmentCounts {
    /// What is left of a segment, to append later segments to.
    pub fn from_waiting(mut waiting: Waiting) -> Self {
        let recency = std::mem::take(&mut waiting.recency);
        SegmentCounts {
            shard: Shard::from_recency(recency),
            waiting,
            ..SegmentCounts::default()
        }
    }

    /// Adds the next item accesses of the segment: counts in `known` what can be.
    pub fn add(&mut self, columns: &Columns, known: &mut Known) {
        if !columns.merged.is_empty() {
            known.keyed.move_all(&columns.merged);
            let moves = Moves::of(&columns.merged);
            self.waiting.move_cells(&moves);
            self.moves.then(&moves);
        }
        let (items, cells, elements) = (&columns.items, &columns.cells, &columns.elements);
        let distances = &mut self.distances;
        distances.resize(items.len(), Distance::COLD);
        let firsts = self.shard.firsts();
        self.shard.process(items, distances);
        if self.shard.firsts() == firsts {
            known.add(distances, cells, elements);
        } else {
            known.add_known(distances, cells, elements, &mut self.waiting);
        }
    }

    /// Appends a later segment: counts in `known` those of its first accesses that are not
    /// first any more.
    pub fn absorb(&mut self, later: Waiting, known: &mut Known) {
        self.shard.absorb(later.recency, &mut self.distances);
        let waiting = &mut self.waiting;
        known.add_known(&self.distances, &later.cells, &later.elements, waiting);
    }

    /// Takes out where the cells went that were merged.
    pub fn take_moves(&mut self) -> Moves {
        std::mem::take(&mut self.moves)
    }

    /// What waits.
    pub fn into_waiting(self) -> Waiting {
        Waiting {
            recency: self.shard.into_recency(),
            ..self.waiting
        }
    }

    /// The memory held, and that which it takes if a table grows before the next look, or while the
    /// part's file is made, if that is more.
    pub fn memory(&self) -> Bytes {
        let distances = Bytes(self.distances.capacity() as u64 * 8);
        let counting = self.shard.memory_ahead(LOOK_AT_MEMORY_EVERY) + self.waiting.memory();
        // What waits, once as it is, once as bytes and once as packed bytes.
        let numbers = (self.waiting.cells.len() + self.waiting.elements.len()) * size_of::<u32>();
        let items = 2 * self.shard.distinct().get() * size_of::<u64>() as u64;
        let ending = Bytes(3 * (items + numbers as u64));
        (counting + distances).max(ending)
    }
}
