//! [`MissRatioCurve`]: the misses of fully associative LRU caches of every size, from a histogram.

use crate::histogram::{Histogram, misses_of_bin, ratio};
use crate::{ExactHistogram, FineHistogram};

/// The eighths of an octave in sixteenths of it: evenly spaced in log2 to within half of one,
/// and on edges of fine bins, so that a curve from a [`FineHistogram`] is exact at all of them.
const EIGHTHS: [u64; 8] = [16, 17, 19, 21, 23, 25, 27, 29];

/// One point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Size of the cache in items.
    pub items: u64,
    /// Accesses that miss.
    pub misses: u64,
    /// Misses per access.
    pub miss_ratio: f64,
}

/// The miss ratio of fully associative LRU caches of every size: an access misses a cache of C
/// items if its distance is at least C, or if it is cold. Never rises with the size.
///
/// From an [`ExactHistogram`] it is exact at every size; from a [`FineHistogram`] wherever
/// [`FineHistogram::is_exact_at`] is true, and in proportion between. A size is looked up in the
/// time of a binary search. Memory: 32 bytes per bin that holds accesses.
///
/// Source: Mattson et al. 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissRatioCurve {
    accesses: u64,
    cold: u64,
    /// Ascending.
    steps: Vec<CurveStep>,
}

/// A bin, and the misses of a cache that holds just all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CurveStep {
    low: u64,
    high: u64,
    count: u64,
    beyond: u64,
}

impl MissRatioCurve {
    /// The curve of a histogram. Cost: linear in its bins.
    pub fn new(histogram: &impl Histogram) -> Self {
        let mut steps: Vec<CurveStep> = histogram
            .bins()
            .map(|(low, high, count)| CurveStep {
                low,
                high,
                count,
                beyond: 0,
            })
            .collect();
        let mut misses = histogram.cold();
        for step in steps.iter_mut().rev() {
            step.beyond = misses;
            misses = misses.saturating_add(step.count);
        }
        MissRatioCurve {
            accesses: misses,
            cold: histogram.cold(),
            steps,
        }
    }

    /// The number of accesses.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// The number of cold accesses, which miss at every size.
    pub fn cold(&self) -> u64 {
        self.cold
    }

    /// The misses of a cache of `items` items.
    pub fn misses(&self, items: u64) -> u64 {
        let next = self.steps.partition_point(|step| step.high < items);
        let Some(step) = self.steps.get(next) else {
            return self.cold;
        };
        misses_of_bin((step.low, step.high, step.count), items).saturating_add(step.beyond)
    }

    /// The miss ratio of a cache of `items` items; 0 if there are no accesses.
    pub fn at(&self, items: u64) -> f64 {
        ratio(self.misses(items), self.accesses)
    }

    /// The size from which on the curve is flat, since only cold accesses miss: the largest
    /// distance and one; 1 at least.
    pub fn flat_from(&self) -> u64 {
        self.steps
            .last()
            .map_or(1, |step| step.high.saturating_add(1))
    }

    /// The curve at chosen sizes.
    pub fn points(&self, sizes: &[u64]) -> Vec<CurvePoint> {
        let point = |&items: &u64| {
            let misses = self.misses(items);
            CurvePoint {
                items,
                misses,
                miss_ratio: ratio(misses, self.accesses),
            }
        };
        sizes.iter().map(point).collect()
    }

    /// The curve at [`curve_sizes`] from 1 to where it becomes flat.
    pub fn default_points(&self) -> Vec<CurvePoint> {
        self.points(&curve_sizes(self.flat_from()))
    }

    /// The mean absolute error of the miss ratio of `other` with this curve as the reference, over
    /// sizes evenly spaced in log2: eight to every octave, from 1 to where both are flat. Below 8
    /// items several of the eight are the same integer and count as often, so that every
    /// octave weighs the same.
    pub fn mean_absolute_error(&self, other: &MissRatioCurve) -> f64 {
        let last = self.flat_from().max(other.flat_from());
        let sizes = || eighths().take_while(|size| *size <= last);
        let sum: f64 = sizes()
            .map(|size| (self.at(size) - other.at(size)).abs())
            .sum();
        sum / sizes().count().max(1) as f64
    }
}

