//! [`Moments`]: mean and variance of a curve over replicates that differ by chance, corrected where
//! the value at one place is known better from another sample.

use super::bins::BINS;
use super::regression::missed;

/// A curve with its variance: for a cache of `low(b)` items, `mean[b]` ± what `variance[b]` says.
/// The last is the share of cold accesses.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) mean: Vec<f64>,
    pub(super) variance: Vec<f64>,
    /// How much the mean may be off beside that, from what it was corrected by.
    pub(super) bias: Vec<f64>,
    /// The number of replicates; with unequal weights, the number of equal ones that are worth as
    /// much.
    pub(super) replicates: f64,
}

impl Curve {
    fn add_variance(&mut self, more: &[f64]) {
        for (variance, more) in self.variance.iter_mut().zip(more) {
            *variance += more;
        }
    }
}

/// What is known of the value at one place from another sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) mean: f64,
    pub(super) variance: f64,
    /// How much the mean may be off beside what the variance says.
    pub(super) bias: f64,
}

/// Weighted sums over replicates of a curve: of the values, their squares, and their products with
/// the value at one place, the anchor.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    anchor: usize,
    weight: f64,
    weight_squares: f64,
    sums: Vec<[f64; 3]>,
    /// The smallest and the largest value.
    extremes: Vec<[f64; 2]>,
    variance_factor: f64,
}

impl Moments {
    pub(super) fn new(anchor: usize) -> Self {
        Moments {
            anchor,
            weight: 0.0,
            weight_squares: 0.0,
            sums: vec![[0.0; 3]; BINS + 1],
            extremes: vec![[f64::INFINITY, f64::NEG_INFINITY]; BINS + 1],
            variance_factor: 1.0,
        }
    }

    pub(super) fn add(&mut self, curve: &[f64], weight: f64) {
        let at_anchor = curve[self.anchor];
        self.weight += weight;
        self.weight_squares += weight * weight;
        for (sums, value) in self.sums.iter_mut().zip(curve) {
            sums[0] += weight * value;
            sums[1] += weight * value * value;
            sums[2] += weight * value * at_anchor;
        }
        for (extremes, value) in self.extremes.iter_mut().zip(curve) {
            *extremes = [extremes[0].min(*value), extremes[1].max(*value)];
        }
    }

    /// Where only a part of the variance is real.
    pub(super) fn shrink_variance(&mut self, factor: f64) {
        self.variance_factor *= factor;
    }

    /// The sum of all weights.
    pub(super) fn weight(&self) -> f64 {
        self.weight
    }

    /// The number of replicates of equal weight that would be worth as much.
    pub(super) fn replicates(&self) -> f64 {
        if self.weight_squares > 0.0 {
            self.weight * self.weight / self.weight_squares
        } else {
            0.0
        }
    }

    /// The mean curve, however few replicates there are.
    pub(super) fn means(&self) -> Vec<f64> {
        (0..=BINS).map(|bin| self.mean(bin)).collect()
    }

    fn mean(&self, bin: usize) -> f64 {
        self.sums[bin][0] / self.weight
    }

    /// The variance of the mean of bin and anchor (`which` = 2) or of the bin's own (1).
    fn variance(&self, bin: usize, which: usize) -> f64 {
        let mean = self.mean(if which == 1 { bin } else { self.anchor });
        let between = self.sums[bin][which] / self.weight - self.mean(bin) * mean;
        between / (self.replicates() - 1.0) * self.variance_factor
    }

    /// The variance that replicates may have missed: where one of them is farther from the mean
    /// than chance makes it, there may be others like it (see [`missed`]).
    fn missed(&self, bin: usize) -> f64 {
        let (mean, replicates) = (self.mean(bin), self.replicates());
        let far = self.extremes[bin].map(|value| (value - mean).abs());
        let largest = far[0].max(far[1]).powi(2);
        let all = self.variance(bin, 1).max(0.0) * replicates * (replicates - 1.0);
        missed(largest, all / self.variance_factor.max(1e-9), replicates) * self.variance_factor
            / (replicates * (replicates - 1.0))
    }

