//! Each program thread for itself: distances within a thread, as a cache of its own would see them.
//!
//! # What it is
//! An engine for each thread of each process, which gets the touches of that thread only. No thread
//! takes a line away from another: what a store in one thread does to the caches of the others is
//! not modelled ([`coherent`](super::coherent) does). Histograms, cells and elements are sums over
//! the threads, and so is the number of first accesses: an item that three threads touch is cold
//! three times.
//!
//! # How it goes on several threads
//! This thread reads and attributes, and gathers the touches of each shelf ([`mod@shelf`]), which
//! holds every 32nd program thread; workers take shelves with something to do ([`team`]). A shelf
//! gets its touches in the order of the trace, and sums are sums: the results do not depend on who
//! worked when.
//!
//! # Cost
//! That of the engine, once per access; smaller tables than one for all threads. Memory: that of
//! the engines of all threads that live (a thread's is given up some time after its end), the
//! histograms for each of the shelves in use (up to 32 times those of one analysis: some 200 bytes
//! for each cell, and the counts of the distances that occurred), and the batches on their way, up
//! to some tens of megabytes. The limit on memory is looked at between batches, so it is held to
//! within what a batch can add: of the exact histogram, a slot for each touch.

mod shelf;
mod team;

use std::num::NonZeroUsize;

use reuselens_attribute::Columns;
use reuselens_hugepages::OutOfMemory;
use reuselens_trace::{ProcessId, ThreadId};
use reuselens_units::Bytes;

use super::lanes::Lanes;
use super::{Counted, Counts, More, PARALLEL, THREAD_STEPS, hp_rda};
use crate::engines::{EngineError, by_name};
use crate::{AnalysisOptions, Error};
use shelf::{Batch, Recipe};
use team::{SHELVES, Team};

/// Touches in a batch: enough that handing over costs nothing, few enough to stay in the cache.
const BATCH: usize = 1 << 14;
/// Runs in a batch, for threads that touch little.
const RUNS: usize = 1 << 10;

/// The name of the engine that each thread gets; `sharing` is the one that was asked for.
///
/// # Errors
/// If there is no such engine, or it cannot do what else is asked for.
pub(super) fn engine(
    options: &AnalysisOptions,
    sharing: &'static str,
) -> Result<&'static str, Error> {
    if [PARALLEL, hp_rda::NAME, "sampled"].contains(&options.engine.as_str()) {
        return Err(Error::NotPrivate {
            engine: options.engine.clone(),
            sharing,
        });
    }
    let engine = super::bounded(options, by_name(&options.engine)?)?.name();
    match (options.engine.as_str(), options.sample) {
        (_, None) => Ok(engine),
        ("auto", Some(_)) => Err(Error::NoPrivateSample { sharing }),
        (name, Some(_)) => {
            let name = name.to_owned();
            Err(EngineError::NotSampled { name }.into())
        }
    }
}

/// A new way of counting, as the options have it.
///
/// # Errors
/// If there is no such engine, or it cannot do what else is asked for.
pub(super) fn begin(options: &AnalysisOptions, threads: NonZeroUsize) -> Result<Private, Error> {
    let engine = engine(options, "private")?;
    let recipe = Recipe {
        engine,
        max_distance: options.max_distance,
        reuse_times: options.reuse_times,
        forward: options.forward,
    };
    Ok(Private::new(recipe, threads.get() - 1))
}

/// An engine for each program thread.
pub(super) struct Private {
    recipe: Recipe,
    lanes: Lanes,
    /// The number of the program thread that runs.
    lane: u32,
    team: Team,
    /// What is gathered for each shelf.
    gathered: Vec<Batch>,
    accesses: u64,
}

impl Private {
    /// With that many workers beside the thread that calls.
    fn new(recipe: Recipe, workers: usize) -> Self {
        Private {
            lanes: Lanes::default(),
            lane: 0,
            team: Team::new(workers, &recipe),
            gathered: (0..SHELVES).map(|_| Batch::default()).collect(),
            recipe,
            accesses: 0,
        }
    }

    /// Gives a shelf what was gathered for it.
    fn hand_over(&mut self, shelf: usize) {
        let batch = &mut self.gathered[shelf];
        if !batch.is_empty() {
            self.team.hand_over(shelf, batch);
        }
    }

    fn hand_all_over(&mut self) {
        (0..SHELVES).for_each(|shelf| self.hand_over(shelf));
    }

    /// Gives up the engines of threads of which nothing more comes.
    fn bury(&mut self) {
        while let Some(lane) = self.lanes.over() {
            let shelf = shelf(lane);
            self.gathered[shelf].end(lane);
            self.hand_over(shelf);
        }
    }
}

/// The shelf of a program thread: those that begin one after the other are on different ones.
fn shelf(lane: u32) -> usize {
    lane as usize % SHELVES
}

impl Counts for Private {
    fn thread(&mut self, process: ProcessId, thread: ThreadId) {
        self.bury();
        let (lane, is_new) = self.lanes.number(process, thread);
        self.lane = lane;
        if is_new && !self.team.is_alone() {
            self.gathered[shelf(lane)].begin();
        }
    }

    fn thread_ended(&mut self, thread: ThreadId) {
        self.lanes.end(thread);
    }

    fn add(&mut self, columns: &Columns) {
        self.accesses += columns.len() as u64;
        let shelf = shelf(self.lane);
        if self.team.is_alone() {
            return self.team.touch(shelf, self.lane, columns);
        }
        let batch = &mut self.gathered[shelf];
        batch.push(self.lane, columns);
        if batch.len() >= BATCH || batch.runs() >= RUNS {
            self.hand_over(shelf);
        }
    }

    fn accesses(&self) -> u64 {
        self.accesses
    }

    fn steps(&self) -> u64 {
        self.accesses + self.lanes.begun() * THREAD_STEPS
    }

    /// Once settled, what the shelves hold, so that a limit on memory is met by the same access
    /// however many work. Before, what that can have become.
    fn memory(&self) -> Bytes {
        self.team.memory(&self.gathered)
    }

    fn refused(&self) -> Option<OutOfMemory> {
        self.team.refused()
    }

    fn settle(&mut self) {
        self.hand_all_over();
        self.team.settle();
    }

    fn finish(mut self: Box<Self>) -> Counted {
        self.hand_all_over();
        let sums = self.team.finish();
        let recipe = self.recipe;
        Counted {
            engine: recipe.engine.to_owned(),
            exact: true,
            error_bound: None,
            error_bounds: None,
            histogram: sums.histogram,
            keyed: sums.keyed,
            elements: sums.elements,
            more: More {
                paths: None,
                invalidated: None,
                reuse_times: recipe.reuse_times.then_some(sums.times),
                forward: recipe.forward.then_some(sums.forward),
                requested_bytes: None,
            },
            warnings: Vec::new(),
        }
    }
}
