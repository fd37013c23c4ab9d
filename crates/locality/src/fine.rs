//! [`FineHistogram`]: how many accesses have a distance in each of narrow bins, 16 to an octave.
//! Every cell and group of a profile has one.

use reuselens_units::Distance;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ExactHistogram;
use crate::histogram::{Histogram, misses_of_bin, ratio, total};
use crate::log2::Log2Histogram;
use crate::sparse::{Sparse, SparseSteps};

/// How many accesses had a distance in each *fine bin*: one bin per distance below 32, then sixteen
/// equal bins per octave. Small enough to have one for every line of a program; exact at every
/// cache size of up to 31 · 2ⁿ items, which is what caches are made of, and never wider than 1/16
/// of its distances.
///
/// Counts are 64 bits, saturate, and sum to the accesses. Memory: 16 bytes per bin that holds
/// accesses, of which most groups of a program have a handful.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FineHistogram {
    /// The bins that hold accesses, ascending, with their counts; no zeros.
    counts: Vec<(u16, u64)>,
    cold: u64,
}

impl FineHistogram {
    /// Bins that there are at most.
    pub const BINS: usize = 32 + 59 * 16;

    /// A histogram of no accesses.
    pub fn new() -> Self {
        Self::default()
    }

    /// From bins that hold accesses, ascending, with their counts.
    pub fn from_bins(counts: Vec<(u16, u64)>, cold: u64) -> Self {
        debug_assert!(counts.is_sorted_by(|a, b| a.0 < b.0));
        FineHistogram { counts, cold }
    }

    /// The bins that hold accesses, ascending, with their counts.
    pub fn as_bins(&self) -> &[(u16, u64)] {
        &self.counts
    }

    /// The bin of a finite distance.
    #[inline]
    pub const fn bin(items: u64) -> usize {
        // Bins are 2^shift wide. Below 32 that is 1, and what is left is the distance itself: no
        // branch.
        let shift = (items | 16).ilog2() - 4;
        ((shift << 4) as u64 + (items >> shift)) as usize
    }

    /// The lowest and the highest distance of a bin; bins past the last are the last.
    pub const fn range(bin: usize) -> (u64, u64) {
        let bin = if bin < Self::BINS {
            bin
        } else {
            Self::BINS - 1
        };
        if bin < 32 {
            return (bin as u64, bin as u64);
        }
        let shift = (bin >> 4) - 1;
        let low = ((bin & 15) as u64 + 16) << shift;
        (low, low + ((1 << shift) - 1))
    }

    /// Counts `accesses` accesses at `distance`.
    #[inline]
    pub fn add(&mut self, distance: Distance, accesses: u64) {
        let Some(items) = distance.items() else {
            self.cold = self.cold.saturating_add(accesses);
            return;
        };
        if accesses > 0 {
            self.add_to_bin(Self::bin(items) as u16, accesses);
        }
    }

    #[inline]
    pub(crate) fn add_to_bin(&mut self, bin: u16, accesses: u64) {
        match self.counts.binary_search_by_key(&bin, |(bin, _)| *bin) {
            Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(accesses),
            Err(at) => self.counts.insert(at, (bin, accesses)),
        }
    }

    /// Counts a column of distances.
    pub fn add_column(&mut self, distances: &[Distance]) {
        for &distance in distances {
            self.add(distance, 1);
        }
    }

    /// Adds all counts of an exact histogram.
    pub fn add_exact(&mut self, exact: &ExactHistogram) {
        self.add(Distance::COLD, exact.cold());
        for (items, count) in exact.iter() {
            self.add(Distance::new(items), count);
        }
    }

