//! [`refine`]: improves groups by exchanging two vertices of different groups, as long as that
//! lowers the number of groups that data is in. Sizes of groups stay.

use crate::mapping::Hypergraph;
use crate::mapping::hypergraph::{Incidence, group_of};

/// Passes over all vertices at most.
const PASSES: usize = 8;
/// A pass is the last one if it lowers copies by less than one in `LITTLE`, and by less than one in
/// [`PART`] of what all passes did.
const LITTLE: u64 = 1000;
/// See [`LITTLE`].
const PART: u64 = 8;
/// Groups that a vertex is tried in.
const TRIED: usize = 4;
/// An edge in more groups than this, or in more than [`FEW`] and half of all, proposes no group for
/// its vertices.
const HUB: usize = 1024;
const FEW: usize = 64;

/// Lowers [`Hypergraph::copies`] by exchanges of two vertices, and returns it; sizes stay.
/// Deterministic.
///
/// Cost of a pass: for each vertex the groups of its edges, and for each group tried the edges of
/// those members whose leaving could outweigh what the exchange costs, each with the logarithm of
/// the number of its groups.
///
/// Gives up if it is farther from `goal` than what the last pass gained, since each gains much less
/// than the one before.
pub(super) fn refine(
    hypergraph: &Hypergraph,
    incidence: &Incidence,
    groups: &mut [Vec<u32>],
    goal: u64,
) -> u64 {
    let mut state = Refinement::new(hypergraph, incidence, groups);
    let before = hypergraph.copies(groups);
    let mut copies = before;
    for _ in 0..PASSES {
        let vertices = 0..hypergraph.vertices() as u32;
        let gain: u64 = vertices.map(|vertex| state.improve(vertex, groups)).sum();
        copies -= gain;
        let little = gain < copies / LITTLE && gain < (before - copies) / PART;
        if gain == 0 || little || copies.saturating_sub(goal) > gain {
            break;
        }
    }
    copies
}

struct Refinement<'a> {
    incidence: &'a Incidence,
    group: Vec<u32>,
    edges: Vec<Edge>,
    /// By how much copies would fall if a vertex were taken away: what no other vertex of its group
    /// touches. No move of it gains more, so that most are not tried.
    leaving: Vec<u64>,
    /// Scratch: for each group, how much of a vertex's data is there already; zeros between uses.
    present: Vec<u64>,
    /// Scratch: groups that have some.
    near: Vec<u32>,
}

/// All about an edge that a step needs, in one place of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edge {
    weight: u64,
    /// Its groups, rising. A few for most edges, so that looking through them is faster than any
    /// map; some edges are in all groups, so that it is by bisection.
    shares: Vec<Share>,
    /// A bit for each group modulo 64. Most questions are for groups that an edge is not in, and
    /// need not look.
    seen: u64,
    /// Scratch: the last vertex that was tried elsewhere and has it.
    tried: u32,
}

impl Edge {
    /// The vertices of a group, if it has any.
    fn share(&self, group: u32) -> Option<&Share> {
        if self.seen & bit(group) == 0 {
            return None;
        }
        let at = place(&self.shares, group).ok()?;
        Some(&self.shares[at])
    }
}

/// The vertices of an edge that are in one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Share {
    group: u32,
    count: u32,
    /// All their numbers, by exclusive or: if there is one, this is it.
    mix: u32,
}

