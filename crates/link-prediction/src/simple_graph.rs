//! A snapshot: undirected, without multiple edges and self loops, as adjacency in one array.

use crate::Pair;

/// An undirected graph with sorted neighbours, in compressed sparse rows.
///
/// Memory: 8 bytes a vertex and 8 bytes an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleGraph {
    /// Where each vertex' neighbours begin; one more for the end.
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl SimpleGraph {
    /// The graph with the edges `pairs`, in any order, repeated or not. It has at least `vertices`
    /// vertices, and all that are in `pairs`.
    pub fn new(vertices: usize, pairs: &[Pair]) -> SimpleGraph {
        let mut directed: Vec<(u32, u32)> = pairs
            .iter()
            .flat_map(|pair| [(pair.low(), pair.high()), (pair.high(), pair.low())])
            .collect();
        directed.sort_unstable();
        directed.dedup();
        let needed = directed.last().map_or(0, |(from, _)| *from as usize + 1);
        let mut starts = vec![0; vertices.max(needed) + 1];
        for (from, _) in &directed {
            starts[*from as usize + 1] += 1;
        }
        for vertex in 1..starts.len() {
            starts[vertex] += starts[vertex - 1];
        }
        let neighbours = directed.into_iter().map(|(_, to)| to).collect();
        SimpleGraph { starts, neighbours }
    }

    /// How many vertices there are, those without edges too.
    pub fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many edges there are; each counts once.
    pub fn edges(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// The neighbours of `vertex`, sorted; none for a vertex that the graph does not have.
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        match self.starts.get(vertex..vertex + 2) {
            Some(&[start, end]) => &self.neighbours[start..end],
            _ => &[],
        }
    }

    /// Whether there is an edge between `u` and `v`. Costs a binary search.
    pub fn has_edge(&self, u: u32, v: u32) -> bool {
        self.neighbours(u).binary_search(&v).is_ok()
    }

    /// All edges, sorted.
    pub fn pairs(&self) -> Vec<Pair> {
        let vertices = 0..self.vertices() as u32;
        vertices
            .flat_map(|u| {
                let above = self.neighbours(u).iter().filter(move |v| **v > u);
                above.filter_map(move |v| Pair::new(u, *v))
            })
            .collect()
    }
}
