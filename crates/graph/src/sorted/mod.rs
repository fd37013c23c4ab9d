//! Sorted lists of neighbours: the storage that everything here is built for.
//!
//! A vertex with up to three neighbours has them in the vertex array, most have a sorted array
//! with a quarter of slack at most after growth, and hubs have sorted blocks with an index. So
//! neighbours are read as contiguous memory, common neighbours are found by merging, and a change
//! moves 16 KiB at most. Terrace (Pandey et al., SIGMOD 2021) chooses the form by degree in the
//! same way.
//!
//! A batch costs O(k log k) to sort, a binary search for each request, and then one pass over each
//! list that many changes meet. With several threads the vertices are cut into ranges whose lists
//! and changes are equally long in sum; the result is the same for any number of threads.

mod common;
mod hub;
mod list;
mod ranges;

pub use list::NeighborBlocks;

use list::NeighborList;

use crate::requests::{self, EdgeRequest, ListChange, Lists};
use crate::{Delta, Edge, EdgeChange, EdgeKind, StoredGraph, VERTEX_LIMIT, VertexId};

/// Edges that are loaded as one batch, with 4 GB of memory for it.
const LOADED: usize = 1 << 26;

/// A graph with sorted lists of neighbours.
///
/// ```
/// use reuselens_graph::{Edge, EdgeChange, EdgeKind, SortedGraph, StoredGraph};
///
/// let kind = EdgeKind::Undirected;
/// let mut graph = SortedGraph::new(kind, 0);
/// let insert = |u, v| EdgeChange::Insert(Edge::new(kind, u, v));
/// let delta = graph.apply(&[insert(2, 1), insert(1, 2), insert(0, 1)]);
/// assert_eq!(delta.inserted.len(), 2);
/// assert_eq!(graph.neighbors(1).flatten().copied().collect::<Vec<_>>(), [0, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct SortedGraph {
    kind: EdgeKind,
    threads: usize,
    edges: u64,
    lists: Vec<NeighborList>,
    /// In-neighbours; empty in an undirected graph.
    in_lists: Vec<NeighborList>,
    /// Memory of `apply`, kept between batches.
    requests: Vec<EdgeRequest>,
    changes: Vec<ListChange>,
}

impl SortedGraph {
    /// A graph of `vertices` without edges. Batches are applied by one thread.
    ///
    /// # Panics
    /// If there are more than [`VERTEX_LIMIT`] vertices.
    #[must_use]
    pub fn new(kind: EdgeKind, vertices: VertexId) -> Self {
        let mut graph = Self {
            kind,
            threads: 1,
            edges: 0,
            lists: Vec::new(),
            in_lists: Vec::new(),
            requests: Vec::new(),
            changes: Vec::new(),
        };
        graph.grow(vertices);
        graph
    }

    /// Lets up to `threads` threads apply a batch. Small batches are applied by one.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// Makes all ids below `vertices` vertices, if they are not yet.
    ///
    /// # Panics
    /// If there are more than [`VERTEX_LIMIT`] vertices.
    pub fn grow(&mut self, vertices: VertexId) {
        assert!(
            vertices <= VERTEX_LIMIT,
            "{vertices} vertices are beyond the limit"
        );
        let count = self.lists.len().max(vertices as usize);
        self.lists.resize_with(count, NeighborList::default);
        if self.kind == EdgeKind::Directed {
            self.in_lists.resize_with(count, NeighborList::default);
        }
    }

    /// Calls `each` with the common neighbours of `u` and `v` in ascending order. Returns the
    /// number of ids that were read or compared.
    ///
    /// Costs the length of the shorter list times the logarithm of the ratio of both, or the sum
    /// of both lengths, whichever is less.
    #[inline]
    pub fn common_neighbors(&self, u: VertexId, v: VertexId, each: impl FnMut(VertexId)) -> u64 {
        common::intersect(&self.lists[u as usize], &self.lists[v as usize], each)
    }

    /// Calls `each` with the neighbours of `vertex` that are among `ids`, which are sorted. Returns
    /// the number of ids that were read or compared.
    #[inline]
    pub fn neighbors_among(
        &self,
        vertex: VertexId,
        ids: &[VertexId],
        mut each: impl FnMut(VertexId),
    ) -> u64 {
        common::intersect_with(&self.lists[vertex as usize], ids, &mut each)
    }

    /// All edges in ascending order, each once. Costs a pass over the lists.
    #[must_use]
    pub fn edge_list(&self) -> Vec<Edge> {
        let mut edges = Vec::with_capacity(self.edges as usize);
        for from in 0..self.vertices() {
            for to in self.neighbors(from).flatten().copied() {
                if self.kind == EdgeKind::Directed || from < to {
                    edges.push(Edge { from, to });
                }
            }
        }
        edges
    }

    /// Inserts any number of edges, in batches of bounded memory.
    ///
    /// # Panics
    /// If an edge has an id of [`VERTEX_LIMIT`] or above.
    pub fn load(&mut self, edges: impl IntoIterator<Item = Edge>) {
        self.load_by(LOADED, edges.into_iter());
    }

