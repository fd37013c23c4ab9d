//! Chunks of large objects, and when there were blocks of each: what a placement of objects in
//! memory must know beyond their names.
//!
//! A block that is longer than a chunk is several *pieces* in the memory map, each with an object
//! number of its own ([`ObjectKey::Chunk`]). So accesses are attributed to chunks as they are to
//! objects, at no cost per access, and everything that is known per object is known per chunk.
//!
//! All chunks of an object have one size. A longer block may need larger chunks than the blocks
//! before it: the size doubles, so that old chunks are in new ones, and what was counted for them
//! adds up. Pieces keep the number that they have; at the end each is in the chunk of its first
//! byte.
//!
//! [`ObjectKey::Chunk`]: crate::objects::ObjectKey::Chunk

use reuselens_profile::ChunkLimits;

use crate::hash::FastMap;
use crate::objects::Objects;

/// A piece of a block: first address, first address after it, object.
pub(crate) type Piece = (u64, u64, u32);

/// The memory of one chunk over the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkUsage {
    /// Bytes live now.
    live: u64,
    /// At most at one time.
    pub peak: u64,
    /// Blocks that reach into the chunk.
    pub blocks: u64,
    /// References before the first of them, and before none was left the last time.
    begin: u64,
    end: u64,
}

impl ChunkUsage {
    const NONE: ChunkUsage = ChunkUsage {
        live: 0,
        peak: 0,
        blocks: 0,
        begin: u64::MAX,
        end: 0,
    };

    fn begin(&mut self, bytes: u64, now: u64) {
        self.live = self.live.saturating_add(bytes);
        self.peak = self.peak.max(self.live);
        self.blocks = self.blocks.saturating_add(1);
        self.begin = self.begin.min(now);
        self.ended(now);
    }

    fn end(&mut self, bytes: u64, now: u64) {
        self.live = self.live.saturating_sub(bytes);
        self.ended(now);
    }

    fn ended(&mut self, now: u64) {
        if self.live == 0 {
            self.end = now;
        }
    }

    /// From when to when there were blocks, if the run has `references` references in all.
    pub fn lifetime(&self, references: u64) -> (u64, u64) {
        match self.live {
            0 => (self.begin, self.end),
            _ => (self.begin, references),
        }
    }

    /// Adds the chunk after this one, which reaches into no more blocks. The peaks of both may have
    /// been at different times: their sum is never too little.
    fn join(&mut self, next: &ChunkUsage) {
        self.live = self.live.saturating_add(next.live);
        self.peak = self.peak.saturating_add(next.peak);
        self.begin = self.begin.min(next.begin);
        self.end = self.end.max(next.end);
    }
}

/// The chunks of one object.
#[derive(Clone, Debug)]
pub(crate) struct ObjectChunks {
    /// Bytes of a chunk.
    pub chunk: u64,
    /// Bytes of the longest block.
    pub longest: u64,
    /// By number of the chunk; one at least.
    pub usage: Vec<ChunkUsage>,
}

impl ObjectChunks {
    /// Doubles the size of the chunks until it is at least `chunk`: that of other chunks that were
    /// made by the same rule.
    pub fn coarsen(&mut self, chunk: u64) {
        while self.chunk < chunk {
            self.double();
        }
    }

    fn double(&mut self) {
        self.chunk = self.chunk.saturating_mul(2);
        let join = |pair: &[ChunkUsage]| {
            let mut usage = pair[0];
            pair[1..].iter().for_each(|next| usage.join(next));
            usage
        };
        self.usage = self.usage.chunks(2).map(join).collect();
    }

    fn begin(&mut self, bytes: u64, now: u64) {
        self.longest = self.longest.max(bytes);
        let chunks = bytes.div_ceil(self.chunk).max(1) as usize;
        if self.usage.len() < chunks {
            self.usage.resize(chunks, ChunkUsage::NONE);
        }
        let mut left = bytes;
        for usage in &mut self.usage[..chunks] {
            let here = left.min(self.chunk);
            usage.begin(here, now);
            left -= here;
        }
    }

    fn end(&mut self, start: u64, bytes: u64, now: u64) {
        let chunk = usize::try_from(start / self.chunk);
        if let Some(usage) = chunk.ok().and_then(|chunk| self.usage.get_mut(chunk)) {
            usage.end(bytes, now);
        }
    }
}

