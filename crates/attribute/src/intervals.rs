//! Disjoint intervals of addresses, each with a value.

use std::collections::BTreeMap;

/// Of ranges in the order of their first addresses, the last one that begins at or before an
/// address, if it reaches beyond it.
pub(crate) fn range_of(ranges: &[(u64, u64)], address: u64) -> Option<(u64, u64)> {
    let after = ranges.partition_point(|(low, _)| *low <= address);
    ranges[..after]
        .last()
        .copied()
        .filter(|(_, high)| address < *high)
}

/// Maps addresses to values by half-open intervals that do not overlap. [`Self::remove`] cuts the
/// intervals that it overlaps, and what is left of them stays. [`Self::insert`] cuts nothing:
/// remove first. Cost of a change: logarithmic in the number of intervals, for each interval that
/// is cut.
#[derive(Clone, Debug)]
pub(crate) struct IntervalMap<V> {
    /// First address → (first address after, value).
    map: BTreeMap<u64, (u64, V)>,
}

impl<V> Default for IntervalMap<V> {
    fn default() -> Self {
        IntervalMap {
            map: BTreeMap::new(),
        }
    }
}

impl<V: Copy> IntervalMap<V> {
    /// The interval that contains the address: first, first after, value.
    pub fn get(&self, address: u64) -> Option<(u64, u64, V)> {
        let (&low, &(high, value)) = self.map.range(..=address).next_back()?;
        (address < high).then_some((low, high, value))
    }

    /// The gap around an address: first and first after. The address must be in no interval.
    pub fn gap(&self, address: u64) -> (u64, u64) {
        let before = self.map.range(..=address).next_back();
        let after = self.map.range(address..).next();
        (
            before.map_or(0, |(_, (high, _))| *high),
            after.map_or(u64::MAX, |(low, _)| *low),
        )
    }

    /// The first interval that overlaps `low..high`, as it is (not cut).
    pub fn first_in(&self, low: u64, high: u64) -> Option<(u64, u64, V)> {
        if low >= high {
            return None;
        }
        self.get(low).or_else(|| {
            let (&from, &(to, value)) = self.map.range(low..high).next()?;
            Some((from, to, value))
        })
    }

    /// Whether an interval overlaps `low..high`. One look-up.
    pub fn overlaps(&self, low: u64, high: u64) -> bool {
        let last = self.map.range(..high).next_back();
        low < high && last.is_some_and(|(_, (to, _))| *to > low)
    }

    /// The smallest range that holds `low..high` and every interval that overlaps it.
    pub fn hull(&self, low: u64, high: u64) -> (u64, u64) {
        let first = self.first_in(low, high).map_or(low, |(from, _, _)| from);
        let last = self
            .map
            .range(..high)
            .next_back()
            .map_or(high, |(_, (to, _))| *to);
        (low.min(first), high.max(last))
    }

    /// All intervals that overlap `low..high`, ascending, as they are.
    pub fn overlapping(&self, low: u64, high: u64) -> impl Iterator<Item = (u64, u64, V)> + '_ {
        let start = self.first_in(low, high).map_or(high, |(from, _, _)| from);
        let range = self.map.range(start.min(high)..high);
        range.map(|(&from, &(to, value))| (from, to, value))
    }

    /// Takes `low..high` out, cutting what overlaps; `removed` is told each piece that went and its
    /// value.
    pub fn remove(&mut self, low: u64, high: u64, mut removed: impl FnMut(u64, u64, V)) {
        while let Some((from, to, value)) = self.first_in(low, high) {
            self.map.remove(&from);
            if from < low {
                self.map.insert(from, (low, value));
            }
            if to > high {
                self.map.insert(high, (to, value));
            }
            removed(from.max(low), to.min(high), value);
        }
    }

    /// Gives `low..high` this value, where there must be nothing (see [`Self::remove`]).
    pub fn insert(&mut self, low: u64, high: u64, value: V) {
        if low < high {
            self.map.insert(low, (high, value));
        }
    }

    /// The number of intervals.
    pub fn len(&self) -> usize {
        self.map.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(map: &IntervalMap<u32>) -> Vec<(u64, u64, u32)> {
        map.overlapping(0, u64::MAX).collect()
    }

    #[test]
    fn removing_from_the_middle_leaves_both_ends() {
        let mut map = IntervalMap::default();
        map.insert(10, 50, 1);
        let mut gone = Vec::new();
        map.remove(20, 30, |low, high, value| gone.push((low, high, value)));
        assert_eq!(all(&map), [(10, 20, 1), (30, 50, 1)]);
        assert_eq!(gone, [(20, 30, 1)]);
        assert_eq!(map.get(19), Some((10, 20, 1)));
        assert_eq!(map.get(20), None);
        assert_eq!(map.get(49), Some((30, 50, 1)));
    }

    #[test]
    fn an_interval_that_begins_before_counts_as_overlapping() {
        let mut map = IntervalMap::default();
        map.insert(10, 20, 1);
        map.insert(30, 40, 2);
        assert_eq!(map.overlapping(15, 31).count(), 2);
        assert_eq!(map.overlapping(20, 30).count(), 0);
        assert_eq!(map.first_in(20, 31), Some((30, 40, 2)));
        assert_eq!(map.overlapping(31, 31).count(), 0);
    }
}