    /// Adds all counts of another histogram.
    pub fn merge(&mut self, other: &FineHistogram) {
        self.cold = self.cold.saturating_add(other.cold);
        let mut at = 0;
        for (index, &(bin, more)) in other.counts.iter().enumerate() {
            while self.counts.get(at).is_some_and(|(mine, _)| *mine < bin) {
                at += 1;
            }
            match self.counts.get_mut(at) {
                Some((mine, count)) if *mine == bin => *count = count.saturating_add(more),
                Some(_) => return self.merge_rest(at, &other.counts[index..]),
                None => return self.counts.extend_from_slice(&other.counts[index..]),
            }
        }
    }

    /// Merges bins of which some are missing here; those before `at` are smaller than all of them.
    fn merge_rest(&mut self, at: usize, others: &[(u16, u64)]) {
        let mine = self.counts.split_off(at);
        let mut mine = mine.into_iter().peekable();
        for &(bin, more) in others {
            while let Some(smaller) = mine.next_if(|(mine, _)| *mine < bin) {
                self.counts.push(smaller);
            }
            let count = mine.next_if(|(mine, _)| *mine == bin);
            let count = count.map_or(0, |(_, count)| count);
            self.counts.push((bin, count.saturating_add(more)));
        }
        self.counts.extend(mine);
    }

    /// The accesses of this histogram that are not in another; none where the other has more.
    pub fn without(&self, other: &FineHistogram) -> FineHistogram {
        let mut others = other.counts.iter().peekable();
        let left = |&(bin, count): &(u16, u64)| {
            while others.next_if(|(other, _)| *other < bin).is_some() {}
            let other = others.next_if(|(other, _)| *other == bin);
            let left = count.saturating_sub(other.map_or(0, |(_, count)| *count));
            (left > 0).then_some((bin, left))
        };
        FineHistogram {
            counts: self.counts.iter().filter_map(left).collect(),
            cold: self.cold.saturating_sub(other.cold),
        }
    }

    /// The number of cold accesses.
    pub fn cold(&self) -> u64 {
        self.cold
    }

    /// The number of accesses.
    pub fn accesses(&self) -> u64 {
        total(self.pairs().map(|(_, count)| count).chain([self.cold]))
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.cold == 0 && self.counts.is_empty()
    }

    /// The bins that hold accesses, ascending: lowest distance, highest distance, accesses.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.pairs().map(|(bin, count)| {
            let (low, high) = Self::range(bin as usize);
            (low, high, count)
        })
    }

    /// The same accesses in the field's log2 bins. Exact.
    pub fn log2(&self) -> Log2Histogram {
        Log2Histogram::of(self)
    }

    /// Misses of a fully associative LRU cache of `items` items: the accesses with a distance of at
    /// least that, and the cold ones. A bin that `items` cuts counts in proportion, rounded down.
    pub fn misses(&self, items: u64) -> u64 {
        total(
            self.iter()
                .map(|bin| misses_of_bin(bin, items))
                .chain([self.cold]),
        )
    }

    /// [`misses`](Self::misses) per access; 0 if there are no accesses.
    pub fn miss_ratio(&self, items: u64) -> f64 {
        ratio(self.misses(items), self.accesses())
    }

    /// Whether [`misses`](Self::misses) is exact for this cache size: it cuts no bin that holds
    /// accesses.
    pub fn is_exact_at(&self, items: u64) -> bool {
        let bin = Self::bin(items);
        let is_empty = || {
            !self
                .counts
                .iter()
                .any(|(used, _)| usize::from(*used) == bin)
        };
        Self::range(bin).0 == items || is_empty()
    }

    /// The bins that hold accesses, with their counts.
    fn pairs(&self) -> impl Iterator<Item = (u64, u64)> + Clone + '_ {
        self.counts
            .iter()
            .map(|(bin, count)| (u64::from(*bin), *count))
    }

    /// The memory held on the heap, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<(u16, u64)>()
    }
}

impl Histogram for FineHistogram {
    fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.iter()
    }

    fn cold(&self) -> u64 {
        self.cold
    }
}

