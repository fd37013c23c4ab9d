//! [`CountingTree`]: the exact engine of this crate. It has a bit per step of time, and counts set
//! bits fast.
//!
//! # What it is
//! Keep a bit per time step, set if that step is still the last access to its item. The distance of
//! an access is the number of set bits after the previous access to its item; then that bit is
//! cleared and one for now is set (Bennett & Kruskal, *LRU stack processing*, 1975; as described by
//! Ding & Zhong 2001, section 2.1, whose printed listing mixes up the levels of the counters: this
//! is the idea, not the listing). Time is compacted: when the axis is full, the live steps are
//! renumbered 1, 2, …, so memory is proportional to the distinct items, not to the length of the
//! stream, and a stream may be longer than 2³² accesses.
//!
//! # Why it is fast
//! - **Runs** of accesses to one item count once: all but the first have distance 0, and no other
//!   distance depends on them.
//! - **Near reuses** need no table. As long as most accesses find their item among the 32
//!   accesses before, many accesses are compared at a time ([`window`], [`lags`]), and only those
//!   that leave that window of recent accesses enter the table and the bits. Distances stay exact:
//!   reuses in the window and reuses beyond it are counted separately.
//! - **Last accesses** are in cache lines of five items each ([`sparse`]), or, if ids are close
//!   together as addresses are, in shadow pages of 4 bytes per id ([`dense`]). The choice depends
//!   on the ids, and is made anew when the table grows ([`any_table`]). Accesses are taken 64 at a
//!   time: the lines of the next 64 are prefetched, some at a time, while the present 64 are
//!   counted, so the misses overlap; items that are not in the line that they belong into are
//!   looked for last. Tables are on huge pages where the system has them. For a stream in memory, a
//!   sample gives beforehand the number of items, and whether shadow pages suit them
//!   ([`Expected`]).
//! - **Counts** are running sums at five levels (word, line of 512 steps, 16 Ki, 256 Ki, 8 Mi). A
//!   distance is a popcount and five additions, without a loop; a change adds a constant to the
//!   sums that follow it in its block, which is a few vector instructions, and reaches the upper
//!   levels only if the previous access is far back.
//! - All of it is compiled for vectors of 512 bits, of 256 bits, and for any processor; which is
//!   chosen when it runs ([`compare`]).
//!
//! # Cost
//! Per access: one table look-up, one rank, one update; O(1) up to a hundred million items (the
//! uppermost level is a flat array with one number per 8 Mi steps). Compaction costs one pass over
//! the table per at least seven accesses to each distinct item, fewer from 500 million items on.
//! Memory: 16 to 26 bytes per distinct item for a hash table (while it grows by half, the old one
//! is given back piece by piece), 4 to 24 for shadow pages; 0.2 (all steps live) to 1.6 for the
//! time axis. Up to about 4 · 10⁹ distinct items, any number of accesses.

mod any_table;
mod bound;
mod chunk;
pub(crate) mod compare;
mod dense;
mod direct;
mod expected;
mod lags;
mod line;
mod live_bits;
mod output;
mod pending;
mod sparse;
mod table;
mod window;
mod window_layout;

use reuselens_simd::entry_point;
use reuselens_units::{Bytes, Distance, Items};

use crate::{Engine, Simd, Tally};
pub use bound::LookupBound;
pub use expected::Expected;

use any_table::AnyTable;
#[cfg(target_arch = "x86_64")]
use compare::{Avx2, Avx512};
use compare::{Compare, Portable};
use direct::{Direct, direct_dense, direct_sparse};
use live_bits::LiveBits;
use output::{Column, DistanceOutput};

use pending::PendingWork;

/// The counting tree of Bennett & Kruskal (1975) on a compacted time axis: the fastest exact engine
/// here. 4 to 28 bytes per distinct item, up to 32 while a table goes over to another kind; no
/// limit on the length of the stream.
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
    table: AnyTable,
    bits: LiveBits,
    /// Whether most of the last accesses were near ones.
    near: bool,
    scratch: Box<Scratch>,
    simd: Simd,
}

/// Memory that a call works in; it means nothing between calls.
struct Scratch {
    batches: [direct::LookupBatch; 2],
    works: [PendingWork; 2],
    recent: lags::Recent,
}

impl CountingTree {
    /// An engine that has seen nothing.
    pub fn new() -> Self {
        Self::expecting(Expected::default())
    }

    /// An engine that has seen nothing, for a stream of which `expected` is known. Its table grows
    /// at once to the expected number of items, which saves growing step by step. If ids are
    /// expected to be dense it begins as shadow pages, which saves the time and the memory of
    /// becoming such. A wrong expectation changes no distance; if there are fewer items it takes up
    /// to 26 bytes for each that was expected, or 128 MiB.
    pub fn expecting(expected: impl Into<Expected>) -> Self {
        let expected = expected.into();
        CountingTree {
            table: AnyTable::expecting(expected),
            bits: LiveBits::expecting(expected.items() as u64),
            near: true,
            scratch: Box::new(Scratch {
                batches: [const { direct::LookupBatch::EMPTY }; 2],
                works: [const { PendingWork::EMPTY }; 2],
                recent: lags::Recent::EMPTY,
            }),
            simd: Simd::Avx512,
        }
    }

    /// The same engine with these instructions at most, for comparisons: it is slower, and gives
    /// the same distances.
    #[must_use]
    pub fn with_simd(self, simd: Simd) -> Self {
        CountingTree { simd, ..self }
    }

