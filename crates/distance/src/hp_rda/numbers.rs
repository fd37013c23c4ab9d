//! Numbers for the items of a short stretch: 0, 1, 2 and so on, as they appear.

use crate::prefetch::prefetch;

/// Neighbouring items that begin side by side, as a power of two: a sweep stays within a cache line.
const NEIGHBOURS: u32 = 2;

/// A fixed mix of all bits of a number; the upper ones are the best.
#[inline(always)]
pub(super) fn mix(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (number ^ (number >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// An open-addressing hash table from items to their numbers plus one; the items themselves are the
/// caller's, by number. Four bytes a slot, so that the table of a chunk fits the first cache.
#[derive(Default)]
pub(super) struct Numbers {
    slots: Vec<u32>,
    shift: u32,
}

impl Numbers {
    /// Empties the table and makes room for `most` items.
    pub(super) fn clear(&mut self, most: usize) {
        let log2 = (2 * most).next_power_of_two().ilog2().max(NEIGHBOURS + 1);
        self.slots.clear();
        self.slots.resize(1 << log2, 0);
        self.shift = 64 - (log2 - NEIGHBOURS);
    }

    #[inline(always)]
    fn home(&self, item: u64) -> usize {
        let line = (mix(item >> NEIGHBOURS) >> self.shift) as usize;
        line << NEIGHBOURS | (item as usize & ((1 << NEIGHBOURS) - 1))
    }

    /// Asks for the memory where `item` would be.
    #[inline(always)]
    pub(super) fn prefetch(&self, item: u64) {
        prefetch(&self.slots, self.home(item));
    }

    /// The slot of `item`: its number plus one, or 0, which the caller then replaces. `is` tells whether
    /// a number is that of the item. There must be an empty slot.
    #[inline(always)]
    pub(super) fn slot(&mut self, item: u64, is: impl Fn(usize) -> bool) -> &mut u32 {
        let mut index = self.home(item);
        let slots = self.slots.as_mut_slice();
        let mask = slots.len() - 1;
        loop {
            let number = slots[index & mask] as usize;
            if number == 0 || is(number - 1) {
                return &mut slots[index & mask];
            }
            index += 1;
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u32>()
    }
}
