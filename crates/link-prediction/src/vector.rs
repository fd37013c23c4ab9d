//! Sums over vectors, in one order whatever instructions the processor has.

use std::hint::black_box;

/// Rows are padded to a multiple of this, and sums are kept in so many parts: four vectors of 256
/// bits, which hides the latency of additions.
pub(crate) const LANES: usize = 32;

/// The length of a row of `dimensions` numbers.
pub(crate) fn padded(dimensions: usize) -> usize {
    dimensions.next_multiple_of(LANES)
}

/// The sum of products of `a` and `b`, which are padded. [`LANES`] fixes the order of additions.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    let (a, _) = a.as_chunks::<LANES>();
    let (b, _) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let mut eight = [0.0f32; 8];
    for lane in 0..8 {
        eight[lane] = (sums[lane] + sums[lane + 8]) + (sums[lane + 16] + sums[lane + 24]);
    }
    // Without the detour, the compiler arranges the loop above for the additions below, by pairs of
    // numbers, and training takes twice as long.
    let [a, b, c, d, e, f, g, h] = black_box(eight);
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}

/// Adds `rate` × `output` to `gradient`, and `rate` × `input` to `output`.
#[inline(always)]
pub(crate) fn step(rate: f32, input: &[f32], output: &mut [f32], gradient: &mut [f32]) {
    let inputs = input.chunks_exact(LANES);
    let outputs = output.chunks_exact_mut(LANES);
    let gradients = gradient.chunks_exact_mut(LANES);
    for ((input, output), gradient) in inputs.zip(outputs).zip(gradients) {
        for lane in 0..LANES {
            gradient[lane] += rate * output[lane];
            output[lane] += rate * input[lane];
        }
    }
}

/// Adds `gradient` to `input`.
#[inline(always)]
pub(crate) fn add(input: &mut [f32], gradient: &[f32]) {
    let inputs = input.chunks_exact_mut(LANES);
    for (input, gradient) in inputs.zip(gradient.chunks_exact(LANES)) {
        for lane in 0..LANES {
            input[lane] += gradient[lane];
        }
    }
}

/// The sum of `features`, each times its weight, of any length. Four parts hide the latency of
/// additions.
pub(crate) fn weighted_sum(features: &[f32], weights: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (feature_rows, last_features) = features.as_chunks::<4>();
    let (weight_rows, last_weights) = weights.as_chunks::<4>();
    for (features, weights) in feature_rows.iter().zip(weight_rows) {
        for lane in 0..4 {
            sums[lane] += f64::from(features[lane]) * weights[lane];
        }
    }
    for (feature, weight) in last_features.iter().zip(last_weights) {
        sums[0] += f64::from(*feature) * weight;
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}