/// The chunks of all objects of the heap and of modules.
#[derive(Debug)]
pub(crate) struct Chunks {
    limits: ChunkLimits,
    by_object: FastMap<u32, ObjectChunks>,
}

impl Chunks {
    /// Nothing is allocated yet.
    pub fn new(limits: ChunkLimits) -> Self {
        Chunks {
            limits,
            by_object: FastMap::default(),
        }
    }

    /// The chunks of an object, if it ever had a block.
    pub fn of(&self, object: u32) -> Option<&ObjectChunks> {
        self.by_object.get(&object)
    }

    /// The pieces of a new block of an object, in the order of their addresses; one at least.
    pub fn split(
        &mut self,
        object: u32,
        (low, high): (u64, u64),
        objects: &mut Objects,
    ) -> Vec<Piece> {
        let limits = self.limits;
        let chunks = self
            .by_object
            .entry(object)
            .or_insert_with(|| ObjectChunks {
                chunk: limits.bytes,
                longest: 0,
                usage: Vec::new(),
            });
        while (high - low).div_ceil(chunks.chunk) > limits.most {
            chunks.double();
        }
        let chunk = chunks.chunk;
        let mut pieces = Vec::new();
        let mut start = 0_u64;
        loop {
            let end = start.saturating_add(chunk).min(high - low);
            let number = objects.chunk(object, start);
            pieces.push((low + start, low + end, number));
            start = end;
            if start >= high - low {
                return pieces;
            }
        }
    }

    /// A block of an object begins, after `now` references.
    pub fn begin(&mut self, object: u32, bytes: u64, now: u64) {
        if let Some(chunks) = self.by_object.get_mut(&object) {
            chunks.begin(bytes, now);
        }
    }

    /// Bytes of a piece end, after `now` references.
    pub fn end(&mut self, piece: u32, bytes: u64, now: u64, objects: &Objects) {
        let (object, start) = objects.start_of(piece);
        if let Some(chunks) = self.by_object.get_mut(&object) {
            chunks.end(start, bytes, now);
        }
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        let usage = |chunks: &ObjectChunks| chunks.usage.capacity() * size_of::<ChunkUsage>();
        let usage: usize = self.by_object.values().map(usage).sum();
        (usage + self.by_object.allocation_size()) as u64
    }
}

#[cfg(test)]
mod tests {
    use reuselens_profile::PlacementData;

    use super::*;
    use crate::objects::{ObjectKey, Where};
    use crate::places::CodePlace;

    fn made() -> (Objects, u32) {
        let mut objects = Objects::new();
        let key = ObjectKey::Frames(CodePlace::UNKNOWN);
        let object = objects.get_or_add(key, Where::Heap);
        (objects, object)
    }

    #[test]
    fn a_longer_block_doubles_the_chunks_and_keeps_their_sums() {
        let (mut objects, object) = made();
        let mut chunks = Chunks::new(PlacementData::default().chunk_limits());
        for bytes in [100, 200 << 10, 64 << 20] {
            let pieces = chunks.split(object, (4096, 4096 + bytes), &mut objects);
            assert!(pieces.is_sorted_by(|one, next| one.1 == next.0));
            assert_eq!((pieces[0].0, pieces[0].2), (4096, object));
            assert_eq!(pieces[pieces.len() - 1].1, 4096 + bytes);
            assert!(pieces.len() <= 64);
            chunks.begin(object, bytes, bytes);
        }
        let of = chunks.of(object).unwrap();
        assert_eq!((of.chunk, of.usage.len()), (1 << 20, 64));
        assert_eq!(of.usage[0].peak, (1 << 20) + (200 << 10) + 100);
        assert_eq!((of.usage[0].blocks, of.usage[1].blocks), (3, 1));
        assert_eq!(of.usage[1].lifetime(9 << 30), (64 << 20, 9 << 30));
    }

    #[test]
    fn a_size_that_is_asked_for_holds_up_to_a_thousand_chunks() {
        let (mut objects, object) = made();
        let asked = PlacementData {
            chunk_bytes: Some(4096),
        };
        let mut chunks = Chunks::new(asked.chunk_limits());
        assert_eq!(chunks.split(object, (0, 4 << 20), &mut objects).len(), 1024);
        assert_eq!(chunks.split(object, (0, 8 << 20), &mut objects).len(), 1024);
        assert_eq!(chunks.of(object).unwrap().chunk, 8192);
        assert_eq!(chunks.split(object, (7, 7), &mut objects), [(7, 7, object)]);
    }
}
