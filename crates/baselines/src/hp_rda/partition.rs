//! Step 4 of HP-RDA across blocks: a [`Partition`] has the items of a part of the hash values, and
//! merges them over all blocks.

use reuselens_units::Distance;

use super::block::MergedBlock;
use super::marks::Marks;
use super::numbers::mix;

/// Parts that the items are dealt into: more than most machines have threads, so that no thread is
/// idle for long, and a fixed number, so that results do not depend on the threads.
pub(super) const PARTITIONS: usize = 32;

/// Memory is prefetched this many look-ups ahead.
const AHEAD: usize = 16;

/// The partition of an item; its neighbours share it.
#[inline(always)]
pub(super) fn partition(item: u64) -> usize {
    // Not the upper bits: those choose the place in the table.
    (mix(item >> 2) >> 8) as usize % PARTITIONS
}

/// The items of one partition.
pub(super) struct Partition {
    index: usize,
    marks: Marks,
    /// The distances from block to block of the last transfer: where in its block, and how far.
    found: Vec<(u32, Distance)>,
    /// Where those of each block end.
    ends: Vec<usize>,
}

impl Partition {
    pub(super) fn new(index: usize) -> Self {
        Partition {
            index,
            marks: Marks::new(),
            found: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Merges the next blocks.
    pub(super) fn merge(&mut self, blocks: &[MergedBlock]) {
        self.found.clear();
        self.ends.clear();
        for block in blocks {
            let heads = block.heads(self.index);
            for (place, head) in heads.iter().enumerate() {
                if let Some(coming) = heads.get(place + AHEAD) {
                    self.marks.prefetch(coming.item);
                }
                self.marks.make_room();
                let before = self.marks.replace(head.item, block.mark(head));
                if let Some(before) = before {
                    let distance = Distance::new(block.first(head) - before);
                    self.found.push((head.at, distance));
                }
            }
            self.ends.push(self.found.len());
        }
    }

    /// Writes the distances of one block of the last transfer.
    pub(super) fn write(&self, block: usize, distances: &mut [Distance]) {
        let begin = block.checked_sub(1).map_or(0, |before| self.ends[before]);
        for &(at, distance) in &self.found[begin..self.ends[block]] {
            distances[at as usize] = distance;
        }
    }

    /// Distinct items so far.
    pub(super) fn items(&self) -> u64 {
        self.marks.len() as u64
    }

    /// The bytes that its table can take beyond those that it has, until there are `more` items.
    pub(super) fn growth(&self, more: usize) -> usize {
        self.marks.bytes_with(more) - self.marks.bytes()
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.marks.bytes()
            + self.found.capacity() * size_of::<(u32, Distance)>()
            + self.ends.capacity() * size_of::<usize>()
    }
}
