//! The graph without directions that triangles are in.

use reuselens_graph::{Delta, Edge, EdgeChange, EdgeKind, SortedGraph, StoredGraph};

use crate::weak;

/// An undirected copy of a directed graph. Costs its memory, and a change of it for each change.
#[derive(Clone, Debug)]
pub(super) struct Undirected {
    pub graph: SortedGraph,
    changes: Vec<EdgeChange>,
}

impl Undirected {
    /// The copy of a graph, if that is directed.
    pub fn of<G: StoredGraph>(graph: &G) -> Option<Self> {
        if graph.kind() == EdgeKind::Undirected {
            return None;
        }
        let mut copy = Self {
            graph: SortedGraph::new(EdgeKind::Undirected, graph.vertices()),
            changes: Vec::new(),
        };
        let edges = (0..graph.vertices()).flat_map(|from| {
            let ids = graph.neighbors(from).flatten();
            ids.map(move |&to| Edge { from, to })
        });
        copy.graph.load(edges);
        Some(copy)
    }

    /// Follows a batch of the directed graph. Returns what it changed here.
    pub fn apply<G: StoredGraph>(&mut self, graph: &G, delta: &Delta) -> Delta {
        self.graph.grow(graph.vertices());
        self.changes.clear();
        let inserted = delta.inserted.iter().map(|&edge| EdgeChange::Insert(edge));
        self.changes.extend(inserted);
        // The opposite edge may still be there.
        let gone = delta
            .deleted
            .iter()
            .filter(|edge| !weak::adjacent(graph, edge.from, edge.to));
        self.changes
            .extend(gone.map(|&edge| EdgeChange::Delete(edge)));
        self.graph.apply(&self.changes)
    }
}
