//! [`DigitTable`]: counts of references by digit and tile, and sums of them.

use reuselens_cuda::{Device, DeviceArray, Gpu, GpuFault, Params};

/// References of a tile: `TILE` in `kernels/distance/distance.h`.
pub(crate) const TILE: u32 = 2048;
/// Threads of a block: `THREADS` there.
pub(crate) const THREADS: u32 = 256;
/// Bits of the widest digit.
pub(crate) const DIGIT_BITS: u32 = 8;

/// Tiles of sums that one block takes one after the other, where more blocks would gain little.
const FEW: u32 = 4;

/// Counts in the device's memory.
#[derive(Debug)]
pub(crate) struct DigitTable {
    pub counts: DeviceArray<u32>,
    /// The sum of each tile of counts.
    sums: DeviceArray<u32>,
}

impl DigitTable {
    /// Numbers that a table for this many tiles of references has room for: a count for each digit
    /// and tile, and for the tiles that the last bucket of a pass lacks. Buckets have no more tiles
    /// than there are, and 256 at most where digits have [`DIGIT_BITS`]; others have fewer digits.
    fn room(tiles: u64) -> u64 {
        (tiles + tiles.min(1 << DIGIT_BITS)) << DIGIT_BITS
    }

    /// Bytes that a table for this many tiles takes.
    pub fn bytes(tiles: u64) -> u64 {
        let counts = Self::room(tiles);
        4 * (counts + counts.div_ceil(TILE.into()))
    }

    /// A table for this many tiles.
    pub fn new<D: Device>(gpu: &mut Gpu<D>, tiles: u64) -> Result<Self, GpuFault> {
        let room = Self::room(tiles);
        Ok(DigitTable {
            counts: gpu.array(room)?,
            sums: gpu.array(room.div_ceil(TILE.into()))?,
        })
    }

    /// Replaces the first `count` numbers by the sums before each.
    pub fn scan<D: Device>(&self, gpu: &mut Gpu<D>, count: u32) -> Result<(), GpuFault> {
        let tiles = count.div_ceil(TILE);
        if tiles <= FEW {
            let params = Params::default().array(&self.counts).word(count);
            return gpu.launch_blocks("scan_all", 1, THREADS, params);
        }
        let each = || {
            Params::default()
                .array(&self.counts)
                .word(count)
                .array(&self.sums)
        };
        gpu.launch_blocks("scan_sums", tiles, THREADS, each())?;
        let all = Params::default().array(&self.sums).word(tiles);
        gpu.launch_blocks("scan_all", 1, THREADS, all)?;
        gpu.launch_blocks("scan_tiles", tiles, THREADS, each())
    }
}

/// Blocks for kernels that loop over `count` references: as many as keep a large device busy.
pub(crate) fn looping_blocks(count: u32) -> u32 {
    count.div_ceil(TILE).clamp(1, 2048)
}
