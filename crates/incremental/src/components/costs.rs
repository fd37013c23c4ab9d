//! What cuts cost, and whether recomputing costs less.

use reuselens_graph::StoredGraph;

use crate::weak;

/// A cut costs as much as reading this many ids, beside those that it reads.
const CUT: u64 = 30;
/// An id that a search for a replacement reads costs as much as this many that are read in order.
const REPAIR_ID: u64 = 4;
/// A vertex that recomputing reaches costs as much as reading this many ids.
const RECOMPUTED_VERTEX: u64 = 16;
/// What cuts cost: the mean of the batch so far, beginning with that of the batches before.
///
/// A few cuts read a thousand times as much as the others. So a cut counts up to 16 times the
/// mean: otherwise one of them among the first would condemn all others.
#[derive(Clone, Copy, Debug)]
pub(super) struct CutCosts {
    /// The ids read, and the number of cuts.
    sum: u64,
    cuts: u64,
}

/// With how many cuts the batches before count.
const BEFORE: u64 = 64;

impl CutCosts {
    pub fn new() -> Self {
        let cuts = BEFORE;
        Self {
            sum: 8 * cuts,
            cuts,
        }
    }

    pub fn mean(self) -> u64 {
        self.sum / self.cuts
    }

    /// Begins a batch.
    pub fn begin(&mut self) {
        self.sum = self.sum * BEFORE / self.cuts;
        self.cuts = BEFORE;
    }

    /// Takes a cut into account that read this many ids.
    pub fn add(&mut self, ids: u64) {
        self.sum += ids.min(16 * (self.mean() + 4));
        self.cuts += 1;
    }

    /// Whether so many more cuts are predicted to be more work than recomputing.
    pub fn exceed<G: StoredGraph>(self, cuts: usize, graph: &G) -> bool {
        let recomputing = weak::ids(graph) + RECOMPUTED_VERTEX * u64::from(graph.vertices());
        cuts as u64 * (REPAIR_ID * self.mean() + CUT) > recomputing
    }
}
