//! [`ItemSample`]: all accesses to a sample of the items (SHARDS), with estimated distances.

use reuselens_units::{Bytes, Distance, Items};

use super::filter::{Filter, Hash};
use super::samples::Spread;
use crate::{CountingTree, Engine};

/// Two to the power of this: all items.
const HASH_BITS: i32 = 64;

/// Finds the accesses to sampled items, and estimates their distances. Those to other items are
/// ignored.
///
/// An item is in the sample with the probability [`Self::rate`], by a hash of itself and the seed.
/// A distance `d` among all items is about `d · rate` among the sampled ones, with a standard
/// deviation of `√(d · rate · (1 − rate))`: the estimate is the distance among the sampled items,
/// divided by the rate. At a rate of 1 it is exact.
///
/// Cost: a hash per access, vectorised; the exact engine for the sampled accesses. Memory: that of
/// the exact engine for the sampled items.
///
/// ```
/// use reuselens_distance::ItemSample;
///
/// let mut sample = ItemSample::new(0.5, 1);
/// let column: Vec<u64> = (0..1000).chain(0..1000).collect();
/// sample.process(&column);
/// // The sampled items are found in both passes.
/// let (first, second) = sample.places().split_at(sample.places().len() / 2);
/// assert!(first.iter().zip(second).all(|(first, second)| first + 1000 == *second));
/// let distances = &sample.distances()[first.len()..];
/// assert!(distances.iter().all(|it| (800..1200).contains(&it.items().unwrap())));
/// ```
pub struct ItemSample {
    tree: CountingTree,
    filter: Filter,
    spread: Spread,
    items: Vec<u64>,
    distances: Vec<Distance>,
}

impl ItemSample {
    /// A sample that has seen nothing. A rate of 1 or more is all items. Equal seeds, equal
    /// samples.
    pub fn new(rate: f64, seed: u64) -> Self {
        Self::of(CountingTree::new(), seed, threshold(rate))
    }

    /// Goes on from a tree that has seen some items, with items whose hash is below the threshold.
    pub(super) fn of(tree: CountingTree, seed: u64, threshold: u64) -> Self {
        let mut sample = ItemSample {
            tree,
            filter: Filter::new(Hash::new(seed), u64::MAX),
            spread: Spread::default(),
            items: Vec::new(),
            distances: Vec::new(),
        };
        sample.keep_below(threshold);
        sample
    }

    /// Finds the accesses to sampled items in the next column, and their distances.
    ///
    /// # Panics
    /// With more than 2³² items at once, as places in a column are 32 bits.
    pub fn process(&mut self, items: &[u64]) {
        self.filter.find(items);
        let found = self.filter.found();
        self.items.clear();
        (self.items).extend(found.iter().map(|at| items[*at as usize]));
        self.distances.resize(found.len(), Distance::COLD);
        self.tree.process(&self.items, &mut self.distances);
        let rate = self.rate();
        if rate >= 1.0 {
            return;
        }
        for distance in &mut self.distances {
            if let Some(sampled) = distance.items() {
                *distance = self.spread.scale(sampled, rate);
            }
        }
    }

    /// Where in the column that was processed last the accesses to sampled items are, ascending.
    pub fn places(&self) -> &[u32] {
        self.filter.found()
    }

    /// The items of these accesses.
    pub fn items(&self) -> &[u64] {
        &self.items
    }

    /// The estimated distances of these accesses.
    pub fn distances(&self) -> &[Distance] {
        &self.distances
    }

    /// The share of all items that are sampled, above 0 and up to 1.
    pub fn rate(&self) -> f64 {
        self.filter.threshold as f64 / 2_f64.powi(HASH_BITS)
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        self.tree.memory() + self.columns()
    }

    /// The most memory held until `accesses` more are processed, if all of them are of new items:
    /// see [`Engine::memory_ahead`].
    pub fn memory_ahead(&self, accesses: u64) -> Bytes {
        self.tree.memory_ahead(accesses) + self.columns()
    }

    fn columns(&self) -> Bytes {
        Bytes((self.items.capacity() * 8 + self.distances.capacity() * 8) as u64)
    }

    pub(super) fn hash(&self) -> Hash {
        self.filter.hash()
    }

    /// Items in the sample that were accessed.
    pub(super) fn kept(&self) -> Items {
        self.tree.distinct()
    }

    /// The memory of the items alone: what halving the rate halves.
    pub(super) fn tree_memory(&self) -> Bytes {
        self.tree.memory()
    }

    /// Halves the rate: takes about half of the items out of the sample.
    pub(super) fn halve(&mut self) {
        self.keep_below(self.filter.threshold / 2);
    }

    /// Keeps the items whose hash is below a threshold.
    fn keep_below(&mut self, threshold: u64) {
        self.filter.threshold = threshold;
        let hash = self.filter.hash();
        let mut items = self.tree.by_recency();
        self.tree = CountingTree::new();
        items.retain(|&item| hash.of(item) < threshold);
        let mut distances = vec![Distance::COLD; items.len()];
        self.tree.process(&items, &mut distances);
    }
}

/// The threshold of hashes at a rate.
pub(super) fn threshold(rate: f64) -> u64 {
    // Conversions of numbers that are too large give the largest integer.
    (rate * 2_f64.powi(HASH_BITS)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Random;

    #[test]
    fn a_sample_of_all_items_has_exact_distances() {
        let mut random = Random::new(3);
        let items: Vec<u64> = (0..5000).map(|_| random.bits() % 300).collect();
        let mut sample = ItemSample::new(1.0, 9);
        sample.process(&items);
        let mut distances = vec![Distance::ZERO; items.len()];
        CountingTree::new().process(&items, &mut distances);
        assert_eq!(sample.distances(), distances);
        assert_eq!(sample.places().len(), items.len());
        assert_eq!(sample.rate(), 1.0);
    }

    /// Distances among all that are all equal are estimated as that within the deviation that is
    /// stated, in about 95 of 100 samples.
    #[test]
    fn estimated_distances_deviate_as_stated() {
        let (items, rate, seeds) = (2000_u64, 0.1, 300);
        let column: Vec<u64> = (0..items).chain(0..items).collect();
        let deviation = (items as f64 * (1.0 - rate) / rate).sqrt();
        let mut within = 0;
        for seed in 0..seeds {
            let mut sample = ItemSample::new(rate, seed);
            sample.process(&column);
            let distance = sample.distances().last().unwrap().items().unwrap();
            let error = distance as f64 - (items - 1) as f64;
            within += u32::from(error.abs() <= 2.0 * deviation);
        }
        assert!((270..300).contains(&within), "{within} of {seeds}");
    }

    #[test]
    fn columns_cut_anywhere_have_equal_samples() {
        let mut random = Random::new(4);
        let items: Vec<u64> = (0..3000).map(|_| random.bits() % 500).collect();
        let mut all = ItemSample::new(0.3, 2);
        all.process(&items);
        let mut pieces = ItemSample::new(0.3, 2);
        let (mut found, mut distances) = (Vec::new(), Vec::new());
        for (at, piece) in items.chunks(7).enumerate() {
            pieces.process(piece);
            found.extend(pieces.places().iter().map(|place| place + at as u32 * 7));
            distances.extend_from_slice(pieces.distances());
            assert!(pieces.items().iter().all(|item| piece.contains(item)));
        }
        assert_eq!(
            (&found[..], &distances[..]),
            (all.places(), all.distances())
        );
    }
}
