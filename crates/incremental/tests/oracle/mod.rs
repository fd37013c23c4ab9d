//! The three answers by the simplest code, from lists of neighbours of its own.

use std::collections::VecDeque;

use reuselens_graph::{Edge, EdgeChange, EdgeKind};

/// A graph that takes changes one after the other.
pub struct Oracle {
    kind: EdgeKind,
    out: Vec<Vec<u32>>,
    /// The neighbours without directions; in a directed graph one comes twice if both edges exist.
    both: Vec<Vec<u32>>,
}

impl Oracle {
    pub fn new(kind: EdgeKind, vertices: usize) -> Self {
        Self {
            kind,
            out: vec![Vec::new(); vertices],
            both: vec![Vec::new(); vertices],
        }
    }

    pub fn apply(&mut self, changes: &[EdgeChange]) {
        let before = self.out.len();
        for change in changes {
            let Edge { from, to } = change.edge();
            let (u, v) = (from as usize, to as usize);
            let insert = matches!(change, EdgeChange::Insert(_));
            let present = self.out.get(u).is_some_and(|ids| ids.contains(&to));
            if from == to || insert == present {
                continue;
            }
            if insert {
                let vertices = self.out.len().max(u.max(v) + 1);
                self.out.resize(vertices, Vec::new());
                self.both.resize(vertices, Vec::new());
                self.out[u].push(to);
                self.both[u].push(to);
                self.both[v].push(from);
            } else {
                remove(&mut self.out[u], to);
                remove(&mut self.both[u], to);
                remove(&mut self.both[v], from);
            }
            if self.kind == EdgeKind::Undirected && insert {
                self.out[v].push(from);
            } else if self.kind == EdgeKind::Undirected {
                remove(&mut self.out[v], from);
            }
        }
        // Vertices of edges that the batch itself deleted again are none.
        let used = self.both.iter().rposition(|ids| !ids.is_empty());
        let vertices = used.map_or(0, |last| last + 1).max(before);
        self.out.truncate(vertices);
        self.both.truncate(vertices);
    }

    pub fn edges(&self) -> impl Iterator<Item = Edge> {
        let lists = (0..).zip(&self.out);
        let edges = lists.flat_map(|(from, ids)| ids.iter().map(move |&to| Edge { from, to }));
        edges.filter(|edge| self.kind == EdgeKind::Directed || edge.from < edge.to)
    }

    pub fn depths(&self, root: u32) -> Vec<u32> {
        let mut depths = vec![u32::MAX; self.out.len()];
        let mut queue = VecDeque::new();
        if let Some(depth) = depths.get_mut(root as usize) {
            *depth = 0;
            queue.push_back(root as usize);
        }
        while let Some(vertex) = queue.pop_front() {
            for &neighbor in &self.out[vertex] {
                if depths[neighbor as usize] == u32::MAX {
                    depths[neighbor as usize] = depths[vertex] + 1;
                    queue.push_back(neighbor as usize);
                }
            }
        }
        depths
    }

    pub fn components(&self) -> Vec<u32> {
        let mut leaders: Vec<u32> = (0..self.out.len() as u32).collect();
        fn leader(leaders: &mut [u32], mut vertex: u32) -> u32 {
            while leaders[vertex as usize] != vertex {
                let above = leaders[leaders[vertex as usize] as usize];
                leaders[vertex as usize] = above;
                vertex = above;
            }
            vertex
        }
        for edge in self.edges() {
            let (u, v) = (
                leader(&mut leaders, edge.from),
                leader(&mut leaders, edge.to),
            );
            leaders[u.max(v) as usize] = u.min(v);
        }
        (0..self.out.len() as u32)
            .map(|vertex| leader(&mut leaders, vertex))
            .collect()
    }

    pub fn triangles(&self) -> Vec<u64> {
        let mut lists = self.both.clone();
        for ids in &mut lists {
            ids.sort_unstable();
            ids.dedup();
        }
        let mut counts = vec![0; lists.len()];
        let mut marked = vec![false; lists.len()];
        for (u, ids) in lists.iter().enumerate() {
            ids.iter().for_each(|&id| marked[id as usize] = true);
            for &v in ids.iter().filter(|&&v| v as usize > u) {
                let thirds = lists[v as usize]
                    .iter()
                    .filter(|&&w| w > v && marked[w as usize]);
                for &w in thirds {
                    for vertex in [u, v as usize, w as usize] {
                        counts[vertex] += 1;
                    }
                }
            }
            ids.iter().for_each(|&id| marked[id as usize] = false);
        }
        counts
    }
}

fn remove(ids: &mut Vec<u32>, id: u32) {
    let place = ids.iter().position(|&other| other == id);
    ids.swap_remove(place.expect("the neighbour is present"));
}
