//! [`SharedData`]: accesses of threads that take lines away from each other.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// One side of a [`SharedData`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SharedEnd {
    /// The instruction: index into [`Profile::sites`](crate::Profile::sites).
    pub site: u32,
    /// What it accesses: index into [`Profile::objects`](crate::Profile::objects).
    pub object: u32,
    /// Offset of the access in its element, if that is known.
    pub offset: Option<u32>,
}

/// Two accesses of different threads to one line: the one stores, so the other, in a coherent
/// private cache, finds the line invalidated. Where there are too many pairs, one with an unknown
/// site and object at both ends stands for the others; see [`UnlistedPairs`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedData {
    /// The last store that invalidated the line before the victim's access.
    pub writer: SharedEnd,
    /// The access that found it invalidated.
    pub victim: SharedEnd,
    /// Invalidations after which the thread used bytes that others had written.
    pub true_sharing: u64,
    /// Invalidations after which it used only bytes that no other thread had written.
    pub false_sharing: u64,
    /// Distinct lines that these happened to; at least as many where there are millions.
    pub lines: u64,
}

/// Invalidations that are not counted for a pair of their own, as there were too many pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlistedPairs {
    /// How many these are.
    pub invalidations: u64,
    /// How many of them any one pair has at most, whether it is listed or not.
    pub most_of_a_pair: u64,
}

impl SharedData {
    /// What it is of.
    pub(crate) fn key(&self) -> (SharedEnd, SharedEnd) {
        (self.writer, self.victim)
    }

    /// Adds the counts of another with the same key.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.true_sharing = self.true_sharing.saturating_add(other.true_sharing);
        self.false_sharing = self.false_sharing.saturating_add(other.false_sharing);
        self.lines = self.lines.saturating_add(other.lines);
    }

    /// Sorts pairs, the most invalidations first, and adds up those of the same accesses.
    pub fn unite(pairs: &mut Vec<Self>) {
        pairs.sort_by_key(Self::key);
        super::unite(pairs, Self::key, Self::merge);
        pairs.sort_by(Self::order);
    }

    /// The most invalidations first; equal ones by their ends.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let invalidations = |it: &Self| it.true_sharing.saturating_add(it.false_sharing);
        (invalidations(other).cmp(&invalidations(self))).then_with(|| self.key().cmp(&other.key()))
    }
}
