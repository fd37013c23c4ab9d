//! Beside the distances: reuse times, and forward distances per cell.

use reuselens_attribute::Columns;
use reuselens_causes::{CarriedCounts, CauseCounts};
use reuselens_distance::{Previous, PreviousAccess};
use reuselens_locality::{ExactHistogram, KeyedHistograms, ReuseTimeCounts, ReuseTimes};
use reuselens_profile::EngineStep;
use reuselens_units::{Bytes, Distance};

use super::paths::PathCounts;
use super::{CountMethod, Counted, DistanceMethod};
use crate::budget::LOOK_AT_MEMORY_EVERY;

/// What is counted beside the distances.
#[derive(Default)]
pub(crate) struct More {
    /// The reuse times of all accesses, if they were asked for.
    pub reuse_times: Option<ReuseTimes>,
    /// The forward distances of each cell, if they were asked for.
    pub forward: Option<KeyedHistograms>,
    /// The distances of each cell by path, if they were asked for.
    pub paths: Option<PathCounts>,
    /// Why accesses miss, if that was asked for.
    pub causes: Option<CauseCounts>,
    /// What carries the reuses that miss, if causes were asked for.
    pub carried: Option<CarriedCounts>,
    /// For each cell, the accesses whose item another thread's store had invalidated, if caches are
    /// kept coherent. Cells beyond the end have none.
    pub invalidated: Option<Vec<u64>>,
    /// The bytes requested by distance, if objects were weighed by their sizes.
    pub requested_bytes: Option<ExactHistogram>,
    /// What was seen of the run, if bursts of it were recorded.
    pub sampled: Option<SampledRun>,
    /// How long each step of the engine took, if that was asked for.
    pub engine_steps: Vec<EngineStep>,
}

/// What was seen of a run of which bursts were recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampledRun {
    /// Its accesses, recorded or not.
    pub accesses: u64,
    /// The item accesses that were seen.
    pub items: u64,
}

/// A way of counting, and a table of previous accesses beside it.
///
/// The forward distance of an access is the backward distance of the next one to its item: so each
/// distance that comes is one of the cell of the access before, and at the end every item's last
/// access has none.
pub(super) struct Extras<M: ?Sized> {
    inner: Box<M>,
    previous: Previous,
    found: Vec<PreviousAccess>,
    times: Option<ReuseTimeCounts>,
    forward: Option<Forward<M>>,
}

/// The forward distances of each cell.
struct Forward<M: ?Sized> {
    histograms: KeyedHistograms,
    ahead: Ahead,
    /// The distances of the piece just counted.
    distances: fn(&M) -> &[Distance],
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

impl<M: CountMethod + ?Sized> Extras<M> {
    /// Reuse times.
    pub(super) fn times(inner: Box<M>) -> Self {
        Extras {
            inner,
            previous: Previous::new(),
            found: Vec::new(),
            times: Some(ReuseTimeCounts::new()),
            forward: None,
        }
    }
}

impl<M: DistanceMethod + ?Sized> Extras<M> {
    /// Forward distances, and reuse times if `times`.
    pub(super) fn forward(inner: Box<M>, times: bool) -> Self {
        Extras {
            times: times.then(ReuseTimeCounts::new),
            forward: Some(Forward {
                histograms: KeyedHistograms::new(),
                ahead: Ahead::default(),
                distances: M::distances,
            }),
            ..Extras::times(inner)
        }
    }
}

impl<M: CountMethod + ?Sized> CountMethod for Extras<M> {
    fn add(&mut self, columns: &Columns) {
        self.inner.add(columns);
        self.found
            .resize(columns.items.len(), PreviousAccess::FIRST);
        self.previous
            .process(&columns.items, &columns.cells, &mut self.found);
        if let Some(times) = &mut self.times {
            times.add_column(self.found.iter().map(between));
        }
        if let Some(forward) = &mut self.forward {
            // Each distance is that of the access that it leads back to.
            let distances = (forward.distances)(&self.inner);
            let ahead = &mut forward.ahead;
            ahead.add(&mut forward.histograms, &self.found, distances);
        }
    }

    fn accesses(&self) -> u64 {
        self.inner.accesses()
    }

    fn memory(&self) -> Bytes {
        let forward = self.forward.as_ref();
        let forward = forward.map(|forward| forward.histograms.memory());
        let previous = self.previous.memory_ahead(LOOK_AT_MEMORY_EVERY);
        self.inner.memory() + previous + forward.unwrap_or_default()
    }

    fn shrink(&mut self, limit: Bytes, whole: Bytes) -> bool {
        let own = self.memory().get() - self.inner.memory().get();
        let left = limit.get().checked_sub(own);
        left.is_some_and(|left| self.inner.shrink(Bytes(left), whole))
    }

    fn finish(self: Box<Self>) -> Counted {
        let Extras {
            inner,
            previous,
            times,
            forward,
            ..
        } = *self;
        let mut counted = inner.finish();
        counted.more.reuse_times = times.map(|times| {
            let last = previous.last_accesses();
            times.finish(last.map(|(after, _)| after))
        });
        counted.more.forward = forward.map(|mut forward| {
            add_last(&mut forward.histograms, &previous);
            forward.histograms
        });
        counted
    }
}

impl<M: DistanceMethod + ?Sized> DistanceMethod for Extras<M> {
    fn distances(&self) -> &[Distance] {
        self.inner.distances()
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
