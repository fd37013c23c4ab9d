//! The published incremental count: changed edges are taken one after the other.

use std::collections::{BTreeSet, HashMap};

use reuselens_graph::{Delta, Edge, EdgeKind, StoredGraph, VertexId};

use super::StaticTriangles;
use super::undirected::Undirected;
use crate::{Choice, Maintain, Work};

/// Triangle counts kept by the published rule (Shen 2021, section 4.3.4.3), corrected: each
/// changed edge adds 1 to, or takes 1 from, both ends and each common neighbour, and the edges of
/// a batch are taken one after the other. (The printed rule counts triangles with several changed
/// edges wrongly.)
///
/// The graph is the one after the batch, so the edges that are not yet as they will be are kept
/// aside. Common neighbours are found by marking one list and reading the other; a changed edge
/// costs the length of both.
#[derive(Clone, Debug)]
pub struct PublishedTriangles {
    undirected: Option<Undirected>,
    counts: Vec<u64>,
    marks: Vec<bool>,
}

/// The changed edges that have not been taken.
#[derive(Default)]
struct Untaken {
    inserted: BTreeSet<Edge>,
    deleted: HashMap<VertexId, BTreeSet<VertexId>>,
}

impl Untaken {
    /// The neighbours of a vertex before the edges were taken.
    fn neighbors<G: StoredGraph>(&self, graph: &G, vertex: VertexId) -> Vec<VertexId> {
        let new = |id: &VertexId| {
            let edge = Edge::new(EdgeKind::Undirected, vertex, *id);
            self.inserted.contains(&edge)
        };
        let present = graph.neighbors(vertex).flatten().filter(|id| !new(id));
        let gone = self.deleted.get(&vertex).into_iter().flatten();
        present.chain(gone).copied().collect()
    }
}

impl PublishedTriangles {
    /// The triangles at each vertex of a graph.
    pub fn new<G: StoredGraph>(graph: &G) -> Self {
        Self {
            undirected: Undirected::of(graph),
            counts: Maintain::<G>::answer(&StaticTriangles::new(graph)),
            marks: Vec::new(),
        }
    }

    fn take_all<G: StoredGraph>(&mut self, graph: &G, delta: &Delta) -> Work {
        self.counts.resize(graph.vertices() as usize, 0);
        self.marks.resize(graph.vertices() as usize, false);
        let mut untaken = Untaken {
            inserted: delta.inserted.iter().copied().collect(),
            deleted: HashMap::new(),
        };
        for &Edge { from, to } in &delta.deleted {
            untaken.deleted.entry(from).or_default().insert(to);
            untaken.deleted.entry(to).or_default().insert(from);
        }
        let mut work = Work {
            choice: Choice::Repaired,
            ..Work::default()
        };
        for &Edge { from, to } in &delta.deleted {
            for (at, other) in [(from, to), (to, from)] {
                untaken.deleted.entry(at).or_default().remove(&other);
            }
            self.take(graph, &untaken, from, to, u64::MAX, &mut work);
        }
        for &edge in &delta.inserted {
            untaken.inserted.remove(&edge);
            self.take(graph, &untaken, edge.from, edge.to, 1, &mut work);
        }
        work
    }

    /// Adds `change`, modulo 2^64, for each triangle with both vertices.
    fn take<G: StoredGraph>(
        &mut self,
        graph: &G,
        untaken: &Untaken,
        u: VertexId,
        v: VertexId,
        change: u64,
        work: &mut Work,
    ) {
        let of_u = untaken.neighbors(graph, u);
        let of_v = untaken.neighbors(graph, v);
        work.scanned += (of_u.len() + of_v.len()) as u64;
        of_u.iter().for_each(|&id| self.marks[id as usize] = true);
        let common = of_v.iter().filter(|&&id| self.marks[id as usize]);
        for &third in common {
            work.affected += 1;
            for at in [u, v, third] {
                let count = &mut self.counts[at as usize];
                *count = count.wrapping_add(change);
            }
        }
        of_u.iter().for_each(|&id| self.marks[id as usize] = false);
    }
}

impl<G: StoredGraph> Maintain<G> for PublishedTriangles {
    type Value = u64;

    fn apply(&mut self, graph: &G, delta: &Delta) -> Work {
        match self.undirected.take() {
            None => self.take_all(graph, delta),
            Some(mut undirected) => {
                let delta = undirected.apply(graph, delta);
                let work = self.take_all(&undirected.graph, &delta);
                self.undirected = Some(undirected);
                work
            }
        }
    }

    fn value(&self, vertex: VertexId) -> u64 {
        self.counts[vertex as usize]
    }

    fn answer(&self) -> Vec<u64> {
        self.counts.clone()
    }
}
