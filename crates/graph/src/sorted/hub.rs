//! The neighbours of a vertex that has very many.

use crate::VertexId;
use crate::requests::ListChange;

/// The largest number of ids in a block: 4 KiB, so a change moves half of that at most.
const BLOCK: usize = 1024;
/// Blocks with fewer ids are joined with the next one if both have room in one.
const SPARSE: usize = BLOCK / 4;

/// Sorted blocks of neighbours, with the last id of each block in an array.
#[derive(Clone, Debug)]
pub(super) struct Hub {
    /// The last id of each block, ascending.
    lasts: Vec<VertexId>,
    /// None is empty.
    blocks: Vec<Vec<VertexId>>,
    len: usize,
}

impl Hub {
    /// The hub of sorted neighbours.
    pub fn new(ids: &[VertexId]) -> Self {
        let mut hub = Self {
            lasts: Vec::new(),
            blocks: Vec::new(),
            len: ids.len(),
        };
        hub.append(ids);
        hub
    }

    /// Appends blocks of ids that are sorted and larger than all present ones.
    fn append(&mut self, ids: &[VertexId]) {
        // A quarter of each block stays free.
        for part in ids.chunks(BLOCK - BLOCK / 4) {
            let mut block = Vec::with_capacity(BLOCK);
            block.extend_from_slice(part);
            self.lasts.push(part[part.len() - 1]);
            self.blocks.push(block);
        }
    }

    /// The number of neighbours.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The blocks in ascending order; none is empty.
    pub fn blocks(&self) -> &[Vec<VertexId>] {
        &self.blocks
    }

    /// The place of the first block that has an id of at least `id`.
    pub fn block_of(&self, id: VertexId) -> usize {
        self.lasts.partition_point(|&last| last < id)
    }

    /// Whether `id` is a neighbour.
    pub fn contains(&self, id: VertexId) -> bool {
        let block = self.blocks.get(self.block_of(id));
        block.is_some_and(|block| block.binary_search(&id).is_ok())
    }

    /// The bytes in memory.
    pub fn memory(&self) -> usize {
        let ids: usize = self.blocks.iter().map(Vec::capacity).sum();
        size_of::<Self>()
            + (ids + self.lasts.capacity()) * size_of::<VertexId>()
            + self.blocks.capacity() * size_of::<Vec<VertexId>>()
    }

    /// Applies changes: sorted by neighbour, and each of them changes something.
    pub fn apply(&mut self, changes: &[ListChange]) {
        if changes.len() > self.blocks.len() * 64 {
            return self.merge(changes);
        }
        for change in changes {
            if change.insert {
                self.insert(change.neighbor())
            } else {
                self.remove(change.neighbor())
            }
        }
    }

    /// Applies many changes in one pass over all blocks.
    fn merge(&mut self, changes: &[ListChange]) {
        let old = std::mem::take(&mut self.blocks);
        let mut merged = Vec::with_capacity(self.len + changes.len());
        let mut changes = changes.iter().peekable();
        for &id in old.iter().flatten() {
            while let Some(new) = changes.next_if(|change| change.neighbor() < id) {
                merged.push(new.neighbor());
            }
            if changes.next_if(|change| change.neighbor() == id).is_none() {
                merged.push(id);
            }
        }
        merged.extend(changes.map(|change| change.neighbor()));
        self.lasts.clear();
        self.len = merged.len();
        self.append(&merged);
    }

    /// Inserts an id that is missing.
    fn insert(&mut self, id: VertexId) {
        self.len += 1;
        if self.blocks.is_empty() {
            return self.append(&[id]);
        }
        let mut at = self.block_of(id).min(self.blocks.len() - 1);
        if self.blocks[at].len() == BLOCK {
            self.split(at);
            at += usize::from(self.lasts[at] < id);
        }
        let block = &mut self.blocks[at];
        let place = block.partition_point(|&other| other < id);
        block.insert(place, id);
        self.lasts[at] = block[block.len() - 1];
    }

    fn split(&mut self, at: usize) {
        let block = &mut self.blocks[at];
        let mut upper = Vec::with_capacity(BLOCK);
        upper.extend_from_slice(&block[BLOCK / 2..]);
        block.truncate(BLOCK / 2);
        self.lasts.insert(at, block[BLOCK / 2 - 1]);
        self.blocks.insert(at + 1, upper);
    }

    /// Removes an id that is present.
    fn remove(&mut self, id: VertexId) {
        self.len -= 1;
        let at = self.block_of(id);
        let block = &mut self.blocks[at];
        let place = block.partition_point(|&other| other < id);
        block.remove(place);
        if block.is_empty() {
            self.blocks.remove(at);
            self.lasts.remove(at);
            return;
        }
        self.lasts[at] = block[block.len() - 1];
        let next = self.blocks.get(at + 1).map_or(BLOCK, Vec::len);
        if self.blocks[at].len() < SPARSE && self.blocks[at].len() + next <= BLOCK / 2 {
            let upper = self.blocks.remove(at + 1);
            self.blocks[at].extend_from_slice(&upper);
            self.lasts.remove(at);
        }
    }
}
