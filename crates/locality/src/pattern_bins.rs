//! [`PatternBins`]: counts of distances in the bins that locality patterns are made of.

use reuselens_units::Distance;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

use crate::FineHistogram;
use crate::histogram::Histogram;

/// From this distance on bins are equally wide; below, there is one per power of two.
const WIDE: u64 = 1024;
/// Bins below [`WIDE`]: distance 0, and one for each of ten powers of two.
const NARROW: u64 = 11;

/// One bin: a range of distances, and the accesses that were counted in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatternBin {
    /// Its lowest distance, in items.
    pub low: u64,
    /// Its highest distance, in items.
    pub high: u64,
    /// The lowest distance that was seen in it.
    pub min: u64,
    /// The highest distance that was seen in it.
    pub max: u64,
    /// The mean of those seen in it.
    pub mean: f64,
    /// Accesses.
    pub accesses: u64,
}

impl PatternBin {
    /// The bin with this number: 0 holds distance 0, x from 1 to 10 holds 2^(x−1) to 2^x − 1, and
    /// those after are 1024 wide.
    pub const fn range(number: u64) -> (u64, u64) {
        match number {
            0 => (0, 0),
            1..NARROW => (1 << (number - 1), (1 << number) - 1),
            _ => {
                let low = (number - NARROW + 1).saturating_mul(WIDE);
                (low, low.saturating_add(WIDE - 1))
            }
        }
    }

    /// The number of the bin of a finite distance.
    #[inline]
    pub const fn number(items: u64) -> u64 {
        if items >= WIDE {
            NARROW - 1 + items / WIDE
        } else {
            (u64::BITS - items.leading_zeros()) as u64
        }
    }

    /// The bins of a fine histogram, which does not know the lowest, highest and mean distance of a
    /// bin: they are taken as the edges and the middle of its own bins. From 16,384 items on those
    /// are wider than 1024, and each counts as several.
    pub fn of_fine(histogram: &FineHistogram) -> Vec<PatternBin> {
        let mut bins: Vec<PatternBin> = Vec::new();
        for (low, high, accesses) in histogram.bins() {
            let middle = low as f64 + (high - low) as f64 / 2.0;
            let (first, last) = (
                Self::range(Self::number(low)),
                Self::range(Self::number(high)),
            );
            match bins.last_mut().filter(|bin| bin.high >= high) {
                Some(bin) => bin.join(high, middle, accesses),
                None => bins.push(PatternBin {
                    low: first.0,
                    high: last.1,
                    min: low,
                    max: high,
                    mean: middle,
                    accesses,
                }),
            }
        }
        bins
    }

    /// Counts more accesses, all above those that are here.
    pub(crate) fn join(&mut self, max: u64, mean: f64, accesses: u64) {
        let (here, more) = (self.accesses as f64, accesses as f64);
        self.mean = (self.mean * here + mean * more) / (here + more);
        self.max = max;
        self.accesses = self.accesses.saturating_add(accesses);
    }
}

/// A bin that holds accesses. Distances are kept from the bottom of the bin on, which is less than
/// [`WIDE`] away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BinCount {
    pub number: u64,
    pub count: u64,
    pub sum: u64,
    pub min: u16,
    pub max: u16,
}

impl BinCount {
    fn bin(&self) -> PatternBin {
        let (low, high) = PatternBin::range(self.number);
        PatternBin {
            low,
            high,
            min: low.saturating_add(u64::from(self.min)),
            max: low.saturating_add(u64::from(self.max)),
            mean: low as f64 + self.sum as f64 / self.count as f64,
            accesses: self.count,
        }
    }
}

