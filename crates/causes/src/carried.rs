//! [`Carried`]: what carries the reuses that miss.
//!
//! Cost: an access costs a look at its item's last access, a block a step of the loop tracker, a
//! miss a look at the stack of scopes. The figure is in `docs/design/advice.md`.
//!
//! Source: Marin and Mellor-Crummey, *Pinpointing and exploiting opportunities for enhancing data
//! reuse*, ISPASS 2008, section 2. The paper keeps the time of each block of memory's last access
//! and searches the stack of scopes for it, as here.

use std::collections::HashMap;

use reuselens_control_flow::BasicBlock;
use reuselens_distance::growth::vec_growth;
use reuselens_hugepages::{prefetch, reserve};
use reuselens_profile::{Carrier, CodeScope};

use crate::chunk::PreparedChunk;
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
    /// The bytes that it held when it was last looked at.
    held: usize,
}

impl RunningThread {
    /// Looks at what it holds, and adds what has changed to what all threads hold.
    fn add_memory(&mut self, of_all: &mut usize) {
        let held = size_of::<Self>() + self.tracker.memory() + self.scopes.memory();
        *of_all = *of_all - self.held + held;
        self.held = held;
    }
}

/// The last access to an item.
#[derive(Clone, Copy, Debug)]
struct LastAccess {
    /// Accesses of all threads before it.
    time: u64,
    cell: u32,
    thread: u32,
}

impl LastAccess {
    /// Of an item without one; no thread has this number.
    const NONE: LastAccess = LastAccess {
        time: 0,
        cell: 0,
        thread: u32::MAX,
    };
}

/// Accesses after which last accesses are kept only if blocks were seen: a source either has them
/// from its beginning, or has none.
const PATIENCE: u64 = 1 << 16;

/// Finds what carries the reuses that miss in a cache: the innermost scope that was active at both
/// accesses, or that they are of different threads.
///
/// The scopes of a thread are known by its basic blocks. Where blocks overlap, as a rewriter has
/// them, a loop that is entered by falling through begins with the block around its first
/// instruction, so that accesses before it in that block count as accesses in the loop.
///
/// Code that runs for the first time after a loop can be taken for a part of it. What carries a
/// reuse there is settled when the thread ends: by then it is known which blocks led back to the
/// loop's header.
///
/// Threads are those of the accesses. A cell may have accesses of several threads, as of one whose
/// number an earlier one had.
///
/// If no block is seen among the first 65,536 accesses, last accesses are not kept from then on.
/// Should blocks come later, reuses of items without a last access count as those of rare pairs do.
///
/// Memory: 16 bytes per distinct item once there are blocks, that of a
/// [`NestTracker`](reuselens_control_flow::NestTracker) per thread, and up to 60 bytes for each
/// pair of cells and a carrier.
pub(crate) struct Carried {
    cache: u64,
    /// By number of the item.
    last: Vec<LastAccess>,
    threads: HashMap<u32, RunningThread>,
    /// The bytes that the threads hold: there may be many, so nobody asks them all.
    threads_held: usize,
    scopes: CodeScopes,
    pairs: ReusePairs,
    blocks: u64,
    /// Accesses so far.
    accesses: u64,
}

impl Carried {
    /// Of misses in a cache of this many items, at least one, with up to `most_pairs` pairs of
    /// cells and a carrier.
    pub fn new(cache: u64, most_pairs: usize) -> Self {
        Carried {
            cache,
            last: Vec::new(),
            threads: HashMap::new(),
            threads_held: 0,
            scopes: CodeScopes::default(),
            pairs: ReusePairs::new(most_pairs),
            blocks: 0,
            accesses: 0,
        }
    }

