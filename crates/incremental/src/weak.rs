//! The neighbours of a vertex in a graph without directions.

use reuselens_graph::{Edge, EdgeKind, StoredGraph, VertexId};

/// The neighbours of `vertex`, whatever the direction of the edge. A vertex that is both a
/// neighbour and an in-neighbour comes twice.
#[inline]
pub(crate) fn neighbors<G: StoredGraph>(
    graph: &G,
    vertex: VertexId,
) -> impl Iterator<Item = &[VertexId]> {
    let directed = graph.kind() == EdgeKind::Directed;
    let into = directed.then(|| graph.in_neighbors(vertex));
    graph.neighbors(vertex).chain(into.into_iter().flatten())
}

/// The number of ids that [`neighbors`] returns.
#[inline]
pub(crate) fn degree<G: StoredGraph>(graph: &G, vertex: VertexId) -> usize {
    match graph.kind() {
        EdgeKind::Undirected => graph.degree(vertex),
        EdgeKind::Directed => graph.degree(vertex) + graph.in_degree(vertex),
    }
}

/// Whether an edge leads from either vertex to the other.
pub(crate) fn adjacent<G: StoredGraph>(graph: &G, u: VertexId, v: VertexId) -> bool {
    let kind = graph.kind();
    graph.contains(Edge::new(kind, u, v))
        || (kind == EdgeKind::Directed && graph.contains(Edge::new(kind, v, u)))
}

/// The number of ids in all lists that [`neighbors`] reads.
pub(crate) fn ids<G: StoredGraph>(graph: &G) -> u64 {
    2 * graph.edges()
}