impl Serialize for FineHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SparseSteps::new(self.pairs(), self.cold).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FineHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sparse = Sparse::deserialize(deserializer)?;
        let pairs = sparse.decode(Self::BINS as u64).map_err(D::Error::custom)?;
        Ok(FineHistogram {
            counts: pairs
                .into_iter()
                .map(|(bin, count)| (bin as u16, count))
                .collect(),
            cold: sparse.cold(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_tile_the_distances() {
        let mut next = 0;
        for bin in 0..FineHistogram::BINS {
            let (low, high) = FineHistogram::range(bin);
            assert_eq!(low, next, "bin {bin}");
            assert_eq!(
                (FineHistogram::bin(low), FineHistogram::bin(high)),
                (bin, bin)
            );
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bin ends at the largest number");
    }

    #[test]
    fn sizes_that_caches_have_are_exact() {
        let mut histogram = FineHistogram::new();
        for items in 0..100_000 {
            histogram.add(Distance::new(items), 1);
        }
        for items in [1, 31, 512, 768, 20 << 10, 31 << 11] {
            assert!(histogram.is_exact_at(items));
            assert_eq!(histogram.misses(items), 100_000 - items);
        }
        assert!(!histogram.is_exact_at(1001));
        assert!(histogram.is_exact_at(1_000_001), "nothing lies there");
    }

    #[test]
    fn merged_bins_equal_bins_counted_together() {
        let of = |bins: &[(u64, u64)]| {
            let mut histogram = FineHistogram::new();
            for &(items, accesses) in bins {
                histogram.add(Distance::new(items), accesses);
            }
            histogram
        };
        let cases: [(&[_], &[_], &[_]); 5] = [
            (
                &[(1, 2), (9, 1)],
                &[(0, 5), (5, 1), (9, 3), (70, 1)],
                &[(0, 5), (1, 2), (5, 1), (9, 4), (70, 1)],
            ),
            (&[], &[(3, 1)], &[(3, 1)]),
            (&[(3, 1)], &[], &[(3, 1)]),
            (&[(1, 1), (2, 1)], &[(1, 1), (2, 1)], &[(1, 2), (2, 2)]),
            (
                &[(4, 1), (8, 1)],
                &[(4, u64::MAX), (6, 1)],
                &[(4, u64::MAX), (6, 1), (8, 1)],
            ),
        ];
        for (a, b, sum) in cases {
            let (a, b, sum) = (of(a), of(b), of(sum));
            for (mut into, other) in [(a.clone(), &b), (b.clone(), &a)] {
                into.merge(other);
                assert_eq!(into, sum);
            }
        }
        let both = of(&[(1, 2), (5, 3), (9, 1)]);
        assert_eq!(
            both.without(&of(&[(0, 4), (5, 1), (9, 1)])),
            of(&[(1, 2), (5, 2)])
        );
        assert_eq!(both.without(&both), FineHistogram::new());
    }

    #[test]
    fn added_zero_counts_leave_a_histogram_empty() {
        let mut wide = FineHistogram::new();
        wide.add(Distance::new(1 << 40), 0);
        assert!(wide.is_empty());
        assert_eq!(wide, FineHistogram::new());
        assert_eq!(
            serde_json::to_string(&wide).unwrap(),
            r#"{"steps":[],"cold":0}"#
        );
    }

    #[test]
    fn reading_refuses_bins_past_the_last() {
        for bin in [FineHistogram::BINS as u64, u64::MAX] {
            let text = format!(r#"{{"steps":[[{bin},1]],"cold":0}}"#);
            assert!(serde_json::from_str::<FineHistogram>(&text).is_err());
        }
    }

    #[test]
    fn cut_bins_count_in_proportion() {
        let mut histogram = FineHistogram::new();
        histogram.add(Distance::new(u64::MAX - 1), u64::MAX - 5);
        let (low, high) = FineHistogram::range(FineHistogram::BINS - 1);
        let half = histogram.misses(low + (high - low) / 2 + 1);
        assert_eq!(half, (u64::MAX - 5) / 2);
    }
}
