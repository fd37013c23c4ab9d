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

use reuselens_graph::{Delta, Edge, SortedGraph, StoredGraph, VertexId};

use super::hubs::HubMarks;
use super::lists::{ChangedList, ChangedLists};

/// The changed edges of a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    inserted: ChangedLists,
    deleted: ChangedLists,
    order: Vec<u32>,
}

/// From this number of changed edges on they are put in order.
const ORDERED_FROM: usize = 32;
/// If an intersection reads fewer ids on average, order costs more than it saves.
const WORTH_ORDER: u64 = 32;
/// From this number of changed edges on the neighbours of a hub may be marked.
const MARKED_FROM: usize = 4;

/// A changed edge by its place, deleted ones first.
pub(super) fn edge(delta: &Delta, index: usize) -> Edge {
    let deleted = delta.deleted.len();
    delta
        .deleted
        .get(index)
        .copied()
        .unwrap_or_else(|| delta.inserted[index - deleted])
}

/// Both ends of an edge, the one with the larger degree second.
fn by_degree(graph: &SortedGraph, edge: Edge) -> (VertexId, VertexId) {
    let Edge { from, to } = edge;
    if graph.degree(from) <= graph.degree(to) {
        (from, to)
    } else {
        (to, from)
    }
}

/// What the intersection for an edge is predicted to read.
pub(super) fn cost(graph: &SortedGraph, edge: Edge) -> u64 {
    let (few, many) = by_degree(graph, edge);
    let (few, many) = (graph.degree(few) as u64, graph.degree(many) as u64);
    let searches = 2 * few * u64::from((many / few.max(1)).max(1).ilog2() + 1);
    1 + searches.min(few + many)
}

impl Batch {
    /// Replaces the batch, whose intersections are predicted to read `predicted` ids.
    pub fn set(&mut self, graph: &SortedGraph, delta: &Delta, predicted: u64) {
        self.inserted.set(graph.vertices(), &delta.inserted);
        self.deleted.set(graph.vertices(), &delta.deleted);
        self.order.clear();
        self.order.extend(0..delta.len() as u32);
        if delta.len() >= ORDERED_FROM && predicted >= delta.len() as u64 * WORTH_ORDER {
            let hub = |&index: &u32| by_degree(graph, edge(delta, index as usize)).1;
            self.order.sort_by_cached_key(hub);
        }
    }

    /// In which order to take the changed edges, of which the deleted ones have the first numbers:
    /// those that share a hub follow each other.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The common neighbours of both ends of an edge. If many changed edges meet the hub of both,
    /// its neighbours are marked once for all of them. Returns the ids that were read.
    fn common_neighbors(
        &self,
        graph: &SortedGraph,
        marks: &mut HubMarks,
        edge: Edge,
        each: impl FnMut(VertexId),
    ) -> u64 {
        let (few, many) = by_degree(graph, edge);
        let changed =
            self.inserted.of(many).neighbors.len() + self.deleted.of(many).neighbors.len();
        let (degree, uses) = (graph.degree(few) as u64, changed as u64);
        let marked = graph.degree(many) as u64 + uses * degree;
        if changed >= MARKED_FROM && marked < uses * cost(graph, edge) {
            marks.common_neighbors(graph, many, few, each)
        } else {
            graph.common_neighbors(few, many, each)
        }
    }

    /// Calls `each` with the third vertex of each triangle that the inserted edge of this number
    /// makes. Returns the ids that were read.
    pub fn made(
        &self,
        graph: &SortedGraph,
        marks: &mut HubMarks,
        (number, edge): (u32, Edge),
        mut each: impl FnMut(VertexId),
    ) -> u64 {
        let (from, to) = (self.inserted.of(edge.from), self.inserted.of(edge.to));
        // Most vertices have no other inserted edge.
        if from.neighbors.len() == 1 && to.neighbors.len() == 1 {
            return self.common_neighbors(graph, marks, edge, each);
        }
        let before = |list: ChangedList<'_>, third| list.number(third).is_none_or(|at| at < number);
        self.common_neighbors(graph, marks, edge, |third| {
            if before(from, third) && before(to, third) {
                each(third);
            }
        })
    }

    /// Calls `each` with the third vertex of each triangle that the deleted edge of this number
    /// breaks. Returns the ids that were read.
    pub fn broken(
        &self,
        graph: &SortedGraph,
        marks: &mut HubMarks,
        (number, edge): (u32, Edge),
        mut each: impl FnMut(VertexId),
    ) -> u64 {
        let Edge { from: u, to: v } = edge;
        let inserted = [self.inserted.of(u), self.inserted.of(v)];
        let is_new = |side: usize, third| inserted[side].number(third).is_some();
        let mut read = self.common_neighbors(graph, marks, edge, |third| {
            if !is_new(0, third) && !is_new(1, third) {
                each(third);
            }
        });
        let (gone_u, gone_v) = (self.deleted.of(u), self.deleted.of(v));
        if gone_u.neighbors.len() == 1 && gone_v.neighbors.len() == 1 {
            return read;
        }
        let after = |list: ChangedList<'_>, third| list.number(third).is_some_and(|at| at > number);
        read += graph.neighbors_among(v, gone_u.neighbors, |third| {
            if after(gone_u, third) && !is_new(1, third) {
                each(third);
            }
        });
        read += graph.neighbors_among(u, gone_v.neighbors, |third| {
            if after(gone_v, third) && !is_new(0, third) {
                each(third);
            }
        });
        let (few, many) = if gone_u.neighbors.len() <= gone_v.neighbors.len() {
            (gone_u, gone_v)
        } else {
            (gone_v, gone_u)
        };
        for &third in few.neighbors {
            if after(few, third) && after(many, third) {
                each(third);
            }
        }
        read
    }
}
