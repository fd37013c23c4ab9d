//! The counting tree: a bit per step of time, counted fast.
//!
//! # What it is
//! Keep a bit per time step, set if that step is still the last access to its item. The distance of an
//! access is the number of set bits after the previous access to its item; then that bit is cleared
//! and one for now is set (Bennett & Kruskal, *LRU stack processing*, 1975; as told by Ding & Zhong
//! 2001, section 2.1, whose printed listing mixes up the levels of the counters: this is the idea, not
//! the listing). Time is compacted: when the axis is full, the live steps are renumbered 1, 2, …, so
//! memory is proportional to the distinct items, not to the length of the stream, and a stream may be
//! longer than 2³² accesses.
//!
//! # Why it is fast
//! - The last access of an item is one 16-byte slot of a hash table. Accesses are taken 64 at a time: the
//!   slots of the next 64 are asked for while the present 64 are counted, so the misses overlap.
//! - Counts are running sums at five levels (word, line of 512 steps, 16 Ki, 256 Ki, 8 Mi). A distance is
//!   a popcount and five additions, without a loop; a change adds a constant to the sums that follow it in
//!   its block, which is a few vector instructions, and reaches the upper levels only if the
//!   previous access is far back: near reuses are the cheap ones.
//! - All 64 ranks are taken from the state before the batch, so that none waits for another's update.
//!   What the batch changes is then put right by comparing all pairs of the batch in vector registers.
//! - Immediate repetitions have distance 0 and touch nothing.
//!
//! # Cost
//! Per access: one table look-up, one rank, one update; O(1) up to some hundred million items (the
//! uppermost level is a flat array with one number per 8 Mi steps). Compaction costs one pass over
//! the table per at least three accesses to each distinct item.
//! Memory: 32 to 64 bytes per distinct item for the table (half as much again for the moment in which it
//! doubles), 0.6 to 1.2 for the time axis.

mod batch;
mod bound;
mod last_access;
mod live_bits;

use reuselens_units::{Bytes, Distance, Items};

use crate::Engine;
use crate::dispatch;
pub use bound::LookupBound;

use batch::{BATCH, Batch};
use last_access::LastAccess;
use live_bits::LiveBits;

/// The counting tree of Bennett & Kruskal (1975) on a compacted time axis: the fastest exact engine
/// here. 33 to 66 bytes per distinct item; no limit on the length of the stream.
///
/// ```
/// use reuselens_distance::{CountingTree, Engine};
/// use reuselens_units::Distance;
///
/// let mut engine = CountingTree::new();
/// let mut distances = [Distance::COLD; 4];
/// engine.process(&[10, 20, 20, 10], &mut distances);
/// assert_eq!(distances, [Distance::COLD, Distance::COLD, Distance::new(0), Distance::new(1)]);
/// ```
pub struct CountingTree {
    table: LastAccess,
    bits: LiveBits,
    /// The item of the last access, if there was one.
    last: Option<u64>,
    batches: Box<[Batch; 2]>,
}

impl CountingTree {
    /// An engine that has seen nothing.
    pub fn new() -> Self {
        CountingTree {
            table: LastAccess::new(),
            bits: LiveBits::new(),
            last: None,
            batches: Box::new([Batch::new(), Batch::new()]),
        }
    }

    /// All items, the least recently accessed first. Cost: a pass over the table; 8 bytes per item.
    pub fn by_recency(&self) -> Vec<u64> {
        let mut items = vec![0; self.table.len()];
        for (item, step) in self.table.iter() {
            items[self.bits.rank(step) as usize] = item;
        }
        items
    }

    /// The whole work of [`Engine::process`], to be compiled once per instruction set.
    #[inline(always)]
    pub(crate) fn process_here(&mut self, items: &[u64], distances: &mut [Distance]) {
        let Some(&first) = items.first() else { return };
        // Before the very first access: anything but the first item.
        let mut last = self.last.unwrap_or(!first);
        let [current, next] = &mut *self.batches;
        let (mut current, mut next) = (current, next);
        let room = BATCH - (self.bits.now() % BATCH as u64) as usize;
        let mut at = current.gather(items, 0, room, &mut last, distances);
        current.locate_now(&self.table);
        while current.len() > 0 {
            if self.table.is_short_of(BATCH) {
                self.table.grow();
                current.locate_now(&self.table);
            }
            if self.bits.is_full() {
                self.table.renumber(&self.bits);
                self.bits.restart();
            }
            at = next.gather(items, at, BATCH, &mut last, distances);
            next.locate(&self.table);
            current.look_up(&mut self.table, &self.bits);
            current.count(&mut self.bits, distances, next, &self.table);
            std::mem::swap(&mut current, &mut next);
        }
        self.last = Some(last);
    }
}

impl Default for CountingTree {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for CountingTree {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn process(&mut self, items: &[u64], distances: &mut [Distance]) {
        assert_eq!(items.len(), distances.len(), "one distance per item");
        dispatch::process_counting(self, items, distances);
    }

    fn distinct(&self) -> Items {
        Items(self.table.len() as u64)
    }

    fn memory(&self) -> Bytes {
        let parts = self.table.bytes() + self.bits.bytes() + size_of_val(&*self.batches);
        Bytes((size_of::<Self>() + parts) as u64)
    }
}
