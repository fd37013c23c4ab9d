//! [`ExactHistogram`]: how many accesses have each reuse distance.

use std::fmt;

use reuselens_units::{Bytes, Distance};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::counters::Counters;
use crate::histogram::{Histogram, ratio};
use crate::log2::Log2Histogram;
use crate::sparse::{Sparse, SparseSteps};

/// How many accesses had each reuse distance, and how many were cold. The counts sum to the number
/// of accesses; nothing is dropped. Sums beyond 64 bits saturate.
///
/// Memory: 2 to 4 bytes per distance up to the largest, of which the system gives only what is
/// written; about 48 bytes for each distance that is far beyond the number of accesses. Equality,
/// and the stored form, depend on the counts alone.
#[derive(Clone, Default)]
pub struct ExactHistogram {
    /// Slot 0 counts the cold accesses, slot `d + 1` those at distance `d`.
    counts: Counters,
}

/// The slot of a distance. Cold is the largest number: one step on, it is slot 0, without a branch.
#[inline]
pub(crate) fn slot(distance: Distance) -> u64 {
    distance.raw().wrapping_add(1)
}

impl ExactHistogram {
    /// A histogram of no accesses.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a column of distances. Cost: two passes over the column, no allocation unless a
    /// distance is larger than every one before.
    pub fn add_column(&mut self, distances: &[Distance]) {
        self.counts
            .add_column(distances.iter().map(|distance| slot(*distance)));
    }

    /// The slots that have a counter in the array.
    #[inline]
    pub(crate) fn slots(&self) -> u64 {
        self.counts.slots()
    }

    /// Counts one for each of the slots `first + offset`, all of them in the array (else it may
    /// panic).
    pub(crate) fn add_batch(&mut self, first: usize, behind: &[u16]) {
        self.counts.add_batch(first, behind);
    }

    /// Counts `accesses` accesses at `distance`.
    pub fn add(&mut self, distance: Distance, accesses: u64) {
        self.counts.add(slot(distance), accesses);
    }

    /// Counts `accesses` accesses at `distance`, one of few distances that are far from each other,
    /// as of an estimate or of bins. Memory: 48 bytes, where the array of counters would have a
    /// page for each.
    pub fn add_far(&mut self, distance: Distance, accesses: u64) {
        self.counts.add_in_place(slot(distance), accesses);
    }

    /// Adds all counts of another histogram. Cost: linear in the other's memory.
    pub fn merge(&mut self, other: &ExactHistogram) {
        self.counts.merge(&other.counts);
    }

    /// The histogram in which each finite distance is what `change` makes of it.
    pub fn map(&self, change: impl Fn(Distance) -> Distance) -> ExactHistogram {
        let mut changed = ExactHistogram::new();
        changed.add(Distance::COLD, self.cold());
        for (items, accesses) in self.iter() {
            changed.add(change(Distance::new(items)), accesses);
        }
        changed
    }

    /// Drops the cold accesses: for callers that count a segment of a trace, in which the first
    /// access to an item need not be the first of the trace.
    pub fn forget_cold(&mut self) {
        self.counts.clear(0);
    }

    /// The number of cold accesses: with an exact engine, the number of distinct items.
    pub fn cold(&self) -> u64 {
        self.counts.get(0)
    }

    /// The number of accesses.
    pub fn accesses(&self) -> u64 {
        self.misses(0)
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.last().is_none()
    }

    /// The distances that occur, ascending, each with its count.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.iter_from(0)
    }

    /// Those of at least `items`.
    fn iter_from(&self, items: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let slots = items
            .checked_add(1)
            .map(|first| self.counts.iter_from(first));
        slots
            .into_iter()
            .flatten()
            .map(|(slot, count)| (slot - 1, count))
    }

    /// The sum of the finite distances. Saturates.
    pub fn distance_sum(&self) -> u128 {
        self.iter().fold(0, |sum: u128, (distance, count)| {
            sum.saturating_add(u128::from(distance) * u128::from(count))
        })
    }

    /// The mean of the finite distances, or `None` if every access is cold.
    pub fn mean(&self) -> Option<f64> {
        let reuses = self.reuses();
        (reuses > 0).then(|| self.distance_sum() as f64 / reuses as f64)
    }

    /// The largest finite distance, or `None` if every access is cold.
    pub fn max(&self) -> Option<u64> {
        self.counts.last().and_then(|slot| slot.checked_sub(1))
    }

    /// The same accesses in the field's log2 bins.
    pub fn log2(&self) -> Log2Histogram {
        Log2Histogram::of(self)
    }

    /// Misses of a fully associative LRU cache of `items` items: the accesses with a distance of at
    /// least that, and the cold ones. Exact. Cost: linear in the distances the first time after
    /// something was counted, and some microseconds then.
    pub fn misses(&self, items: u64) -> u64 {
        let slots = items.checked_add(1);
        let reuses = slots.map_or(0, |first| self.counts.sum_from(first));
        reuses.saturating_add(self.cold())
    }

    /// [`misses`](Self::misses) per access; 0 if there are no accesses.
    pub fn miss_ratio(&self, items: u64) -> f64 {
        ratio(self.misses(items), self.accesses())
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        Bytes(self.counts.memory())
    }
}

