//! Measures of how far one histogram is from another, as the literature defines them, each under
//! its own name.
//!
//! All compare the fractions of accesses `a_k` and `b_k` in the same H bins: the log2 bins from 0
//! to the highest that either histogram uses, and one for the cold accesses ([`compared_bins`]). A
//! histogram of no accesses is as far as can be from every other (Σ|a_k − b_k| = 2), and equals
//! another of none.

use crate::Log2Histogram;
use crate::histogram::ratio;

/// The number H of bins over which two histograms are compared: the log2 bins from 0 to the highest
/// that either uses, and one for the cold accesses.
pub fn compared_bins(reference: &Log2Histogram, other: &Log2Histogram) -> usize {
    let finite = reference.top().max(other.top()).map_or(0, |top| top + 1);
    finite + 1
}

/// The average error of a bin, Σ|a_k − b_k| / H: the measure of HP-RDA (Cui et al. 2012).
pub fn average_bin_error(reference: &Log2Histogram, other: &Log2Histogram) -> f64 {
    sum_of_differences(reference, other) / compared_bins(reference, other) as f64
}

/// The total variation distance ½·Σ|a_k − b_k|: the share of accesses that are in another bin.
pub fn total_variation(reference: &Log2Histogram, other: &Log2Histogram) -> f64 {
    sum_of_differences(reference, other) / 2.0
}

/// The accuracy 1 − ½·Σ|a_k − b_k|: the measure of the prediction papers.
pub fn accuracy(reference: &Log2Histogram, other: &Log2Histogram) -> f64 {
    1.0 - total_variation(reference, other)
}

/// The share of accesses of two histograms in one bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinShares {
    /// The lowest and the highest distance of the bin; `None` for cold accesses.
    pub distances: Option<(u64, u64)>,
    /// Of the reference; 0 if it has no accesses.
    pub reference: f64,
    /// Of the other; 0 if it has no accesses.
    pub other: f64,
}

/// The shares in each of the [`compared_bins`], near distances first, cold accesses last.
pub fn bin_shares(reference: &Log2Histogram, other: &Log2Histogram) -> Vec<BinShares> {
    let finite = compared_bins(reference, other) - 1;
    let shares = |count: fn(&Log2Histogram, usize) -> u64, bin, distances| BinShares {
        distances,
        reference: ratio(count(reference, bin), reference.accesses()),
        other: ratio(count(other, bin), other.accesses()),
    };
    (0..finite)
        .map(|bin| shares(Log2Histogram::count, bin, Some(Log2Histogram::range(bin))))
        .chain([shares(|histogram, _| histogram.cold(), 0, None)])
        .collect()
}

/// Σ|a_k − b_k|, from 0 to 2.
fn sum_of_differences(reference: &Log2Histogram, other: &Log2Histogram) -> f64 {
    let (all_a, all_b) = (reference.accesses(), other.accesses());
    if all_a == 0 || all_b == 0 {
        return if all_a == all_b { 0.0 } else { 2.0 };
    }
    let difference = |a: u64, b: u64| (ratio(a, all_a) - ratio(b, all_b)).abs();
    let finite = 0..Log2Histogram::BINS;
    let sum: f64 = finite
        .map(|bin| difference(reference.count(bin), other.count(bin)))
        .sum();
    (sum + difference(reference.cold(), other.cold())).min(2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_units::Distance;

    fn histogram(counts: &[u64], cold: u64) -> Log2Histogram {
        let mut histogram = Log2Histogram::new();
        for (bin, &count) in counts.iter().enumerate() {
            histogram.add(Distance::new(Log2Histogram::range(bin).0), count);
        }
        histogram.add(Distance::COLD, cold);
        histogram
    }

    #[test]
    fn error_measures_equal_hand_calculation() {
        // Fractions ½ ¼ 0 ¼ and ¼ ½ ⅛ ⅛: they differ by ¼ + ¼ + ⅛ + ⅛ = ¾ over 4 bins.
        let (a, b) = (histogram(&[2, 1], 1), histogram(&[2, 4, 1], 1));
        assert_eq!(compared_bins(&a, &b), 4);
        assert_eq!(average_bin_error(&a, &b), 0.75 / 4.0);
        assert_eq!(total_variation(&a, &b), 0.375);
        assert_eq!(accuracy(&a, &b), 0.625);
        assert_eq!(average_bin_error(&b, &a), average_bin_error(&a, &b));
    }

    #[test]
    fn shares_by_bin_are_those_that_the_measures_sum() {
        let (a, b) = (histogram(&[2, 1], 1), histogram(&[2, 4, 1], 1));
        let bins = bin_shares(&a, &b);
        let shares: Vec<_> = bins.iter().map(|bin| (bin.reference, bin.other)).collect();
        assert_eq!(
            shares,
            [(0.5, 0.25), (0.25, 0.5), (0.0, 0.125), (0.25, 0.125)]
        );
        assert_eq!(bins[2].distances, Some((2, 3)));
        assert_eq!(bins[3].distances, None);
        let sum: f64 = shares.iter().map(|(a, b)| (a - b).abs()).sum();
        assert_eq!(sum / bins.len() as f64, average_bin_error(&a, &b));
    }

    #[test]
    fn error_measures_ignore_length() {
        let (a, b) = (histogram(&[1, 2, 3], 2), histogram(&[10, 20, 30], 20));
        assert_eq!((average_bin_error(&a, &b), accuracy(&a, &b)), (0.0, 1.0));
    }

    #[test]
    fn disjoint_and_empty_histograms() {
        let (near, far, none) = (
            histogram(&[5], 0),
            histogram(&[0, 0, 7], 0),
            Log2Histogram::new(),
        );
        assert_eq!(
            (total_variation(&near, &far), accuracy(&near, &far)),
            (1.0, 0.0)
        );
        assert_eq!(
            (
                total_variation(&near, &none),
                average_bin_error(&none, &near)
            ),
            (1.0, 1.0)
        );
        assert_eq!(
            (accuracy(&none, &none), average_bin_error(&none, &none)),
            (1.0, 0.0)
        );
        assert_eq!(
            (compared_bins(&none, &none), compared_bins(&none, &far)),
            (1, 4)
        );
    }
}
