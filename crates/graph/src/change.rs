//! Edges, changes of edges, and the net effect of a batch of changes.

/// The number of a vertex: 0 to the number of vertices less one.
pub type VertexId = u32;

/// Whether an edge from `u` to `v` is one from `v` to `u` too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdgeKind {
    /// Edges have no direction: `(u, v)` and `(v, u)` are one edge.
    Undirected,
    /// Edges have a direction.
    Directed,
}

/// An edge. In an undirected graph, `from` is the smaller number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Where the edge begins.
    pub from: VertexId,
    /// Where the edge ends.
    pub to: VertexId,
}

impl Edge {
    /// The edge between `u` and `v` as a graph of this kind stores it.
    #[must_use]
    pub fn new(kind: EdgeKind, u: VertexId, v: VertexId) -> Self {
        match kind {
            EdgeKind::Undirected => Self {
                from: u.min(v),
                to: u.max(v),
            },
            EdgeKind::Directed => Self { from: u, to: v },
        }
    }

    /// Whether both ends are one vertex.
    #[must_use]
    pub fn is_loop(self) -> bool {
        self.from == self.to
    }
}

/// One request of a stream: the edge shall be present, or absent.
///
/// Within a batch the last request for an edge decides. A request for what is so already, and one
/// for a self loop, changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdgeChange {
    /// The edge shall be present.
    Insert(Edge),
    /// The edge shall be absent.
    Delete(Edge),
}

impl EdgeChange {
    /// The edge that is asked for.
    #[must_use]
    pub fn edge(self) -> Edge {
        match self {
            Self::Insert(edge) | Self::Delete(edge) => edge,
        }
    }
}

/// The net effect of a batch on a graph.
///
/// Both lists are sorted and without repeats, and no edge is in both: `inserted` were absent before
/// the batch and are present after it, `deleted` the other way round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Edges that are new.
    pub inserted: Vec<Edge>,
    /// Edges that are gone.
    pub deleted: Vec<Edge>,
}

impl Delta {
    /// Whether the batch changed nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inserted.is_empty() && self.deleted.is_empty()
    }

    /// The number of edges that changed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inserted.len() + self.deleted.len()
    }

    /// The net effect of this and of `later`, the effect of a batch that follows. Costs a pass over
    /// both.
    #[must_use]
    pub fn followed_by(self, later: Self) -> Self {
        Self {
            inserted: merged(
                without(&self.inserted, &later.deleted),
                without(&later.inserted, &self.deleted),
            ),
            deleted: merged(
                without(&self.deleted, &later.inserted),
                without(&later.deleted, &self.inserted),
            ),
        }
    }
}

/// The edges of one sorted list that are not in another.
fn without(edges: &[Edge], others: &[Edge]) -> Vec<Edge> {
    let edges = edges.iter().copied();
    edges
        .filter(|edge| others.binary_search(edge).is_err())
        .collect()
}

/// Two sorted lists as one.
fn merged(mut one: Vec<Edge>, other: Vec<Edge>) -> Vec<Edge> {
    one.extend(other);
    // Two runs: the sort merges them.
    one.sort();
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undirected_edge_is_one_in_both_orders() {
        let kind = EdgeKind::Undirected;
        assert_eq!(Edge::new(kind, 7, 3), Edge::new(kind, 3, 7));
        let kind = EdgeKind::Directed;
        assert_ne!(Edge::new(kind, 7, 3), Edge::new(kind, 3, 7));
    }

    #[test]
    fn changes_that_are_taken_back_are_no_net_effect() {
        let edge = |to| Edge { from: 0, to };
        let delta = |inserted: &[u32], deleted: &[u32]| Delta {
            inserted: inserted.iter().map(|to| edge(*to)).collect(),
            deleted: deleted.iter().map(|to| edge(*to)).collect(),
        };
        let (first, later) = (delta(&[1, 5], &[2, 6]), delta(&[3, 6], &[4, 5]));
        assert_eq!(first.followed_by(later), delta(&[1, 3], &[2, 4]));
    }
}
