//! [`PreparedChunk`]: some accesses, prepared for all analyses: the numbers of their items, and
//! which of them miss.

use std::ops::Range;

use crate::MissColumns;
use crate::item_numbers::ItemNumbers;

/// Accesses of a chunk: enough that what is requested at its beginning has arrived when it is used,
/// and few enough that all columns stay in the first-level cache.
pub(crate) const CHUNK: usize = 256;

/// Accesses of one thread. A *run* is a longest sequence of accesses to one item: the cache of the
/// processor that runs the analysis is asked once for it.
pub(crate) struct PreparedChunk<'a> {
    pub columns: MissColumns<'a>,
    /// By run, its item.
    pub items: &'a [u64],
    /// By run, the number of its item.
    pub numbers: &'a [u32],
    /// By run, the access after its last.
    ends: &'a [u32],
    /// The accesses that miss.
    pub misses: &'a [u32],
    /// Distinct items before the chunk, and after it. New ones have the numbers in between.
    pub known: Range<usize>,
}

impl PreparedChunk<'_> {
    /// The runs: the number of the item, and the accesses.
    #[inline(always)]
    pub fn runs(&self) -> impl Iterator<Item = (u32, Range<usize>)> + '_ {
        let mut begin = 0;
        (self.numbers.iter().zip(self.ends)).map(move |(&number, &end)| {
            let accesses = begin..end as usize;
            begin = end as usize;
            (number, accesses)
        })
    }
}

/// Memory for what chunks have beyond the caller's columns.
pub(crate) struct ChunkMaker {
    items: [u64; CHUNK],
    numbers: [u32; CHUNK],
    ends: [u32; CHUNK],
    misses: [u32; CHUNK],
}

impl ChunkMaker {
    pub fn new() -> Self {
        ChunkMaker {
            items: [0; CHUNK],
            numbers: [0; CHUNK],
            ends: [0; CHUNK],
            misses: [0; CHUNK],
        }
    }

    /// A chunk of at most [`CHUNK`] accesses. Those at a distance of `cache` items or more miss.
    pub fn make<'a>(
        &'a mut self,
        columns: MissColumns<'a>,
        cache: u64,
        table: &mut ItemNumbers,
    ) -> PreparedChunk<'a> {
        let (mut runs, mut misses) = (0, 0);
        // Without branches, which would be mispredicted: each step writes, and some writes stay.
        let mut last = columns.items.first().map_or(0, |item| !item);
        for (at, (&item, distance)) in (0..).zip(columns.items.iter().zip(columns.distances)) {
            // The run before ends here, if this is another item.
            self.ends[usize::max(runs, 1) - 1] = at;
            self.items[runs] = item;
            runs += usize::from(item != last);
            self.misses[misses] = at;
            misses += usize::from(distance.raw() >= cache);
            last = item;
        }
        if runs > 0 {
            self.ends[runs - 1] = columns.items.len() as u32;
        }
        let before = table.count();
        table.find(&self.items[..runs], &mut self.numbers[..runs]);
        PreparedChunk {
            columns,
            items: &self.items[..runs],
            numbers: &self.numbers[..runs],
            ends: &self.ends[..runs],
            misses: &self.misses[..misses],
            known: before..table.count(),
        }
    }
}
