//! Sorting references by item: the host side of `kernels/distance/radix.cu`.

use reuselens_cuda::{Device, DeviceArray, Gpu, GpuFault, Params};

use crate::table::{DIGIT_BITS, DigitTable, THREADS, TILE, looping_blocks};

/// Bits of items as they are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemBits {
    /// Items that differ by less than 2³² from the smallest of the chunk, which is taken from them.
    B32,
    B64,
}

impl ItemBits {
    /// One of the two names of a kernel.
    pub fn kernel(self, names: [&'static str; 2]) -> &'static str {
        match self {
            ItemBits::B32 => names[0],
            ItemBits::B64 => names[1],
        }
    }
}

/// References by item: items and numbers of references in two places each. A pass reads the first
/// and writes the second.
pub(crate) struct References<'a> {
    pub count: u32,
    pub bits: ItemBits,
    pub items: &'a mut [DeviceArray<u64>; 2],
    pub numbers: &'a mut [DeviceArray<u32>; 2],
}

impl References<'_> {
    /// Sorts the references by item, and those of an item by time. The first places have the
    /// result.
    pub fn sort<D: Device>(
        self,
        gpu: &mut Gpu<D>,
        table: &DigitTable,
        found: &DeviceArray<u64>,
    ) -> Result<(), GpuFault> {
        let tiles = self.count.div_ceil(TILE);
        for (pass, (shift, bits)) in self.digits(gpu, found)?.into_iter().enumerate() {
            let digit = |params: Params| params.word(self.count).word(shift).word(bits);
            let count = digit(Params::default().array(&self.items[0])).array(&table.counts);
            let name = self.bits.kernel(["radix_count_32", "radix_count_64"]);
            gpu.launch_blocks(name, tiles, THREADS, count)?;
            table.scan(gpu, tiles << bits)?;
            // References are numbered in the first pass.
            let numbers = match pass {
                0 => 0,
                _ => self.numbers[0].address(),
            };
            let sort = digit(Params::default().array(&self.items[0]).long(numbers))
                .array(&table.counts)
                .array(&self.items[1])
                .array(&self.numbers[1]);
            let name = self.bits.kernel(["radix_sort_32", "radix_sort_64"]);
            gpu.launch_blocks(name, tiles, THREADS, sort)?;
            self.items.swap(0, 1);
            self.numbers.swap(0, 1);
        }
        Ok(())
    }

    /// The digits to sort by, one at least.
    fn digits<D: Device>(
        &self,
        gpu: &mut Gpu<D>,
        found: &DeviceArray<u64>,
    ) -> Result<Vec<(u32, u32)>, GpuFault> {
        gpu.write(found, 0, &[0, u64::MAX])?;
        let params = Params::default()
            .array(&self.items[0])
            .word(self.count)
            .array(found);
        let name = self.bits.kernel(["radix_bits_32", "radix_bits_64"]);
        gpu.launch_blocks(name, looping_blocks(self.count), THREADS, params)?;
        let found = gpu.read(found, 0..2)?;
        Ok(digits(found[0] & !found[1]))
    }
}

/// Digits, as shift and bits, that have all of these bits; one at least.
fn digits(mut differing: u64) -> Vec<(u32, u32)> {
    let mut digits = Vec::new();
    while differing != 0 {
        let shift = differing.trailing_zeros();
        let window = differing >> shift & ((1 << DIGIT_BITS) - 1);
        let bits = u64::BITS - window.leading_zeros();
        digits.push((shift, bits));
        differing &= !(window << shift);
    }
    if digits.is_empty() {
        digits.push((0, 1));
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_have_all_bits_that_differ_and_no_others_at_their_ends() {
        assert_eq!(digits(0), [(0, 1)]);
        assert_eq!(digits(u64::MAX).len(), 8);
        assert_eq!(digits(0b1010_0000), [(5, 3)]);
        assert_eq!(digits(1 << 63 | 1), [(0, 1), (63, 1)]);
        assert_eq!(digits(0x1ff0), [(4, 8), (12, 1)]);
    }
}
