//! [`GpuModel`]: the sizes of a GPU that the cache model and the advice on bypassing need.

/// What a store does to a line that the L1 cache holds. A store always goes to the L2 cache, too,
/// and never brings a line into the L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StorePolicy {
    /// The line stays, with the new value (since Volta).
    Update,
    /// The sectors are given up (Kepler to Pascal): the next load of them misses.
    Evict,
}

/// One cache: sets of `ways` lines, the least recently used line of a set replaced. A line has 128
/// bytes in four sectors of 32, which are fetched one by one. A hash of the line's number picks the
/// set, so that strides of a power of two use all sets, as in GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheShape {
    /// Bytes that it holds.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
}

/// A GPU, as far as the models of this crate know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GpuModel {
    /// What it is called in reports.
    pub name: &'static str,
    /// Streaming multiprocessors (SMs).
    pub sms: u32,
    /// The most blocks (CTAs) that an SM holds.
    pub blocks_per_sm: u32,
    /// The most warps that an SM holds.
    pub warps_per_sm: u32,
    /// Bytes of shared memory of an SM.
    pub shared_per_sm: u64,
    /// The most bytes of shared memory of a block, with those that are reserved.
    pub shared_per_block: u64,
    /// Bytes of shared memory that each block takes beside its own.
    pub shared_reserved: u64,
    /// Bytes of which the shared memory of a block is a multiple.
    pub shared_granularity: u64,
    /// The L1 cache of an SM.
    pub l1: CacheShape,
    /// The L2 cache, which all SMs share.
    pub l2: CacheShape,
    /// What stores do in the L1.
    pub stores: StorePolicy,
}

impl GpuModel {
    /// Compute capability 9.0 (H100 SXM): 132 SMs, 50 MiB of L2. Of the 256 KiB that the L1 shares
    /// with shared memory, the model gives 192 KiB to the L1.
    pub const HOPPER: GpuModel = GpuModel {
        name: "compute capability 9.0",
        sms: 132,
        blocks_per_sm: 32,
        warps_per_sm: 64,
        shared_per_sm: 228 << 10,
        shared_per_block: 228 << 10,
        shared_reserved: 1 << 10,
        shared_granularity: 128,
        l1: CacheShape {
            bytes: 192 << 10,
            ways: 16,
        },
        l2: CacheShape {
            bytes: 50 << 20,
            ways: 16,
        },
        stores: StorePolicy::Update,
    };

    /// Compute capability 6.0 (P100): 56 SMs, 24 KiB of L1, 4 MiB of L2.
    pub const PASCAL: GpuModel = GpuModel {
        name: "compute capability 6.0",
        sms: 56,
        blocks_per_sm: 32,
        warps_per_sm: 64,
        shared_per_sm: 64 << 10,
        shared_per_block: 48 << 10,
        shared_reserved: 0,
        shared_granularity: 256,
        l1: CacheShape {
            bytes: 24 << 10,
            ways: 16,
        },
        l2: CacheShape {
            bytes: 4 << 20,
            ways: 16,
        },
        stores: StorePolicy::Evict,
    };

    /// Compute capability 3.5 (K40): 15 SMs, 16 KiB of L1, 1.5 MiB of L2.
    pub const KEPLER: GpuModel = GpuModel {
        name: "compute capability 3.5",
        sms: 15,
        blocks_per_sm: 16,
        warps_per_sm: 64,
        shared_per_sm: 48 << 10,
        shared_per_block: 48 << 10,
        shared_reserved: 0,
        shared_granularity: 256,
        l1: CacheShape {
            bytes: 16 << 10,
            ways: 4,
        },
        l2: CacheShape {
            bytes: 1536 << 10,
            ways: 16,
        },
        stores: StorePolicy::Evict,
    };

    /// Blocks of this many warps and bytes of shared memory that an SM holds at the same time, as
    /// `cudaOccupancyMaxActiveBlocksPerMultiprocessor` counts them. Registers, which can make them
    /// fewer, are not known here: PTX has no number of them. 1 at least.
    pub fn resident_blocks(&self, warps_per_block: u64, shared_bytes: u64) -> u32 {
        let by_warps = u64::from(self.warps_per_sm) / warps_per_block.max(1);
        let by_shared = self.blocks_by_shared(shared_bytes);
        let blocks = by_warps.min(by_shared).min(self.blocks_per_sm.into());
        (blocks as u32).max(1)
    }

    /// Blocks with these bytes of shared memory for which an SM has enough of it; 0 if a block has
    /// more than it may.
    pub(crate) fn blocks_by_shared(&self, shared_bytes: u64) -> u64 {
        let bytes = shared_bytes.saturating_add(self.shared_reserved);
        if bytes > self.shared_per_block {
            return 0;
        }
        match bytes.next_multiple_of(self.shared_granularity) {
            0 => u64::MAX,
            bytes => self.shared_per_sm / bytes,
        }
    }
}

impl Default for GpuModel {
    fn default() -> GpuModel {
        GpuModel::HOPPER
    }
}
