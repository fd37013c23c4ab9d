//! [`Spatial`]: a sample of the items (SHARDS). All accesses to a sampled item go through a
//! counting tree, those to other items are ignored.

use reuselens_units::{Bytes, Distance, Items};

use super::bins::{BINS, bin};
use super::filter::{Filter, Hash};
use super::moments::Moments;
use super::samples::{SampleSource, Samples, Spread};
use crate::{CountingTree, Engine};

/// Parts of the sample that vary independently: their differences give the error.
const GROUPS: usize = 64;
/// The bits of the hash that choose the group: other ones than those that the threshold decides by.
const GROUP_SHIFT: u32 = 24;
/// Two to the power of this: all items.
const HASH_BITS: i32 = 64;

/// The counting tree over a sample of the items.
pub(super) struct Spatial {
    tree: CountingTree,
    filter: Filter,
    /// Per group: accesses by bin of their distance, then the cold ones; each weighs the inverse of
    /// the rate at its time.
    groups: Vec<[f64; BINS + 1]>,
    spread: Spread,
    items: Vec<u64>,
    distances: Vec<Distance>,
}

impl Spatial {
    /// Goes on from a tree that has seen all items, with those whose hash is below the threshold.
    pub(super) fn new(tree: CountingTree, seed: u64, threshold: u64) -> Self {
        let mut spatial = Spatial {
            tree,
            filter: Filter::new(Hash::new(seed), u64::MAX),
            groups: vec![[0.0; BINS + 1]; GROUPS],
            spread: Spread::default(),
            items: Vec::new(),
            distances: Vec::new(),
        };
        spatial.keep_below(threshold);
        spatial
    }

    /// The share of all items that are sampled.
    pub(super) fn rate(&self) -> f64 {
        self.filter.threshold as f64 / 2_f64.powi(HASH_BITS)
    }

    pub(super) fn kept(&self) -> Items {
        self.tree.distinct()
    }

    pub(super) fn memory(&self) -> Bytes {
        let columns = self.items.capacity() * 8 + self.distances.capacity() * 8;
        let groups = size_of_val(&self.groups[..]);
        self.tree.memory() + Bytes((columns + groups) as u64)
    }

    /// The memory of the items alone: what halving the rate halves.
    pub(super) fn tree_memory(&self) -> Bytes {
        self.tree.memory()
    }

    /// Halves the rate until the items take no more than `memory`. False if that cannot be.
    pub(super) fn shrink(&mut self, memory: Bytes) -> bool {
        while self.tree.memory() > memory {
            if self.tree.distinct().get() < 1 << 10 {
                return false;
            }
            self.keep_below(self.filter.threshold / 2);
        }
        true
    }

    fn keep_below(&mut self, threshold: u64) {
        self.filter.threshold = threshold;
        let hash = self.filter.hash();
        let mut items = self.tree.by_recency();
        self.tree = CountingTree::new();
        items.retain(|&item| hash.of(item) < threshold);
        let mut distances = vec![Distance::COLD; items.len()];
        self.tree.process(&items, &mut distances);
    }

    /// Counts the sampled ones of these items, of which the first is at `place` in the caller's
    /// column.
    pub(super) fn process(&mut self, items: &[u64], place: usize, samples: &mut Samples) {
        self.filter.find(items);
        let found = self.filter.found();
        self.items.clear();
        self.items
            .extend(found.iter().map(|at| items[*at as usize]));
        self.distances.resize(found.len(), Distance::COLD);
        self.tree.process(&self.items, &mut self.distances);
        let (rate, hash, begin) = (self.rate(), self.filter.hash(), samples.places.len());
        for (index, &at) in self.filter.found().iter().enumerate() {
            let scaled = match self.distances[index].items() {
                Some(sampled) => self.spread.scale(sampled, rate),
                None => Distance::COLD,
            };
            let group = (hash.of(self.items[index]) >> GROUP_SHIFT) as usize % GROUPS;
            let bin = scaled.items().map_or(BINS, bin);
            self.groups[group][bin] += 1.0 / rate;
            samples.push(place + at as usize, scaled);
        }
        let weight = (1.0 / rate).round() as u64;
        samples.end_part(SampleSource::Items, weight, begin);
    }

    /// The misses by cache size, as shares of `accesses`, with the variance between the groups.
    pub(super) fn moments(&self, accesses: u64, anchor: usize) -> Moments {
        let mut moments = Moments::new(anchor);
        for group in &self.groups {
            let mut misses = group.to_vec();
            super::bins::sum_from_above(&mut misses);
            for share in &mut misses {
                *share *= GROUPS as f64 / accesses.max(1) as f64;
            }
            moments.add(&misses, 1.0);
        }
        // Of the items that are sampled, nothing is unknown.
        moments.shrink_variance(1.0 - self.rate());
        moments
    }

    /// The bin of the largest finite distance.
    pub(super) fn top(&self) -> usize {
        let used = |bin: &usize| self.groups.iter().any(|group| group[*bin] > 0.0);
        (0..BINS).rev().find(used).unwrap_or(0)
    }
}