impl<'a> Refinement<'a> {
    fn new(
        hypergraph: &Hypergraph,
        incidence: &'a Incidence,
        groups: &[Vec<u32>],
    ) -> Refinement<'a> {
        let group = group_of(hypergraph.vertices(), groups);
        let mut leaving = vec![0; hypergraph.vertices()];
        let edges = (0..hypergraph.edges()).map(|edge| {
            let (pins, weight) = hypergraph.edge(edge);
            let mut of: Vec<(u32, u32)> =
                pins.iter().map(|&pin| (group[pin as usize], pin)).collect();
            of.sort_unstable();
            let shares = of.chunk_by(|a, b| a.0 == b.0).map(|run| Share {
                group: run[0].0,
                count: run.len() as u32,
                mix: run.iter().fold(0, |mix, of| mix ^ of.1),
            });
            let shares: Vec<Share> = shares.collect();
            for alone in shares.iter().filter(|share| share.count == 1) {
                leaving[alone.mix as usize] += weight;
            }
            Edge {
                weight,
                seen: shares.iter().fold(0, |seen, of| seen | bit(of.group)),
                shares,
                tried: u32::MAX,
            }
        });
        Refinement {
            incidence,
            edges: edges.collect(),
            group,
            leaving,
            present: vec![0; groups.len()],
            near: Vec::new(),
        }
    }

    fn shift(&mut self, vertex: u32, to: u32) {
        let from = self.group[vertex as usize];
        let mut alone = 0;
        for &edge in self.incidence.of(vertex) {
            let edge = &mut self.edges[edge as usize];
            let (weight, of) = (edge.weight, &mut edge.shares);
            if let Ok(at) = place(of, from) {
                let left = &mut of[at];
                left.count -= 1;
                left.mix ^= vertex;
                match left.count {
                    0 => {
                        of.remove(at);
                        edge.seen = of.iter().fold(0, |seen, of| seen | bit(of.group));
                    }
                    1 => self.leaving[left.mix as usize] += weight,
                    _ => {}
                }
            }
            match place(of, to) {
                Ok(at) => {
                    let joined = &mut of[at];
                    if joined.count == 1 {
                        self.leaving[joined.mix as usize] -= weight;
                    }
                    joined.count += 1;
                    joined.mix ^= vertex;
                }
                Err(at) => {
                    alone += weight;
                    let (group, count, mix) = (to, 1, vertex);
                    of.insert(at, Share { group, count, mix });
                    edge.seen |= bit(to);
                }
            }
        }
        self.leaving[vertex as usize] = alone;
        self.group[vertex as usize] = to;
    }

    /// Exchanges `vertex` with the one that gains most, if any gains; by how much copies fell.
    fn improve(&mut self, vertex: u32, groups: &mut [Vec<u32>]) -> u64 {
        let from = self.group[vertex as usize];
        let left = self.leaving[vertex as usize];
        let (candidates, count) = self.promising(vertex);
        for &edge in self.incidence.of(vertex) {
            self.edges[edge as usize].tried = vertex;
        }
        for &(new, to) in &candidates[..count] {
            // What is gained has to be more than what the vertex costs there.
            let mut best = (new, None);
            for (at, &other) in groups[to as usize].iter().enumerate() {
                let most = left + self.leaving[other as usize];
                if most > best.0 {
                    let total =
                        most.saturating_sub(self.coming(other, from, vertex, most - best.0));
                    if total > best.0 {
                        best = (total, Some(at));
                    }
                }
            }
            let (total, Some(at)) = best else { continue };
            let other = groups[to as usize][at];
            self.shift(vertex, to);
            self.shift(other, from);
            groups[to as usize][at] = vertex;
            if let Some(place) = groups[from as usize].iter_mut().find(|at| **at == vertex) {
                *place = other;
            }
            return total - new;
        }
        0
    }

    /// What copies rise by if `other` goes to `from` and `vertex`, whose edges are marked, comes
    /// from there in its place: data that the group lacks without `vertex`, and data that `other`
    /// does not take away since `vertex` has it too. As much as `limit` is enough.
    fn coming(&self, other: u32, from: u32, vertex: u32, limit: u64) -> u64 {
        let to = self.group[other as usize];
        let mut cost = 0;
        for &edge in self.incidence.of(other) {
            let edge = &self.edges[edge as usize];
            if edge.tried == vertex {
                let alone = |group| edge.share(group).is_some_and(|share| share.count == 1);
                cost += edge.weight * (u64::from(alone(from)) + u64::from(alone(to)));
            } else if edge.share(from).is_none() {
                cost += edge.weight;
            }
            if cost >= limit {
                break;
            }
        }
        cost
    }

    /// The groups of neighbours that have most of a vertex's data, and how much they have not; the
    /// least first.
    fn promising(&mut self, vertex: u32) -> ([(u64, u32); TRIED], usize) {
        let own = self.group[vertex as usize];
        let most = (self.present.len() / 2).clamp(FEW, HUB);
        let mut all = 0;
        let mut hubs: Vec<u32> = Vec::new();
        for &edge in self.incidence.of(vertex) {
            let Edge { weight, shares, .. } = &self.edges[edge as usize];
            if *weight == 0 {
                continue;
            }
            if shares.len() > most {
                hubs.push(edge);
                continue;
            }
            all += weight;
            for &Share { group, .. } in shares {
                if self.present[group as usize] == 0 {
                    self.near.push(group);
                }
                self.present[group as usize] += weight;
            }
        }
        let mut best = [(u64::MAX, u32::MAX); TRIED];
        for to in self.near.drain(..) {
            let candidate = (all - std::mem::take(&mut self.present[to as usize]), to);
            if to != own && candidate < best[TRIED - 1] {
                best[TRIED - 1] = candidate;
                best.sort_unstable();
            }
        }
        let count = best.iter().filter(|of| of.1 != u32::MAX).count();
        for (new, to) in &mut best[..count] {
            let hubs = hubs.iter().map(|&hub| &self.edges[hub as usize]);
            let missing = hubs.filter(|hub| hub.share(*to).is_none());
            *new += missing.map(|hub| hub.weight).sum::<u64>();
        }
        (best, count)
    }
}

fn bit(group: u32) -> u64 {
    1 << (group % 64)
}

/// The place of a group among an edge's, or where it would be inserted.
fn place(of: &[Share], group: u32) -> Result<usize, usize> {
    of.binary_search_by_key(&group, |of| of.group)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of vertices with distant numbers, and edges over all vertices.
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
    fn refine_ignores_edges_over_all_vertices() {
        // 256 groups, far more than a hub's: exchanges are those without the edges over all
        // vertices.
        let (mut without, mut with) = (in_place(1024, 4), in_place(1024, 4));
        let refined = |hypergraph: &Hypergraph, groups: &mut [Vec<u32>]| {
            refine(hypergraph, &hypergraph.incidence(), groups, u64::MAX)
        };
        let few = refined(&pairs(1024, 0), &mut without);
        let many = refined(&pairs(1024, 3), &mut with);
        assert_eq!((few, many), (512, pairs(1024, 3).copies(&with)));
        assert_eq!(without, with);
        // Each pair is in one group.
        assert_eq!(pairs(1024, 0).copies(&with), 512);
    }

    #[test]
    fn groups_of_edges_are_right_after_any_moves() {
        let hypergraph = pairs(200, 2);
        let groups = in_place(200, 2);
        let incidence = hypergraph.incidence();
        let mut state = Refinement::new(&hypergraph, &incidence, &groups);
        for step in 0..2000_u32 {
            state.shift(step * 37 % 200, step * step % 100);
        }
        let mut members = vec![Vec::new(); 100];
        for (vertex, &group) in (0_u32..).zip(&state.group) {
            members[group as usize].push(vertex);
        }
        let anew = Refinement::new(&hypergraph, &incidence, &members);
        assert_eq!((state.edges, state.leaving), (anew.edges, anew.leaving));
    }
}