    /// What to expect of a stream like this one.
    pub fn learned(&self) -> Expected {
        Expected {
            distinct: self.distinct(),
            dense_shift: self.table.dense_shift(),
        }
    }

    /// All items, the least recently accessed first. Cost: a pass over the table; 8 bytes per item.
    pub fn by_recency(&self) -> Vec<u64> {
        let mut items = vec![0; self.table.len()];
        self.table.for_each(|item, step| {
            items[self.bits.rank(step) as usize] = item;
        });
        items
    }

    /// The memory held if the table takes `table` bytes and the axis `bits`.
    fn with_parts(&self, table: usize, bits: usize) -> Bytes {
        let parts = table + bits + size_of_val(&*self.scratch);
        Bytes((size_of::<Self>() + parts) as u64)
    }

    /// All the work of [`Engine::process`], compiled once per instruction set.
    #[inline(always)]
    pub(crate) fn process_here(
        &mut self,
        compare: impl Compare,
        items: &[u64],
        distances: &mut [Distance],
    ) {
        self.answer(compare, items, Column::new(distances));
    }

    /// The same of [`Engine::tally`].
    #[inline(always)]
    pub(crate) fn tally_here(&mut self, compare: impl Compare, items: &[u64], tally: &mut Tally) {
        self.answer(compare, items, tally);
    }

    #[inline(always)]
    fn answer(&mut self, compare: impl Compare, items: &[u64], mut output: impl DistanceOutput) {
        let mut items = items;
        while !items.is_empty() {
            self.table.adapt();
            let (known, near) = (self.table.len(), self.near);
            let done = if near {
                self.window(compare, items, &mut output)
            } else {
                self.direct(items, &mut output)
            };
            let (past, left) = items.split_at(done);
            output.passed(past, !near && self.table.len() != known);
            self.near = lags::mostly_near(compare, &mut self.scratch.recent, past);
            items = left;
        }
    }

    /// Takes items through the window as long as it suits them, and returns how many.
    #[inline(always)]
    fn window(
        &mut self,
        compare: impl Compare,
        items: &[u64],
        output: &mut impl DistanceOutput,
    ) -> usize {
        // Accesses have numbers of 32 bits in the window.
        let items = &items[..items.len().min(1 << 30)];
        let (bits, scratch) = (&mut self.bits, &mut *self.scratch);
        let (recent, works) = (&mut scratch.recent, &mut scratch.works);
        match &mut self.table {
            AnyTable::Sparse(table) => {
                window::run(compare, table, bits, recent, works, items, output)
            }
            AnyTable::Dense(table) => {
                window::run(compare, &mut **table, bits, recent, works, items, output)
            }
        }
    }

    /// Takes some items through the table and the bits without the window, and returns how many.
    fn direct(&mut self, items: &[u64], output: &mut impl DistanceOutput) -> usize {
        /// Accesses after which the choice is made anew.
        const STRETCH: usize = 1 << 14;
        let items = &items[..STRETCH.min(items.len())];
        let column = output.column(items.len());
        let (bits, batches) = (&mut self.bits, &mut self.scratch.batches);
        match &mut self.table {
            AnyTable::Sparse(table) => {
                let mut direct = Direct {
                    table,
                    bits,
                    batches,
                };
                direct_sparse(self.simd.level(), &mut direct, items, column);
            }
            AnyTable::Dense(table) => {
                let mut direct = Direct {
                    table: &mut **table,
                    bits,
                    batches,
                };
                direct_dense(self.simd.level(), &mut direct, items, column);
            }
        }
        items.len()
    }
}

entry_point! {
    /// [`CountingTree::process_here`] with the instructions of `level`.
    fn process_counting(
        level,
        tree: &mut CountingTree,
        items: &[u64],
        distances: &mut [Distance],
    ) {
        Icelake(proof) => tree.process_here(Avx512::with(proof), items, distances),
        V3(proof) => tree.process_here(Avx2::with(proof), items, distances),
        _ => tree.process_here(Portable, items, distances),
    }
}

entry_point! {
    /// [`CountingTree::tally_here`] with the instructions of `level`.
    fn tally_counting(level, tree: &mut CountingTree, items: &[u64], tally: &mut Tally) {
        Icelake(proof) => tree.tally_here(Avx512::with(proof), items, tally),
        V3(proof) => tree.tally_here(Avx2::with(proof), items, tally),
        _ => tree.tally_here(Portable, items, tally),
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
        process_counting(self.simd.level(), self, items, distances);
    }

    fn tally(&mut self, items: &[u64], tally: &mut Tally) {
        tally.make_room(items.len());
        tally_counting(self.simd.level(), self, items, tally);
    }

    fn distinct(&self) -> Items {
        Items(self.table.len() as u64)
    }

    fn memory(&self) -> Bytes {
        self.with_parts(self.table.bytes(), self.bits.bytes())
    }

    fn memory_ahead(&self, accesses: u64) -> Bytes {
        // Not all accesses of a stream are to new items. Where there are few items, and more may
        // come than that, the tables are small.
        let known = self.table.len();
        let more = usize::try_from(accesses).map_or(known, |accesses| accesses.min(known / 2));
        let more = more + pending::AHEAD;
        self.with_parts(self.table.bytes_with(more), self.bits.bytes_with(more))
    }
}

#[cfg(test)]
mod tests;
