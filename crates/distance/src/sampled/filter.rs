//! [`Filter`]: finds the items of a column that are in the sample, which are those whose [`Hash`]
//! is below a threshold.

use reuselens_simd::{Level, entry_point};

#[cfg(target_arch = "x86_64")]
use crate::counting::compare::{Avx2, Avx512};
use crate::counting::compare::{Compare, Portable};
use crate::generate::Random;

/// A hash of items that decides who is in a sample: two multiplications, each with the high half
/// added to the low one before it. Different seeds give independent samples, also of items in
/// regular steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash {
    offset: u64,
    factor: u64,
}

impl Hash {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Hash {
            offset: random.bits(),
            factor: random.bits() | 1,
        }
    }

    #[inline(always)]
    pub(super) fn of(self, item: u64) -> u64 {
        let mixed = (item ^ self.offset).wrapping_mul(self.factor);
        (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
    }
}

/// Finds the items of a sample in a column. Cost: a hash per item.
pub(crate) struct Filter {
    hash: Hash,
    /// Items whose hash is below are in the sample.
    pub(super) threshold: u64,
    /// The places of those that were found last; only the first are valid.
    places: Vec<u32>,
    found: usize,
}

/// Items that are looked at together.
const STRETCH: usize = 16;
/// With thresholds below this, most groups of [`STRETCH`] items hold none of the sample.
const FEW: u64 = 1 << 59;

entry_point! {
    /// [`Filter::process_here`] with the instructions of `level`.
    fn process_filter(level, filter: &mut Filter, items: &[u64]) {
        Icelake(proof) => filter.process_here(Avx512::with(proof), items),
        V3(proof) => filter.process_here(Avx2::with(proof), items),
        _ => filter.process_here(Portable, items),
    }
}

impl Filter {
    pub(super) fn new(hash: Hash, threshold: u64) -> Self {
        Filter {
            hash,
            threshold,
            places: Vec::new(),
            found: 0,
        }
    }

    pub(super) fn hash(&self) -> Hash {
        self.hash
    }

    /// Finds those of `items` that are in the sample.
    pub(super) fn find(&mut self, items: &[u64]) {
        if self.places.len() < items.len() {
            self.places.resize(items.len(), 0);
        }
        process_filter(Level::best(), self, items);
    }

    /// Where in the column the items that were found last are.
    pub(super) fn found(&self) -> &[u32] {
        &self.places[..self.found]
    }

    #[inline(always)]
    pub(crate) fn process_here(&mut self, _: impl Compare, items: &[u64]) {
        let (hash, threshold) = (self.hash, self.threshold);
        let places = &mut self.places[..items.len()];
        let (stretches, rest) = items.as_chunks::<STRETCH>();
        let mut found = 0;
        // Without a branch: the place is written down, and kept if the item is in the sample.
        let mut pick = |start: usize, items: &[u64]| {
            for (place, &item) in (start..).zip(items) {
                places[found] = place as u32;
                found += usize::from(hash.of(item) < threshold);
            }
        };
        for (start, stretch) in (0..).step_by(STRETCH).zip(stretches) {
            let few = threshold < FEW;
            if few && !any_below(hash, threshold, stretch) {
                continue;
            }
            pick(start, stretch);
        }
        pick(items.len() - rest.len(), rest);
        self.found = found;
    }
}

#[inline(always)]
fn any_below(hash: Hash, threshold: u64, items: &[u64; STRETCH]) -> bool {
    let mut below = 0_u64;
    for &item in items {
        below |= u64::from(hash.of(item) < threshold);
    }
    below != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_items_below_the_threshold_are_found() {
        let items: Vec<u64> = (0..10_007_u64).map(|number| number * 64).collect();
        let hash = Hash::new(5);
        for threshold in [0, 1 << 50, 1 << 57, 1 << 62, u64::MAX] {
            let mut filter = Filter::new(hash, threshold);
            filter.find(&items);
            let below = |place: &u32| hash.of(items[*place as usize]) < threshold;
            let expected: Vec<u32> = (0..items.len() as u32).filter(below).collect();
            assert_eq!(filter.found(), expected, "{threshold}");
            filter.find(&[]);
            assert!(filter.found().is_empty());
        }
    }

    /// The number of items in a sample varies from seed to seed as if each item were drawn by
    /// itself.
    #[test]
    fn regular_steps_are_sampled_like_any_items() {
        for stride in [1_u64, 8, 64, 4096, 4096 + 64, 1 << 30, 1 << 52] {
            let (items, seeds, rate) = (4000_u64, 400, 0.05);
            let threshold = (rate * 2_f64.powi(64)) as u64;
            let sizes = (0..seeds).map(|seed| {
                let hash = Hash::new(seed);
                let sampled = (0..items).filter(|item| hash.of(item * stride) < threshold);
                sampled.count() as f64
            });
            let sizes: Vec<f64> = sizes.collect();
            let mean = sizes.iter().sum::<f64>() / seeds as f64;
            let variance =
                sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / seeds as f64;
            let expected = items as f64 * rate * (1.0 - rate);
            assert!((mean - 200.0).abs() < 4.0, "stride {stride}: mean {mean}");
            assert!(
                (0.6..1.5).contains(&(variance / expected)),
                "stride {stride}: variance {variance}, expected {expected}"
            );
        }
    }
}
