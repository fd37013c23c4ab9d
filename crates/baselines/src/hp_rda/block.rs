//! Steps 3 and 4 of HP-RDA within a block: a [`Worker`] analyses the chunks of a block and merges
//! them into a [`MergedBlock`].

use std::time::Instant;

use reuselens_simd::Level;
use reuselens_units::Distance;

use super::chunk::{Chunk, Summary, process_chunk};
use super::numbers::Numbers;
use super::partition::{PARTITIONS, partition};
use super::settings::BlockCount;
use super::times::HpRdaTimes;

/// Memory is prefetched this many look-ups ahead.
const AHEAD: usize = 16;

/// What is known of an item of a block. Places within a block are sums of chunks' counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockItem {
    pub(super) item: u64,
    /// Where its first access is, in references from the beginning of the block.
    pub(super) at: u32,
    /// The place of its first access: the counts of the chunks before, and `first`.
    pub(super) first: u32,
    /// The place of its last: the counts up to the end of its chunk, less `latest`.
    pub(super) last: u32,
}

/// A block, merged.
#[derive(Default)]
pub(super) struct MergedBlock {
    /// By partition, within it by first access.
    heads: Vec<BlockItem>,
    /// Where the heads of each partition begin, and where the last end.
    borders: Vec<usize>,
    /// The sum of its chunks' counts.
    length: u64,
    /// Where it begins and ends among the blocks.
    begin: u64,
    end: u64,
}

impl MergedBlock {
    /// What the block counts as.
    pub(super) fn counts(&self, what: BlockCount) -> u64 {
        match what {
            BlockCount::Chunks => self.length,
            BlockCount::Distinct => self.heads.len() as u64,
        }
    }

    /// Puts the block where the one before it ended.
    pub(super) fn place(&mut self, begin: u64, counts: u64) {
        (self.begin, self.end) = (begin, begin + counts);
    }

    /// The items of a partition, by first access.
    pub(super) fn heads(&self, partition: usize) -> &[BlockItem] {
        &self.heads[self.borders[partition]..self.borders[partition + 1]]
    }

    /// The place of an item's first access among the blocks.
    #[inline(always)]
    pub(super) fn first(&self, head: &BlockItem) -> u64 {
        self.begin + u64::from(head.first)
    }

    /// The place of its last access, as seen from later blocks.
    #[inline(always)]
    pub(super) fn mark(&self, head: &BlockItem) -> u64 {
        self.end - (self.length - u64::from(head.last))
    }

    /// Takes the heads over, sorted by partition.
    fn take(&mut self, heads: &[BlockItem]) {
        self.borders.clear();
        self.borders.resize(PARTITIONS + 2, 0);
        for head in heads {
            self.borders[partition(head.item) + 2] += 1;
        }
        for index in 2..self.borders.len() {
            self.borders[index] += self.borders[index - 1];
        }
        self.heads.clear();
        self.heads.resize(heads.len(), BlockItem::default());
        for head in heads {
            let place = &mut self.borders[partition(head.item) + 1];
            self.heads[*place] = *head;
            *place += 1;
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.heads.capacity() * size_of::<BlockItem>()
            + self.borders.capacity() * size_of::<usize>()
    }
}

/// The memory that a thread works in.
pub(super) struct Worker {
    chunk: Chunk,
    summaries: Vec<Summary>,
    /// Where the summaries of each chunk end.
    ends: Vec<usize>,
    numbers: Numbers,
    heads: Vec<BlockItem>,
    pub(super) times: HpRdaTimes,
}

impl Worker {
    pub(super) fn new() -> Self {
        Worker {
            chunk: Chunk::default(),
            summaries: Vec::new(),
            ends: Vec::new(),
            numbers: Numbers::default(),
            heads: Vec::new(),
            times: HpRdaTimes::default(),
        }
    }

    /// Analyses the chunks of a block and merges them.
    pub(super) fn analyse(
        &mut self,
        items: &[u64],
        distances: &mut [Distance],
        chunk: usize,
        block: &mut MergedBlock,
    ) {
        let start = Instant::now();
        self.summaries.clear();
        self.ends.clear();
        for (items, distances) in items.chunks(chunk).zip(distances.chunks_mut(chunk)) {
            process_chunk(
                Level::best(),
                &mut self.chunk,
                items,
                distances,
                &mut self.summaries,
            );
            self.ends.push(self.summaries.len());
        }
        self.times.local += start.elapsed();
        let start = Instant::now();
        self.merge(distances, chunk);
        block.length = self.summaries.len() as u64;
        block.take(&self.heads);
        self.times.thread_merge += start.elapsed();
    }

    /// Finds the distances from chunk to chunk, and the heads of the block.
    fn merge(&mut self, distances: &mut [Distance], chunk: usize) {
        self.numbers.clear(self.summaries.len());
        self.heads.clear();
        let mut begin = 0;
        for (index, &end) in self.ends.iter().enumerate() {
            for place in begin..end {
                if let Some(coming) = self.summaries.get(place + AHEAD) {
                    self.numbers.prefetch(coming.item);
                }
                let Summary { item, at, latest } = self.summaries[place];
                let at = (index * chunk) as u32 + at;
                let last = end as u32 - latest;
                let heads = &mut self.heads;
                let slot = self.numbers.slot(item, |number| heads[number].item == item);
                // Summaries are counted as their items are: a summary's index is its place.
                let first = place as u32;
                if let Some(number) = slot.checked_sub(1) {
                    let before = std::mem::replace(&mut heads[number as usize].last, last);
                    distances[at as usize] = Distance::new(u64::from(first - before));
                } else {
                    *slot = heads.len() as u32 + 1;
                    heads.push(BlockItem {
                        item,
                        at,
                        first,
                        last,
                    });
                }
            }
            begin = end;
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.chunk.bytes()
            + self.numbers.bytes()
            + self.summaries.capacity() * size_of::<Summary>()
            + self.ends.capacity() * size_of::<usize>()
            + self.heads.capacity() * size_of::<BlockItem>()
    }
}
