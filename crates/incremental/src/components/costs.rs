//! What cuts cost, and whether recomputing costs less.
//!
//! The unit is an id that a search reads. `costs.rs` beside this folder has the other constants,
//! and how they are checked.

use reuselens_graph::StoredGraph;

use crate::{costs, weak};

/// A cut costs as much as reading this many ids, beside those that it reads.
const CUT: u64 = 30;
/// An id that a search for a replacement reads costs as much as this many that are read in order.
const REPAIR_ID: u64 = 4;
/// A step from a vertex to its parent that marks the vertex and notes the way costs as much as this
/// many ids that a search for a replacement reads: 8 to 16 ns, where one of these takes 1 to 8.
pub(super) const MARKED_STEP: u64 = 2;
/// So many other steps from a vertex to its parent cost as much as one of these ids: each takes 0.2
/// to 1.7 ns. Trees of meshes are deep, so there these steps are most of the work.
const STEPS: u64 = 3;

/// What cuts cost: the mean of the batch so far, beginning with that of the batches before.
///
/// A few cuts read a thousand times as much as the others. So a cut counts up to 16 times the
/// mean: otherwise one of them among the first would condemn all others.
#[derive(Clone, Copy, Debug)]
pub(super) struct CutCosts {
    /// The ids read, and the number of cuts.
    sum: u64,
    cuts: u64,
    /// The share of the deleted edges that cut a tree, a mean of the last batches; nothing before
    /// the first of more than [`ENOUGH`] deletions.
    share: Option<f64>,
}

/// From more deletions than these on, the share of those that cut is learned.
const ENOUGH: usize = 64;

/// With at least this many cuts the batches before count.
const BEFORE: u64 = 64;

impl CutCosts {
    pub fn new() -> Self {
        let cuts = BEFORE;
        Self {
            sum: 8 * cuts,
            cuts,
            share: None,
        }
    }

    pub fn mean(self) -> u64 {
        self.sum / self.cuts
    }

    /// How many cuts this many deletions are predicted to make. Before anything is known: as many
    /// of the deleted edges are in the forest as of all edges.
    pub fn predict<G: StoredGraph>(self, deletions: usize, graph: &G) -> usize {
        let edges = graph.edges() + deletions as u64;
        let share = f64::from(graph.vertices()) / edges.max(1) as f64;
        (self.share.unwrap_or(share).min(1.0) * deletions as f64) as usize
    }

    /// Begins a batch, in which so many deletions made so many cuts.
    pub fn begin(&mut self, deletions: usize, cuts: usize) {
        if deletions > ENOUGH {
            let new = cuts as f64 / deletions as f64;
            self.share = Some(self.share.map_or(new, |share| (share + new) / 2.0));
        }
        // Cuts come in the order of their vertices, and those that came first to the graph are its
        // hubs: the first cuts of a batch read three times as much as the others. So the batches
        // before count as half of this one.
        let weight = BEFORE.max(cuts as u64 / 2);
        self.sum = self.sum * weight / self.cuts;
        self.cuts = weight;
    }

    /// Takes a cut into account that read this many ids, marked steps included, and went so many
    /// other steps in trees.
    pub fn add(&mut self, ids: u64, steps: u64) {
        let ids = ids + steps / STEPS;
        self.sum += ids.min(16 * (self.mean() + 4));
        self.cuts += 1;
    }

    /// Forgets a little, after a batch that was recomputed without a cut. Without that, one bad
    /// batch would rule out repairs for ever.
    pub fn forget(&mut self) {
        self.sum -= self.sum / 16;
    }

    /// Whether it is predicted to be more work than recomputing to look whether so many deletions
    /// cut, and to make so many cuts.
    pub fn exceed<G: StoredGraph>(self, deletions: usize, cuts: usize, graph: &G) -> bool {
        let recomputing = costs::recomputing(weak::ids(graph), graph.vertices().into());
        let repair = cuts as u64 * (REPAIR_ID * self.mean() + CUT);
        costs::looking(deletions) + repair > recomputing
    }
}

#[cfg(test)]
mod tests {
    use reuselens_graph::{EdgeKind, SortedGraph};

    use super::*;

    #[test]
    fn long_ways_in_trees_count_and_fade() {
        let graph = SortedGraph::new(EdgeKind::Undirected, 1000);
        let mut costs = CutCosts::new();
        assert!(!costs.exceed(0, 100, &graph));
        costs.begin(200, 100);
        (0..100).for_each(|_| costs.add(0, 300));
        // 100 cuts of 50 to 100 ids each, where recomputing costs 16,000.
        assert!(costs.exceed(0, 100, &graph));
        assert_eq!(costs.predict(400, &graph), 200);
        (0..32).for_each(|_| costs.forget());
        assert!(!costs.exceed(0, 100, &graph) && costs.exceed(10_000, 0, &graph));
    }
}
