//! [`Marks`]: a hash table with the place of each item's last access, for one partition of the
//! items.

use reuselens_hugepages::{prefetch, random_key};

use super::numbers::mix;

/// Neighbouring items that share a cache line of four slots, as a power of two.
const NEIGHBOURS: u32 = 2;
/// Slots of an empty table, as a power of two.
const SMALLEST: u32 = 4;

/// An open-addressing hash table from items to marks, of which none is 0: that is an empty slot. At
/// most half of the slots are in use, nothing is ever removed.
pub(super) struct Marks {
    slots: Vec<[u64; 2]>,
    shift: u32,
    used: usize,
    /// A random key of the hash. No result depends on it.
    key: u64,
}

impl Marks {
    pub(super) fn new() -> Self {
        Self::with_log2(SMALLEST)
    }

    fn with_log2(log2: u32) -> Self {
        Marks {
            slots: vec![[0; 2]; 1 << log2],
            shift: 64 - (log2 - NEIGHBOURS),
            used: 0,
            key: random_key(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.used
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<[u64; 2]>()
    }

    /// The most bytes held until there are `more` items, growing included.
    pub(super) fn bytes_with(&self, more: usize) -> usize {
        let slots = (2 * (self.used + more)).next_power_of_two();
        let grows = slots > self.slots.len();
        let new = slots.max(self.slots.len()) * size_of::<[u64; 2]>();
        // The table before is given up when all of it has moved.
        new + if grows { new / 2 } else { 0 }
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

    /// Makes room for one more item.
    #[inline(always)]
    pub(super) fn make_room(&mut self) {
        if (self.used + 1) * 2 > self.slots.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let log2 = self.slots.len().ilog2() + 1;
        let old = std::mem::replace(self, Self::with_log2(log2));
        for [item, mark] in old.slots {
            if mark != 0 {
                self.replace(item, mark);
            }
        }
    }

    /// Sets the mark of an item and returns the one before. There must be an empty slot.
    #[inline(always)]
    pub(super) fn replace(&mut self, item: u64, mark: u64) -> Option<u64> {
        let mut index = self.home(item);
        let slots = self.slots.as_mut_slice();
        let mask = slots.len() - 1;
        loop {
            let slot = &mut slots[index & mask];
            if slot[1] == 0 {
                *slot = [item, mark];
                self.used += 1;
                return None;
            }
            if slot[0] == item {
                return Some(std::mem::replace(&mut slot[1], mark));
            }
            index += 1;
        }
    }
}
