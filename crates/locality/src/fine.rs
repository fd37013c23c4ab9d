//! Counts in narrow bins: sixteen to an octave.

use reuselens_units::Distance;
use serde::{Deserialize, Serialize};

/// How many accesses had a distance in each *fine bin*: one bin per distance below 32, then sixteen
/// equal bins per octave. Small enough to have one for every line of a program; exact at every cache
/// size of up to 31 · 2ⁿ items, which is what caches are made of, and never wider than 1/16 elsewhere.
///
/// Counts are 64 bits and sum to the accesses. Memory: 8 bytes per bin up to the largest used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

    /// The bin of a finite distance.
    #[inline]
    pub const fn bin(items: u64) -> usize {
        if items < 32 {
            return items as usize;
        }
        let octave = items.ilog2() as usize;
        let part = (items >> (octave - 4)) as usize & 15;
        32 + (octave - 5) * 16 + part
    }

    /// The lowest and the highest distance of a bin.
    pub const fn range(bin: usize) -> (u64, u64) {
        if bin < 32 {
            return (bin as u64, bin as u64);
        }
        let octave = (bin - 32) / 16 + 5;
        let width = 1_u64 << (octave - 4);
        let low = (1_u64 << octave) + ((bin - 32) % 16) as u64 * width;
        (low, low + (width - 1))
    }

    /// Counts `accesses` accesses at `distance`.
    #[inline]
    pub fn add(&mut self, distance: Distance, accesses: u64) {
        let Some(items) = distance.items() else {
            self.cold += accesses;
            return;
        };
        let bin = Self::bin(items);
        if bin >= self.counts.len() {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += accesses;
    }

    /// Adds all counts of another histogram.
    pub fn merge(&mut self, other: &FineHistogram) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.cold += other.cold;
    }

    /// The number of cold accesses.
    pub fn cold(&self) -> u64 {
        self.cold
    }

    /// The number of accesses.
    pub fn accesses(&self) -> u64 {
        self.cold + self.counts.iter().sum::<u64>()
    }

    /// The bins that hold accesses, ascending: lowest distance, highest distance, accesses.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bin, count)| {
            let (low, high) = Self::range(bin);
            (low, high, *count)
        })
    }

    /// Misses of a fully associative LRU cache of `items` items: the accesses with a distance of at
    /// least that, and the cold ones. A bin that `items` cuts counts in proportion, rounded down.
    pub fn misses(&self, items: u64) -> u64 {
        let inside = self.iter().map(|(low, high, count)| {
            if low >= items {
                count
            } else if high < items {
                0
            } else {
                let share = u128::from(high - items) + 1;
                let width = u128::from(high - low) + 1;
                (u128::from(count) * share / width) as u64
            }
        });
        self.cold + inside.sum::<u64>()
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
            assert_eq!((FineHistogram::bin(low), FineHistogram::bin(high)), (bin, bin));
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bin ends at the largest number");
    }
}
