//! Vertices of two groups change places as long as data is in fewer groups after it.

use std::collections::HashMap;

use crate::mapping::Hypergraph;
use crate::mapping::hypergraph::group_of;

/// Passes over all vertices at most.
const PASSES: usize = 8;
/// Groups that a vertex is tried in.
const TRIED: usize = 4;

/// Lowers [`Hypergraph::copies`] by exchanges of two vertices; sizes stay. Deterministic.
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
    /// How many vertices of an edge are in a group.
    inside: HashMap<(u32, u32), u32>,
}

impl<'a> State<'a> {
    fn new(hypergraph: &'a Hypergraph, groups: &[Vec<u32>]) -> State<'a> {
        let group = group_of(hypergraph.vertices(), groups);
        let mut inside = HashMap::new();
        for edge in 0..hypergraph.edges() {
            for &pin in hypergraph.edge(edge).0 {
                *inside
                    .entry((edge as u32, group[pin as usize]))
                    .or_default() += 1;
            }
        }
        State {
            hypergraph,
            incidence: hypergraph.incidence(),
            group,
            inside,
        }
    }

    fn inside(&self, edge: u32, group: u32) -> u32 {
        self.inside.get(&(edge, group)).copied().unwrap_or(0)
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
            if let Some(count) = self.inside.get_mut(&(edge, from)) {
                *count -= 1;
            }
            *self.inside.entry((edge, to)).or_default() += 1;
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
    fn promising(&self, vertex: u32) -> Vec<u32> {
        let own = self.group[vertex as usize];
        let edges = self.incidence[vertex as usize].iter();
        let pins = edges.flat_map(|&edge| self.hypergraph.edge(edge as usize).0.iter().take(64));
        let mut near: Vec<u32> = pins
            .map(|&pin| self.group[pin as usize])
            .filter(|&group| group != own)
            .collect();
        near.sort_unstable();
        near.dedup();
        let mut ranked: Vec<(i64, u32)> = near
            .into_iter()
            .map(|to| (-self.gain(vertex, to), to))
            .collect();
        ranked.sort_unstable();
        ranked.truncate(TRIED);
        ranked.into_iter().map(|(_, to)| to).collect()
    }
}
