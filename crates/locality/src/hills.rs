//! [`hills`]: the ranges of distances that have more reuses than their neighbours. They are the
//! peaks of a histogram.

use crate::Log2Histogram;
use crate::histogram::{Histogram, ratio, total};

/// A bin with less than one reuse in this many belongs to no hill.
const GROUND: u64 = 1000;

/// A hill holds at least one reuse in this many.
const SMALLEST: u64 = 100;

/// A range of distances with more reuses than its neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hill {
    /// Lowest log2 bin.
    pub low_bin: usize,
    /// Highest log2 bin.
    pub high_bin: usize,
    /// The bin that holds most; the lowest of them, if several do.
    pub peak_bin: usize,
    /// Reuses in the hill.
    pub accesses: u64,
    /// Their share of all reuses (cold accesses not counted).
    pub share: f64,
}

impl Hill {
    /// Its lowest distance.
    pub fn low(&self) -> u64 {
        Log2Histogram::range(self.low_bin).0
    }

    /// Its highest distance.
    pub fn high(&self) -> u64 {
        Log2Histogram::range(self.high_bin).1
    }

    /// Whether a finite distance is in it.
    pub fn contains(&self, items: u64) -> bool {
        (self.low()..=self.high()).contains(&items)
    }
}

/// The hills of a histogram, by distance.
///
/// Bins that hold less than a thousandth of the reuses are ground. The runs of bins between are cut
/// at each valley: the lowest bin between two peaks of more than twice its count. The valley itself
/// goes to its higher neighbour. Of the pieces, those with at least a hundredth of the reuses are
/// hills.
///
/// Source: the elevated hills of Ding & Zhong 2001, section 3.2, which found them by eye.
pub fn hills(histogram: &Log2Histogram) -> Vec<Hill> {
    let reuses = histogram.reuses();
    let is_ground = |bin: usize| {
        let count = histogram.count(bin);
        count == 0 || count < reuses / GROUND
    };
    let mut hills = Vec::new();
    let mut bin = 0;
    while bin < Log2Histogram::BINS {
        if is_ground(bin) {
            bin += 1;
            continue;
        }
        let end = (bin..Log2Histogram::BINS).find(|bin| is_ground(*bin));
        let end = end.unwrap_or(Log2Histogram::BINS);
        for (low, high) in cut(histogram, bin, end) {
            hills.push(hill(histogram, low, high, reuses));
        }
        bin = end;
    }
    hills.retain(|hill| hill.accesses >= reuses.div_ceil(SMALLEST));
    hills
}

/// Cuts the run `start..end` of bins at its valleys: first and last bin of each piece.
fn cut(histogram: &Log2Histogram, start: usize, end: usize) -> Vec<(usize, usize)> {
    let deep = |valley: usize, peak: u64| histogram.count(valley).saturating_mul(2) < peak;
    let mut pieces = Vec::new();
    let (mut low, mut peak, mut valley) = (start, histogram.count(start), start);
    for bin in start + 1..end {
        let count = histogram.count(bin);
        if deep(valley, count) && deep(valley, peak) {
            // `valley` is neither the first nor the last bin seen: both sides rise from it.
            let left = histogram.count(valley - 1) >= histogram.count(valley + 1);
            let first = if left { valley + 1 } else { valley };
            pieces.push((low, first - 1));
            (low, peak, valley) = (first, count, bin);
        } else if count > peak {
            (peak, valley) = (count, bin);
        } else if count < histogram.count(valley) {
            valley = bin;
        }
    }
    pieces.push((low, end - 1));
    pieces
}

fn hill(histogram: &Log2Histogram, low_bin: usize, high_bin: usize, reuses: u64) -> Hill {
    let bins = low_bin..=high_bin;
    let accesses = total(bins.clone().map(|bin| histogram.count(bin)));
    let peak = bins.rev().max_by_key(|bin| histogram.count(*bin));
    Hill {
        low_bin,
        high_bin,
        peak_bin: peak.unwrap_or(low_bin),
        accesses,
        share: ratio(accesses, reuses),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_units::Distance;

    fn of(counts: &[u64]) -> Vec<(usize, usize, usize)> {
        let mut histogram = Log2Histogram::new();
        for (bin, &count) in counts.iter().enumerate() {
            histogram.add(Distance::new(Log2Histogram::range(bin).0), count);
        }
        let hills = hills(&histogram);
        let counted: u64 = hills.iter().map(|hill| hill.accesses).sum();
        assert!(counted <= histogram.accesses());
        hills
            .iter()
            .map(|hill| (hill.low_bin, hill.peak_bin, hill.high_bin))
            .collect()
    }

    #[test]
    fn empty_bins_separate_peaks() {
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[5]), [(0, 0, 0)]);
        assert_eq!(of(&[0, 40, 30, 0, 0, 30]), [(1, 1, 2), (5, 5, 5)]);
        assert_eq!(
            of(&[0, 40_000, 30_000, 3, 2, 30_000]),
            [(1, 1, 2), (5, 5, 5)]
        );
    }

    #[test]
    fn deep_valleys_separate_peaks() {
        assert_eq!(of(&[10, 40, 15, 50, 20]), [(0, 1, 1), (2, 3, 4)]);
        assert_eq!(of(&[10, 50, 15, 40, 20]), [(0, 1, 2), (3, 3, 4)]);
        assert_eq!(of(&[40, 10, 30, 9, 40]), [(0, 0, 1), (2, 2, 2), (3, 4, 4)]);
    }

    #[test]
    fn shallow_valleys_do_not_separate_peaks() {
        assert_eq!(of(&[10, 40, 25, 50, 20]), [(0, 3, 4)]);
        assert_eq!(of(&[1, 2, 4, 8, 4, 2, 1]), [(0, 3, 6)]);
        assert_eq!(of(&[7; 65]), [(0, 0, 64)]);
    }

    #[test]
    fn small_peaks_are_ignored() {
        assert_eq!(of(&[1000, 0, 5, 0, 500]), [(0, 0, 0), (4, 4, 4)]);
        assert_eq!(of(&[1000, 0, 0, 20]), [(0, 0, 0), (3, 3, 3)]);
    }
}
