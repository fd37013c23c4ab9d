//! [`HpRdaSettings`]: how HP-RDA cuts the stream into chunks, blocks and transfers, and how many
//! threads it uses.

use std::num::NonZeroUsize;

/// How [`HpRda`](crate::HpRda) cuts the stream up. The default is as published, but for the
/// transfer, which was 64 Mi references (a gigabyte here) and makes no difference to the distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpRdaSettings {
    /// References per chunk, 1 to 32768; beyond counts as the nearest. The larger, the more
    /// distances are exact, and the more each costs.
    pub chunk: usize,
    /// Chunks per block, 1 to 64.
    pub chunks_per_block: usize,
    /// Blocks per transfer, 1 to 512. Fewer than threads leave some idle.
    pub blocks: usize,
    /// Worker threads, 512 at most.
    pub threads: NonZeroUsize,
    /// What a block counts as in distances across it.
    pub block_count: BlockCount,
}

/// What a block between two accesses to an item counts as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockCount {
    /// The sum of its chunks' counts, as if there were no blocks: the published formula.
    #[default]
    Chunks,
    /// Its distinct items. Another reading of the publication, which finds them on the way (section
    /// IV-B) and does not say whether it uses them; further distances come out smaller.
    Distinct,
}

impl Default for HpRdaSettings {
    fn default() -> Self {
        HpRdaSettings {
            chunk: 2048,
            chunks_per_block: 64,
            blocks: 16,
            threads: NonZeroUsize::MIN,
            block_count: BlockCount::Chunks,
        }
    }
}

impl HpRdaSettings {
    /// References of a chunk, at most.
    pub const MOST_IN_CHUNK: usize = 1 << 15;
    /// Chunks of a block, at most.
    pub const MOST_CHUNKS_IN_BLOCK: usize = 64;
    /// Blocks of a transfer, at most.
    pub const MOST_BLOCKS: usize = 512;
    /// Bytes that a reference of a transfer takes at most: its item, its distance, its entry in the
    /// block, and its distance from block to block.
    pub const REFERENCE_BYTES: usize = 66;

    /// These settings with fewer blocks per transfer, so that its columns take at most `bytes`; one
    /// block at least.
    /// Distances do not depend on it.
    pub fn with_transfer_of(self, bytes: u64) -> HpRdaSettings {
        let block = self.within_limits().block() * Self::REFERENCE_BYTES;
        let most = usize::try_from(bytes).unwrap_or(usize::MAX) / block;
        HpRdaSettings {
            blocks: self.blocks.min(most.max(1)),
            ..self
        }
    }

    /// These settings, with what is beyond its limits at the nearest.
    pub fn within_limits(self) -> Self {
        const MOST: NonZeroUsize = NonZeroUsize::MIN.saturating_add(511);
        HpRdaSettings {
            chunk: self.chunk.clamp(1, Self::MOST_IN_CHUNK),
            chunks_per_block: self.chunks_per_block.clamp(1, Self::MOST_CHUNKS_IN_BLOCK),
            blocks: self.blocks.clamp(1, Self::MOST_BLOCKS),
            threads: self.threads.min(MOST),
            ..self
        }
    }

    /// References per block.
    pub fn block(&self) -> usize {
        self.chunk * self.chunks_per_block
    }

    /// References per transfer, 2³⁰ at most.
    pub fn transfer(&self) -> usize {
        self.block() * self.blocks
    }
}
