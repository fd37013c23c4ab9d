//! [`OverflowBins`]: a hash table of all bins that are not in the [`Count`](super::count::Count) of
//! their instruction.

use std::collections::HashMap;

use reuselens_hugepages::random_key;
use reuselens_units::{Bytes, Distance};
use smallvec::SmallVec;

use crate::histogram::Histogram;
use crate::pattern_bins::BinCount;
use crate::{PatternBin, PatternBins};

/// Additions that wait for their prefetched memory.
const WAITING: usize = 16;
/// The number of the bin of cold accesses.
const COLD: u32 = u32::MAX;

/// What was counted in one bin of one instruction on a path, or is to be added to it. Half a cache
/// line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
struct BinSlot {
    /// The number that the table gives to the instruction on its path.
    owner: u32,
    /// The bin.
    number: u32,
    /// Accesses; 0 if the slot is free.
    count: u64,
    sum: u64,
    min: u16,
    max: u16,
}

impl BinSlot {
    /// The same bin of the same instruction.
    fn key(&self) -> (u32, u32) {
        (self.owner, self.number)
    }

    fn tally(&self) -> BinCount {
        BinCount {
            number: u64::from(self.number),
            count: self.count,
            sum: self.sum,
            min: self.min,
            max: self.max,
        }
    }

    fn add(&mut self, more: &BinSlot) {
        self.count = self.count.saturating_add(more.count);
        self.sum = self.sum.saturating_add(more.sum);
        self.min = self.min.min(more.min);
        self.max = self.max.max(more.max);
    }
}

/// Bins by the number of an instruction on a path, and the number of the bin. An addition is done
/// after [`WAITING`] more: its memory is prefetched meanwhile, so that no access waits for it.
///
/// Memory: 32 to 103 bytes a bin.
#[derive(Clone, Debug)]
pub(super) struct OverflowBins {
    /// Open addressing, at most five eighths full.
    slots: Vec<BinSlot>,
    filled: usize,
    /// A random key of the hash, so that nobody can choose distances that collide.
    key: u64,
    waiting: [BinSlot; WAITING],
    next: usize,
    /// Bins whose number is too large for a slot: from 2^42 items on.
    far: HashMap<u32, PatternBins>,
}

impl OverflowBins {
    pub fn new() -> Self {
        OverflowBins {
            slots: vec![BinSlot::default(); 64],
            filled: 0,
            key: random_key(),
            waiting: [BinSlot::default(); WAITING],
            next: 0,
            far: HashMap::new(),
        }
    }

