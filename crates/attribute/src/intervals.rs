//! Disjoint intervals of addresses, each with a value.

use std::collections::BTreeMap;

/// Of ranges in the order of their first addresses, the last one that begins at or before an
/// address, if it reaches beyond it.
pub fn range_of(ranges: &[(u64, u64)], address: u64) -> Option<(u64, u64)> {
    let after = ranges.partition_point(|(low, _)| *low <= address);
    ranges[..after]
        .last()
        .copied()
        .filter(|(_, high)| address < *high)
}

/// Maps addresses to values by half-open intervals that do not overlap. [`Self::remove`] cuts the
/// intervals that reach beyond its range, and the parts outside the range stay. [`Self::insert`]
/// cuts nothing: callers remove first. Neighbours of equal values stay two intervals.
///
/// Cost of a look-up, and of an insertion: logarithmic in the number of intervals. A removal costs
/// that for each interval that overlaps its range, and [`Self::overlapping`] one step more for each
/// interval that it returns.
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

    /// The first interval that overlaps `low..high`, as it is (not cut). `None` for an empty range.
    pub fn first_in(&self, low: u64, high: u64) -> Option<(u64, u64, V)> {
        if low >= high {
            return None;
        }
        self.get(low).or_else(|| {
            let (&from, &(to, value)) = self.map.range(low..high).next()?;
            Some((from, to, value))
        })
    }

    /// Whether an interval overlaps `low..high`; false for an empty range. One look-up.
    pub fn overlaps(&self, low: u64, high: u64) -> bool {
        let last = self.map.range(..high).next_back();
        low < high && last.is_some_and(|(_, (to, _))| *to > low)
    }

    /// The smallest range that holds `low..high` and every interval that overlaps it. `low..high`
    /// must not be empty: else the result may hold intervals that do not overlap it.
    pub fn hull(&self, low: u64, high: u64) -> (u64, u64) {
        let first = self.first_in(low, high).map_or(low, |(from, _, _)| from);
        let last = self
            .map
            .range(..high)
            .next_back()
            .map_or(high, |(_, (to, _))| *to);
        (low.min(first), high.max(last))
    }

    /// All intervals that overlap `low..high`, ascending, as they are. None for an empty range.
    pub fn overlapping(&self, low: u64, high: u64) -> impl Iterator<Item = (u64, u64, V)> + '_ {
        // At most `high`: an interval that overlaps the range begins below it.
        let start = self.first_in(low, high).map_or(high, |(from, _, _)| from);
        let range = self.map.range(start..high);
        range.map(|(&from, &(to, value))| (from, to, value))
    }

    /// Takes `low..high` out, and cuts the intervals at its ends. Calls `removed` with each piece
    /// taken out and its value.
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

    /// Gives `low..high` this value. No interval may overlap it, which is not checked: see
    /// [`Self::remove`]. Does nothing for an empty range.
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
