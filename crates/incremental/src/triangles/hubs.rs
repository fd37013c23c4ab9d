//! A bitmap of the neighbours of one vertex, for many intersections with it.

use reuselens_graph::{SortedGraph, StoredGraph, VertexId};

/// The neighbours of a hub as bits. Costs a bit for each vertex of the graph, and setting them the
/// hub's degree; then an intersection costs the degree of the other vertex alone.
///
/// The graph must not change before [`HubMarks::clear`].
#[derive(Clone, Debug, Default)]
pub(super) struct HubMarks {
    bits: Vec<u64>,
    hub: Option<VertexId>,
}

impl HubMarks {
    /// Calls `each` with the common neighbours of `hub` and `other` in ascending order. Returns the
    /// ids that were read.
    pub fn common_neighbors(
        &mut self,
        graph: &SortedGraph,
        hub: VertexId,
        other: VertexId,
        mut each: impl FnMut(VertexId),
    ) -> u64 {
        let mut read = graph.degree(other);
        if self.hub != Some(hub) {
            self.clear(graph);
            self.bits.resize(graph.vertices().div_ceil(64) as usize, 0);
            for &id in graph.neighbors(hub).flatten() {
                self.bits[id as usize / 64] |= 1 << (id % 64);
            }
            self.hub = Some(hub);
            read += graph.degree(hub);
        }
        for &id in graph.neighbors(other).flatten() {
            if self.bits[id as usize / 64] >> (id % 64) & 1 != 0 {
                each(id);
            }
        }
        read as u64
    }

    /// Forgets the hub.
    pub fn clear(&mut self, graph: &SortedGraph) {
        let ids = self.hub.take().map(|hub| graph.neighbors(hub).flatten());
        ids.into_iter()
            .flatten()
            .for_each(|&id| self.bits[id as usize / 64] = 0);
    }
}
