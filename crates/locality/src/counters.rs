//! [`Counters`]: counts by slot, in one long array of 16-bit counters, and a map for what does not
//! fit there. It is the memory of [`ExactHistogram`](crate::ExactHistogram).

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::OnceLock;

use reuselens_hugepages::Huge;

use crate::histogram::total;

/// Counters of each of the first slots.
const LANES: usize = 4;
/// Slots that have several counters.
const NEAR: usize = 64;
/// The place of a slot beyond those in the array.
const SHIFT: usize = (LANES - 1) * NEAR;

/// Slots of the array that a histogram may have without having counted anything.
const SMALL: u64 = 1 << 16;
/// Counters of a page of memory. A page is left alone where there is nothing to write: it takes
/// memory only once written.
const PAGE: usize = 4096 / size_of::<u16>();

/// Slots of the array at most.
const LARGEST: u64 = 1 << 32;

/// Slots from one known sum to the next.
const STEP: u64 = 1 << 12;

/// Counts by slot: 16 bits each in one array; a map has the slots beyond the array, and what
/// exceeds 16 bits. The count of a slot is the sum of both. A processor's caches hold four times as
/// many narrow counters as wide ones, and those of a large trace are accessed at random.
///
/// The first slots, which count the short distances, have [`LANES`] counters each, used in turn:
/// one increment need not wait for the one before.
#[derive(Clone, Default)]
pub(crate) struct Counters {
    /// Slot by slot the counters of the first [`NEAR`] slots for each lane, then those of the
    /// others.
    flat: Huge<u16>,
    apart: BTreeMap<u64, u64>,
    /// How often slots were named, in columns or alone: what the array may grow with.
    named: u64,
    /// For each [`STEP`] slots of the array, the sum of their counts and of all after them. Made
    /// when first asked for, and dropped when anything is counted.
    sums: OnceLock<Box<[u64]>>,
}

impl Counters {
    /// Counts one for each of the slots. An exact distance is smaller than the number of accesses,
    /// so the array takes all of those; slots far beyond (scaled distances of a few samples) go to
    /// the list.
    #[inline]
    pub(crate) fn add_column(&mut self, slots: impl ExactSizeIterator<Item = u64> + Clone) {
        self.sums.take();
        let count = slots.len() as u64;
        self.named = self.named.saturating_add(count);
        let mut beyond = false;
        let flat: &mut [u16] = &mut self.flat;
        for (index, slot) in slots.clone().enumerate() {
            let Some(count) = flat.get_mut(place(slot, index % LANES)) else {
                beyond = true;
                continue;
            };
            *count = count.wrapping_add(1);
            if *count == 0 {
                carry(&mut self.apart, slot);
            }
        }
        if beyond {
            self.add_beyond(slots);
        }
    }

    /// Counts those slots of a column for which the array was too short.
    #[cold]
    fn add_beyond(&mut self, slots: impl Iterator<Item = u64> + Clone) {
        let length = self.slots();
        let proper = self.proper();
        let top = slots.clone().filter(|slot| *slot < proper).max();
        if let Some(top) = top.filter(|top| *top >= length) {
            self.grow(top);
        }
        for slot in slots.filter(|slot| *slot >= length) {
            self.add(slot, 1);
        }
    }

    /// Counts one for each of the slots `first + offset`, all of them in the array. Cost: less per
    /// slot than a column, since they are near each other.
    ///
    /// # Panics
    /// If one is not, beyond the first region.
    pub(crate) fn add_batch(&mut self, first: usize, behind: &[u16]) {
        if first < NEAR {
            let slots = behind
                .iter()
                .map(|behind| (first + usize::from(*behind)) as u64);
            return self.add_column(slots);
        }
        self.sums.take();
        self.named = self.named.saturating_add(behind.len() as u64);
        let flat = &mut self.flat[SHIFT + first..];
        for behind in behind {
            let count = &mut flat[usize::from(*behind)];
            *count = count.wrapping_add(1);
            if *count == 0 {
                carry(&mut self.apart, (first + usize::from(*behind)) as u64);
            }
        }
    }

