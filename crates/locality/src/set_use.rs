//! How the accesses of a cell fell on the sets of the first cache.

use serde::{Deserialize, Serialize};

/// Misses in a row whose sets are counted: as many as a first cache has sets.
pub const MISSES_AT_A_TIME: u32 = 64;

/// What a simulated first cache with its real sets and true LRU saw of a cell, or of a sample of its accesses. All
/// are counts: those of several runs add up, in any order.
///
/// A model that lets lines fall on sets at random ([`SetAssociative`](crate::SetAssociative)) cannot see that data
/// which lie a power of two apart share a few sets. This can.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetUse {
    /// Accesses that were simulated.
    pub accesses: u64,
    /// Those of them that missed.
    pub misses: u64,
    /// Stretches of [`MISSES_AT_A_TIME`] misses, one after the other.
    pub stretches: u64,
    /// The sum over the stretches of the number of different sets that their misses fell into.
    pub sets: u64,
    /// Numbers of lines between a miss and the one before, each with the misses that certainly had it; ascending. Of each run
    /// only the one that most had, if most had one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strides: Vec<(u64, u64)>,
}

impl SetUse {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.accesses == 0
    }

    /// Adds what is known of others.
    pub fn merge(&mut self, other: &SetUse) {
        self.accesses = self.accesses.saturating_add(other.accesses);
        self.misses = self.misses.saturating_add(other.misses);
        self.stretches = self.stretches.saturating_add(other.stretches);
        self.sets = self.sets.saturating_add(other.sets);
        for &(stride, misses) in &other.strides {
            match self
                .strides
                .binary_search_by_key(&stride, |(lines, _)| *lines)
            {
                Ok(at) => self.strides[at].1 = self.strides[at].1.saturating_add(misses),
                Err(at) => self.strides.insert(at, (stride, misses)),
            }
        }
    }

    /// The mean number of sets that a stretch of misses fell into.
    pub fn sets_at_a_time(&self) -> Option<f64> {
        (self.stretches > 0).then(|| self.sets as f64 / self.stretches as f64)
    }

    /// The number of lines that most misses were from the one before, if it was the same for half of them.
    pub fn stride(&self) -> Option<u64> {
        let most = self
            .strides
            .iter()
            .max_by_key(|(lines, misses)| (*misses, std::cmp::Reverse(*lines)));
        most.filter(|(_, misses)| *misses >= self.misses / 2)
            .map(|(lines, _)| *lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_the_same_in_any_order() {
        let one = |stride, misses| SetUse {
            accesses: 100,
            misses,
            stretches: 1,
            sets: 3,
            strides: vec![(stride, misses)],
        };
        let parts = [one(64, 70), one(1, 64), one(64, 90)];
        let merged = |order: [usize; 3]| {
            let mut sum = SetUse::default();
            order.iter().for_each(|part| sum.merge(&parts[*part]));
            sum
        };
        let sum = merged([0, 1, 2]);
        for order in [[0, 2, 1], [1, 0, 2], [2, 1, 0]] {
            assert_eq!(merged(order), sum);
        }
        assert_eq!(sum.strides, [(1, 64), (64, 160)]);
        assert_eq!((sum.stride(), sum.sets_at_a_time()), (Some(64), Some(3.0)));
        assert_eq!(SetUse::default().stride(), None);
    }
}
