//! A long array of counters, and a list of those that lie far off.

use std::collections::BTreeMap;
use std::ops::Bound;

use reuselens_memory::Huge;

/// Slots of the array that a histogram may have without having counted anything.
const SMALL: u64 = 1 << 16;
/// Slots of the array at most.
const LARGEST: u64 = 1 << 32;

/// Counts by slot: 32 bits each in one array, and what does not fit there, too far or too many, apart. The
/// count of a slot is the sum of both. A processor's caches hold twice as many narrow counters as wide
/// ones, and those of a large trace are touched at random.
#[derive(Clone, Default)]
pub(crate) struct Counters {
    flat: Huge<u32>,
    apart: BTreeMap<u64, u64>,
    /// Slots that were counted in as columns: what the array may grow with.
    columns: u64,
}

impl Counters {
    /// Counts one for each of the slots. An exact distance is smaller than the number of accesses, so the
    /// array takes all of those; slots far beyond (scaled distances of a few samples) go to the list.
    #[inline]
    pub(crate) fn add_column(&mut self, slots: impl Iterator<Item = u64> + Clone) {
        let (mut top, mut count) = (0, 0);
        for slot in slots.clone() {
            top = top.max(slot);
            count += 1;
        }
        self.columns += count;
        if top >= self.flat.len() as u64 && !self.grow(top) {
            return slots.for_each(|slot| self.add(slot, 1));
        }
        let mut full = false;
        let flat: &mut [u32] = &mut self.flat;
        for slot in slots.clone() {
            if let Some(count) = flat.get_mut(slot as usize) {
                *count = count.wrapping_add(1);
                full |= *count == 0;
            }
        }
        if full {
            self.carry(slots);
        }
    }

    /// Makes slot `top` part of the array, if that is in proportion.
    #[cold]
    fn grow(&mut self, top: u64) -> bool {
        let proper = self.columns.saturating_mul(64).clamp(SMALL, LARGEST);
        if top >= proper {
            return false;
        }
        // A new array of zeros takes no memory before it is touched.
        let mut flat = Huge::new((top as usize + 1).next_power_of_two().max(1 << 10));
        flat[..self.flat.len()].copy_from_slice(&self.flat);
        self.flat = flat;
        true
    }

    /// Some counters have come round since a column of these slots began: those that are now smaller than
    /// their number in the column.
    #[cold]
    fn carry(&mut self, slots: impl Iterator<Item = u64>) {
        let mut inside: BTreeMap<u64, u64> = BTreeMap::new();
        for slot in slots {
            *inside.entry(slot).or_insert(0) += 1;
        }
        for (slot, count) in inside {
            if u64::from(self.flat[slot as usize]) < count {
                self.add_apart(slot, 1 << 32);
            }
        }
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
        if slot >= self.flat.len() as u64 && slot < SMALL {
            self.grow(slot);
        }
        let low = usize::try_from(slot)
            .ok()
            .and_then(|slot| self.flat.get_mut(slot));
        let sum = low.as_deref().map(|low| u64::from(*low).checked_add(more));
        match (low, sum) {
            (Some(low), Some(Some(sum))) if sum <= u64::from(u32::MAX) => *low = sum as u32,
            _ => self.add_apart(slot, more),
        }
    }

    /// The count of a slot.
    pub(crate) fn get(&self, slot: u64) -> u64 {
        let low = usize::try_from(slot)
            .ok()
            .and_then(|slot| self.flat.get(slot));
        let apart = self.apart.get(&slot).copied().unwrap_or(0);
        apart.saturating_add(low.copied().unwrap_or(0).into())
    }

    /// The slots from `first` on whose count is not 0, ascending, with their counts.
    pub(crate) fn iter_from(&self, first: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let start = usize::try_from(first)
            .unwrap_or(usize::MAX)
            .min(self.flat.len());
        let mut flat = self.flat[start..]
            .iter()
            .enumerate()
            .map(move |(slot, low)| (first + slot as u64, low))
            .filter(|(_, low)| **low > 0)
            .map(|(slot, low)| (slot, u64::from(*low)))
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

    /// The last slot whose count is not 0.
    pub(crate) fn last(&self) -> Option<u64> {
        let flat = self.flat.iter().rposition(|count| *count > 0);
        let apart = self.apart.last_key_value().map(|(slot, _)| *slot);
        flat.map(|slot| slot as u64).max(apart)
    }

    /// Adds all counts of other counters. Saturates.
    pub(crate) fn merge(&mut self, other: &Counters) {
        self.columns = self.columns.saturating_add(other.columns);
        if let Some(top) = other.flat.len().checked_sub(1)
            && top >= self.flat.len()
        {
            self.grow(top as u64);
        }
        for (slot, count) in other.iter_from(0) {
            self.add(slot, count);
        }
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> u64 {
        (self.flat.len() * size_of::<u32>() + self.apart.len() * 48) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_pass_32_bits() {
        let mut counters = Counters::default();
        counters.add_column([1, 70].into_iter());
        counters.add(70, u64::from(u32::MAX) - 1);
        counters.add_column([70, 3, 70].into_iter());
        assert_eq!(counters.get(70), (1 << 32) + 1);
        counters.add(3, (5 << 32) + 7);
        counters.add(1 << 50, 9);
        let all = [
            (1, 1),
            (3, (5 << 32) + 8),
            (70, (1 << 32) + 1),
            (1 << 50, 9),
        ];
        assert_eq!(counters.iter_from(0).collect::<Vec<_>>(), all);
        assert_eq!(counters.iter_from(4).collect::<Vec<_>>(), all[2..]);
        assert_eq!(counters.last(), Some(1 << 50));
        let mut twice = counters.clone();
        twice.merge(&counters);
        assert_eq!(twice.get(70), (2 << 32) + 2);
        twice.add(3, u64::MAX);
        assert_eq!(twice.get(3), u64::MAX);
    }

    #[test]
    fn far_slots_take_no_array() {
        let mut counters = Counters::default();
        counters.add_column([1 << 40, 5, (1 << 26) + 1].into_iter());
        assert!(counters.memory() < 1 << 13, "{}", counters.memory());
        assert_eq!(
            counters.iter_from(0).collect::<Vec<_>>(),
            [(5, 1), ((1 << 26) + 1, 1), (1 << 40, 1)]
        );
    }
}
