//! [`ChunkArrays`]: what a chunk of references has in the device's memory, and its steps.

use std::ops::Range;

use reuselens_cuda::{Device, DeviceArray, Gpu};
use reuselens_units::Bytes;

use crate::dominance::{Links, Previous, histogram};
use crate::error::GpuDistanceError;
use crate::kernels::KernelCode;
use crate::radix::{ItemBits, References};
use crate::table::{DigitTable, TILE};
use crate::times::{ExactTimes, timed};

/// References of a chunk at most: the numbers of those and of their successors, plus one, fit 32
/// bits.
pub(crate) const MOST: u64 = 1 << 31;
/// Bytes of the device's memory that a reference takes, beside the table.
const REFERENCE_BYTES: u64 = 2 * 8 + 2 * 4 + 4;
/// Bytes for what does not grow with the chunk: that arrays end at pages, and what kernels are
/// staged in.
const OVERHEAD: u64 = 64 << 10;
/// Items that are brought to the device at a time.
const PIECE: usize = 1 << 18;

/// A chunk of references in the device's memory.
pub(crate) struct ChunkArrays<D> {
    gpu: Gpu<D>,
    room: u64,
    /// Items, as they are sorted; then links of references, and references in the order of their
    /// previous ones.
    words: [DeviceArray<u64>; 2],
    /// Numbers of references; then the first and last ones of items; then distances.
    numbers: [DeviceArray<u32>; 2],
    previous: DeviceArray<u32>,
    table: DigitTable,
    /// The bits in which items differ.
    differing: DeviceArray<u64>,
    pub times: ExactTimes,
}

/// References that have no other of their item before or after them in the chunk, in the order of
/// time. Both have one for each item.
pub(crate) struct Ends {
    pub firsts: Vec<u32>,
    pub lasts: Vec<u32>,
}

impl<D: Device> ChunkArrays<D> {
    /// Memory for chunks of up to `references`.
    pub fn new(device: D, code: &KernelCode, references: u64) -> Result<Self, GpuDistanceError> {
        check(references, device.memory().0)?;
        let mut gpu = Gpu::new(device, &code.exact())?;
        Ok(ChunkArrays {
            room: references,
            words: [gpu.array(references)?, gpu.array(references)?],
            numbers: [gpu.array(references)?, gpu.array(references)?],
            previous: gpu.array(references)?,
            table: DigitTable::new(&mut gpu, tiles(references))?,
            differing: gpu.array(2)?,
            times: ExactTimes::default(),
            gpu,
        })
    }

    /// References of a chunk at most.
    pub fn room(&self) -> usize {
        self.room as usize
    }

    /// Bytes of the device that are in use.
    pub fn used(&self) -> u64 {
        self.gpu.used()
    }

    /// The device.
    pub fn into_device(self) -> D {
        self.gpu.into_device()
    }

    /// Finds the distances of the references to `items`, at most as many as there is room for and
    /// one at least, and leaves them on the device.
    pub fn analyse(&mut self, items: &[u64]) -> Result<Ends, GpuDistanceError> {
        let ChunkArrays {
            gpu, table, times, ..
        } = self;
        let count = items.len() as u32;
        let bits = timed(&mut times.transfer, || upload(gpu, items, &self.words[0]))?;
        let references = References {
            count,
            bits,
            items: &mut self.words,
            numbers: &mut self.numbers,
        };
        timed(&mut times.sort, || {
            references.sort(gpu, table, &self.differing)
        })?;
        let [sorted, pairs] = &self.words;
        let links = Links { count, pairs };
        let previous = Previous {
            count,
            numbers: &self.previous,
        };
        let distinct = timed(&mut times.previous, || {
            links.find(gpu, bits, sorted, &self.numbers[0])?;
            // Sorted items and their numbers are not needed any more.
            links.order(gpu, table, previous, sorted, &self.numbers)
        })?;
        let distinct = 0..u64::from(distinct);
        let ends = timed(&mut times.transfer, || {
            let firsts = gpu.read(&self.numbers[0], distinct.clone())?;
            let lasts = gpu.read(&self.numbers[1], distinct)?;
            Ok::<_, GpuDistanceError>(Ends { firsts, lasts })
        })?;
        timed(&mut times.dominance, || {
            previous.distances(gpu, table, &mut self.words, &self.numbers[0])
        })?;
        Ok(ends)
    }