    /// Counts an access of an instruction.
    #[inline]
    pub fn add(&mut self, owner: u32, distance: Distance) {
        let slot = |number, above: u64| BinSlot {
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
    pub fn put(&mut self, owner: u32, tally: &BinCount) {
        self.wait(BinSlot {
            owner,
            number: tally.number as u32,
            count: tally.count,
            sum: tally.sum,
            min: tally.min,
            max: tally.max,
        });
    }

    #[inline]
    fn wait(&mut self, more: BinSlot) {
        reuselens_hugepages::prefetch(&self.slots, self.home(&more));
        let ready = std::mem::replace(&mut self.waiting[self.next], more);
        self.next = (self.next + 1) % WAITING;
        self.settle(&ready);
    }

    /// Does all additions that wait.
    pub fn flush(&mut self) {
        for ready in std::mem::take(&mut self.waiting) {
            self.settle(&ready);
        }
    }

    #[inline]
    fn home(&self, slot: &BinSlot) -> usize {
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        let (owner, number) = slot.key();
        // Many owners have the same few numbers, and some have many, often spaced by a power of
        // two: the place must depend on all bits of both. So a number is spread over all the bits
        // of an owner first, in a way that depends on the key.
        let spread = (u64::from(number) ^ self.key).wrapping_mul(GOLDEN) >> 32;
        let key = spread ^ u64::from(owner);
        (key.wrapping_mul(GOLDEN) >> 24) as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn settle(&mut self, more: &BinSlot) {
        if more.count == 0 {
            return; // Nothing waited here.
        }
        let mut at = self.home(more);
        loop {
            #[cfg(test)]
            tests::PROBES.set(tests::PROBES.get() + 1);
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
            let mut more = Vec::new();
            reuselens_hugepages::reserve(&mut more, self.slots.len() * 2);
            more.resize(self.slots.len() * 2, BinSlot::default());
            let old = std::mem::replace(&mut self.slots, more);
            self.filled = 0;
            for slot in &old {
                self.settle(slot);
            }
        }
    }

    /// Moves all bins to another table, where instructions have other numbers. Call
    /// [`flush`](Self::flush) before.
    pub fn move_to(&self, to: &mut OverflowBins, number: impl Fn(u32) -> u32) {
        for slot in self.slots.iter().filter(|slot| slot.count > 0) {
            let owner = number(slot.owner);
            to.wait(BinSlot { owner, ..*slot });
        }
        to.flush();
        for (owner, bins) in &self.far {
            to.far.entry(number(*owner)).or_default().merge(bins);
        }
    }

    /// The accesses in here of each instruction below `owners`. Call [`flush`](Self::flush) before.
    pub fn accesses(&self, owners: usize) -> Vec<u64> {
        let mut accesses = vec![0_u64; owners];
        for slot in self.slots.iter().filter(|slot| slot.count > 0) {
            let sum = &mut accesses[slot.owner as usize];
            *sum = sum.saturating_add(slot.count);
        }
        for (owner, bins) in &self.far {
            let sum = &mut accesses[*owner as usize];
            *sum = sum.saturating_add(bins.accesses());
        }
        accesses
    }

    /// The bins of each instruction below `owners`. Call [`flush`](Self::flush) before. Cost:
    /// linear, and a sort of the bins of each.
    pub fn by_owner(&self, owners: usize) -> ByOwner<'_> {
        let full = || {
            (0_u32..)
                .zip(&self.slots)
                .filter(|(_, slot)| slot.count > 0)
        };
        let mut ends = vec![0_u32; owners + 1];
        for (_, slot) in full() {
            ends[slot.owner as usize + 1] += 1;
        }
        let mut before = 0;
        for end in &mut ends {
            before += *end;
            *end = before;
        }
        // What is an owner's first place becomes its end, which is the next one's first.
        let mut order = vec![0_u32; self.filled];
        for (at, slot) in full() {
            let place = &mut ends[slot.owner as usize];
            order[*place as usize] = at;
            *place += 1;
        }
        ByOwner {
            of: self,
            ends,
            order,
        }
    }

    /// Bytes held.
    pub fn memory(&self) -> Bytes {
        let far: usize = self.far.values().map(PatternBins::memory).sum();
        let map = self.far.capacity() * size_of::<(u32, PatternBins)>();
        Bytes((self.slots.capacity() * size_of::<BinSlot>() + far + map) as u64)
    }
}

/// All bins by instruction.
pub(super) struct ByOwner<'a> {
    of: &'a OverflowBins,
    /// By owner, the end of its part of `order`.
    ends: Vec<u32>,
    /// Slots.
    order: Vec<u32>,
}

impl ByOwner<'_> {
    /// Adds the bins of an instruction.
    pub fn add_to(&self, owner: u32, bins: &mut PatternBins) {
        let owner = owner as usize;
        let first = owner.checked_sub(1).map_or(0, |before| self.ends[before]);
        let mine = &self.order[first as usize..self.ends[owner] as usize];
        let mut slots: SmallVec<[&BinSlot; 8]> =
            mine.iter().map(|at| &self.of.slots[*at as usize]).collect();
        // In order, so that each is appended to the one before.
        slots.sort_unstable_by_key(|slot| slot.number);
        for slot in slots {
            match slot.number {
                COLD => bins.add(Distance::COLD, slot.count),
                _ => bins.put(&slot.tally()),
            }
        }
        if let Some(far) = self.of.far.get(&(owner as u32)) {
            bins.merge(far);
        }
    }
}

#[cfg(test)]
mod tests;
