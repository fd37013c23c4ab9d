//! Vertices of two groups change places as long as data is in fewer groups after it.

use crate::mapping::Hypergraph;
use crate::mapping::hypergraph::group_of;

/// Passes over all vertices at most.
const PASSES: usize = 8;
/// Groups that a vertex is tried in.
const TRIED: usize = 4;
/// An edge in more groups than this says of none that a vertex should go there.
const HUB: usize = 64;

/// Lowers [`Hypergraph::copies`] by exchanges of two vertices; sizes stay. Deterministic.
///
/// Cost of a pass: for each vertex the groups of its edges, 64 of each at most, and for each group tried the edges of its
/// members, each with the logarithm of the number of its groups.
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
    /// The groups of each edge, rising, and how many of its vertices are there. A few for most edges, so that looking through
    /// them is faster than any map; some edges are in all groups, so that it is by bisection.
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
        let of = &self.inside[edge as usize];
        place(of, group).map_or(0, |at| of[at].1)
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
            if let Ok(at) = place(of, from) {
                of[at].1 -= 1;
                if of[at].1 == 0 {
                    of.remove(at);
                }
            }
            match place(of, to) {
                Ok(at) => of[at].1 += 1,
                Err(at) => of.insert(at, (to, 1)),
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
            let inside = &self.inside[edge as usize];
            if inside.len() > HUB || weight == 0 {
                continue;
            }
            for &(group, _) in inside {
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

/// Where a group stands among an edge's, or would.
fn place(of: &[(u32, u32)], group: u32) -> Result<usize, usize> {
    of.binary_search_by_key(&group, |of| of.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs that stand far apart, and edges over all vertices.
    fn pairs(vertices: u32, hubs: u64) -> Hypergraph {
        let half = vertices / 2;
        let pairs = (0..half).map(|at| (vec![at, at + half], 1));
        let all = (0..hubs).map(|at| ((0..vertices - at as u32).collect(), 1));
        Hypergraph::new(vertices as usize, pairs.chain(all))
    }

    fn in_place(vertices: u32, size: usize) -> Vec<Vec<u32>> {
        let all: Vec<u32> = (0..vertices).collect();
        all.chunks(size).map(<[u32]>::to_vec).collect()
    }

    #[test]
    fn what_all_share_changes_nothing() {
        // 256 groups, far more than a hub's: exchanges are those without the edges over all vertices.
        let (mut without, mut with) = (in_place(1024, 4), in_place(1024, 4));
        refine(&pairs(1024, 0), &mut without);
        refine(&pairs(1024, 3), &mut with);
        assert_eq!(without, with);
        // Each pair is in one group.
        assert_eq!(pairs(1024, 0).copies(&with), 512);
    }

    #[test]
    fn groups_of_edges_are_right_after_any_moves() {
        let hypergraph = pairs(200, 2);
        let groups = in_place(200, 2);
        let mut state = State::new(&hypergraph, &groups);
        for step in 0..2000_u32 {
            state.shift(step * 37 % 200, step * step % 100);
        }
        let mut members = vec![Vec::new(); 100];
        for (vertex, &group) in (0_u32..).zip(&state.group) {
            members[group as usize].push(vertex);
        }
        assert_eq!(state.inside, State::new(&hypergraph, &members).inside);
    }
}