    fn load_by(&mut self, count: usize, mut edges: impl Iterator<Item = Edge>) {
        let mut batch = Vec::new();
        loop {
            batch.clear();
            batch.extend(edges.by_ref().take(count).map(EdgeChange::Insert));
            if batch.is_empty() {
                break;
            }
            self.apply(&batch);
        }
        // Batches that follow are smaller than those of loading.
        (self.requests, self.changes) = (Vec::new(), Vec::new());
    }

    fn ins(&self) -> &[NeighborList] {
        match self.kind {
            EdgeKind::Undirected => &self.lists,
            EdgeKind::Directed => &self.in_lists,
        }
    }
}

impl StoredGraph for SortedGraph {
    fn kind(&self) -> EdgeKind {
        self.kind
    }

    fn vertices(&self) -> VertexId {
        self.lists.len() as VertexId
    }

    fn edges(&self) -> u64 {
        self.edges
    }

    fn degree(&self, vertex: VertexId) -> usize {
        self.lists[vertex as usize].len()
    }

    fn in_degree(&self, vertex: VertexId) -> usize {
        self.ins()[vertex as usize].len()
    }

    fn contains(&self, edge: Edge) -> bool {
        let list = self.lists.get(edge.from as usize);
        list.is_some_and(|list| list.contains(edge.to))
    }

    #[inline]
    fn neighbors(&self, vertex: VertexId) -> impl Iterator<Item = &[VertexId]> {
        self.lists[vertex as usize].blocks()
    }

    #[inline]
    fn in_neighbors(&self, vertex: VertexId) -> impl Iterator<Item = &[VertexId]> {
        self.ins()[vertex as usize].blocks()
    }

    fn apply(&mut self, changes: &[EdgeChange]) -> Delta {
        requests::collect(self.kind, changes, &mut self.requests);
        ranges::keep_effective(&self.lists, &mut self.requests, self.threads);
        self.grow(requests::vertices_after(self.vertices(), &self.requests));

        let lists = match self.kind {
            EdgeKind::Undirected => Lists::Both,
            EdgeKind::Directed => Lists::From,
        };
        requests::list_changes(&self.requests, lists, &mut self.changes);
        ranges::apply(&mut self.lists, &self.changes, self.threads);
        if self.kind == EdgeKind::Directed {
            requests::list_changes(&self.requests, Lists::To, &mut self.changes);
            ranges::apply(&mut self.in_lists, &self.changes, self.threads);
        }

        let delta = requests::delta(&self.requests);
        requests::empty(&mut self.requests);
        requests::empty(&mut self.changes);
        self.edges = self.edges + delta.inserted.len() as u64 - delta.deleted.len() as u64;
        delta
    }

    fn memory(&self) -> usize {
        let all = [&self.lists, &self.in_lists];
        let vertices: usize = all.iter().map(|lists| lists.capacity()).sum();
        let outside: usize = all.into_iter().flatten().map(NeighborList::memory).sum();
        let of_batches = self.requests.capacity() * size_of::<EdgeRequest>()
            + self.changes.capacity() * size_of::<ListChange>();
        vertices * size_of::<NeighborList>() + outside + of_batches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vertex_costs_24_bytes() {
        assert_eq!(size_of::<NeighborList>(), 24);
    }

    #[test]
    fn memory_of_a_large_batch_is_given_back_and_that_of_a_small_one_is_counted() {
        for kind in [EdgeKind::Undirected, EdgeKind::Directed] {
            let mut graph = SortedGraph::new(kind, 0);
            let edge = |from| Edge { from, to: from + 1 };
            let path = (0..requests::KEPT as u32 + 10).map(edge);
            graph.apply(&path.map(EdgeChange::Insert).collect::<Vec<_>>());
            assert!(graph.requests.capacity() <= requests::KEPT);
            assert!(graph.changes.capacity() <= requests::KEPT);
            let all = graph.memory();
            let kept = graph.requests.capacity() * 16 + graph.changes.capacity() * 16;
            (graph.requests, graph.changes) = (Vec::new(), Vec::new());
            assert_eq!(graph.memory(), all - kept);
        }
    }

    #[test]
    fn load_in_batches_gives_the_graph_of_one_batch() {
        for kind in [EdgeKind::Undirected, EdgeKind::Directed] {
            let edges = || (0..50).map(|n| Edge::new(kind, n * 7 % 20, n * 11 % 23));
            let mut whole = SortedGraph::new(kind, 0);
            whole.apply(&edges().map(EdgeChange::Insert).collect::<Vec<_>>());
            for count in [1, 3, 50, 60] {
                let mut graph = SortedGraph::new(kind, 0);
                graph.load_by(count, edges());
                assert_eq!(graph.requests.capacity() + graph.changes.capacity(), 0);
                assert_eq!(graph.edges(), whole.edges());
                assert_eq!(graph.vertices(), whole.vertices());
                for vertex in 0..whole.vertices() {
                    let lists = [&graph, &whole].map(|graph| graph.neighbors(vertex).flatten());
                    let [found, wanted] = lists;
                    assert!(found.eq(wanted));
                }
            }
        }
    }
}