    /// The mean curve. If the value at the anchor is known from another sample, the part of the
    /// error that goes along with the error there is subtracted: the best linear combination of
    /// both (a control variate). `None` if there are too few replicates to know how much they vary.
    pub(super) fn curve(&self, anchor: Option<Known>) -> Option<Curve> {
        let replicates = self.replicates();
        if replicates < 3.999 {
            return None;
        }
        let mut curve = Curve {
            mean: self.means(),
            variance: (0..=BINS)
                .map(|bin| self.variance(bin, 1).max(0.0))
                .collect(),
            bias: vec![0.0; BINS + 1],
            replicates,
        };
        let missed: Vec<f64> = (0..=BINS).map(|bin| self.missed(bin)).collect();
        let Some(known) = anchor else {
            curve.add_variance(&missed);
            return Some(curve);
        };
        let off = curve.mean[self.anchor] - known.mean;
        let spread = curve.variance[self.anchor] + known.variance;
        let all = spread + known.bias * known.bias;
        if all <= 1e-18 {
            curve.add_variance(&missed);
            return Some(curve);
        }
        for bin in 0..=BINS {
            let together = self.variance(bin, 2);
            let share = together / all;
            curve.mean[bin] -= share * off;
            curve.bias[bin] = share.abs() * known.bias;
            let left = curve.variance[bin] + share * (share * spread - 2.0 * together);
            // What the anchor takes out of the variance, it takes out of that, too.
            let missed = match curve.variance[bin] {
                own if own > 0.0 => missed[bin] * (left.max(0.0) / own).min(1.0),
                _ => 0.0,
            };
            curve.variance[bin] = left.max(0.0) * (replicates - 1.0) / (replicates - 2.0) + missed;
        }
        Some(curve)
    }
}

/// How many standard deviations hold 95 % of the cases if the deviation is known from `freedom`
/// independent differences (Student's t, by a series that is right to 2 % from 2 on).
pub(super) fn student_95(freedom: f64) -> f64 {
    let inverse = 1.0 / freedom.max(1.0);
    1.96 + inverse * (2.37 + inverse * (2.8 + inverse * 3.3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_is_that_of_the_tables() {
        for (freedom, quantile) in [(3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042)] {
            let relative: f64 = student_95(freedom) / quantile - 1.0;
            assert!(relative.abs() < 0.02, "{freedom}: {relative}");
        }
        assert!((student_95(1e9) - 1.96).abs() < 1e-6);
    }

    #[test]
    fn mean_and_variance_are_those_of_the_mean() {
        let mut moments = Moments::new(0);
        for value in [1.0, 2.0, 3.0, 4.0] {
            moments.add(&vec![value; BINS + 1], 5.0);
        }
        let curve = moments.curve(None).unwrap();
        assert!((curve.mean[7] - 2.5).abs() < 1e-12);
        // The sample variance is 5/3; of the mean of four, a quarter.
        assert!((curve.variance[7] - 5.0 / 12.0).abs() < 1e-12);
        assert!((curve.replicates - 4.0).abs() < 1e-12);
    }

    #[test]
    fn control_variate_removes_correlated_error() {
        let mut moments = Moments::new(0);
        for value in [0.9, 1.1, 1.3, 0.8, 1.2] {
            let mut curve = vec![value / 2.0; BINS + 1];
            curve[0] = value;
            moments.add(&curve, 1.0);
        }
        let known = Known {
            mean: 1.0,
            variance: 0.0,
            bias: 0.0,
        };
        let curve = moments.curve(Some(known)).unwrap();
        assert!((curve.mean[5] - 0.5).abs() < 1e-12 && curve.variance[5] < 1e-12);
        assert!((curve.mean[0] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn few_replicates_give_no_curve() {
        let mut moments = Moments::new(0);
        assert!(moments.curve(None).is_none());
        for _ in 0..3 {
            moments.add(&[0.5; BINS + 1], 1.0);
        }
        assert!(moments.curve(None).is_none());
    }
}