impl Histogram for ExactHistogram {
    fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.iter()
            .map(|(distance, count)| (distance, distance, count))
    }

    fn cold(&self) -> u64 {
        ExactHistogram::cold(self)
    }

    fn reuses(&self) -> u64 {
        self.counts.sum_from(1)
    }
}

impl PartialEq for ExactHistogram {
    fn eq(&self, other: &Self) -> bool {
        self.cold() == other.cold() && self.iter().eq(other.iter())
    }
}

impl Eq for ExactHistogram {}

impl fmt::Debug for ExactHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.iter())
            .entry(&"cold", &self.cold())
            .finish()
    }
}

impl Serialize for ExactHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs: Vec<(u64, u64)> = self.iter().collect();
        SparseSteps::new(pairs.iter().copied(), self.cold()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ExactHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sparse = Sparse::deserialize(deserializer)?;
        let mut histogram = ExactHistogram::new();
        histogram.add(Distance::COLD, sparse.cold());
        for (distance, count) in sparse.decode(u64::MAX).map_err(D::Error::custom)? {
            histogram.add(Distance::new(distance), count);
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(raw: &[u64]) -> Vec<Distance> {
        raw.iter().map(|raw| Distance::new(*raw)).collect()
    }

    #[test]
    fn column_equals_single_accesses() {
        let raw = [
            0,
            3,
            3,
            u64::MAX,
            1 << 60,
            5000,
            u64::MAX - 1,
            3,
            (1 << 30) - 2,
            (1 << 30) - 1,
            1 << 60,
        ];
        let mut whole = ExactHistogram::new();
        whole.add_column(&column(&raw));
        let mut single = ExactHistogram::new();
        for distance in column(&raw) {
            single.add(distance, 1);
        }
        assert_eq!(whole, single);
        let pairs: Vec<_> = whole.iter().collect();
        let far = [
            ((1 << 30) - 2, 1),
            ((1 << 30) - 1, 1),
            (1 << 60, 2),
            (u64::MAX - 1, 1),
        ];
        assert_eq!(pairs, [&[(0, 1), (3, 3), (5000, 1)][..], &far].concat());
        assert_eq!(
            (whole.cold(), whole.accesses(), whole.max()),
            (1, 11, Some(u64::MAX - 1))
        );
        assert_eq!(whole.misses(1 << 60), 4);
        assert_eq!(whole.misses(4), 7);
        assert_eq!(whole.misses(u64::MAX), 1);
    }

    #[test]
    fn enormous_distances_take_little_memory() {
        let mut histogram = ExactHistogram::new();
        histogram.add_column(&column(&[1 << 60, 1 << 62, 7, 1 << 20]));
        assert!(
            histogram.memory() < Bytes(256 << 10),
            "{}",
            histogram.memory()
        );
    }

    #[test]
    fn equality_ignores_capacity() {
        let mut wide = ExactHistogram::new();
        wide.add(Distance::new(100_000), 0);
        wide.add_column(&[]);
        assert!(wide.is_empty());
        assert_eq!(wide, ExactHistogram::new());
        wide.add(Distance::new(1 << 20), 0);
        wide.add(Distance::new(2), 4);
        let mut narrow = ExactHistogram::new();
        narrow.add(Distance::new(2), 4);
        assert_eq!(wide, narrow);
        assert_eq!(
            serde_json::to_vec(&wide).unwrap(),
            serde_json::to_vec(&narrow).unwrap()
        );
        assert_eq!((wide.max(), wide.mean()), (Some(2), Some(2.0)));
    }

    #[test]
    fn mean_and_max_of_cold_accesses_are_none() {
        let mut histogram = ExactHistogram::new();
        assert_eq!(
            (histogram.max(), histogram.mean(), histogram.accesses()),
            (None, None, 0)
        );
        assert_eq!(histogram.miss_ratio(1), 0.0);
        histogram.add(Distance::COLD, 3);
        assert_eq!(
            (histogram.max(), histogram.mean(), histogram.misses(9)),
            (None, None, 3)
        );
    }

    #[test]
    fn cold_accesses_can_be_left_out() {
        let mut histogram = ExactHistogram::new();
        histogram.add_column(&vec![Distance::COLD; 70_000]);
        histogram.add_column(&column(&[5, 0]));
        histogram.forget_cold();
        assert_eq!((histogram.cold(), histogram.accesses()), (0, 2));
    }

    #[test]
    fn sums_saturate_instead_of_wrapping() {
        let mut histogram = ExactHistogram::new();
        histogram.add(Distance::new(1), u64::MAX);
        histogram.add_column(&column(&[1, 1, 2]));
        assert_eq!(histogram.accesses(), u64::MAX);
        assert_eq!(histogram.misses(0), u64::MAX);
    }

    #[test]
    fn stored_forms_that_no_histogram_wrote_are_refused() {
        let cases = [
            r#"{"steps":[[1,1],[0,1]],"cold":0}"#,
            r#"{"steps":[[1,0]],"cold":0}"#,
            r#"{"steps":[[18446744073709551615,1]],"cold":0}"#,
            r#"{"steps":[[9,1],[18446744073709551614,1]],"cold":0}"#,
            r#"{"steps":[[1,18446744073709551615]],"cold":1}"#,
        ];
        for case in cases {
            assert!(
                serde_json::from_str::<ExactHistogram>(case).is_err(),
                "{case}"
            );
        }
    }
}
