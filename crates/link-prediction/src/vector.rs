//! Sums over vectors, in one order whatever instructions the processor has.

use std::hint::black_box;

/// Rows are padded to a multiple of this, and sums are kept in so many parts: four vectors of 256
/// bits, which hides the latency of additions.
pub(crate) const LANES: usize = 32;

/// Numbers that [`update`] keeps in registers: two vectors of 256 bits.
const PIECE: usize = 16;

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
    // numbers, and training takes a fifth longer.
    let [a, b, c, d, e, f, g, h] = black_box(eight);
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}

/// A vector at `row` of a table, and how far it moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    /// Where the vector begins.
    pub row: usize,
    /// What it is multiplied by.
    pub rate: f32,
}

/// Adds rate × `input` to each vector of `updates` in `table`, and rate × each of these vectors, as
/// they were, to `input`. Each number of `input` is read and written once.
#[inline(always)]
pub(crate) fn update(input: &mut [f32], table: &mut [f32], updates: &[Update]) {
    let (pieces, _) = input.as_chunks_mut::<PIECE>();
    for (at, piece) in pieces.iter_mut().enumerate() {
        let mut sum = *piece;
        for Update { row, rate } in updates {
            let begin = row + at * PIECE;
            let vector = &mut table[begin..begin + PIECE];
            for lane in 0..PIECE {
                sum[lane] += rate * vector[lane];
                vector[lane] += rate * piece[lane];
            }
        }
        *piece = sum;
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
