//! What all maintained answers have in common.

use reuselens_graph::{Delta, StoredGraph, VertexId};

/// An answer about a graph, with a value for each vertex, that is kept up to date.
pub trait Maintain<G: StoredGraph> {
    /// The answer for one vertex.
    type Value: Copy + Eq + std::fmt::Debug;

    /// Brings the answer up to date after a batch.
    ///
    /// `graph` is the graph after the batch, and `delta` what the batch changed since the last
    /// call, or since the answer was made.
    fn apply(&mut self, graph: &G, delta: &Delta) -> Work;

    /// The answer for a vertex of the graph.
    fn value(&self, vertex: VertexId) -> Self::Value;

    /// The answers for all vertices, in their order. Costs a pass over all vertices.
    fn answer(&self) -> Vec<Self::Value>;
}

/// Whether an answer is repaired or recomputed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Whichever is predicted to be less work.
    #[default]
    Predict,
    /// Always repaired.
    Repair,
    /// Always recomputed.
    Recompute,
}

/// How an answer was brought up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// No change of the batch could change the answer.
    #[default]
    Unchanged,
    /// What the batch affected was repaired.
    Repaired,
    /// The answer was computed again, from the start or after an unfinished repair.
    Recomputed,
}

/// The work for a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// How the answer was brought up to date.
    pub choice: Choice,
    /// Ids of neighbours that were read or compared. Each thread reads the list of a hub anew.
    pub scanned: u64,
    /// Vertices whose answer had to be found again. Not all of these answers differ. Of triangles
    /// that are repaired: triangles that were made or broken.
    pub affected: u64,
    /// The ids that a repair was predicted to read; 0 if nothing was predicted.
    pub predicted: u64,
}
