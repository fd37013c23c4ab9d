//! Counts in narrow bins: sixteen to an octave.

use reuselens_units::Distance;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ExactHistogram;
use crate::histogram::{Histogram, misses_of_bin, ratio, total};
use crate::log2::Log2Histogram;
use crate::sparse::Sparse;

/// How many accesses had a distance in each *fine bin*: one bin per distance below 32, then sixteen
/// equal bins per octave. Small enough to have one for every line of a program; exact at every cache
/// size of up to 31 · 2ⁿ items, which is what caches are made of, and never wider than 1/16 elsewhere.
///
/// Counts are 64 bits, saturate, and sum to the accesses. Memory: 8 bytes per bin up to the largest
/// used. Equality, and the stored form, depend on the counts alone.
#[derive(Clone, Debug, Default)]
pub struct FineHistogram {
    counts: Vec<u64>,
    cold: u64,
}

impl FineHistogram {
    /// Bins that there are at most.
    pub const BINS: usize = 32 + 59 * 16;

    /// A histogram of no accesses.
    pub fn new() -> Self {
        Self::default()
    }

    /// From counts by bin, at most [`Self::BINS`] of them.
    pub(crate) fn from_counts(counts: &[u64], cold: u64) -> Self {
        FineHistogram {
            counts: trimmed(counts).to_vec(),
            cold,
        }
    }

    /// The bin of a finite distance.
    #[inline]
    pub const fn bin(items: u64) -> usize {
        // Bins are 2^shift wide. Below 32 that is 1, and what is left is the distance itself: no branch.
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
        let bin = Self::bin(items);
        if bin >= self.counts.len() {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] = self.counts[bin].saturating_add(accesses);
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
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.cold = self.cold.saturating_add(other.cold);
    }

    /// The number of cold accesses.
    pub fn cold(&self) -> u64 {
        self.cold
    }

    /// The number of accesses.
    pub fn accesses(&self) -> u64 {
        total(self.counts.iter().copied().chain([self.cold]))
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.cold == 0 && trimmed(&self.counts).is_empty()
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
        Self::range(bin).0 == items || self.counts.get(bin).is_none_or(|count| *count == 0)
    }

    /// The bins that hold accesses, with their counts.
    fn pairs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0_u64..)
            .zip(self.counts.iter().copied())
            .filter(|(_, count)| *count > 0)
    }
}

/// The counts up to the last that is not zero.
fn trimmed(counts: &[u64]) -> &[u64] {
    let len = counts
        .iter()
        .rposition(|count| *count > 0)
        .map_or(0, |last| last + 1);
    &counts[..len]
}

impl Histogram for FineHistogram {
    fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.iter()
    }

    fn cold(&self) -> u64 {
        self.cold
    }
}

impl PartialEq for FineHistogram {
    fn eq(&self, other: &Self) -> bool {
        self.cold == other.cold && trimmed(&self.counts) == trimmed(&other.counts)
    }
}

impl Eq for FineHistogram {}

impl Serialize for FineHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Sparse::encode(self.pairs(), self.cold).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FineHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sparse = Sparse::deserialize(deserializer)?;
        let pairs = sparse.decode(Self::BINS as u64).map_err(D::Error::custom)?;
        let len = pairs.last().map_or(0, |(bin, _)| *bin as usize + 1);
        let mut counts = vec![0; len];
        for (bin, count) in pairs {
            counts[bin as usize] = count;
        }
        Ok(FineHistogram {
            counts,
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
    fn zeros_at_the_end_do_not_show() {
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
    fn stored_bins_past_the_last_are_refused() {
        for bin in [FineHistogram::BINS as u64, u64::MAX] {
            let text = format!(r#"{{"steps":[[{bin},1]],"cold":0}}"#);
            assert!(serde_json::from_str::<FineHistogram>(&text).is_err());
        }
    }

    #[test]
    fn a_bin_that_is_cut_counts_in_proportion() {
        let mut histogram = FineHistogram::new();
        histogram.add(Distance::new(u64::MAX - 1), u64::MAX - 5);
        let (low, high) = FineHistogram::range(FineHistogram::BINS - 1);
        let half = histogram.misses(low + (high - low) / 2 + 1);
        assert_eq!(half, (u64::MAX - 5) / 2);
    }
}
