//! The published incremental search: everything below the batch is searched again.

use reuselens_graph::{Delta, StoredGraph, VertexId};

use super::search::{Frontier, levels};
use super::{StaticDepths, UNREACHED};
use crate::{Choice, Maintain, Work};

/// Depths kept by the published rule (Shen 2021, section 4.3.4.1), corrected.
///
/// The threshold is the least depth among the ends of changed edges. Depths up to the threshold
/// stay, deeper ones are found again from the vertices at the threshold. (The printed rule
/// restarts from all vertices at the threshold *and deeper*, which gives wrong depths.) Costs a
/// pass over all vertices, and the edges of all vertices from the threshold on.
#[derive(Clone, Debug)]
pub struct PublishedDepths {
    root: VertexId,
    depths: Vec<u32>,
    frontier: Frontier,
}

impl PublishedDepths {
    /// The depths from `root`, which may be beyond the present vertices.
    pub fn new<G: StoredGraph>(graph: &G, root: VertexId) -> Self {
        Self {
            root,
            depths: Maintain::<G>::answer(&StaticDepths::new(graph, root)),
            frontier: Frontier::default(),
        }
    }
}

impl<G: StoredGraph> Maintain<G> for PublishedDepths {
    type Value = u32;

    fn apply(&mut self, graph: &G, delta: &Delta) -> Work {
        self.depths.resize(graph.vertices() as usize, UNREACHED);
        if let Some(depth) = self.depths.get_mut(self.root as usize) {
            *depth = 0;
        }
        let edges = delta.inserted.iter().chain(&delta.deleted);
        let depths = edges.flat_map(|edge| [edge.from, edge.to]);
        let threshold = depths.map(|vertex| self.depths[vertex as usize]).min();
        let Some(threshold) = threshold.filter(|&threshold| threshold != UNREACHED) else {
            return Work::default();
        };
        self.frontier.now.clear();
        for (vertex, depth) in (0..).zip(&mut self.depths) {
            if *depth == threshold {
                self.frontier.now.push(vertex);
            } else if *depth > threshold {
                *depth = UNREACHED;
            }
        }
        let (scanned, affected) = levels(graph, &mut self.depths, threshold, &mut self.frontier);
        Work {
            choice: Choice::Repaired,
            scanned,
            affected,
            predicted: 0,
        }
    }

    fn value(&self, vertex: VertexId) -> u32 {
        self.depths[vertex as usize]
    }

    fn answer(&self) -> Vec<u32> {
        self.depths.clone()
    }
}
