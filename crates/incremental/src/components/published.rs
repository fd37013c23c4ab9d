//! The published incremental rule: components that the batch meets are computed again.

use reuselens_graph::{Delta, StoredGraph, VertexId};

use crate::{Choice, Maintain, Work, weak};

/// Components kept by the published rule (Shen 2021, section 4.3.4.2), corrected.
///
/// An inserted edge between two components marks both; a deleted edge marks its component. (The
/// printed rule marks only components of edges between two of them, so it never sees a deletion.)
/// The labels of all vertices in marked components are reset and found again as published: each
/// edge gives both ends the smaller label, until nothing changes. Costs a pass over all vertices,
/// and the edges of marked components times the number of rounds.
#[derive(Clone, Debug)]
pub struct PublishedComponents {
    labels: Vec<VertexId>,
    /// By label; all false between batches.
    marked: Vec<bool>,
    queue: Vec<VertexId>,
}

impl PublishedComponents {
    /// The components of a graph.
    pub fn new<G: StoredGraph>(graph: &G) -> Self {
        let mut new = Self {
            labels: (0..graph.vertices()).collect(),
            marked: vec![false; graph.vertices() as usize],
            queue: (0..graph.vertices()).collect(),
        };
        new.spread(graph);
        new
    }

    /// Spreads the smallest labels among the vertices of the queue. Returns the ids read.
    fn spread<G: StoredGraph>(&mut self, graph: &G) -> u64 {
        let (mut scanned, mut changed) = (0, true);
        while changed {
            changed = false;
            for &vertex in &self.queue {
                for block in weak::neighbors(graph, vertex) {
                    scanned += block.len() as u64;
                    for &neighbor in block {
                        let label = self.labels[vertex as usize];
                        let other = self.labels[neighbor as usize];
                        if label != other {
                            self.labels[vertex as usize] = label.min(other);
                            self.labels[neighbor as usize] = label.min(other);
                            changed = true;
                        }
                    }
                }
            }
        }
        scanned
    }
}

impl<G: StoredGraph> Maintain<G> for PublishedComponents {
    type Value = VertexId;

    fn apply(&mut self, graph: &G, delta: &Delta) -> Work {
        self.labels
            .extend(self.labels.len() as VertexId..graph.vertices());
        self.marked.resize(self.labels.len(), false);
        let label = |vertex: VertexId| self.labels[vertex as usize];
        let mut met = false;
        for edge in &delta.inserted {
            if label(edge.from) != label(edge.to) {
                met = true;
                self.marked[label(edge.from) as usize] = true;
                self.marked[label(edge.to) as usize] = true;
            }
        }
        for edge in &delta.deleted {
            met = true;
            self.marked[label(edge.from) as usize] = true;
        }
        if !met {
            return Work::default();
        }
        self.queue.clear();
        for (vertex, label) in (0..).zip(&mut self.labels) {
            if self.marked[*label as usize] {
                *label = vertex;
                self.queue.push(vertex);
            }
        }
        self.marked.fill(false);
        Work {
            choice: Choice::Repaired,
            scanned: self.spread(graph),
            affected: self.queue.len() as u64,
            predicted: 0,
        }
    }

    fn value(&self, vertex: VertexId) -> VertexId {
        self.labels[vertex as usize]
    }

    fn answer(&self) -> Vec<VertexId> {
        self.labels.clone()
    }
}
