//! Where every item was last accessed: an open-addressing hash table.

use reuselens_memory::Huge;

use super::live_bits::LiveBits;
use crate::prefetch::prefetch;

/// An item and the step of its last access; [`NEVER`] as the step marks an empty slot, so that every
/// number can be an item.
type Slot = [u64; 2];

/// The step that no access has.
pub(super) const NEVER: u64 = 0;

/// Slots of an empty table, as a power of two.
const SMALLEST: u32 = 10;
/// Neighbouring items that share a cache line of four slots, as a power of two.
const NEIGHBOURS: u32 = 2;

/// The last step of every item seen, in 16 bytes a slot, at most half of the slots in use, linear
/// probing, nothing ever removed.
///
/// Four neighbouring items begin in the four slots of one cache line, so that a sweep over memory
/// misses once per four items; which line is a strong fixed mix of the item's other bits, so that no
/// stride and no alignment of real addresses crowds one part of the table. (Whoever may write the
/// trace and knows the mix can still make a slow one; a wrong result they cannot make.)
pub(super) struct LastAccess {
    slots: Huge<Slot>,
    /// log2 of the number of lines is `64 - shift`.
    shift: u32,
    used: usize,
}

impl LastAccess {
    pub(super) fn new() -> Self {
        Self::with_log2(SMALLEST)
    }

    fn with_log2(log2: u32) -> Self {
        LastAccess {
            slots: Huge::new(1 << log2),
            shift: 64 - (log2 - NEIGHBOURS),
            used: 0,
        }
    }

    /// The number of items.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.bytes()
    }

    /// All items with their last steps, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let used = self.slots.iter().filter(|slot| slot[1] != NEVER);
        used.map(|slot| (slot[0], slot[1]))
    }

    /// Where to look for `item` first.
    #[inline(always)]
    pub(super) fn home(&self, item: u64) -> usize {
        let line = mix(item >> NEIGHBOURS) >> self.shift;
        (line as usize) << NEIGHBOURS | (item as usize & ((1 << NEIGHBOURS) - 1))
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, home: usize) {
        prefetch(&self.slots, home);
    }

    /// Whether `more` items may not fit any more.
    #[inline(always)]
    pub(super) fn is_short_of(&self, more: usize) -> bool {
        (self.used + more) * 2 > self.slots.len()
    }

    /// Doubles the table: every [`home`](Self::home) changes.
    #[cold]
    pub(super) fn grow(&mut self) {
        let log2 = self.slots.len().ilog2() + 1;
        let old = std::mem::replace(self, Self::with_log2(log2));
        for slot in old.slots.iter().filter(|slot| slot[1] != NEVER) {
            self.replace(slot[0], self.home(slot[0]), slot[1]);
        }
    }

    /// Makes `step` the last access of `item` and returns the one before, or [`NEVER`].
    /// There must be an empty slot.
    #[inline(always)]
    pub(super) fn replace(&mut self, item: u64, home: usize, step: u64) -> u64 {
        let slots: &mut [Slot] = &mut self.slots;
        let mask = slots.len() - 1;
        let mut index = home;
        loop {
            let slot = &mut slots[index & mask];
            if slot[1] == NEVER {
                *slot = [item, step];
                self.used += 1;
                return NEVER;
            }
            if slot[0] == item {
                return std::mem::replace(&mut slot[1], step);
            }
            index += 1;
        }
    }

    /// Renumbers the steps of all items: 1 is the first live step, and so on. The slots in use are first
    /// picked out of each stretch of slots without a branch, as no processor can guess them.
    #[inline(always)]
    pub(super) fn renumber(&mut self, bits: &LiveBits) {
        const STRETCH: usize = 64;
        for slots in self.slots.chunks_mut(STRETCH) {
            let (mut used, mut len) = ([0_usize; STRETCH], 0);
            for (index, slot) in slots.iter().enumerate() {
                used[len % STRETCH] = index;
                len += usize::from(slot[1] != NEVER);
                bits.prefetch(slot[1]);
            }
            for &index in &used[..len] {
                slots[index][1] = bits.rank(slots[index][1]) + 1;
            }
        }
    }
}

/// A bijection of 64-bit numbers in which every bit of the input reaches every high bit of the output.
/// The constants and shifts are those of MurmurHash3's finaliser (public domain).
#[inline(always)]
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (number ^ (number >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_can_be_an_item() {
        let mut table = LastAccess::new();
        for (item, step) in [(0, 1), (u64::MAX, 2), (1 << 63, 3)] {
            assert_eq!(table.replace(item, table.home(item), step), NEVER);
        }
        assert_eq!(table.replace(0, table.home(0), 4), 1);
        assert_eq!(table.replace(u64::MAX, table.home(u64::MAX), 5), 2);
        assert_eq!(table.len(), 3);
    }

    #[test]
    fn growth_keeps_every_step() {
        let mut table = LastAccess::new();
        for item in 0..10_000_u64 {
            if table.is_short_of(1) {
                table.grow();
            }
            table.replace(item << 40, table.home(item << 40), item + 1);
        }
        assert_eq!(table.len(), 10_000);
        assert!(table.len() * 2 <= table.slots.len());
        for item in 0..10_000_u64 {
            assert_eq!(
                table.replace(item << 40, table.home(item << 40), 1),
                item + 1
            );
        }
    }

    /// Strided ids are what real traces are made of: no stride may make probes long.
    #[test]
    fn strides_do_not_crowd() {
        for stride in
            (0..62)
                .map(|log2| 1_u64 << log2)
                .chain([3, 24, 4096 + 64, 0x9E37_79B9_7F4A_7C15])
        {
            let mut table = LastAccess::with_log2(15);
            let mut probes = 0;
            for step in 1..=16_000_u64 {
                let item = step.wrapping_mul(stride);
                let home = table.home(item);
                table.replace(item, home, step);
                let found =
                    (0..).find(|at| table.slots[(home + at) % table.slots.len()][1] == step);
                probes += found.unwrap_or(0);
            }
            assert!(probes < 16_000 * 3, "stride {stride}: {probes} probes");
        }
    }
}
