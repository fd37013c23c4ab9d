//! [`Hypergraph`]: which vertices (threads, warps or blocks) share data. It can be contracted to
//! groups, and written and read in the format of hMETIS. `users` makes one from a run.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Common;
use crate::transactions::DataLayout;
use crate::{KernelRun, SimtError};

/// Vertices (threads, warps, blocks) and edges: sets of vertices that share data, with how many
/// items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hypergraph {
    vertices: usize,
    /// Items that only this vertex touches.
    private: Vec<u64>,
    /// Where each edge's vertices begin; one more than there are edges.
    starts: Vec<usize>,
    /// The edges' vertices, rising within an edge.
    pins: Vec<u32>,
    weights: Vec<u64>,
}

impl Hypergraph {
    /// What the threads of a warp should have in common: [`of_requests`](Self::of_requests) or
    /// [`of`](Self::of).
    pub fn common(run: &KernelRun, layout: DataLayout, common: Common) -> Hypergraph {
        match common {
            Common::Requests => Hypergraph::of_requests(run, layout),
            Common::Data => Hypergraph::of(run, layout),
        }
    }

    /// From edges as sets of vertices with weights; equal sets become one, single vertices private
    /// data.
    pub fn new(vertices: usize, edges: impl IntoIterator<Item = (Vec<u32>, u64)>) -> Hypergraph {
        let mut private = vec![0_u64; vertices];
        let mut folded: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
        for (mut edge, weight) in edges {
            edge.sort_unstable();
            edge.dedup();
            match edge[..] {
                [] => {}
                [one] => {
                    let items = &mut private[one as usize];
                    *items = items.saturating_add(weight);
                }
                _ => {
                    let items = folded.entry(edge).or_default();
                    *items = items.saturating_add(weight);
                }
            }
        }
        let (mut starts, mut pins, mut weights) = (vec![0], Vec::new(), Vec::new());
        for (edge, weight) in folded {
            pins.extend(edge);
            starts.push(pins.len());
            weights.push(weight);
        }
        Hypergraph {
            vertices,
            private,
            starts,
            pins,
            weights,
        }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.weights.len()
    }

    /// Vertices of all edges.
    pub fn pins(&self) -> usize {
        self.pins.len()
    }

    /// The vertices of an edge, rising, and its weight.
    pub fn edge(&self, at: usize) -> (&[u32], u64) {
        (
            &self.pins[self.starts[at]..self.starts[at + 1]],
            self.weights[at],
        )
    }

    /// Items that only this vertex touches.
    pub fn private(&self, vertex: usize) -> u64 {
        self.private[vertex]
    }

    /// The edges of each vertex.
    pub(super) fn incidence(&self) -> Incidence {
        let mut starts = vec![0; self.vertices + 1];
        for &vertex in &self.pins {
            starts[vertex as usize + 1] += 1;
        }
        for vertex in 0..self.vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let mut next = starts.clone();
        let mut edges = vec![0; self.pins.len()];
        for at in 0..self.edges() {
            for &vertex in self.edge(at).0 {
                let place = &mut next[vertex as usize];
                edges[*place] = at as u32;
                *place += 1;
            }
        }
        Incidence { starts, edges }
    }

    /// The same with some vertices alone, which are numbered in their order. All that have an edge
    /// are among them.
    pub(super) fn only(&self, members: &[u32]) -> Hypergraph {
        let mut number = vec![0; self.vertices];
        for (at, &vertex) in (0..).zip(members) {
            number[vertex as usize] = at;
        }
        let private = members.iter().map(|&vertex| self.private[vertex as usize]);
        Hypergraph {
            vertices: members.len(),
            private: private.collect(),
            starts: self.starts.clone(),
            pins: self.pins.iter().map(|&pin| number[pin as usize]).collect(),
            weights: self.weights.clone(),
        }
    }

    /// The same with each group as one vertex.
    pub fn contract(&self, groups: &[Vec<u32>]) -> Hypergraph {
        let group = group_of(self.vertices, groups);
        let edges = (0..self.edges()).map(|at| {
            let (pins, weight) = self.edge(at);
            (
                pins.iter().map(|&pin| group[pin as usize]).collect(),
                weight,
            )
        });
        let mut contracted = Hypergraph::new(groups.len(), edges);
        for (vertex, &private) in self.private.iter().enumerate() {
            let items = &mut contracted.private[group[vertex] as usize];
            *items = items.saturating_add(private);
        }
        contracted
    }