    /// The slots of the array.
    #[inline]
    pub(crate) fn slots(&self) -> u64 {
        self.flat.len().saturating_sub(SHIFT) as u64
    }

    /// The slots that the array may have.
    fn proper(&self) -> u64 {
        self.named.saturating_mul(64).clamp(SMALL, LARGEST)
    }

    /// Makes slot `top` part of the array, if that is in proportion.
    #[cold]
    fn grow(&mut self, top: u64) {
        if top >= self.proper() {
            return;
        }
        // A new array of zeros takes no memory before it is written.
        let mut flat = Huge::new((top as usize + 1).next_power_of_two().max(1 << 10) + SHIFT);
        let mut at = 0;
        std::mem::take(&mut self.flat).into_pieces(|piece| {
            let there = &mut flat[at..at + piece.len()];
            for (there, counts) in there.chunks_mut(PAGE).zip(piece.chunks(PAGE)) {
                if !is_empty(counts) {
                    there.copy_from_slice(counts);
                }
            }
            at += piece.len();
        });
        self.flat = flat;
    }

    fn add_apart(&mut self, slot: u64, more: u64) {
        let count = self.apart.entry(slot).or_insert(0);
        *count = count.saturating_add(more);
    }

    /// Counts `more` in any slot. Saturates.
    pub(crate) fn add(&mut self, slot: u64, more: u64) {
        if more == 0 {
            return;
        }
        self.sums.take();
        self.named = self.named.saturating_add(1);
        if slot >= self.slots() {
            self.grow(slot);
        }
        if slot < self.slots() {
            let low = &mut self.flat[place(slot, 0)];
            if let Some(sum) = u16::try_from(more)
                .ok()
                .and_then(|more| low.checked_add(more))
            {
                *low = sum;
                return;
            }
        }
        self.add_apart(slot, more);
    }

    /// Counts `more` in any slot, as [`add`](Self::add), but never makes the array longer.
    pub(crate) fn add_in_place(&mut self, slot: u64, more: u64) {
        if slot < self.slots() {
            self.add(slot, more);
        } else if more > 0 {
            self.sums.take();
            self.add_apart(slot, more);
        }
    }

    /// What the array has of a slot.
    #[inline]
    fn low(&self, slot: u64) -> u64 {
        let lane = |lane| u64::from(self.flat[place(slot, lane)]);
        (0..lanes(slot)).map(lane).sum()
    }

    /// The count of a slot.
    pub(crate) fn get(&self, slot: u64) -> u64 {
        let apart = self.apart.get(&slot).copied().unwrap_or(0);
        if slot < self.slots() {
            apart.saturating_add(self.low(slot))
        } else {
            apart
        }
    }

    /// The slots from `first` on whose count is not 0, ascending, with their counts.
    pub(crate) fn iter_from(&self, first: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut flat = (first.min(self.slots())..self.slots())
            .map(|slot| (slot, self.low(slot)))
            .filter(|(_, low)| *low > 0)
            .peekable();
        let range = (Bound::Included(first), Bound::Unbounded);
        let mut apart = self
            .apart
            .range(range)
            .map(|(slot, count)| (*slot, *count))
            .peekable();
        std::iter::from_fn(move || {
            let (near, far) = (flat.peek().copied(), apart.peek().copied());
            match (near, far) {
                (Some((slot, low)), Some((same, more))) if slot == same => {
                    flat.next();
                    apart.next();
                    Some((slot, more.saturating_add(low)))
                }
                (Some(near), Some(far)) if near.0 < far.0 => flat.next(),
                (Some(_), None) => flat.next(),
                _ => apart.next(),
            }
        })
    }

    /// The counts of the slots from `first` on together. Saturates. Cost: once a pass over the
    /// array; a few thousand slots otherwise.
    pub(crate) fn sum_from(&self, first: u64) -> u64 {
        let next = first.div_ceil(STEP);
        let Some(sum) = self.sums().get(next as usize) else {
            return total(self.iter_from(first).map(|(_, count)| count));
        };
        // Only up to the next known sum: the next slot that has a count may be far.
        let near = first..next * STEP;
        let flat = near.clone().filter(|slot| *slot < self.slots());
        let flat = flat.map(|slot| self.low(slot));
        let apart = self.apart.range(near).map(|(_, count)| *count);
        total(flat.chain(apart).chain([*sum]))
    }

