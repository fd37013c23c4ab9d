//! What a stored graph answers, and how it is changed.

use crate::{Delta, Edge, EdgeChange, EdgeKind, VertexId};

/// The number of vertices that a graph can have: ids are below it.
///
/// The ids above are free for markers such as "no vertex".
pub const VERTEX_LIMIT: VertexId = VertexId::MAX - 1;

/// A graph in memory whose neighbours can be read, and which batches change.
///
/// Neighbours are read in blocks: contiguous slices of ids. How many blocks a vertex has, how
/// large they are and whether they are sorted depends on the storage.
///
/// In an undirected graph each edge is in the lists of both of its ends, and in-neighbours are
/// neighbours.
pub trait StoredGraph: Sync {
    /// Whether edges have a direction.
    fn kind(&self) -> EdgeKind;

    /// The number of vertices. All ids below it are vertices.
    fn vertices(&self) -> VertexId;

    /// The number of edges; an undirected edge counts once.
    fn edges(&self) -> u64;

    /// The number of vertices that an edge leads to from `vertex`.
    fn degree(&self, vertex: VertexId) -> usize;

    /// The number of vertices from which an edge leads to `vertex`.
    fn in_degree(&self, vertex: VertexId) -> usize;

    /// Whether the edge is present. Its ends may be beyond the present vertices.
    fn contains(&self, edge: Edge) -> bool;

    /// The vertices that an edge leads to from `vertex`, each once.
    fn neighbors(&self, vertex: VertexId) -> impl Iterator<Item = &[VertexId]>;

    /// The vertices from which an edge leads to `vertex`, each once.
    fn in_neighbors(&self, vertex: VertexId) -> impl Iterator<Item = &[VertexId]>;

    /// Changes the edges by a batch, and returns what that changed.
    ///
    /// The last request for an edge decides. Self loops, insertions of present edges and deletions
    /// of absent ones change nothing. An edge that is inserted beyond the present vertices makes
    /// them: the graph grows to its larger id.
    ///
    /// # Panics
    /// If an edge that is inserted has an id of [`VERTEX_LIMIT`] or above. Memory grows with the
    /// largest id, so callers bound the ids of what they read.
    fn apply(&mut self, changes: &[EdgeChange]) -> Delta;

    /// The bytes that the vertices and edges use, reserved space included.
    fn memory(&self) -> usize;
}
