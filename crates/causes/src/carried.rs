//! [`CarriedReuses`]: what carries the reuses that miss.
//!
//! Cost: 55 to 65 ns per access of a matrix product, which has a basic block for every second
//! access, on a busy machine of two processors; 6 % of the accesses missing adds less than 5 ns
//! (`cargo run --release -p reuselens-causes --example carried_cost`). The table of previous
//! accesses is asked for each access, the stack of scopes for each miss.
//!
//! Source: Marin and Mellor-Crummey, *Pinpointing and exploiting opportunities for enhancing data
//! reuse*, ISPASS 2008, section 2. The paper keeps the time of each block of memory's last access
//! and searches the stack of scopes for it, as here.

use std::collections::HashMap;

use reuselens_control_flow::BasicBlock;
use reuselens_distance::{Previous, PreviousAccess};
use reuselens_locality::{Carrier, CodeScope};
use reuselens_units::{Bytes, Items};

use crate::MissColumns;
use crate::code_scopes::{CodeScopes, ThreadScopes};
use crate::reuse_pairs::{CarriedPair, ReusePairs};
use crate::scope_tracker::ScopeTracker;

/// What carries the reuses of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarriedCounts {
    /// The reuses, by their cells and carriers.
    pub pairs: Vec<CarriedPair>,
    /// The scopes that carry them: [`Carrier`] has indices.
    pub scopes: Vec<CodeScope>,
    /// Basic blocks that were seen. Without any, scopes are not known.
    pub blocks: u64,
}

/// A thread that runs.
struct RunningThread {
    process: u16,
    tracker: ScopeTracker,
    scopes: ThreadScopes,
}

/// Finds what carries the reuses that miss in a cache: the innermost scope that was active at both
/// accesses, or that they are of different threads.
///
/// The scopes of a thread are known by its basic blocks. Where blocks overlap, as a rewriter has
/// them, a loop that is entered by falling through begins with the block around its first
/// instruction, so that accesses before it in that block count as accesses in the loop.
///
/// Memory: 48 to 96 bytes per distinct item, 90 bytes per block of code and thread, and up to 60
/// bytes for each of [`Self::MOST_PAIRS`].
pub struct CarriedReuses {
    cache: u64,
    previous: Previous,
    found: Vec<PreviousAccess>,
    /// Accesses of the piece that miss and are no first accesses.
    misses: Vec<u32>,
    /// The thread of each cell.
    cell_threads: Vec<u32>,
    threads: HashMap<u32, RunningThread>,
    scopes: CodeScopes,
    pairs: ReusePairs,
    blocks: u64,
}

impl CarriedReuses {
    /// Pairs of cells and a carrier that are counted by themselves. The rarest of more count for
    /// their second cell alone.
    pub const MOST_PAIRS: usize = 1 << 14;

    /// Of misses in a cache of this size, with up to `most_pairs` pairs of cells and a carrier.
    pub fn new(cache: Items, most_pairs: usize) -> Self {
        CarriedReuses {
            cache: cache.get(),
            previous: Previous::new(),
            found: Vec::new(),
            misses: Vec::new(),
            cell_threads: Vec::new(),
            threads: HashMap::new(),
            scopes: CodeScopes::default(),
            pairs: ReusePairs::new(most_pairs),
            blocks: 0,
        }
    }

    /// The next piece of the trace, of a thread of `process`, and the basic blocks that began in
    /// it, each with the number of the piece's accesses before it. Cells are numbered in the order
    /// of their first accesses.
    pub fn add(&mut self, process: u16, columns: &MissColumns, blocks: &[(u32, BasicBlock)]) {
        let begin = self.previous.accesses();
        self.add_cells(columns);
        self.find_misses(columns);
        let thread = self.threads.entry(columns.thread);
        let thread = thread.or_insert_with(|| RunningThread {
            process,
            tracker: ScopeTracker::new(begin),
            scopes: ThreadScopes::default(),
        });
        let mut lookup = Lookup {
            columns,
            begin,
            found: &self.found,
            cell_threads: &self.cell_threads,
            scopes: &mut self.scopes,
            pairs: &mut self.pairs,
        };
        let mut misses = self.misses.as_slice();
        for (before, block) in blocks {
            misses = lookup.count_until(*before, misses, thread);
            thread.tracker.enter(block, begin + u64::from(*before));
        }
        lookup.count_until(u32::MAX, misses, thread);
        self.blocks += blocks.len() as u64;
    }

