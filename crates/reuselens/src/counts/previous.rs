//! Beside the distances: reuse times, and forward distances per cell, by the access before each.

use reuselens_attribute::Columns;
use reuselens_distance::{Previous, PreviousAccess};
use reuselens_locality::{KeyedHistograms, ReuseTimeCounts, ReuseTimes};
use reuselens_units::{Bytes, Distance};

use super::{Addition, Counted, Observer, RunEvent};
use crate::attribution::Uncounted;
use crate::budget::LOOK_AT_MEMORY_EVERY;

/// A table of previous accesses.
///
/// The forward distance of an access is the backward distance of the next one to its item: so each
/// distance that comes is one of the cell of the access before, and at the end every item's last
/// access has none.
pub(super) struct PreviousAccesses {
    previous: Previous,
    found: Vec<PreviousAccess>,
    times: Option<ReuseTimeCounts>,
    forward: Option<KeyedHistograms>,
    ahead: Ahead,
}

/// The reuses of a piece: cell of the previous access, distance.
#[derive(Default)]
pub(super) struct Ahead {
    cells: Vec<u32>,
    distances: Vec<Distance>,
}

impl Ahead {
    /// Counts the distances of a piece for the accesses that they lead back to.
    pub(super) fn add(
        &mut self,
        forward: &mut KeyedHistograms,
        found: &[PreviousAccess],
        distances: &[Distance],
    ) {
        self.cells.clear();
        self.distances.clear();
        for (found, distance) in found.iter().zip(distances) {
            if found.between != PreviousAccess::NONE {
                self.cells.push(found.tag);
                self.distances.push(*distance);
            }
        }
        forward.add_column(&self.cells, &self.distances);
    }
}

impl PreviousAccesses {
    /// Counts reuse times if `times`, and forward distances if `forward`: for these it must be told
    /// distances.
    pub(super) fn new(times: bool, forward: bool) -> Self {
        PreviousAccesses {
            previous: Previous::new(),
            found: Vec::new(),
            times: times.then(ReuseTimeCounts::new),
            forward: forward.then(KeyedHistograms::new),
            ahead: Ahead::default(),
        }
    }
}

impl Observer for PreviousAccesses {
    fn event(&mut self, _event: RunEvent) {}

    fn by_thread(&self) -> bool {
        false
    }

    fn add(&mut self, columns: &Columns, distances: &[Distance]) {
        self.found
            .resize(columns.items.len(), PreviousAccess::FIRST);
        self.previous
            .process(&columns.items, &columns.cells, &mut self.found);
        if let Some(times) = &mut self.times {
            times.add_column(self.found.iter().map(between));
        }
        if let Some(forward) = &mut self.forward {
            // Each distance is that of the access that it leads back to.
            self.ahead.add(forward, &self.found, distances);
        }
    }

    fn memory(&self) -> Bytes {
        let forward = self.forward.as_ref().map(KeyedHistograms::memory);
        self.previous.memory_ahead(LOOK_AT_MEMORY_EVERY) + forward.unwrap_or_default()
    }

    /// Nothing can be given up.
    fn shrink(&mut self, _limit: Bytes) -> bool {
        false
    }

    fn finish(self: Box<Self>, counted: &mut Counted) {
        if let Some(times) = self.times {
            let last = self.previous.last_accesses().map(|(after, _)| after);
            counted.add(times.finish(last));
        }
        if let Some(mut forward) = self.forward {
            add_last(&mut forward, &self.previous);
            counted.add(ForwardDistances(forward));
        }
    }
}

impl Addition for ReuseTimes {
    fn write(self: Box<Self>, into: &mut Uncounted) {
        into.profile.reuse_times = Some(*self);
    }
}

/// The forward distances of each cell.
pub(super) struct ForwardDistances(pub KeyedHistograms);

impl Addition for ForwardDistances {
    fn write(self: Box<Self>, into: &mut Uncounted) {
        for (number, cell) in (0..).zip(&mut into.profile.cells) {
            cell.forward = self.0.get(number).unwrap_or_default().0;
        }
    }
}

/// The reuse time of an access, `None` if it is the first to its item.
pub(super) fn between(found: &PreviousAccess) -> Option<u64> {
    Some(found.between).filter(|between| *between != PreviousAccess::NONE)
}

/// Counts the last access to each item, which no other follows.
pub(super) fn add_last(forward: &mut KeyedHistograms, previous: &Previous) {
    const AT_ONCE: usize = 4096;
    let none = [Distance::COLD; AT_ONCE];
    let mut cells = Vec::with_capacity(AT_ONCE);
    let mut last = previous.last_accesses().map(|(_, cell)| cell);
    loop {
        cells.extend(last.by_ref().take(AT_ONCE));
        if cells.is_empty() {
            return;
        }
        forward.add_column(&cells, &none[..cells.len()]);
        cells.clear();
    }
}
