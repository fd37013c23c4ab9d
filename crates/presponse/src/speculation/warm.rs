//! [`Warm`]: reads what the next batch will probably need, so that it is in the caches.

use std::time::{Duration, Instant};

use reuselens_graph::{EdgeChange, SortedGraph, StoredGraph, VertexId};

use super::TimedChange;

/// Vertices that are remembered.
const MOST_VERTICES: usize = 1 << 16;

/// The vertices of the last two batches: of the endpoints of a batch, two thirds and more were
/// active in the two before, on the graphs of `docs/design/graphs.md`.
#[derive(Clone, Debug, Default)]
pub struct Warm {
    /// Those of the last batch and of the one before.
    active: [Vec<VertexId>; 2],
    /// Keeps the reads from being left out.
    sum: u64,
}

impl Warm {
    /// Reads the lists of the active vertices. How long that took.
    pub fn read(&mut self, graph: &SortedGraph) -> Duration {
        let start = Instant::now();
        for &vertex in self.active.iter().flatten() {
            for block in graph.neighbors(vertex) {
                // One id of each line of 64 bytes.
                let ids = block.iter().step_by(16);
                self.sum = ids.fold(self.sum, |sum, id| sum.wrapping_add(u64::from(*id)));
            }
        }
        std::hint::black_box(self.sum);
        start.elapsed()
    }

    /// Learns which vertices are active.
    pub fn learn(&mut self, batch: &[TimedChange]) {
        self.active.swap(0, 1);
        let latest = &mut self.active[0];
        latest.clear();
        for TimedChange { change, .. } in batch.iter().take(MOST_VERTICES / 2) {
            let (EdgeChange::Insert(edge) | EdgeChange::Delete(edge)) = *change;
            latest.extend([edge.from, edge.to]);
        }
        latest.sort_unstable();
        latest.dedup();
    }
}
