//! Breadth-first search, level by level.

use reuselens_graph::{Delta, StoredGraph, VertexId};

use super::UNREACHED;
use crate::{Choice, Maintain, Work};

/// Depths that are computed again after each batch, level by level as published.
#[derive(Clone, Debug)]
pub struct StaticDepths {
    root: VertexId,
    depths: Vec<u32>,
    frontier: Frontier,
}

/// The vertices of a level and of the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct Frontier {
    pub now: Vec<VertexId>,
    pub next: Vec<VertexId>,
}

impl StaticDepths {
    /// The depths from `root`, which may be beyond the present vertices.
    pub fn new<G: StoredGraph>(graph: &G, root: VertexId) -> Self {
        let mut new = Self {
            root,
            depths: Vec::new(),
            frontier: Frontier::default(),
        };
        new.apply(graph, &Delta::default());
        new
    }
}

impl<G: StoredGraph> Maintain<G> for StaticDepths {
    type Value = u32;

    fn apply(&mut self, graph: &G, _: &Delta) -> Work {
        self.depths.clear();
        self.depths.resize(graph.vertices() as usize, UNREACHED);
        self.frontier.now.clear();
        if let Some(depth) = self.depths.get_mut(self.root as usize) {
            *depth = 0;
            self.frontier.now.push(self.root);
        }
        let (scanned, affected) = levels(graph, &mut self.depths, 0, &mut self.frontier);
        Work {
            choice: Choice::Recomputed,
            scanned,
            affected,
            predicted: 0,
        }
    }

    fn value(&self, vertex: VertexId) -> u32 {
        self.depths[vertex as usize]
    }

    fn answer(&self) -> Vec<u32> {
        self.depths.clone()
    }
}

/// Sets the depths of what is reached from the frontier, whose vertices have depth `depth`,
/// through vertices that are unreached so far. Returns the numbers of ids read and of vertices
/// reached.
pub(super) fn levels<G: StoredGraph>(
    graph: &G,
    depths: &mut [u32],
    mut depth: u32,
    frontier: &mut Frontier,
) -> (u64, u64) {
    let (mut scanned, mut reached) = (0, frontier.now.len() as u64);
    while !frontier.now.is_empty() {
        depth += 1;
        frontier.next.clear();
        for &vertex in &frontier.now {
            for block in graph.neighbors(vertex) {
                scanned += block.len() as u64;
                for &neighbor in block {
                    let other = &mut depths[neighbor as usize];
                    if *other == UNREACHED {
                        *other = depth;
                        frontier.next.push(neighbor);
                    }
                }
            }
        }
        reached += frontier.next.len() as u64;
        std::mem::swap(&mut frontier.now, &mut frontier.next);
    }
    (scanned, reached)
}
