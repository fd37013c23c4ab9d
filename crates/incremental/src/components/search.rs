//! Components by search from each vertex that no earlier search reached.

use reuselens_graph::{Delta, StoredGraph, VertexId};

use crate::{Choice, Maintain, Work, weak};

/// Not in a component yet.
const NONE: VertexId = VertexId::MAX;

/// Components that are computed again after each batch.
#[derive(Clone, Debug)]
pub struct StaticComponents {
    labels: Vec<VertexId>,
    queue: Vec<VertexId>,
}

impl StaticComponents {
    /// The components of a graph.
    pub fn new<G: StoredGraph>(graph: &G) -> Self {
        let mut new = Self {
            labels: Vec::new(),
            queue: Vec::new(),
        };
        new.apply(graph, &Delta::default());
        new
    }
}

impl<G: StoredGraph> Maintain<G> for StaticComponents {
    type Value = VertexId;

    fn apply(&mut self, graph: &G, _: &Delta) -> Work {
        let mut work = Work {
            choice: Choice::Recomputed,
            affected: u64::from(graph.vertices()),
            ..Work::default()
        };
        self.labels.clear();
        self.labels.resize(graph.vertices() as usize, NONE);
        for smallest in 0..graph.vertices() {
            if self.labels[smallest as usize] != NONE {
                continue;
            }
            self.labels[smallest as usize] = smallest;
            self.queue.push(smallest);
            while let Some(vertex) = self.queue.pop() {
                for block in weak::neighbors(graph, vertex) {
                    work.scanned += block.len() as u64;
                    for &neighbor in block {
                        let label = &mut self.labels[neighbor as usize];
                        if *label == NONE {
                            *label = smallest;
                            self.queue.push(neighbor);
                        }
                    }
                }
            }
        }
        work
    }

    fn value(&self, vertex: VertexId) -> VertexId {
        self.labels[vertex as usize]
    }

    fn answer(&self) -> Vec<VertexId> {
        self.labels.clone()
    }
}