    /// Remembers the thread of each new cell.
    fn add_cells(&mut self, columns: &MissColumns) {
        // By their order these are the cells after those known; most pieces have none.
        let last = columns.cells.iter().copied().max();
        let needed = last.map_or(0, |last| last as usize + 1);
        let known = self.cell_threads.len();
        if needed > known {
            self.cell_threads.resize(needed, columns.thread);
        }
    }

    /// Looks up the accesses before, and lists the misses that have one.
    fn find_misses(&mut self, columns: &MissColumns) {
        self.found
            .resize(columns.items.len(), PreviousAccess::FIRST);
        self.previous
            .process(columns.items, columns.cells, &mut self.found);
        self.misses.clear();
        let accesses = (0..).zip(columns.distances.iter().zip(&self.found));
        let misses = accesses.filter(|(_, (distance, found))| {
            distance.raw() >= self.cache && found.between != PreviousAccess::NONE
        });
        self.misses.extend(misses.map(|(access, _)| access));
    }

    /// A thread has ended: nothing more comes of it.
    pub fn thread_ended(&mut self, thread: u32) {
        if let Some(ended) = self.threads.remove(&thread) {
            self.scopes.end_loops(&ended.tracker, &ended.scopes);
        }
    }

    /// Bytes held, about.
    pub fn memory(&self) -> Bytes {
        let threads = self.threads.values();
        let threads = threads.map(|one| one.tracker.memory() + one.scopes.memory());
        let columns = self.found.capacity() * size_of::<PreviousAccess>();
        let cells = (self.misses.capacity() + self.cell_threads.capacity()) * size_of::<u32>();
        let tables = self.scopes.memory() + self.pairs.memory();
        let own = threads.sum::<usize>() + columns + cells + tables;
        self.previous.memory() + Bytes(own as u64)
    }

    /// What was counted.
    pub fn finish(mut self) -> CarriedCounts {
        for thread in self.threads.values() {
            self.scopes.end_loops(&thread.tracker, &thread.scopes);
        }
        CarriedCounts {
            pairs: self.pairs.finish(),
            scopes: self.scopes.list,
            blocks: self.blocks,
        }
    }
}

/// What it takes to count the misses of a piece.
struct Lookup<'a, 'b> {
    columns: &'a MissColumns<'b>,
    /// Accesses before the piece.
    begin: u64,
    found: &'a [PreviousAccess],
    cell_threads: &'a [u32],
    scopes: &'a mut CodeScopes,
    pairs: &'a mut ReusePairs,
}

impl Lookup<'_, '_> {
    /// Counts the misses before an access of the piece; those that are left.
    #[inline]
    fn count_until<'m>(
        &mut self,
        until: u32,
        misses: &'m [u32],
        thread: &mut RunningThread,
    ) -> &'m [u32] {
        let mut misses = misses;
        while let Some((&access, rest)) = misses.split_first()
            && access < until
        {
            self.count(access as usize, thread);
            misses = rest;
        }
        misses
    }

    fn count(&mut self, access: usize, thread: &mut RunningThread) {
        let before = self.found[access];
        let (source, sink) = (before.tag, self.columns.cells[access]);
        let carrier = if self.cell_threads[source as usize] == self.columns.thread {
            // `between` leaves both accesses out.
            let time = self.begin + access as u64 - before.between - 1;
            let scope = thread.tracker.innermost(time);
            let known = &mut thread.scopes;
            let number = (self.scopes).number(&scope, (thread.process, &thread.tracker), known);
            match scope.in_iteration {
                true => Carrier::Iteration(number),
                false => Carrier::Scope(number),
            }
        } else {
            Carrier::Threads
        };
        let distance = self.columns.distances[access].items().unwrap_or_default();
        self.pairs.add(source, sink, carrier, distance);
    }
}
