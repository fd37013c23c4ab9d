//! [`Log2Histogram`]: how many accesses have a distance in each of the literature's logarithmic
//! bins.

use reuselens_units::Distance;

use crate::histogram::{Histogram, total};

/// How many accesses had a distance in each log2 bin: bin 0 is distance 0, bin x ≥ 1 is
/// [2^(x−1), 2^x − 1], and the cold accesses are counted separately.
///
/// A view of an [`ExactHistogram`](crate::ExactHistogram) or a
/// [`FineHistogram`](crate::FineHistogram), both of which give the same one for the same accesses.
///
/// Source: Ding & Zhong 2001, section 3.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log2Histogram {
    counts: [u64; Self::BINS],
    cold: u64,
}

impl Default for Log2Histogram {
    fn default() -> Self {
        Log2Histogram {
            counts: [0; Self::BINS],
            cold: 0,
        }
    }
}

impl Log2Histogram {
    /// Bins of finite distances that there are.
    pub const BINS: usize = 65;

    /// A histogram of no accesses.
    pub fn new() -> Self {
        Self::default()
    }

    /// The log2 bins of any histogram. Exact if none of its bins is in two of these, which is so
    /// for all histograms of this crate.
    pub fn of(histogram: &impl Histogram) -> Self {
        let mut log2 = Self::new();
        log2.add(Distance::COLD, histogram.cold());
        for (low, _, count) in histogram.bins() {
            log2.add(Distance::new(low), count);
        }
        log2
    }

    /// The bin of a finite distance.
    #[inline]
    pub const fn bin(items: u64) -> usize {
        (u64::BITS - items.leading_zeros()) as usize
    }

    /// The lowest and the highest distance of a bin; bins past the last are the last.
    pub const fn range(bin: usize) -> (u64, u64) {
        match bin {
            0 => (0, 0),
            1..=63 => (1 << (bin - 1), (1 << bin) - 1),
            _ => (1 << 63, u64::MAX),
        }
    }

    /// Counts `accesses` accesses at `distance`.
    #[inline]
    pub fn add(&mut self, distance: Distance, accesses: u64) {
        let count = match distance.items() {
            Some(items) => &mut self.counts[Self::bin(items)],
            None => &mut self.cold,
        };
        *count = count.saturating_add(accesses);
    }

    /// Adds all counts of another histogram.
    pub fn merge(&mut self, other: &Log2Histogram) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.cold = self.cold.saturating_add(other.cold);
    }

    /// The accesses of a bin, 0 past the last.
    pub fn count(&self, bin: usize) -> u64 {
        self.counts.get(bin).copied().unwrap_or(0)
    }

    /// The highest bin that holds accesses.
    pub fn top(&self) -> Option<usize> {
        self.counts.iter().rposition(|count| *count > 0)
    }

    /// The bins that hold accesses, ascending: lowest distance, highest distance, accesses.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(bin, count)| {
                let (low, high) = Self::range(bin);
                (low, high, *count)
            })
    }

    /// The number of cold accesses.
    pub fn cold(&self) -> u64 {
        self.cold
    }

    /// The number of accesses.
    pub fn accesses(&self) -> u64 {
        total(self.counts.iter().copied().chain([self.cold]))
    }
}

impl Histogram for Log2Histogram {
    fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.iter()
    }

    fn cold(&self) -> u64 {
        self.cold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_tile_the_distances() {
        let mut next = 0;
        for bin in 0..Log2Histogram::BINS {
            let (low, high) = Log2Histogram::range(bin);
            assert_eq!(low, next, "bin {bin}");
            assert_eq!(
                (Log2Histogram::bin(low), Log2Histogram::bin(high)),
                (bin, bin)
            );
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bin ends at the largest number");
    }

    #[test]
    fn log2_bins_are_those_of_the_literature() {
        let mut histogram = Log2Histogram::new();
        for items in [0, 1, 1, 2, 3, 4, 7, 8] {
            histogram.add(Distance::new(items), 1);
        }
        histogram.add(Distance::COLD, 7);
        let bins: Vec<_> = histogram.iter().collect();
        assert_eq!(
            bins,
            [(0, 0, 1), (1, 1, 2), (2, 3, 2), (4, 7, 2), (8, 15, 1)]
        );
        assert_eq!(
            (histogram.cold(), histogram.accesses(), histogram.top()),
            (7, 15, Some(4))
        );
    }
}
