//! Which triangles a batch makes and breaks, each once.
//!
//! Let the deleted edges be taken one after the other, and then the inserted ones. A triangle that
//! is gone is counted for the first of its edges that is taken, a new one for the last. So no
//! triangle is counted twice, whatever the number of its edges that changed, and only the graph
//! after the batch is needed:
//!
//! - When an inserted edge is taken, the present edges are those of the graph, but for the
//!   inserted
//!   ones with larger numbers.
//! - When a deleted edge is taken, they are those of the graph, without all inserted ones, and
//!   with
//!   the deleted ones with larger numbers.

use reuselens_graph::{Edge, SortedGraph, VertexId};

use super::lists::{ChangedList, ChangedLists};

/// The changed edges of a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    inserted: ChangedLists,
    deleted: ChangedLists,
}

impl Batch {
    /// Replaces the batch. All edges are between vertices below `vertices`.
    pub fn set(&mut self, vertices: VertexId, inserted: &[Edge], deleted: &[Edge]) {
        self.inserted.set(vertices, inserted);
        self.deleted.set(vertices, deleted);
    }

    /// Calls `each` with the third vertex of each triangle that the inserted edge of this number
    /// makes.
    pub fn made(
        &self,
        graph: &SortedGraph,
        number: u32,
        edge: Edge,
        mut each: impl FnMut(VertexId),
    ) {
        let (from, to) = (self.inserted.of(edge.from), self.inserted.of(edge.to));
        // Most vertices have no other inserted edge.
        if from.neighbors.len() == 1 && to.neighbors.len() == 1 {
            return graph.common_neighbors(edge.from, edge.to, each);
        }
        let before = |list: ChangedList<'_>, third| list.number(third).is_none_or(|at| at < number);
        graph.common_neighbors(edge.from, edge.to, |third| {
            if before(from, third) && before(to, third) {
                each(third);
            }
        });
    }

    /// Calls `each` with the third vertex of each triangle that the deleted edge of this number
    /// breaks.
    pub fn broken(
        &self,
        graph: &SortedGraph,
        number: u32,
        edge: Edge,
        mut each: impl FnMut(VertexId),
    ) {
        let Edge { from: u, to: v } = edge;
        let inserted = [self.inserted.of(u), self.inserted.of(v)];
        let is_new = |side: usize, third| inserted[side].number(third).is_some();
        graph.common_neighbors(u, v, |third| {
            if !is_new(0, third) && !is_new(1, third) {
                each(third);
            }
        });
        let (gone_u, gone_v) = (self.deleted.of(u), self.deleted.of(v));
        if gone_u.neighbors.len() == 1 && gone_v.neighbors.len() == 1 {
            return;
        }
        let after = |list: ChangedList<'_>, third| list.number(third).is_some_and(|at| at > number);
        graph.neighbors_among(v, gone_u.neighbors, |third| {
            if after(gone_u, third) && !is_new(1, third) {
                each(third);
            }
        });
        graph.neighbors_among(u, gone_v.neighbors, |third| {
            if after(gone_v, third) && !is_new(0, third) {
                each(third);
            }
        });
        let (few, many) = match gone_u.neighbors.len() <= gone_v.neighbors.len() {
            true => (gone_u, gone_v),
            false => (gone_v, gone_u),
        };
        for &third in few.neighbors {
            if after(few, third) && after(many, third) {
                each(third);
            }
        }
    }
}
