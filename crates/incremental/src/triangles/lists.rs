//! The changed edges of a batch as lists of neighbours.

use reuselens_graph::{Edge, VertexId};

/// No list.
const NONE: u32 = u32::MAX;

/// For each vertex that a set of edges meets, its neighbours by these edges, ascending.
///
/// Edges are numbered by their place. Costs 4 bytes for each vertex of the graph, which are kept
/// between batches.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangedLists {
    /// The number of a vertex's list.
    list_of: Vec<u32>,
    /// The vertices that have lists.
    vertices: Vec<VertexId>,
    /// Where each list begins, and where the last one ends.
    starts: Vec<u32>,
    neighbors: Vec<VertexId>,
    /// The number of the edge to each neighbour.
    numbers: Vec<u32>,
    sorted: Vec<(u64, u32)>,
}

/// The changed neighbours of one vertex.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChangedList<'a> {
    /// Ascending.
    pub neighbors: &'a [VertexId],
    numbers: &'a [u32],
}

impl ChangedList<'_> {
    /// The number of the edge to a neighbour, if that edge changed.
    pub fn number(self, neighbor: VertexId) -> Option<u32> {
        let place = self.neighbors.binary_search(&neighbor).ok()?;
        Some(self.numbers[place])
    }
}

impl ChangedLists {
    /// Replaces the lists by those of `edges`, which are between vertices below `vertices`.
    pub fn set(&mut self, vertices: VertexId, edges: &[Edge]) {
        for vertex in self.vertices.drain(..) {
            self.list_of[vertex as usize] = NONE;
        }
        self.list_of.resize(vertices as usize, NONE);
        self.sorted.clear();
        for (number, edge) in (0..).zip(edges) {
            let key = |at: VertexId, to: VertexId| (u64::from(at) << 32) | u64::from(to);
            self.sorted.push((key(edge.from, edge.to), number));
            self.sorted.push((key(edge.to, edge.from), number));
        }
        self.sorted.sort_unstable();
        self.starts.clear();
        self.neighbors.clear();
        self.numbers.clear();
        for &(key, number) in &self.sorted {
            let vertex = (key >> 32) as VertexId;
            if self.vertices.last() != Some(&vertex) {
                self.list_of[vertex as usize] = self.vertices.len() as u32;
                self.vertices.push(vertex);
                self.starts.push(self.neighbors.len() as u32);
            }
            self.neighbors.push(key as VertexId);
            self.numbers.push(number);
        }
        self.starts.push(self.neighbors.len() as u32);
    }

    /// The list of a vertex, empty if no edge meets it.
    pub fn of(&self, vertex: VertexId) -> ChangedList<'_> {
        match self.list_of[vertex as usize] {
            NONE => ChangedList::default(),
            list => {
                let start = self.starts[list as usize] as usize;
                let end = self.starts[list as usize + 1] as usize;
                ChangedList {
                    neighbors: &self.neighbors[start..end],
                    numbers: &self.numbers[start..end],
                }
            }
        }
    }
}
