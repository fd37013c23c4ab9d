//! Bins that are not with their instruction: a hash table of all of them, whose memory is asked for ahead of time.

use std::collections::HashMap;

use reuselens_units::{Bytes, Distance};

use crate::pattern_bins::Tally;
use crate::{PatternBin, PatternBins};

/// Additions that wait for their memory.
const WAITING: usize = 16;
/// The number of the bin of cold accesses.
const COLD: u32 = u32::MAX;

/// What was counted in one bin of one instruction on a path, or is to be added to it. Half a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
struct Slot {
    /// The instruction on its path, as the table numbers them.
    owner: u32,
    /// The bin.
    number: u32,
    /// Accesses; 0 if the slot is free.
    count: u64,
    sum: u64,
    min: u16,
    max: u16,
}

impl Slot {
    /// The same bin of the same instruction.
    fn key(&self) -> (u32, u32) {
        (self.owner, self.number)
    }

    fn add(&mut self, more: &Slot) {
        self.count = self.count.saturating_add(more.count);
        self.sum = self.sum.saturating_add(more.sum);
        self.min = self.min.min(more.min);
        self.max = self.max.max(more.max);
    }
}

/// Bins by instruction on a path and number. What is added waits until some more were: its memory was asked for meanwhile, and
/// no access waits for it.
///
/// Memory: 32 to 103 bytes a bin.
#[derive(Clone, Debug)]
pub(super) struct Elsewhere {
    /// Open addressing, at most five eighths full.
    slots: Vec<Slot>,
    filled: usize,
    waiting: [Slot; WAITING],
    next: usize,
    /// Bins whose number is too large for a slot: from 2^42 items on.
    far: HashMap<u32, PatternBins>,
}

impl Elsewhere {
    pub fn new() -> Self {
        Elsewhere {
            slots: vec![Slot::default(); 64],
            filled: 0,
            waiting: [Slot::default(); WAITING],
            next: 0,
            far: HashMap::new(),
        }
    }

    /// Counts an access of an instruction.
    #[inline]
    pub fn add(&mut self, owner: u32, distance: Distance) {
        let slot = |number, above: u64| Slot {
            owner,
            number,
            count: 1,
            sum: above,
            min: above as u16,
            max: above as u16,
        };
        let Some(items) = distance.items() else {
            return self.wait(slot(COLD, 0));
        };
        let number = PatternBin::number(items);
        match u32::try_from(number) {
            Ok(small) if small < COLD => {
                self.wait(slot(small, items - PatternBin::range(number).0));
            }
            _ => self.far.entry(owner).or_default().add(distance, 1),
        }
    }

    /// Adds what was counted in a bin, whose number is less than 2^32 − 1.
    pub fn put(&mut self, owner: u32, tally: &Tally) {
        self.wait(Slot {
            owner,
            number: tally.number as u32,
            count: tally.count,
            sum: tally.sum,
            min: tally.min,
            max: tally.max,
        });
    }

    #[inline]
    fn wait(&mut self, more: Slot) {
        reuselens_memory::prefetch(&self.slots, self.home(&more));
        let ready = std::mem::replace(&mut self.waiting[self.next], more);
        self.next = (self.next + 1) % WAITING;
        self.settle(&ready);
    }

    /// Adds what waits.
    pub fn flush(&mut self) {
        for ready in std::mem::take(&mut self.waiting) {
            self.settle(&ready);
        }
    }

    #[inline]
    fn home(&self, slot: &Slot) -> usize {
        let (owner, number) = slot.key();
        // Many owners have the same few numbers: what becomes the place must depend on all bits of the owner.
        let key = u64::from(number) << 32 | u64::from(owner);
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24) as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn settle(&mut self, more: &Slot) {
        if more.count == 0 {
            return; // Nothing waited here.
        }
        let mut at = self.home(more);
        loop {
            let slot = &mut self.slots[at];
            if slot.count == 0 {
                *slot = *more;
                self.filled += 1;
                return self.grow();
            }
            if slot.key() == more.key() {
                return slot.add(more);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    fn grow(&mut self) {
        if self.filled * 8 > self.slots.len() * 5 {
            let more = vec![Slot::default(); self.slots.len() * 2];
            let old = std::mem::replace(&mut self.slots, more);
            self.filled = 0;
            for slot in &old {
                self.settle(slot);
            }
        }
    }

    /// Moves all bins to another table, where instructions have other numbers. Nothing may wait here.
    pub fn move_to(&self, to: &mut Elsewhere, number: impl Fn(u32) -> u32) {
        for slot in self.slots.iter().filter(|slot| slot.count > 0) {
            let owner = number(slot.owner);
            to.wait(Slot { owner, ..*slot });
        }
        to.flush();
        for (owner, bins) in &self.far {
            to.far.entry(number(*owner)).or_default().merge(bins);
        }
    }

    /// The bins of the instructions numbered from 0 to `owners`. Nothing may wait.
    pub fn by_owner(&self, owners: usize) -> Vec<PatternBins> {
        let mut all = vec![PatternBins::new(); owners];
        let mut order: Vec<&Slot> = self.slots.iter().filter(|slot| slot.count > 0).collect();
        order.sort_unstable_by_key(|slot| slot.key());
        for slot in order {
            let bins = &mut all[slot.owner as usize];
            match slot.number {
                COLD => bins.add(Distance::COLD, slot.count),
                number => bins.put(&Tally {
                    number: u64::from(number),
                    count: slot.count,
                    sum: slot.sum,
                    min: slot.min,
                    max: slot.max,
                }),
            }
        }
        for (owner, bins) in &self.far {
            all[*owner as usize].merge(bins);
        }
        all
    }

    /// Bytes held.
    pub fn memory(&self) -> Bytes {
        let far: usize = self.far.values().map(PatternBins::memory).sum();
        let map = self.far.capacity() * size_of::<(u32, PatternBins)>();
        Bytes((self.slots.capacity() * size_of::<Slot>() + far + map) as u64)
    }
}