    /// How often data is in a group: the sum over edges of weight times groups. If each warp
    /// fetched each of its items once, these would be its transactions for shared data.
    pub fn copies(&self, groups: &[Vec<u32>]) -> u64 {
        let group = group_of(self.vertices, groups);
        let edges = (0..self.edges()).map(|at| {
            let (pins, weight) = self.edge(at);
            let mut in_groups: Vec<u32> = pins.iter().map(|&pin| group[pin as usize]).collect();
            in_groups.sort_unstable();
            in_groups.dedup();
            in_groups.len() as u64 * weight
        });
        edges.sum()
    }

    /// As text in the format of hMETIS (`.hgr`), for other partitioners: with weights of edges, and
    /// each vertex counting one, since warps have to be full. Items of one vertex alone are not in
    /// it.
    pub fn to_hgr(&self) -> String {
        let mut text = format!("{} {} 1\n", self.edges(), self.vertices);
        for at in 0..self.edges() {
            let (pins, weight) = self.edge(at);
            let _ = write!(text, "{weight}");
            for pin in pins {
                let _ = write!(text, " {}", pin + 1);
            }
            text.push('\n');
        }
        text
    }

    /// Reads the format of hMETIS, with or without weights. `name` is for messages.
    ///
    /// # Errors
    /// [`SimtError::Text`] with the line.
    pub fn from_hgr(text: &str, name: &str) -> Result<Hypergraph, SimtError> {
        let bad = |line: usize, what: String| SimtError::Text {
            name: name.to_owned(),
            line,
            what,
        };
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        let mut lines = lines.filter(|(_, line)| !line.starts_with('%'));
        let mut numbers = || -> Result<(usize, Vec<u64>), SimtError> {
            let (at, line) = lines
                .next()
                .ok_or_else(|| bad(0, "it ends too early".to_owned()))?;
            let words = line.split_ascii_whitespace();
            let numbers = words.map(|word| {
                let wrong = |_| bad(at, format!("'{}' is no number", word.escape_debug()));
                word.parse().map_err(wrong)
            });
            Ok((at, numbers.collect::<Result<_, _>>()?))
        };
        let (at, head) = numbers()?;
        let (edges, vertices, form) = match head[..] {
            [edges, vertices] => (edges, vertices, 0),
            [edges, vertices, form @ (0 | 1 | 10 | 11)] => (edges, vertices, form),
            _ => {
                return Err(bad(
                    at,
                    "the first line should be EDGES VERTICES [0|1|10|11]".to_owned(),
                ));
            }
        };
        let vertices = usize::try_from(vertices)
            .ok()
            .filter(|&count| count as u64 <= super::MAX_THREADS);
        let vertices = vertices.ok_or_else(|| bad(at, "there are too many vertices".to_owned()))?;
        let mut list = Vec::new();
        for _ in 0..edges {
            let (at, mut pins) = numbers()?;
            let weight = if form % 10 == 1 && !pins.is_empty() {
                pins.remove(0)
            } else {
                1
            };
            if pins.iter().any(|&pin| pin == 0 || pin > vertices as u64) {
                return Err(bad(at, format!("a vertex is not in 1 to {vertices}")));
            }
            list.push((pins.into_iter().map(|pin| pin as u32 - 1).collect(), weight));
        }
        let mut hypergraph = Hypergraph::new(vertices, list);
        for vertex in 0..if form >= 10 { vertices } else { 0 } {
            let (at, weight) = numbers()?;
            let [weight] = weight[..] else {
                return Err(bad(
                    at,
                    "a line with a vertex's weight should be one number".to_owned(),
                ));
            };
            hypergraph.private[vertex] = weight;
        }
        Ok(hypergraph)
    }
}

/// The edges of each vertex, rising.
pub(super) struct Incidence {
    starts: Vec<usize>,
    edges: Vec<u32>,
}

impl Incidence {
    /// Those of one.
    pub fn of(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        &self.edges[self.starts[vertex]..self.starts[vertex + 1]]
    }
}

/// Which group each vertex is in.
pub(super) fn group_of(vertices: usize, groups: &[Vec<u32>]) -> Vec<u32> {
    let mut group = vec![0; vertices];
    for (number, members) in groups.iter().enumerate() {
        for &vertex in members {
            group[vertex as usize] = number as u32;
        }
    }
    group
}