    /// Counts a chunk of a thread of `process`, whose first access is number `first` of its piece,
    /// and the basic blocks that began in it, each with the number of the piece's accesses before
    /// it.
    pub fn process(
        &mut self,
        process: u16,
        chunk: &PreparedChunk,
        (first, blocks): (u32, &[(u32, BasicBlock)]),
    ) {
        let begin = self.accesses;
        self.accesses += chunk.columns.len() as u64;
        self.blocks += blocks.len() as u64;
        if self.blocks == 0 && begin >= PATIENCE {
            self.last = Vec::new();
            return;
        }
        let new = chunk.known.end - self.last.len();
        reserve(&mut self.last, new);
        self.last.resize(chunk.known.end, LastAccess::NONE);
        for &number in chunk.numbers {
            prefetch(&self.last, number as usize);
        }
        let thread = running(&mut self.threads, chunk.columns.thread, process, begin);
        let mut blocks = blocks.iter();
        let mut next = blocks.next();
        for (run, &number) in chunk.numbers.iter().enumerate() {
            let access = chunk.begins[run];
            while let Some((before, block)) = next.filter(|it| it.0 - first <= access) {
                let time = begin + u64::from(before - first);
                thread.tracker.enter(block, time);
                next = blocks.next();
            }
            let end = chunk.begins.get(run + 1).copied();
            let end = end.unwrap_or(chunk.columns.len() as u32) - 1;
            let here = LastAccess {
                time: begin + u64::from(end),
                cell: chunk.columns.cells[end as usize],
                thread: chunk.columns.thread,
            };
            let before = std::mem::replace(&mut self.last[number as usize], here);
            // The others of a run are at distance 0, so they hit.
            let distance = chunk.columns.distances[access as usize];
            if distance.raw() >= self.cache
                && let Some(distance) = distance.items()
            {
                let sink = chunk.columns.cells[access as usize];
                count(
                    (&mut self.scopes, &mut self.pairs),
                    thread,
                    (before, sink, distance),
                    chunk.columns.thread,
                );
            }
        }
        for (before, block) in next.into_iter().chain(blocks) {
            let time = begin + u64::from(before - first);
            thread.tracker.enter(block, time);
        }
        thread.add_memory(&mut self.threads_held);
    }

    /// Enters blocks of a thread after the last access of its piece.
    pub fn enter(&mut self, process: u16, thread: u32, blocks: &[(u32, BasicBlock)]) {
        if blocks.is_empty() {
            return;
        }
        self.blocks += blocks.len() as u64;
        let thread = running(&mut self.threads, thread, process, self.accesses);
        for (_, block) in blocks {
            thread.tracker.enter(block, self.accesses);
        }
        thread.add_memory(&mut self.threads_held);
    }

    /// A thread has ended: nothing more comes of it.
    pub fn thread_ended(&mut self, thread: u32) {
        if let Some(ended) = self.threads.remove(&thread) {
            self.threads_held -= ended.held;
            self.scopes.end_loops(&ended.tracker, &ended.scopes);
        }
    }

    /// Bytes held, about.
    pub fn memory(&self) -> u64 {
        let last = self.last.capacity() * size_of::<LastAccess>();
        (self.threads_held + last + self.scopes.memory() + self.pairs.memory()) as u64
    }

    /// Bytes beyond [`Self::memory`] that it takes until there are `more` more items.
    pub fn growth(&self, more: usize) -> u64 {
        vec_growth(&self.last, more) as u64
    }

    /// What was counted.
    pub fn finish(mut self) -> CarriedCounts {
        for thread in self.threads.values() {
            self.scopes.end_loops(&thread.tracker, &thread.scopes);
        }
        CarriedCounts {
            pairs: self.pairs.finish(|carrier| self.scopes.settled(carrier)),
            scopes: self.scopes.list,
            blocks: self.blocks,
        }
    }
}

/// A thread, which begins now if it is new.
fn running(
    threads: &mut HashMap<u32, RunningThread>,
    thread: u32,
    process: u16,
    now: u64,
) -> &mut RunningThread {
    threads.entry(thread).or_insert_with(|| RunningThread {
        process,
        tracker: ScopeTracker::new(now),
        scopes: ThreadScopes::default(),
        held: 0,
    })
}

/// Counts a reuse that misses: the access before, the cell of the miss, and its distance.
#[inline]
fn count(
    (scopes, pairs): (&mut CodeScopes, &mut ReusePairs),
    running: &mut RunningThread,
    (before, sink, distance): (LastAccess, u32, u64),
    thread: u32,
) {
    let carrier = match before.thread {
        same if same == thread => {
            let scope = running.tracker.innermost(before.time);
            let known = &mut running.scopes;
            let thread = (running.process, &running.tracker);
            if scope.is_certain {
                scope.carrier(scopes.number(&scope, thread, known))
            } else {
                scopes.provisional(before.time, thread, known)
            }
        }
        other if other == LastAccess::NONE.thread => {
            pairs.add_unknown(sink, distance);
            return;
        }
        _ => Carrier::Threads,
    };
    pairs.add(before.cell, sink, carrier, distance);
}
