//! [`ItemNumbers`]: numbers for items, from 0 in the order of their first accesses.
//!
//! The analyses keep what they know of an item in arrays by its number, so that one look-up in a
//! hash table serves all of them.

use reuselens_hugepages::{Huge, prefetch, random_key};

/// Items whose slots are requested together.
const BATCH: usize = 32;
/// Slots of an empty table.
const SMALLEST: usize = 1 << 10;
/// Most items: numbers have 32 bits.
const MOST: usize = u32::MAX as usize - 1;

/// An open-addressing hash table of items. A slot is an item, and its number plus 1; 0 if the slot
/// is empty.
///
/// Memory: 16 bytes a slot, 24 to 48 bytes per distinct item.
pub(crate) struct ItemNumbers {
    slots: Huge<[u64; 2]>,
    used: usize,
    /// A random key of the hash, so that nobody can make items that collide. No result depends on
    /// it.
    key: u64,
}

impl ItemNumbers {
    pub fn new() -> Self {
        ItemNumbers {
            slots: Huge::new(SMALLEST),
            used: 0,
            key: random_key(),
        }
    }

    /// The number of items so far.
    pub fn count(&self) -> usize {
        self.used
    }

    /// `numbers[i]` becomes the number of `items[i]`.
    ///
    /// # Panics
    /// At more than 2³² − 2 distinct items: 256 GiB of lines.
    pub fn find(&mut self, items: &[u64], numbers: &mut [u32]) {
        let mut homes = [0; BATCH];
        for (items, numbers) in items.chunks(BATCH).zip(numbers.chunks_mut(BATCH)) {
            if (self.used + BATCH) * 3 > self.slots.len() * 2 {
                self.grow();
            }
            for (&item, home) in items.iter().zip(&mut homes) {
                *home = self.home(item);
                prefetch(&self.slots, *home);
            }
            for ((&item, number), &home) in items.iter().zip(numbers).zip(&homes) {
                *number = self.number(item, home);
            }
        }
    }

    /// The memory held.
    pub fn memory(&self) -> u64 {
        self.slots.bytes() as u64
    }

    /// Bytes that it takes beyond what it holds, until it has `more` more items: a table that grows
    /// is given back, piece by piece, while its successor of twice its size is filled.
    pub fn growth(&self, more: usize) -> u64 {
        if (self.used + more + BATCH) * 3 > self.slots.len() * 2 {
            self.memory()
        } else {
            0
        }
    }

    /// Where to look for an item first: both halves of a product, which spreads strides as well as
    /// scattered items.
    #[inline(always)]
    fn home(&self, item: u64) -> usize {
        let product = u128::from(item ^ self.key) * 0x9e37_79b9_7f4a_7c15;
        let folded = (product >> 64) as u64 ^ product as u64;
        // At least 2¹⁰ slots, so the shift is below 64.
        (folded >> (64 - self.slots.len().ilog2())) as usize
    }

    /// The number of an item. There must be an empty slot.
    #[inline(always)]
    fn number(&mut self, item: u64, home: usize) -> u32 {
        let slots: &mut [[u64; 2]] = &mut self.slots;
        let mask = slots.len() - 1;
        let mut index = home;
        loop {
            let slot = &mut slots[index & mask];
            if slot[1] == 0 {
                self.used += 1;
                *slot = [item, self.used as u64];
                return self.used as u32 - 1;
            }
            if slot[0] == item {
                return slot[1] as u32 - 1;
            }
            index += 1;
        }
    }

    /// Doubles the table: every home changes.
    #[cold]
    fn grow(&mut self) {
        assert!(self.used < MOST - BATCH, "too many distinct items");
        let larger = Huge::new(self.slots.len() * 2);
        let old = std::mem::replace(&mut self.slots, larger);
        let mask = self.slots.len() - 1;
        old.into_pieces(|piece| {
            for slot in piece.iter().filter(|slot| slot[1] != 0) {
                let mut index = self.home(slot[0]);
                while self.slots[index & mask][1] != 0 {
                    index += 1;
                }
                self.slots[index & mask] = *slot;
            }
        });
    }
}
