//! [`Correlator`]: adds lists of appearances to the characteristic, each correlated with itself.
//! Short lists go pair by pair, dense ones through the transform of `ntt`; both are exact.

use crate::characteristic::ntt::{Transform, add, mul};

/// Nanoseconds of one pair, and of one step of a transform (value and level), as measured. Only
/// their ratio matters, and only for speed.
const PAIR: f64 = 1.0;
const STEP: f64 = 2.2;

/// Adds lists up: short ones pair by pair, dense ones by transforms.
///
/// For one distance and one item each later touch has at most one partner, so a degree is at most
/// the number of touches in the stream: below 2⁶³, and below the transform's modulus. Both ways are
/// exact.
pub(super) struct Correlator {
    degrees: Vec<u64>,
    /// By logarithm of the length: a sum of spectra, and what transforms them.
    spectra: Vec<Option<Spectrum>>,
}

struct Spectrum {
    transform: Transform,
    sum: Vec<u64>,
    earlier: Vec<u64>,
    later: Vec<u64>,
}

impl Correlator {
    /// For distances up to `longest`.
    pub(super) fn new(longest: usize) -> Correlator {
        let spectra = (0..u64::BITS).map(|_| None).collect();
        Correlator {
            degrees: vec![0; longest + 1],
            spectra,
        }
    }

    /// Adds a list with positions that rise from 0, `weight` times.
    pub(super) fn add(&mut self, list: &[(u32, u32)], weight: u64) {
        let Some(&(span, _)) = list.last() else {
            return;
        };
        let pairs = list.len() as f64 * (list.len() as f64 - 1.0) / 2.0;
        let bits = (2 * u64::from(span) + 1)
            .next_power_of_two()
            .trailing_zeros();
        let steps = f64::from(bits + 2) * f64::exp2(f64::from(bits));
        if pairs * PAIR <= steps * STEP {
            self.pairs(list, weight);
        } else {
            self.transformed(list, weight, bits);
        }
    }

    pub(super) fn pairs(&mut self, list: &[(u32, u32)], weight: u64) {
        for (at, &(later, count)) in list.iter().enumerate() {
            let degree = u64::from(count) * weight;
            for &(earlier, _) in &list[..at] {
                self.degrees[(later - earlier) as usize] += degree;
            }
        }
    }

    /// Correlation as a product of spectra: "is touched" runs backwards from 0, so that the product
    /// has distance `d` at place `d`; the length is over twice the span, so that negative distances
    /// have places of their own.
    pub(super) fn transformed(&mut self, list: &[(u32, u32)], weight: u64, bits: u32) {
        let length = 1_usize << bits;
        let spectrum = self.spectra[bits as usize].get_or_insert_with(|| Spectrum {
            transform: Transform::new(bits),
            sum: vec![0; length],
            earlier: vec![0; length],
            later: vec![0; length],
        });
        spectrum.earlier.fill(0);
        spectrum.later.fill(0);
        for &(at, count) in list {
            spectrum.earlier[(length - at as usize) & (length - 1)] = 1;
            spectrum.later[at as usize] = count.into();
        }
        spectrum.transform.forward(&mut spectrum.earlier);
        spectrum.transform.forward(&mut spectrum.later);
        let products = spectrum.earlier.iter().zip(&spectrum.later);
        for (sum, (earlier, later)) in spectrum.sum.iter_mut().zip(products) {
            *sum = add(*sum, mul(mul(*earlier, *later), weight));
        }
    }

    /// The degrees by distance; the one at distance 0 is no reuse.
    pub(super) fn finish(mut self) -> Vec<u64> {
        for spectrum in self.spectra.iter_mut().flatten() {
            spectrum.transform.inverse(&mut spectrum.sum);
            let half = spectrum.sum.len() / 2;
            for (degree, more) in self.degrees.iter_mut().zip(&spectrum.sum[..=half]) {
                *degree += more;
            }
        }
        self.degrees
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree_and_are_exact_for_large_counts() {
        let mut seed = 1_u64;
        let mut random = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % limit
        };
        let (mut short, mut long) = (Correlator::new(3000), Correlator::new(3000));
        for _ in 0..20 {
            let mut at = 0;
            let mut list = Vec::new();
            while at < 3000 {
                list.push((at as u32, 1 + random(u64::from(u32::MAX) - 1) as u32));
                at += 1 + random(20);
            }
            let weight = 1 + random(1 << 20);
            let bits = 13;
            short.pairs(&list, weight);
            long.transformed(&list, weight, bits);
        }
        assert_eq!(short.finish()[1..], long.finish()[1..]);
    }
}
