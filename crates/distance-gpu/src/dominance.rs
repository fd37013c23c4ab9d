//! Counting distances within a chunk: the host side of `kernels/distance/dominance.cu`.

use reuselens_cuda::{Device, DeviceArray, Gpu, GpuFault, Params};

use crate::radix::ItemBits;
use crate::table::{DIGIT_BITS, DigitTable, THREADS, TILE, looping_blocks};

/// The references before and after each to the same item, plus one; 0 for none.
#[derive(Clone, Copy)]
pub(crate) struct Links<'a> {
    pub count: u32,
    /// The one before in the lower half, the one after in the upper.
    pub pairs: &'a DeviceArray<u64>,
}

/// The references before each to the same item, plus one; 0 for none.
#[derive(Clone, Copy)]
pub(crate) struct Previous<'a> {
    pub count: u32,
    pub numbers: &'a DeviceArray<u32>,
}

impl Links<'_> {
    /// Finds them, from items in order and the numbers of their references.
    pub fn find<D: Device>(
        self,
        gpu: &mut Gpu<D>,
        bits: ItemBits,
        items: &DeviceArray<u64>,
        numbers: &DeviceArray<u32>,
    ) -> Result<(), GpuFault> {
        let params = Params::default()
            .array(items)
            .array(numbers)
            .word(self.count)
            .array(self.pairs);
        let name = bits.kernel(["radix_link_32", "radix_link_64"]);
        gpu.launch_blocks(name, looping_blocks(self.count), THREADS, params)
    }

    /// Writes the references before each to `previous`, the references in the order of those to
    /// `order`, the first reference to each item to `firsts` and the last to `lasts`. Returns the
    /// number of items.
    pub fn order<D: Device>(
        self,
        gpu: &mut Gpu<D>,
        table: &DigitTable,
        previous: Previous<'_>,
        order: &DeviceArray<u64>,
        ends: &[DeviceArray<u32>; 2],
    ) -> Result<u32, GpuFault> {
        let tiles = self.count.div_ceil(TILE);
        let links = || {
            Params::default()
                .array(self.pairs)
                .word(self.count)
                .array(&table.counts)
        };
        gpu.launch_blocks("order_count", tiles, THREADS, links())?;
        table.scan(gpu, 2 * tiles)?;
        let params = links().array(previous.numbers).array(order);
        let params = params.arrays(ends.each_ref());
        gpu.launch_blocks("order_write", tiles, THREADS, params)?;
        let tiles = u64::from(tiles);
        Ok(gpu.read(&table.counts, tiles..tiles + 1)?[0])
    }
}

impl Previous<'_> {
    /// Writes the distances of all references, from their order in the first of `orders`, which are
    /// both used up. Those without a previous reference get `u32::MAX`.
    pub fn distances<D: Device>(
        self,
        gpu: &mut Gpu<D>,
        table: &DigitTable,
        orders: &mut [DeviceArray<u64>; 2],
        distances: &DeviceArray<u32>,
    ) -> Result<(), GpuFault> {
        let all = self.count.div_ceil(TILE);
        for (index, (shift, bits)) in passes(self.count).into_iter().enumerate() {
            // Tiles of a bucket: those of all references in the first pass.
            let width = match index {
                0 => all,
                _ => 1 << (shift + bits - TILE.ilog2()),
            };
            let tiles = all.next_multiple_of(width);
            let pass = || {
                Params::default()
                    .array(&orders[0])
                    .word(self.count)
                    .word(shift)
                    .word(bits)
                    .word(width)
                    .array(&table.counts)
            };
            gpu.launch_blocks("dominance_count", tiles, THREADS, pass())?;
            table.scan(gpu, tiles << bits)?;
            gpu.launch_blocks("dominance_pass", all, THREADS, pass().array(&orders[1]))?;
            orders.swap(0, 1);
        }
        let last = Params::default()
            .array(&orders[0])
            .word(self.count)
            .array(self.numbers)
            .array(distances);
        gpu.launch_blocks("dominance_last", all, THREADS, last)
    }
}

/// Counts distances; `counts` has a number for each that can occur.
pub(crate) fn histogram<D: Device>(
    gpu: &mut Gpu<D>,
    distances: &DeviceArray<u32>,
    count: u32,
    counts: &DeviceArray<u32>,
    distinct: u32,
) -> Result<Vec<u32>, GpuFault> {
    gpu.fill(counts, 0..distinct.into(), 0)?;
    let params = Params::default().array(distances).word(count).array(counts);
    gpu.launch_blocks("distance_histogram", looping_blocks(count), THREADS, params)?;
    gpu.read(counts, 0..distinct.into())
}

/// The digits of the passes over buckets of several tiles, as shift and bits, the highest first.
/// Together they have the bits of numbers below `count` that a tile does not have.
fn passes(count: u32) -> Vec<(u32, u32)> {
    let bits = u32::BITS - count.saturating_sub(1).leading_zeros();
    let mut left = bits.saturating_sub(TILE.ilog2());
    let mut passes = Vec::new();
    for number in (1..=left.div_ceil(DIGIT_BITS)).rev() {
        let bits = left.div_ceil(number);
        left -= bits;
        passes.push((TILE.ilog2() + left, bits));
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_have_all_bits_above_a_tile() {
        assert_eq!(passes(0), []);
        assert_eq!(passes(2048), []);
        assert_eq!(passes(2049), [(11, 1)]);
        assert_eq!(passes(1 << 19), [(11, 8)]);
        assert_eq!(passes((1 << 19) + 1), [(15, 5), (11, 4)]);
        assert_eq!(passes(1 << 26), [(18, 8), (11, 7)]);
        assert_eq!(passes(1 << 31), [(24, 7), (17, 7), (11, 6)]);
    }
}
