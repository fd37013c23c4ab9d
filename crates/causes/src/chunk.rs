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
    /// By run, its first access.
    pub begins: &'a [u32],
    /// By access, its run.
    pub runs: &'a [u8],
    /// The accesses that miss.
    pub misses: &'a [u32],
    /// Distinct items before the chunk, and after it. New ones have the numbers in between.
    pub known: Range<usize>,
}

/// Memory for what chunks have beyond the caller's columns.
pub(crate) struct ChunkMaker {
    items: [u64; CHUNK],
    numbers: [u32; CHUNK],
    begins: [u32; CHUNK],
    runs: [u8; CHUNK],
    misses: [u32; CHUNK],
}

impl ChunkMaker {
    pub fn new() -> Self {
        ChunkMaker {
            items: [0; CHUNK],
            numbers: [0; CHUNK],
            begins: [0; CHUNK],
            runs: [0; CHUNK],
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
        for (at, (&item, distance)) in columns.items.iter().zip(columns.distances).enumerate() {
            self.items[runs] = item;
            self.begins[runs] = at as u32;
            runs += usize::from(item != last);
            // The first access differs from `last`, so there is a run.
            self.runs[at] = (runs - 1) as u8;
            self.misses[misses] = at as u32;
            misses += usize::from(distance.raw() >= cache);
            last = item;
        }
        let before = table.count();
        table.find(&self.items[..runs], &mut self.numbers[..runs]);
        PreparedChunk {
            columns,
            items: &self.items[..runs],
            numbers: &self.numbers[..runs],
            begins: &self.begins[..runs],
            runs: &self.runs[..columns.len()],
            misses: &self.misses[..misses],
            known: before..table.count(),
        }
    }
}
