//! [`corrected`]: the mean over groups of items, with a deviation that allows for few items that
//! matter much.

use super::moments::student_95;

/// The excess of the largest squared residual over this many mean ones is no chance: one of a few
/// items has that much. Of 64 normal residuals the largest square is about six mean ones.
const LARGEST: f64 = 6.0;
/// How many more such items a sample may have missed. It makes the interval hold a count of k items
/// in 95 % of the samples (Poisson), from k = 1 on; without it a sample that has one of four items
/// claims to know that there is one.
const MISSED: f64 = 2.0;

/// A mean with its error.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Corrected {
    pub(super) mean: f64,
    pub(super) deviation: f64,
    /// Differences that the deviation is from.
    freedom: f64,
}

impl Corrected {
    /// How many deviations hold 95 % of the cases.
    pub(super) fn quantile(&self) -> f64 {
        student_95(self.freedom)
    }
}

/// The mean of `values`, one per group of items, less what goes along with the error of a control
/// whose mean over all items is 0 (a regression estimator: Cochran 1977, chapter 7). The groups are
/// a sample of all items; the share `left` of the items is not in it.
pub(super) fn corrected(values: &[f64], control: Option<&[f64]>, left: f64) -> Corrected {
    let number = values.len() as f64;
    let mut mean = values.iter().sum::<f64>() / number;
    let mut residuals: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let (mut leverage, mut freedom) = (1.0 / number, number - 1.0);
    if let Some(control) = control {
        let off = control.iter().sum::<f64>() / number;
        let own: Vec<f64> = control.iter().map(|value| value - off).collect();
        let sum = squares(&own);
        if sum > f64::MIN_POSITIVE {
            let together = residuals.iter().zip(&own).map(|(a, b)| a * b);
            let share = together.sum::<f64>() / sum;
            for (residual, own) in residuals.iter_mut().zip(&own) {
                *residual -= share * own;
            }
            mean -= share * off;
            leverage += off * off / sum;
            freedom -= 1.0;
        }
    }
    let sum = squares(&residuals);
    let largest = residuals.iter().map(|value| value * value);
    let largest = largest.fold(0.0, f64::max);
    let missed = missed(largest, sum, number);
    Corrected {
        mean,
        deviation: ((sum + missed) / freedom * leverage * left).sqrt(),
        freedom,
    }
}

/// What may be missing from the sum of `number` squared residuals, of which this is the largest.
pub(super) fn missed(largest: f64, sum: f64, number: f64) -> f64 {
    MISSED * (largest - LARGEST * sum / number).max(0.0)
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Random;

    #[test]
    fn a_control_takes_its_share_of_the_error_out() {
        let control = [-0.1, 0.1, 0.3, -0.2, 0.2, 0.0];
        let values: Vec<f64> = control.iter().map(|value| 1.0 + 3.0 * value).collect();
        let result = corrected(&values, Some(&control), 1.0);
        assert!(
            (result.mean - 1.0).abs() < 1e-12 && result.deviation < 1e-7,
            "{result:?}"
        );
        let plain = corrected(&values, None, 1.0);
        assert!(plain.deviation > 0.1, "{plain:?}");
    }

    /// Few items that matter, each in a group of its own: the interval holds the mean although a
    /// sample may have one of them only.
    #[test]
    fn intervals_of_rare_items_hold() {
        let mut random = Random::new(1);
        let (mut held, trials) = (0, 2000);
        for _ in 0..trials {
            let groups: Vec<f64> = (0..64)
                .map(|_| f64::from(u8::from(random.below(16) == 0)))
                .collect();
            let result = corrected(&groups, None, 1.0);
            held +=
                u32::from((result.mean - 1.0 / 16.0).abs() <= result.quantile() * result.deviation);
        }
        assert!(
            f64::from(held) > 0.94 * f64::from(trials),
            "{held} of {trials}"
        );
    }
}
