//! Random numbers that depend on a seed and a place, and on nothing else.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// What random numbers are for. Streams of different purposes share no numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// The order of the vertices from which walks start.
    WalkOrder = 1,
    /// The steps of a walk.
    Walk = 2,
    /// First values of vectors.
    Vectors = 3,
    /// Windows and negative samples of the skip-gram model.
    SkipGram = 4,
    /// The order in which the SVM visits its examples.
    SvmOrder = 5,
    /// Pairs of vertices that are examples for training.
    Examples = 6,
    /// Pairs of vertices on which an accuracy is measured.
    Balanced = 7,
    /// The seed of a later training.
    Retraining = 8,
}

/// A stream of random numbers (xoshiro256++).
#[derive(Clone, Debug)]
pub(crate) struct RandomStream(Xoshiro256PlusPlus);

impl RandomStream {
    /// The stream for `part` of the work called `purpose`. Parts can be done in any order, on any
    /// thread.
    pub fn new(seed: u64, purpose: Purpose, part: u64) -> RandomStream {
        // SplitMix64, by which xoshiro is seeded, mixes each word, so that neighbours differ.
        let mixed = [seed, purpose as u64, part]
            .into_iter()
            .fold(0, |state, word| {
                Xoshiro256PlusPlus::seed_from_u64(state ^ word).next_u64()
            });
        RandomStream(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`, which must not be 0. The bias is below `end` / 2⁶⁴.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.0.next_u64()) * end as u128) >> 64) as usize
    }

    /// A number from 0 (included) to 1 (excluded), in steps of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Puts `items` into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (2..=items.len()).rev() {
            items.swap(end - 1, self.below(end));
        }
    }
}

/// Draws indices with given weights, in constant time for each (alias method; Walker 1977, built as
/// Vose 1991).
#[derive(Clone, Debug)]
pub(crate) struct AliasTable {
    /// For each slot: the probability of its own index as a fraction of 2³², and the other index.
    slots: Vec<(u32, u32)>,
}

impl AliasTable {
    /// A table for `weights`, whose sum must be positive.
    pub fn new(weights: &[f64]) -> AliasTable {
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut scaled: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let mut slots: Vec<(u32, u32)> = (0..weights.len() as u32)
            .map(|index| (u32::MAX, index))
            .collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&index| scaled[index] < 1.0);
        while let (Some(less), Some(&more)) = (small.pop(), large.last()) {
            slots[less] = ((scaled[less] * 4_294_967_296.0) as u32, more as u32);
            scaled[more] -= 1.0 - scaled[less];
            if scaled[more] < 1.0 {
                large.pop();
                small.push(more);
            }
        }
        AliasTable { slots }
    }

    /// A random index.
    #[inline(always)]
    pub fn draw(&self, random: &mut RandomStream) -> u32 {
        // One number serves both choices: its upper half selects the slot, its lower half the side.
        let bits = random.bits();
        let slot = (((bits >> 32) * self.slots.len() as u64) >> 32) as usize;
        let (own, other) = self.slots[slot];
        if (bits as u32) < own {
            slot as u32
        } else {
            other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alias_table_draws_each_index_in_proportion_to_its_weight() {
        let weights = [1.0, 0.0, 5.0, 2.0, 0.5, 1.5];
        let table = AliasTable::new(&weights);
        let mut random = RandomStream::new(1, Purpose::SkipGram, 0);
        let mut counts = [0u32; 6];
        for _ in 0..100_000 {
            counts[table.draw(&mut random) as usize] += 1;
        }
        for (count, weight) in counts.iter().zip(weights) {
            let expected = weight * 10_000.0;
            assert!((f64::from(*count) - expected).abs() <= 5.0 * expected.sqrt());
        }
    }

    #[test]
    fn streams_of_other_seeds_purposes_and_parts_differ() {
        let first = |seed, purpose, part| RandomStream::new(seed, purpose, part).bits();
        let mut all = Vec::new();
        for seed in 0..10 {
            for part in 0..10 {
                all.push(first(seed, Purpose::Walk, part));
                all.push(first(seed, Purpose::SkipGram, part));
            }
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 200);
    }

    #[test]
    fn shuffle_makes_every_order_equally_often() {
        let mut random = RandomStream::new(2, Purpose::WalkOrder, 0);
        let mut counts = [0u32; 27];
        for _ in 0..6000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            counts[items[0] * 9 + items[1] * 3 + items[2]] += 1;
        }
        let orders: Vec<u32> = counts.into_iter().filter(|count| *count > 0).collect();
        assert_eq!(orders.len(), 6);
        assert!(orders.iter().all(|count| (850..1150).contains(count)));
    }
}
