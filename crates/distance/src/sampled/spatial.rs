//! [`Spatial`]: the distances of accesses to a sample of the items, counted in groups.

use reuselens_units::{Bytes, Items};

use super::bins::{BINS, bin};
use super::gaps::Gaps;
use super::item_sample::ItemSample;
use super::moments::Moments;
use super::samples::{SampleSource, Samples};
use super::slices::{MeasuredTime, Slices};
use crate::CountingTree;

/// Parts of the sample that vary independently: their differences give the error.
const GROUPS: usize = 64;
/// The bits of the hash that choose the group: other ones than those that the threshold decides by.
const GROUP_SHIFT: u32 = 24;

/// Counts the accesses to a sample of the items.
pub(super) struct Spatial {
    sample: ItemSample,
    /// Per group: accesses by bin of their distance, then the cold ones; each weighs the inverse of
    /// the rate at its time.
    groups: Vec<[f64; BINS + 1]>,
    /// The same by time, for all accesses so far.
    slices: Slices,
    /// The times without any.
    gaps: Gaps,
    accesses: u64,
}

impl Spatial {
    /// Goes on from a tree that has seen all items, with those whose hash is below the threshold.
    pub(super) fn new(tree: CountingTree, seed: u64, threshold: u64) -> Self {
        Spatial {
            sample: ItemSample::of(tree, seed, threshold),
            groups: vec![[0.0; BINS + 1]; GROUPS],
            slices: Slices::new(),
            gaps: Gaps::new(),
            accesses: 0,
        }
    }

    /// The share of all items that are sampled.
    pub(super) fn rate(&self) -> f64 {
        self.sample.rate()
    }

    pub(super) fn kept(&self) -> Items {
        self.sample.kept()
    }

    pub(super) fn memory(&self) -> Bytes {
        let groups = Bytes(size_of_val(&self.groups[..]) as u64);
        self.sample.memory() + groups + self.slices.memory() + self.gaps.memory()
    }

    /// The memory of the items alone: what halving the rate halves.
    pub(super) fn tree_memory(&self) -> Bytes {
        self.sample.tree_memory()
    }

    /// Halves the rate until the items take no more than `memory`. False if that cannot be.
    pub(super) fn shrink(&mut self, memory: Bytes) -> bool {
        while self.sample.tree_memory() > memory {
            if self.sample.kept().get() < 1 << 10 {
                return false;
            }
            self.sample.halve();
        }
        true
    }

    /// Counts the sampled ones of these items, of which the first is at `place` in the caller's
    /// column.
    pub(super) fn process(&mut self, items: &[u64], place: usize, samples: &mut Samples) {
        self.sample.process(items);
        let (rate, hash, begin) = (self.rate(), self.sample.hash(), samples.places.len());
        let shortest = self.gaps.shortest(rate);
        let places = self.sample.places().iter();
        let accesses = self.sample.items().iter().zip(self.sample.distances());
        for (&at, (&item, &distance)) in places.zip(accesses) {
            let group = (hash.of(item) >> GROUP_SHIFT) as usize % GROUPS;
            let time = self.accesses + u64::from(at);
            self.gaps.add(time, shortest);
            (self.slices).add(time, group, distance.items(), 1.0 / rate);
            let bin = distance.items().map_or(BINS, bin);
            self.groups[group][bin] += 1.0 / rate;
            samples.push(place + at as usize, distance);
        }
        self.accesses += items.len() as u64;
        let weight = (1.0 / rate).round() as u64;
        samples.end_part(SampleSource::Items, weight, begin);
    }

    /// The share of `accesses` by which bursts may be off because of when they were, for each cache
    /// size, as far as the sample shows it.
    pub(super) fn off(&self, accesses: u64, bursts: &[MeasuredTime]) -> Vec<f64> {
        let gaps = self.gaps.unmet(accesses, self.rate(), bursts);
        self.slices.off(accesses, bursts, 1.0 - self.rate(), gaps)
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
