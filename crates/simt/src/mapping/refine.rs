//! Vertices of two groups change places as long as data is in fewer groups after it.

use crate::mapping::Hypergraph;
use crate::mapping::hypergraph::group_of;

/// Passes over all vertices at most.
const PASSES: usize = 8;
/// Groups that a vertex is tried in.
const TRIED: usize = 4;

/// Lowers [`Hypergraph::copies`] by exchanges of two vertices; sizes stay. Deterministic.
///
/// Cost of a pass: for each vertex the groups of its edges, and for each group tried the edges of its members.
pub(super) fn refine(hypergraph: &Hypergraph, groups: &mut [Vec<u32>]) {
    let mut state = State::new(hypergraph, groups);
    for _ in 0..PASSES {
        let mut changed = false;
        for vertex in 0..hypergraph.vertices() as u32 {
            changed |= state.improve(vertex, groups);
        }
        if !changed {
            return;
        }
    }
}

struct State<'a> {
    hypergraph: &'a Hypergraph,
    incidence: Vec<Vec<u32>>,
    group: Vec<u32>,
    /// The groups of each edge, and how many of its vertices are there. A few for each edge, so that looking through
    /// them is faster than any map.
    inside: Vec<Vec<(u32, u32)>>,
    /// Scratch: for each group, how much of a vertex's data is there already; zeros between uses.
    present: Vec<u64>,
}

impl<'a> State<'a> {
    fn new(hypergraph: &'a Hypergraph, groups: &[Vec<u32>]) -> State<'a> {
        let group = group_of(hypergraph.vertices(), groups);
        let inside = (0..hypergraph.edges()).map(|edge| {
            let pins = hypergraph.edge(edge).0.iter();
            let mut of: Vec<u32> = pins.map(|&pin| group[pin as usize]).collect();
            of.sort_unstable();
            let runs = of.chunk_by(|a, b| a == b);
            runs.map(|run| (run[0], run.len() as u32)).collect()
        });
        State {
            hypergraph,
            incidence: hypergraph.incidence(),
            inside: inside.collect(),
            group,
            present: vec![0; groups.len()],
        }
    }

    fn inside(&self, edge: u32, group: u32) -> u32 {
        let of = self.inside[edge as usize].iter();
        of.filter(|of| of.0 == group).map(|of| of.1).sum()
    }

    /// By how much copies fall if `vertex` goes to `to`.
    fn gain(&self, vertex: u32, to: u32) -> i64 {
        let from = self.group[vertex as usize];
        let edges = self.incidence[vertex as usize].iter();
        edges
            .map(|&edge| {
                let weight = self.hypergraph.edge(edge as usize).1.cast_signed();
                let left = i64::from(self.inside(edge, from) == 1);
                let new = i64::from(self.inside(edge, to) == 0);
                (left - new) * weight
            })
            .sum()
    }

    fn shift(&mut self, vertex: u32, to: u32) {
        let from = self.group[vertex as usize];
        for &edge in &self.incidence[vertex as usize] {
            let of = &mut self.inside[edge as usize];
            if let Some(at) = of.iter().position(|of| of.0 == from) {
                of[at].1 -= 1;
                if of[at].1 == 0 {
                    of.swap_remove(at);
                }
            }
            match of.iter_mut().find(|of| of.0 == to) {
                Some(of) => of.1 += 1,
                None => of.push((to, 1)),
            }
        }
        self.group[vertex as usize] = to;
    }

    /// Exchanges `vertex` with the one that gains most, if any gains.
    fn improve(&mut self, vertex: u32, groups: &mut [Vec<u32>]) -> bool {
        let from = self.group[vertex as usize];
        for to in self.promising(vertex) {
            let gain = self.gain(vertex, to);
            // A partner gains at most its own edges; moving first makes its gain exact.
            self.shift(vertex, to);
            let partners = groups[to as usize].iter().enumerate();
            let best = partners.map(|(at, &other)| (self.gain(other, from), std::cmp::Reverse(at)));
            let Some((back, std::cmp::Reverse(at))) = best.max() else {
                self.shift(vertex, from);
                continue;
            };
            if gain + back <= 0 {
                self.shift(vertex, from);
                continue;
            }
            let other = groups[to as usize][at];
            self.shift(other, from);
            groups[to as usize][at] = vertex;
            if let Some(place) = groups[from as usize].iter_mut().find(|at| **at == vertex) {
                *place = other;
            }
            return true;
        }
        false
    }

    /// Groups of neighbours that a vertex would gain most in, best first.
    fn promising(&mut self, vertex: u32) -> Vec<u32> {
        let own = self.group[vertex as usize];
        let mut near = Vec::new();
        for &edge in &self.incidence[vertex as usize] {
            let weight = self.hypergraph.edge(edge as usize).1;
            for &(group, _) in &self.inside[edge as usize] {
                if group != own {
                    if self.present[group as usize] == 0 {
                        near.push(group);
                    }
                    self.present[group as usize] += weight;
                }
            }
        }
        // What it gains is what it leaves, the same for all, and what is there already.
        let present = &mut self.present;
        let mut ranked: Vec<(std::cmp::Reverse<u64>, u32)> = near
            .into_iter()
            .map(|to| {
                (
                    std::cmp::Reverse(std::mem::take(&mut present[to as usize])),
                    to,
                )
            })
            .collect();
        ranked.sort_unstable();
        ranked.truncate(TRIED);
        ranked.into_iter().map(|(_, to)| to).collect()
    }
}