    /// The distances of references of the chunk that was analysed; `u32::MAX` for those without a
    /// previous one in the chunk.
    pub fn distances(&mut self, references: Range<usize>) -> Result<Vec<u32>, GpuDistanceError> {
        let references = references.start as u64..references.end as u64;
        let (gpu, distances) = (&self.gpu, &self.numbers[0]);
        Ok(timed(&mut self.times.transfer, || {
            gpu.read(distances, references)
        })?)
    }

    /// How many references of the chunk that was analysed have each distance, of those that have a
    /// previous one in the chunk.
    pub fn histogram(
        &mut self,
        count: usize,
        distinct: usize,
    ) -> Result<Vec<u32>, GpuDistanceError> {
        let (gpu, distances) = (&mut self.gpu, &self.numbers[0]);
        let counts = self.words[1].view(0, distinct as u64);
        Ok(timed(&mut self.times.histogram, || {
            histogram(gpu, distances, count as u32, &counts, distinct as u32)
        })?)
    }
}

/// The tiles of this many references.
fn tiles(references: u64) -> u64 {
    references.div_ceil(TILE.into())
}

/// Bytes that chunks of this many references take of the device's memory.
fn bytes(references: u64) -> u64 {
    references * REFERENCE_BYTES + DigitTable::bytes(tiles(references)) + OVERHEAD
}

/// The largest chunk, of `most` references at most, that this many free bytes have room for; 0 if
/// not even a tile fits.
pub(crate) fn fitting(free: u64, most: u64) -> u64 {
    let (mut fits, mut beyond) = (0, most.min(free / REFERENCE_BYTES) + 1);
    while fits + 1 < beyond {
        let middle = fits.midpoint(beyond);
        if bytes(middle) <= free {
            fits = middle;
        } else {
            beyond = middle;
        }
    }
    if fits < most.min(TILE.into()) {
        0
    } else {
        fits
    }
}

/// Whether chunks of this many references can be.
fn check(references: u64, free: u64) -> Result<(), GpuDistanceError> {
    if references > MOST {
        return Err(GpuDistanceError::TooLong {
            references,
            most: MOST,
        });
    }
    if bytes(references) > free {
        return Err(GpuDistanceError::TooLittleMemory {
            references,
            needed: Bytes(bytes(references)),
            free: Bytes(free),
            most: fitting(free, references),
        });
    }
    Ok(())
}

/// Brings items to the device, as 32 bits where these are enough to distinguish them.
fn upload<D: Device>(
    gpu: &mut Gpu<D>,
    items: &[u64],
    to: &DeviceArray<u64>,
) -> Result<ItemBits, GpuDistanceError> {
    let (least, most) = items.iter().fold((u64::MAX, 0), |(least, most), &item| {
        (least.min(item), most.max(item))
    });
    if most.saturating_sub(least) > u64::from(u32::MAX) {
        gpu.write(to, 0, items)?;
        return Ok(ItemBits::B64);
    }
    let to = to.view::<u32>(0, to.room());
    let mut narrow = Vec::with_capacity(items.len().min(PIECE));
    for (piece, items) in items.chunks(PIECE).enumerate() {
        narrow.clear();
        narrow.extend(items.iter().map(|item| (item - least) as u32));
        gpu.write(&to, (piece * PIECE) as u64, &narrow)?;
    }
    Ok(ItemBits::B32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_chunk_fits_and_a_larger_one_does_not() {
        for free in [200_000, 1 << 20, 1 << 30, 24 << 30, 140 << 30] {
            let references = fitting(free, u64::MAX);
            assert!(bytes(references) <= free, "{free}");
            assert!(bytes(references + 1) > free, "{free}");
        }
        assert_eq!(fitting(10_000, u64::MAX), 0);
        assert_eq!(fitting(1 << 40, 1000), 1000);
    }
}