/// Counts of distances in the bins of locality patterns: one per power of two below 1024 items,
/// then 1024 wide. Each bin keeps the lowest, the highest and the mean distance seen in it.
///
/// Memory: 96 bytes, and beyond two bins 32 for each that holds accesses. Counting an access looks
/// at the bin of the one before, and else searches; nothing is allocated but for a bin that was
/// never seen.
///
/// Source: Fang et al. 2006, section 3.1.
#[derive(Clone, Debug, Default)]
pub struct PatternBins {
    /// Ascending by number. Most have one or two, which need no memory of their own.
    bins: SmallVec<[BinCount; 2]>,
    cold: u64,
    /// Where the last access was counted.
    last: usize,
}

impl PatternBins {
    /// No accesses.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts `accesses` accesses at `distance`.
    #[inline]
    pub fn add(&mut self, distance: Distance, accesses: u64) {
        let Some(items) = distance.items() else {
            self.cold = self.cold.saturating_add(accesses);
            return;
        };
        let number = PatternBin::number(items);
        if self
            .bins
            .get(self.last)
            .is_none_or(|bin| bin.number != number)
        {
            self.seek(number);
        }
        let above = items - PatternBin::range(number).0;
        let bin = &mut self.bins[self.last];
        bin.count = bin.count.saturating_add(accesses);
        bin.sum = bin.sum.saturating_add(above.saturating_mul(accesses));
        bin.min = bin.min.min(above as u16);
        bin.max = bin.max.max(above as u16);
    }

    /// Makes `last` the bin with this number.
    fn seek(&mut self, number: u64) {
        self.last = match self.bins.binary_search_by_key(&number, |bin| bin.number) {
            Ok(at) => at,
            Err(at) => {
                let empty = BinCount {
                    number,
                    count: 0,
                    sum: 0,
                    min: u16::MAX,
                    max: 0,
                };
                self.bins.insert(at, empty);
                at
            }
        };
    }

    /// Adds all counts of another one.
    pub fn merge(&mut self, other: &PatternBins) {
        self.cold = self.cold.saturating_add(other.cold);
        for more in &other.bins {
            self.put(more);
        }
    }

    /// Adds what was counted in one bin.
    pub(crate) fn put(&mut self, more: &BinCount) {
        self.seek(more.number);
        let bin = &mut self.bins[self.last];
        bin.count = bin.count.saturating_add(more.count);
        bin.sum = bin.sum.saturating_add(more.sum);
        bin.min = bin.min.min(more.min);
        bin.max = bin.max.max(more.max);
    }

    /// The bins that hold accesses, ascending.
    pub fn iter(&self) -> impl Iterator<Item = PatternBin> + '_ {
        self.bins.iter().map(BinCount::bin)
    }

    /// The number of cold accesses.
    pub fn cold(&self) -> u64 {
        self.cold
    }

    /// Bytes that it holds on the heap.
    pub(crate) fn memory(&self) -> usize {
        if self.bins.spilled() {
            self.bins.capacity() * size_of::<BinCount>()
        } else {
            0
        }
    }
}

impl Histogram for PatternBins {
    fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.iter().map(|bin| (bin.min, bin.max, bin.accesses))
    }

    fn cold(&self) -> u64 {
        self.cold
    }
}

impl PartialEq for PatternBins {
    fn eq(&self, other: &Self) -> bool {
        self.bins == other.bins && self.cold == other.cold
    }
}

impl Eq for PatternBins {}

/// How it is stored: cold accesses; per bin its number, count, sum, lowest and highest from its
/// bottom on.
#[derive(Deserialize)]
struct Stored(u64, Vec<(u64, u64, u64, u16, u16)>);

/// The bins as they are stored.
struct StoredBins<'a>(&'a [BinCount]);

impl Serialize for StoredBins<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = |bin: &BinCount| (bin.number, bin.count, bin.sum, bin.min, bin.max);
        serializer.collect_seq(self.0.iter().map(row))
    }
}

