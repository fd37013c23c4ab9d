//! How much a curve may be off because a distance among sampled items is only approximately the
//! distance among all items.

use super::bins::{BINS, bin, low};

/// Standard deviations of a distance that count: as the confidence.
const SPREAD: f64 = 2.0;
/// Standard deviations of a distance that hold nearly all of a step that is smeared out.
pub(super) const BLUR: f64 = 3.0;

/// The value of a curve between its points: straight over the logarithm.
fn between(mean: &[f64], items: f64) -> f64 {
    if items < 1.0 {
        return mean[0] + (mean[1] - mean[0]) * items.max(0.0);
    }
    let at = bin(items as u64).min(BINS - 2);
    let (below, above) = (low(at) as f64, low(at + 1) as f64);
    let part = (items / below).ln() / (above / below).ln();
    mean[at] + (mean[at + 1] - mean[at]) * part.clamp(0.0, 1.0)
}

/// By what factor a distance among sampled items may be off.
pub(super) fn factor(items: f64, rate: f64, deviations: f64) -> f64 {
    1.0 + deviations * ((1.0 - rate) / (rate * items)).sqrt()
}

/// How much the curve may be off because distances among few items are only about right, each by
/// itself: a smooth curve is not, a step is smeared out. So what counts is how much steeper the
/// curve is here than on both sides.
pub(super) fn blur(mean: &[f64], bin: usize, rate: f64) -> f64 {
    if bin == 0 || bin == BINS {
        return 0.0;
    }
    let items = low(bin) as f64;
    let factor = factor(items, rate, BLUR);
    let at = |power: i32| between(mean, items * factor.powi(power));
    let here = at(-1) - at(1);
    let beside = (at(-3) - at(-1) + at(1) - at(3)) / 2.0;
    0.6 * (here - beside).max(0.0)
}

/// How much the curve may be off because all distances may be too large, or all too small: what is
/// sampled does not change, and may be a little more or less than its share of every cache.
pub(super) fn shift(mean: &[f64], bin: usize, rate: f64) -> f64 {
    if bin == 0 || bin == BINS {
        return 0.0;
    }
    let items = low(bin) as f64;
    let factor = factor(items, rate, SPREAD);
    let nearer = between(mean, items / factor) - mean[bin] + cliff(mean, bin - 1);
    let farther = mean[bin] - between(mean, items * factor) + cliff(mean, bin);
    nearer.max(farther).max(0.0)
}

/// How much more the curve falls in a bin than in those beside it, per octave: a step that may be
/// anywhere in it.
fn cliff(mean: &[f64], bin: usize) -> f64 {
    if bin == 0 || bin + 2 >= BINS {
        return 0.0;
    }
    let octaves = |bin: usize| {
        (low(bin + 1) as f64 / low(bin).max(1) as f64)
            .log2()
            .max(1e-3)
    };
    let fall = |bin: usize| mean[bin] - mean[bin + 1];
    let beside = (fall(bin - 1) / octaves(bin - 1) + fall(bin + 1) / octaves(bin + 1)) / 2.0;
    (fall(bin) - beside * octaves(bin)).max(0.0)
}
