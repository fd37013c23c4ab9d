//! Turns predicted patterns into accesses at distances, for histograms and misses.

use reuselens_locality::{FineHistogram, Pattern};
use reuselens_units::Distance;

use super::PatternPrediction;

impl PatternPrediction {
    /// The expected pattern, with distances rounded to integers.
    pub fn pattern(&self) -> Pattern {
        let min = self.min.value.round();
        let max = self.max.value.round().max(min);
        Pattern {
            min: min as u64,
            max: max as u64,
            mean: self.mean.value.clamp(min, max),
            accesses: self.accesses.value.round() as u64,
        }
    }

    /// Adds its accesses, distributed as in the last training run.
    pub(super) fn add_to(&self, histogram: &mut FineHistogram) {
        let Pattern {
            min, max, accesses, ..
        } = self.pattern();
        let (Some(first), Some(last)) = (self.within.first(), self.within.last()) else {
            return;
        };
        let scale = match last.max - first.min {
            0 => 0.0,
            width => (max - min) as f64 / width as f64,
        };
        let place = |at: f64| min as f64 + (at - first.min as f64) * scale;
        let all = self
            .within
            .iter()
            .fold(0_u64, |sum, bin| sum.saturating_add(bin.accesses));
        let (mut seen, mut counted) = (0_u64, 0_u64);
        for bin in &self.within {
            seen = seen.saturating_add(bin.accesses);
            let until = (accesses as f64 * seen as f64 / all.max(1) as f64).round() as u64;
            spread(
                histogram,
                place(bin.min as f64),
                place(bin.max as f64),
                until - counted,
            );
            counted = until;
        }
    }
}

/// Adds accesses, spread evenly from `low` to `high`.
fn spread(histogram: &mut FineHistogram, low: f64, high: f64, accesses: u64) {
    const PARTS: u64 = 16;
    let parts = if high - low < 1.0 { 1 } else { PARTS };
    for part in 0..parts {
        let at = low + (high - low) * (part as f64 + 0.5) / parts as f64;
        let until =
            |part: u64| (u128::from(accesses) * u128::from(part) / u128::from(parts)) as u64;
        let share = until(part + 1) - until(part);
        histogram.add(Distance::new(at.round().max(0.0) as u64), share);
    }
}
