//! The requests of a batch, in the order of their edges.

use crate::{Delta, Edge, EdgeChange, EdgeKind, VERTEX_LIMIT, VertexId};

/// The requests of a batch whose memory is kept for the next one. More than that is given back: a
/// graph that is loaded at once would keep 48 bytes per edge.
pub(crate) const KEPT: usize = 1 << 20;

/// Empties memory of a batch, and gives back what is more than [`KEPT`].
pub(crate) fn empty<T>(of_batch: &mut Vec<T>) {
    of_batch.clear();
    of_batch.shrink_to(KEPT);
}

/// What a batch asks for one edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeRequest {
    /// Both ends; requests are sorted by it.
    key: u64,
    /// The place in the batch, until requests for the same edge are settled.
    order: u32,
    /// Whether the edge shall be present.
    pub insert: bool,
}

impl EdgeRequest {
    /// The edge that is asked for.
    pub fn edge(self) -> Edge {
        Edge {
            from: high(self.key),
            to: self.key as u32,
        }
    }
}

/// The upper half of a key.
fn high(key: u64) -> u32 {
    (key >> 32) as u32
}

/// Both ends in one number, in the order of edges.
fn key(from: VertexId, to: VertexId) -> u64 {
    (u64::from(from) << 32) | u64::from(to)
}

/// Replaces `requests` by those of a batch: sorted by edge, one for each, without loops.
///
/// # Panics
/// If there are 2^32 changes or more.
pub(crate) fn collect(kind: EdgeKind, changes: &[EdgeChange], requests: &mut Vec<EdgeRequest>) {
    requests.clear();
    for (order, change) in changes.iter().enumerate() {
        let edge = change.edge();
        if edge.is_loop() {
            continue;
        }
        let edge = Edge::new(kind, edge.from, edge.to);
        requests.push(EdgeRequest {
            key: key(edge.from, edge.to),
            order: u32::try_from(order).expect("a batch has less than 2^32 changes"),
            insert: matches!(change, EdgeChange::Insert(_)),
        });
    }
    requests.sort_unstable_by_key(|request| (request.key, request.order));
    // The later request replaces the earlier one, which `dedup_by` keeps.
    requests.dedup_by(|later, earlier| {
        let same = later.key == earlier.key;
        if same {
            earlier.insert = later.insert;
        }
        same
    });
}

/// The number of vertices after insertions of `requests` into a graph of `vertices`.
///
/// # Panics
/// If an insertion has an id of [`VERTEX_LIMIT`] or above.
pub(crate) fn vertices_after(vertices: VertexId, requests: &[EdgeRequest]) -> VertexId {
    let inserted = requests.iter().filter(|request| request.insert);
    let largest = inserted.map(|request| request.edge().from.max(request.edge().to));
    match largest.max() {
        Some(id) => {
            assert!(id < VERTEX_LIMIT, "vertex {id} is beyond the limit");
            vertices.max(id + 1)
        }
        None => vertices,
    }
}

/// The delta of requests that all change something.
pub(crate) fn delta(requests: &[EdgeRequest]) -> Delta {
    let inserted = requests.iter().filter(|request| request.insert).count();
    let mut delta = Delta {
        inserted: Vec::with_capacity(inserted),
        deleted: Vec::with_capacity(requests.len() - inserted),
    };
    for request in requests {
        if request.insert {
            delta.inserted.push(request.edge())
        } else {
            delta.deleted.push(request.edge())
        }
    }
    delta
}

/// A change of one vertex's list of neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListChange {
    /// The vertex and its neighbour; changes are sorted by it.
    key: u64,
    /// Whether the neighbour is new; otherwise it is gone.
    pub insert: bool,
}

impl ListChange {
    /// Whose list changes.
    pub fn vertex(self) -> VertexId {
        high(self.key)
    }

    /// The neighbour that is new or gone.
    pub fn neighbor(self) -> VertexId {
        self.key as u32
    }
}

/// Which lists an edge is in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lists {
    /// The list of the vertex where it begins.
    From,
    /// The list of the vertex where it ends.
    To,
    /// Both lists.
    Both,
}

/// Replaces `changes` by those of the lists, sorted by vertex and neighbour.
pub(crate) fn list_changes(requests: &[EdgeRequest], lists: Lists, changes: &mut Vec<ListChange>) {
    changes.clear();
    for request in requests {
        let Edge { from, to } = request.edge();
        let insert = request.insert;
        if lists != Lists::To {
            changes.push(ListChange {
                key: key(from, to),
                insert,
            });
        }
        if lists != Lists::From {
            changes.push(ListChange {
                key: key(to, from),
                insert,
            });
        }
    }
    if lists != Lists::From {
        changes.sort_unstable_by_key(|change| change.key);
    }
}