    fn sums(&self) -> &[u64] {
        self.sums.get_or_init(|| {
            let mut sums = vec![0_u64; self.slots().div_ceil(STEP) as usize];
            let Some(last) = sums.len().checked_sub(1) else {
                return sums.into();
            };
            for (slot, count) in self.iter_from(0) {
                let sum = &mut sums[last.min((slot / STEP) as usize)];
                *sum = sum.saturating_add(count);
            }
            for index in (0..last).rev() {
                sums[index] = sums[index].saturating_add(sums[index + 1]);
            }
            sums.into()
        })
    }

    /// The last slot whose count is not 0.
    pub(crate) fn last(&self) -> Option<u64> {
        let flat = (0..self.slots()).rfind(|slot| self.low(*slot) > 0);
        let apart = self.apart.last_key_value().map(|(slot, _)| *slot);
        flat.max(apart)
    }

    /// Adds all counts of other counters. Saturates.
    pub(crate) fn merge(&mut self, other: &Counters) {
        self.sums.take();
        self.named = self.named.saturating_add(other.named);
        if let Some(top) = other.slots().checked_sub(1)
            && top >= self.slots()
        {
            self.grow(top);
        }
        if self.flat.len() < other.flat.len() {
            for (slot, count) in other.iter_from(0) {
                self.add(slot, count);
            }
            return;
        }
        let pieces = self.flat.chunks_mut(PAGE).zip(other.flat.chunks(PAGE));
        for (start, (flat, others)) in (0..).step_by(PAGE).zip(pieces) {
            if is_empty(others) {
                continue;
            }
            for (index, (low, more)) in (start..).zip(flat.iter_mut().zip(others)) {
                let (sum, comes_round) = low.overflowing_add(*more);
                *low = sum;
                if comes_round {
                    carry(&mut self.apart, slot_of(index));
                }
            }
        }
        for (slot, count) in &other.apart {
            self.add_apart(*slot, *count);
        }
    }

    /// Forgets what was counted in a slot.
    pub(crate) fn clear(&mut self, slot: u64) {
        self.sums.take();
        self.apart.remove(&slot);
        if slot < self.slots() {
            for lane in 0..lanes(slot) {
                self.flat[place(slot, lane)] = 0;
            }
        }
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> u64 {
        let sums = self.sums.get().map_or(0, |sums| size_of_val(&**sums));
        (self.flat.len() * size_of::<u16>() + self.apart.len() * 48 + sums) as u64
    }
}

/// Whether nothing was counted there.
fn is_empty(counts: &[u16]) -> bool {
    // Without a way out of the loop the compiler makes vectors of it.
    counts.iter().fold(0, |any, count| any | count) == 0
}

/// The counter of a slot has overflowed to 0.
#[cold]
fn carry(apart: &mut BTreeMap<u64, u64>, slot: u64) {
    let count = apart.entry(slot).or_insert(0);
    *count = count.saturating_add(1 << 16);
}

/// Where the array has the counter of a slot in a lane.
#[inline(always)]
fn place(slot: u64, lane: usize) -> usize {
    // No branch: a processor could not predict which slots are near.
    let near = usize::from(slot < NEAR as u64).wrapping_neg();
    (slot as usize)
        .saturating_add(SHIFT)
        .wrapping_sub(near & (SHIFT - lane * NEAR))
}

/// The slot of the counter at a place.
fn slot_of(place: usize) -> u64 {
    let slot = if place < LANES * NEAR {
        place % NEAR
    } else {
        place - SHIFT
    };
    slot as u64
}

/// The counters of a slot.
fn lanes(slot: u64) -> usize {
    if slot < NEAR as u64 { LANES } else { 1 }
}

#[cfg(test)]
mod tests;