impl From<&ExactHistogram> for MissRatioCurve {
    fn from(histogram: &ExactHistogram) -> Self {
        Self::new(histogram)
    }
}

impl From<&FineHistogram> for MissRatioCurve {
    fn from(histogram: &FineHistogram) -> Self {
        Self::new(histogram)
    }
}

/// Cache sizes to show a curve at: integers from 1 on, eight to an octave and evenly spaced in
/// log2 where that many fit, and `last` at the end.
pub fn curve_sizes(last: u64) -> Vec<u64> {
    let mut sizes: Vec<u64> = eighths()
        .take_while(|size| *size < last)
        .chain([last.max(1)])
        .collect();
    sizes.dedup();
    sizes
}

/// All eighths of octaves, as integers: 1 eight times, 2 five times, and so on.
fn eighths() -> impl Iterator<Item = u64> {
    (0..64_u32).flat_map(|octave| {
        EIGHTHS.map(|sixteenths| match octave {
            0..4 => (sixteenths << octave) >> 4,
            _ => sixteenths << (octave - 4),
        })
    })
}

#[cfg(test)]
mod tests {
    use reuselens_units::Distance;

    use super::*;

    fn histogram(pairs: &[(u64, u64)]) -> ExactHistogram {
        let mut histogram = ExactHistogram::new();
        for &(distance, accesses) in pairs {
            histogram.add(Distance::new(distance), accesses);
        }
        histogram
    }

    #[test]
    fn sizes_are_even_in_log2_and_edges_of_fine_bins() {
        let sizes = curve_sizes(u64::MAX);
        assert_eq!(sizes[..10], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(sizes.last(), Some(&u64::MAX));
        assert!(sizes.is_sorted_by(|a, b| a < b));
        for pair in sizes.windows(2).filter(|pair| pair[0] >= 64) {
            let octaves = (pair[1] as f64 / pair[0] as f64).log2();
            assert!((0.08..=0.161).contains(&octaves), "{pair:?}: {octaves}");
            assert_eq!(FineHistogram::range(FineHistogram::bin(pair[0])).0, pair[0]);
        }
        assert_eq!(curve_sizes(0), [1]);
        assert_eq!(curve_sizes(1), [1]);
        assert_eq!(curve_sizes(5), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn curve_equals_misses_by_definition() {
        let histogram = histogram(&[(0, 4), (3, 2), (1000, 3), (u64::MAX, 1)]);
        let curve = MissRatioCurve::from(&histogram);
        for items in [0, 1, 2, 3, 4, 5, 999, 1000, 1001, 5000, u64::MAX] {
            assert_eq!(curve.misses(items), histogram.misses(items), "{items}");
        }
        assert_eq!((curve.at(1), curve.at(4), curve.at(1001)), (0.6, 0.4, 0.1));
        let points = curve.default_points();
        assert_eq!((points[0].items, points[points.len() - 1].items), (1, 1001));
        assert!(points.is_sorted_by(|a, b| a.misses >= b.misses));
    }

    #[test]
    fn curve_of_no_accesses_is_zero() {
        let curve = MissRatioCurve::new(&ExactHistogram::new());
        assert_eq!(
            (curve.at(1), curve.flat_from(), curve.default_points().len()),
            (0.0, 1, 1)
        );
        assert_eq!(curve.mean_absolute_error(&curve), 0.0);
    }

    #[test]
    fn curve_error_weighs_octaves_equally() {
        // All hit from 16 items on against never hit (but at 0): they differ in octaves 4 to 7 of
        // 8.
        let near = MissRatioCurve::new(&histogram(&[(15, 1)]));
        let far = MissRatioCurve::new(&histogram(&[(255, 1)]));
        let expected = 32.0 / 65.0;
        assert!((near.mean_absolute_error(&far) - expected).abs() < 1e-12);
        assert_eq!(
            near.mean_absolute_error(&far),
            far.mean_absolute_error(&near)
        );
    }
}
