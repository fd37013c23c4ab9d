//! Which pairs are scored: a bounded part of all pairs.
//!
//! A graph of n vertices has n²/2 pairs, too many to score, and most of them never become edges.
//! Three sources are enumerated, each up to its own limit, in this order:
//!
//! 1. *recurring*: pairs that were seen, the latest first;
//! 2. *friends of friends*: for each recently active vertex, the latest neighbours of its latest
//!    neighbours;
//! 3. *recently active*: all pairs of the most recently active vertices.
//!
//! A pair with a vertex that was never seen is in none of them: nothing can predict it.

use crate::{History, Pair};

/// How many candidates each source gives at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateLimits {
    /// Pairs that were seen.
    pub recurring: usize,
    /// Vertices whose friends of friends are enumerated.
    pub friends_of: usize,
    /// How many of the latest neighbours count as friends. A vertex gives at most the square of it.
    pub friends: usize,
    /// Vertices of which all pairs are enumerated.
    pub active: usize,
}

impl Default for CandidateLimits {
    /// At most 65,536 + 1,024 × 16² + 256 × 255 / 2 = 360,320 pairs.
    fn default() -> Self {
        CandidateLimits {
            recurring: 65_536,
            friends_of: 1024,
            friends: 16,
            active: 256,
        }
    }
}

/// Pairs that may be inserted next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// Distinct, and sorted.
    pairs: Vec<Pair>,
}

impl Candidates {
    /// The candidates after `history`, within `limits`.
    ///
    /// Costs a scan of the history back to the oldest active vertex and pair that is taken, and
    /// sorting.
    pub fn enumerate(history: &History, limits: &CandidateLimits) -> Candidates {
        let mut pairs = history.recent_pairs(limits.recurring);
        let vertices = history.recent_vertices(limits.friends_of.max(limits.active));
        for vertex in vertices.iter().take(limits.friends_of) {
            friends_of_friends(history, *vertex, limits.friends, &mut pairs);
        }
        let active = &vertices[..vertices.len().min(limits.active)];
        for (at, u) in active.iter().enumerate() {
            pairs.extend(active[at + 1..].iter().filter_map(|v| Pair::new(*u, *v)));
        }
        pairs.sort_unstable();
        pairs.dedup();
        Candidates { pairs }
    }

    /// The candidates, sorted.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Those that `history` does not have.
    pub fn unseen(&self, history: &History) -> Candidates {
        let unseen = self
            .pairs
            .iter()
            .filter(|pair| history.seen(**pair).is_none());
        Candidates {
            pairs: unseen.copied().collect(),
        }
    }
}

/// Appends the pairs of `vertex` and the latest friends of its latest friends.
fn friends_of_friends(history: &History, vertex: u32, most: usize, pairs: &mut Vec<Pair>) {
    for friend in latest_friends(history, vertex, most) {
        let others = latest_friends(history, friend, most).into_iter();
        pairs.extend(others.filter_map(|other| Pair::new(vertex, other)));
    }
}

/// Up to `most` neighbours of `vertex`, the latest first.
fn latest_friends(history: &History, vertex: u32, most: usize) -> Vec<u32> {
    let mut links: Vec<(usize, u32)> = history
        .links(vertex)
        .iter()
        .map(|link| (link.latest, link.to))
        .collect();
    // Hubs have many links: only the part that is taken is sorted.
    if most < links.len() {
        links.select_nth_unstable_by(most, |a, b| b.cmp(a));
        links.truncate(most);
    }
    links.sort_unstable_by(|a, b| b.cmp(a));
    links.into_iter().map(|(_, friend)| friend).collect()
}