impl Serialize for PatternBins {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.cold, StoredBins(&self.bins)).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PatternBins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Stored(cold, rows) = Stored::deserialize(deserializer)?;
        let tally = |(number, count, sum, min, max)| BinCount {
            number,
            count,
            sum,
            min,
            max,
        };
        let bins: SmallVec<[BinCount; 2]> = rows.into_iter().map(tally).collect();
        let right = |bin: &BinCount| {
            let (low, high) = PatternBin::range(bin.number);
            bin.number < u64::MAX / WIDE
                && bin.count > 0
                && bin.min <= bin.max
                && u64::from(bin.max) <= high - low
        };
        if !bins.iter().all(right) || !bins.is_sorted_by(|a, b| a.number < b.number) {
            return Err(D::Error::custom("bins of a pattern that nothing wrote"));
        }
        Ok(PatternBins {
            bins,
            cold,
            last: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pattern_bins_are_those_of_the_paper() {
        let numbers = [0, 1, 2, 3, 4, 511, 512, 1023, 1024, 2047, 2048, 10_000];
        let expected = [0, 1, 2, 2, 3, 9, 10, 10, 11, 11, 12, 19];
        assert_eq!(numbers.map(PatternBin::number), expected);
        for number in 0..50 {
            let (low, high) = PatternBin::range(number);
            assert_eq!([low, high].map(PatternBin::number), [number; 2]);
            assert_eq!(PatternBin::number(high + 1), number + 1);
        }
        let last = PatternBin::number(u64::MAX - 1);
        assert!(PatternBin::range(last).0 < u64::MAX);
    }

    #[test]
    fn fine_bins_nest_in_pattern_bins_while_narrower() {
        let mut fine = FineHistogram::new();
        for items in [0, 5, 6, 1024, 1500, 16_383, 100_000] {
            fine.add(Distance::new(items), 2);
        }
        let bins = PatternBin::of_fine(&fine);
        let ranges: Vec<_> = bins
            .iter()
            .map(|bin| (bin.low, bin.high, bin.accesses))
            .collect();
        let wide = (98_304, 102_399, 2);
        assert_eq!(
            ranges,
            [
                (0, 0, 2),
                (4, 7, 4),
                (1024, 2047, 4),
                (15_360, 16_383, 2),
                wide
            ]
        );
        assert_eq!((bins[1].min, bins[1].max, bins[1].mean), (5, 6, 5.5));
    }

    #[test]
    fn stored_bins_that_nothing_wrote_are_refused() {
        for text in [
            "[0,[[1,1,0,0,1]]]",
            "[0,[[3,0,0,0,0]]]",
            "[0,[[3,1,0,0,0],[3,1,0,0,0]]]",
            "[0,[[18446744073709551615,1,0,0,0]]]",
        ] {
            assert!(serde_json::from_str::<PatternBins>(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn bins_keep_lowest_highest_and_mean(
            distances in prop::collection::vec(prop_oneof![0..3000_u64, 0..u64::MAX], 0..60),
            split in 0..60_usize,
        ) {
            let mut whole = PatternBins::new();
            let (mut left, mut right) = (PatternBins::new(), PatternBins::new());
            for (index, items) in distances.iter().enumerate() {
                whole.add(Distance::new(*items), 1);
                if index < split { &mut left } else { &mut right }.add(Distance::new(*items), 1);
            }
            left.merge(&right);
            prop_assert_eq!(&left, &whole);
            let text = serde_json::to_string(&whole).unwrap();
            prop_assert_eq!(&serde_json::from_str::<PatternBins>(&text).unwrap(), &whole);
            for bin in whole.iter() {
                let mine: Vec<u64> = distances.iter().copied()
                    .filter(|items| (bin.low..=bin.high).contains(items)).collect();
                prop_assert_eq!(bin.accesses, mine.len() as u64);
                prop_assert_eq!(Some(bin.min), mine.iter().copied().min());
                prop_assert_eq!(Some(bin.max), mine.iter().copied().max());
                let mean = mine.iter().map(|items| *items as f64).sum::<f64>() / mine.len() as f64;
                prop_assert!((bin.mean - mean).abs() <= mean * 1e-9);
            }
            prop_assert_eq!(whole.accesses(), distances.len() as u64);
        }
    }
}
