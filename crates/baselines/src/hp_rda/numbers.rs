//! [`Numbers`]: a hash table that numbers the items of one chunk or block, 0, 1, 2 and so on, in
//! the order in which they appear.

use reuselens_hugepages::{prefetch, random_key};

/// Neighbouring items that begin side by side, as a power of two: a sweep stays within a cache
/// line.
const NEIGHBOURS: u32 = 2;

/// A fixed mix of all bits of a number; the upper ones are the best.
#[inline(always)]
pub(super) fn mix(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (number ^ (number >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// An open-addressing hash table from items to their numbers plus one; the items themselves are the
/// caller's, by number. Four bytes a slot, so that the table of a chunk fits the first cache.
pub(super) struct Numbers {
    slots: Vec<u32>,
    shift: u32,
    /// A random key of the hash. No result depends on it.
    key: u64,
}

impl Default for Numbers {
    fn default() -> Self {
        Numbers {
            slots: Vec::new(),
            shift: 0,
            key: random_key(),
        }
    }
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
        let line = (mix(item >> NEIGHBOURS ^ self.key) >> self.shift) as usize;
        line << NEIGHBOURS | (item as usize & ((1 << NEIGHBOURS) - 1))
    }

    /// Asks for the memory where `item` would be.
    #[inline(always)]
    pub(super) fn prefetch(&self, item: u64) {
        prefetch(&self.slots, self.home(item));
    }

    /// The slot of `item`: its number plus one, or 0, which the caller then replaces. `is` returns
    /// whether a number is that of the item. There must be an empty slot.
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The inverse of an odd number modulo 2⁶⁴, by Newton's iteration.
    fn inverse(odd: u64) -> u64 {
        (0..6).fold(odd, |found, _| {
            found.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(found)))
        })
    }

    /// The number that [`mix`] makes this of.
    fn unmix(mixed: u64) -> u64 {
        let number = mixed.wrapping_mul(inverse(0xD6E8_FEB8_6659_FD93));
        (number ^ (number >> 32)).wrapping_mul(inverse(0x9E37_79B9_7F4A_7C15))
    }

    /// The items that are compared with others while this many are numbered.
    fn compared(numbers: &mut Numbers, items: &[u64]) -> usize {
        numbers.clear(items.len());
        let compared = Cell::new(0);
        for (number, &item) in (1..).zip(items) {
            let slot = numbers.slot(item, |_| {
                compared.set(compared.get() + 1);
                false
            });
            *slot = number;
        }
        compared.get()
    }

    #[test]
    fn colliding_items_are_spread() {
        // The table mixes only the multiples of four.
        let chosen = (0..).map(unmix).filter(|item| *item < 1 << 62);
        let items: Vec<u64> = chosen.map(|item| item << NEIGHBOURS).take(2000).collect();
        let mut known = Numbers {
            key: 0,
            ..Numbers::default()
        };
        assert_eq!(compared(&mut known, &items), 2000 * 1999 / 2);
        let met = compared(&mut Numbers::default(), &items);
        assert!(met < 20_000, "{met}");
    }
}
