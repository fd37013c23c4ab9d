//! Each program thread has a cache of its own, and stores of others invalidate what it holds.
//!
//! # What it is
//! An engine for each thread of each process, as with private caches, and for each item the number
//! of stores to it ([`reuselens_distance::Coherent`]). The first access of a thread to an item
//! after another thread's store to it is cold, and counted as *invalidated* for its cell. All
//! counts are sums over the threads.
//!
//! # Cost
//! Stores of one thread matter to all others, so the touches are counted in the order of the trace,
//! by one thread of this program. Per access that of the engine and two look-ups. Memory: that of
//! the engines of all threads that live, and 17 to 39 bytes for each item and each pair of a thread
//! and an item.

use reuselens_attribute::Columns;
use reuselens_distance::{Coherent as Caches, CountingTree, Engine};
use reuselens_locality::{DeferredHistogram, ElementHistograms, KeyedHistograms};
use reuselens_units::{Bytes, Distance};

use super::exact::{add_near, add_told_apart};
use super::lanes::Lanes;
use super::{Addition, CountMethod, Counted, RunEvent, THREAD_STEPS, private};
use crate::attribution::Uncounted;
use crate::engines::by_name;
use crate::{AnalysisOptions, Error};
use reuselens_attribute::{Kinds, NamesMode};

/// A new way of counting, as the options have it.
///
/// # Errors
/// If there is no such engine, or something is asked for that coherent caches cannot be asked.
pub(super) fn begin(options: &AnalysisOptions) -> Result<Coherent, Error> {
    let reasons = [
        (
            options.kinds != Kinds::All,
            "--kind",
            "loads miss where stores invalidate, so both must count",
        ),
        (
            options.names == NamesMode::Statement,
            "--names statement",
            "a store after a load of the same statement would not count, and would invalidate nothing",
        ),
        (
            options.max_distance.is_some(),
            "--max-distance",
            "which threads hold an item is remembered for every item",
        ),
        (
            options.reuse_times,
            "--times",
            "footprints do not know that a cache loses items to other threads",
        ),
        (
            options.forward,
            "--forward",
            "a next access may have no distance because of another thread's store, or not exist at all",
        ),
    ];
    if let Some((_, other, why)) = reasons.into_iter().find(|(asked, ..)| *asked) {
        return Err(Error::Together {
            one: "--sharing coherent",
            other,
            why,
        });
    }
    let name = private::engine(options, "coherent")?;
    // The name has been tried.
    let engine = move || -> Box<dyn Engine> {
        by_name(name).unwrap_or_else(|_| Box::new(CountingTree::new()))
    };
    Ok(Coherent {
        engine: name,
        caches: Caches::with(engine),
        lanes: Lanes::default(),
        lane: 0,
        histogram: DeferredHistogram::new(),
        keyed: KeyedHistograms::new(),
        elements: ElementHistograms::new(),
        invalidated: Vec::new(),
        accesses: 0,
        distances: Vec::new(),
        far: Vec::new(),
        lost: Vec::new(),
    })
}

/// Caches of program threads that are kept coherent.
pub(super) struct Coherent {
    engine: &'static str,
    caches: Caches,
    lanes: Lanes,
    /// The number of the program thread that runs.
    lane: u32,
    histogram: DeferredHistogram,
    keyed: KeyedHistograms,
    elements: ElementHistograms,
    /// For each cell, the accesses to items that another thread's store had invalidated.
    invalidated: Vec<u64>,
    accesses: u64,
    /// Memory for the distances of a piece, for those that are not near, and for which of its
    /// accesses are invalidated.
    distances: Vec<Distance>,
    far: Vec<Distance>,
    lost: Vec<u32>,
}

impl CountMethod for Coherent {
    fn event(&mut self, event: RunEvent) {
        match event {
            RunEvent::Thread(process, thread) => {
                while let Some(lane) = self.lanes.over() {
                    self.caches.end(lane);
                }
                (self.lane, _) = self.lanes.number(process, thread);
            }
            RunEvent::ThreadEnded(thread) => self.lanes.end(thread),
            RunEvent::Sampling(_) => {}
        }
    }

    fn by_thread(&self) -> bool {
        true
    }

    fn add(&mut self, columns: &Columns) {
        self.distances.resize(columns.len(), Distance::COLD);
        self.caches.process(
            self.lane,
            &columns.items,
            &columns.stores,
            &mut self.distances,
            &mut self.lost,
        );
        add_told_apart(
            &mut self.histogram,
            &mut self.keyed,
            (&columns.cells, &self.distances),
            &mut self.far,
        );
        if !columns.elements.is_empty() {
            self.elements.add_column(&columns.elements, &self.distances);
        }
        for &access in &self.lost {
            let cell = columns.cells[access as usize] as usize;
            if cell >= self.invalidated.len() {
                self.invalidated.resize(cell + 1, 0);
            }
            self.invalidated[cell] += 1;
        }
        self.accesses += columns.len() as u64;
    }

    /// No observer counts beside caches of threads.
    fn distances(&self) -> Option<&[Distance]> {
        None
    }

    fn accesses(&self) -> u64 {
        self.accesses
    }

    fn steps(&self) -> u64 {
        self.accesses + self.lanes.begun() * THREAD_STEPS
    }

    fn memory(&self) -> Bytes {
        let invalidated = Bytes(self.invalidated.capacity() as u64 * 8);
        self.caches.memory_ahead()
            + self.histogram.memory()
            + self.keyed.memory()
            + self.elements.memory()
            + invalidated
    }

    /// Nothing can be given up.
    fn shrink(&mut self, _limit: Bytes, _whole: Bytes) -> bool {
        false
    }

    fn finish(self: Box<Self>) -> Counted {
        let mut histogram = self.histogram.finish();
        add_near(&mut histogram, &self.keyed);
        let mut counted = Counted {
            keyed: self.keyed,
            elements: self.elements,
            ..Counted::exactly(self.engine, histogram)
        };
        counted.add(Invalidated(self.invalidated));
        counted
    }
}

/// For each cell, the accesses whose item another thread's store had invalidated. Cells beyond the
/// end have none.
struct Invalidated(Vec<u64>);

impl Addition for Invalidated {
    fn write(self: Box<Self>, into: &mut Uncounted) {
        into.profile.invalidated = self.0.iter().sum();
        for (cell, &invalidated) in into.profile.cells.iter_mut().zip(&self.0) {
            cell.invalidated = invalidated;
        }
    }
}
