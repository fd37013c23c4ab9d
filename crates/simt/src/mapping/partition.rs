//! [`partition`]: groups of equal size that have as much data in common as possible, found by METIS
//! and improved by `refine`.

use std::sync::Mutex;

use metis::option::{Seed, UFactor};
use reuselens_workers::lock;

use crate::SimtError;
use crate::mapping::Hypergraph;
use crate::mapping::hypergraph::{Incidence, group_of};
use crate::mapping::refine::refine;

/// Edges of more vertices than this become a ring and a star instead of all pairs.
const CLIQUE: usize = 10;
/// Weights are scaled to integers by this: a pair of an edge of `n` vertices weighs `1 / (n −
/// 1)` of it.
const SCALE: u64 = 240;
/// How much METIS may leave groups unequal, in thousandths; they are made equal afterwards.
const UNEQUAL: metis::Idx = 30;

/// A hypergraph is partitioned `SMALL / pins` times, or `SMALL / vertices` if there are more, at
/// most [`TRIES`]: in turns by METIS and from random groups.
const SMALL: usize = 1 << 16;
/// Pins up to which METIS's k-way method is tried too, which takes several times as long.
const MEDIUM: usize = 1 << 18;
/// A graph of more components than this gets weak edges from each to the next: METIS's time rises
/// with the square of the number of components.
const COMPONENTS: usize = 1 << 10;
/// See [`SMALL`].
const TRIES: usize = 32;

/// Groups of exactly `size` vertices (the last may be smaller), such that edges touch few groups.
///
/// METIS partitions the graph of pairs; groups are then made equal, and vertices of different
/// groups change places as long as [`Hypergraph::copies`] falls. Groups of successive vertices
/// are improved likewise, and the better result is taken: it is never worse than leaving them.
///
/// Successive vertices of one group stay together if none of them has an edge, and METIS gets no
/// vertex without an edge: it takes each for a component of the graph, and its time rises with the
/// square of their number.
///
/// # Errors
/// [`SimtError::Unfit`] if METIS refuses, or the graph is too large for it.
pub fn partition(
    hypergraph: &Hypergraph,
    size: usize,
    seed: u64,
) -> Result<Vec<Vec<u32>>, SimtError> {
    let vertices: Vec<u32> = (0..hypergraph.vertices() as u32).collect();
    let in_place: Vec<Vec<u32>> = vertices.chunks(size.max(1)).map(<[u32]>::to_vec).collect();
    if in_place.len() < 2 || size < 2 || hypergraph.edges() == 0 {
        return Ok(in_place);
    }
    let incidence = hypergraph.incidence();
    let is_busy = |group: &Vec<u32>| group.iter().any(|&vertex| !incidence.of(vertex).is_empty());
    let (busy, idle): (Vec<_>, Vec<_>) = in_place.into_iter().partition(is_busy);
    let mut best = match &idle[..] {
        [] => partition_busy(hypergraph, &incidence, size, seed)?,
        _ => {
            let members = busy.concat();
            let rest = hypergraph.only(&members);
            let groups = partition_busy(&rest, &rest.incidence(), size, seed)?;
            let original = |group: Vec<u32>| group.into_iter().map(|at| members[at as usize]);
            groups
                .into_iter()
                .map(|group| original(group).collect())
                .collect()
        }
    };
    best.extend(idle);
    for group in &mut best {
        group.sort_unstable();
    }
    best.sort_unstable_by_key(|group| (group.len() < size, group.first().copied()));
    Ok(best)
}

/// The same for a hypergraph in which each `size` successive vertices have an edge. Vertices are in
/// no order within groups, nor groups.
fn partition_busy(
    hypergraph: &Hypergraph,
    incidence: &Incidence,
    size: usize,
    seed: u64,
) -> Result<Vec<Vec<u32>>, SimtError> {
    let vertices: Vec<u32> = (0..hypergraph.vertices() as u32).collect();
    let mut in_place: Vec<Vec<u32>> = vertices.chunks(size).map(<[u32]>::to_vec).collect();
    if in_place.len() < 2 {
        return Ok(in_place);
    }
    let mut found = u64::MAX;
    let mut best = Vec::new();
    let few = hypergraph.pins() <= MEDIUM;
    let pairs = PairGraph::new(hypergraph, incidence)?;
    let work = hypergraph.pins().max(vertices.len());
    let tries = (SMALL / work).clamp(1 + 2 * usize::from(few), TRIES) as u64;
    for (at, seed) in (0..tries).map(|at| (at, seed.wrapping_add(at))) {
        let mut groups = if at % 2 == 1 {
            shuffled(&vertices, size, seed)
        } else {
            let parts = pairs.parts(size, seed, few && at > 0)?;
            equal(hypergraph, incidence, &parts, size, in_place.len())
        };
        let copies = refine(hypergraph, incidence, &mut groups, found);
        if copies < found {
            (found, best) = (copies, groups);
        }
    }
    if refine(hypergraph, incidence, &mut in_place, found) <= found {
        best = in_place;
    }
    Ok(best)
}

/// Groups at random.
fn shuffled(vertices: &[u32], size: usize, seed: u64) -> Vec<Vec<u32>> {
    let mut order = vertices.to_vec();
    // The finalizer of SplitMix64.
    order.sort_by_cached_key(|&vertex| {
        let mut key = seed ^ u64::from(vertex).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        key = (key ^ key >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        key = (key ^ key >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        key ^ key >> 31
    });
    order.chunks(size).map(<[u32]>::to_vec).collect()
}

/// The graph of pairs that share data, in METIS's form.
struct PairGraph {
    /// The number of vertices of the hypergraph.
    vertices: usize,
    /// Those with edges, rising: the vertices of the graph.
    linked: Vec<u32>,
    /// Where the neighbours of each begin.
    starts: Vec<metis::Idx>,
    neighbors: Vec<metis::Idx>,
    weights: Vec<metis::Idx>,
}

impl PairGraph {
    fn new(hypergraph: &Hypergraph, incidence: &Incidence) -> Result<PairGraph, SimtError> {
        let vertices = hypergraph.vertices();
        let all = 0..vertices as u32;
        let linked = all.filter(|&vertex| !incidence.of(vertex).is_empty());
        let linked: Vec<u32> = linked.collect();
        let rows = rows(&pairs(hypergraph, &linked), linked.len());
        let (starts, neighbors, weights) =
            rows.ok_or_else(|| refused("too many pairs".to_owned()))?;
        Ok(PairGraph {
            vertices,
            linked,
            starts,
            neighbors,
            weights,
        })
    }

    /// The part of each vertex, in parts of about `size`; [`NOWHERE`] for those without an edge.
    fn parts(&self, size: usize, seed: u64, kway: bool) -> Result<Vec<u32>, SimtError> {
        let parts = self.linked.len().div_ceil(size);
        let mut part = vec![0; self.linked.len()];
        if self.neighbors.is_empty() || parts < 2 {
            return Ok(self.spread(&part));
        }
        let count =
            metis::Idx::try_from(parts).map_err(|_| refused("too many parts".to_owned()))?;
        // METIS draws random numbers from the C library, whose state all threads share. Only if one
        // partition runs at a time does the seed decide the result.
        static METIS: Mutex<()> = Mutex::new(());
        let _guard = lock(&METIS);
        let graph = metis::Graph::new(1, count, &self.starts, &self.neighbors);
        let graph = graph.map_err(|error| refused(error.to_string()))?;
        let graph = graph
            .set_adjwgt(&self.weights)
            .set_option(Seed((seed % (1 << 30)) as metis::Idx))
            .set_option(UFactor(UNEQUAL));
        let done = if kway && parts > 8 {
            graph.part_kway(&mut part)
        } else {
            graph.part_recursive(&mut part)
        };
        done.map_err(|error| refused(error.to_string()))?;
        Ok(self.spread(&part))
    }

    /// The parts of all vertices of the hypergraph.
    fn spread(&self, part: &[metis::Idx]) -> Vec<u32> {
        let mut all = vec![NOWHERE; self.vertices];
        for (&vertex, &part) in self.linked.iter().zip(part) {
            all[vertex as usize] = part as u32;
        }
        all
    }
}

fn refused(what: String) -> SimtError {
    SimtError::Unfit(format!("METIS cannot partition the threads: {what}"))
}

/// The pairs that share data, both ways, with weights: sorted by both ends, in one number. Ends are
/// places in `linked`, the vertices with edges, rising.
fn pairs(hypergraph: &Hypergraph, linked: &[u32]) -> Vec<(u64, u64)> {
    let mut number = vec![0; hypergraph.vertices()];
    for (at, &vertex) in (0..).zip(linked) {
        number[vertex as usize] = at;
    }
    let mut pairs: Vec<(u64, u64)> = Vec::new();
    let mut add = |a: u32, b: u32, weight: u64| {
        let (a, b): (u32, u32) = (number[a as usize], number[b as usize]);
        pairs.push((u64::from(a) << 32 | u64::from(b), weight));
        pairs.push((u64::from(b) << 32 | u64::from(a), weight));
    };
    for at in 0..hypergraph.edges() {
        let (pins, weight) = hypergraph.edge(at);
        if pins.len() > CLIQUE {
            let next = pins.iter().cycle().skip(1);
            let part = SCALE / 4 * weight;
            pins.iter().zip(next).for_each(|(&a, &b)| add(a, b, part));
            let middle = pins[pins.len() / 2];
            let others = pins.iter().filter(|&&pin| pin != middle);
            others.for_each(|&pin| add(middle, pin, part));
            continue;
        }
        let part = (SCALE / (pins.len() as u64 - 1)).max(1) * weight;
        for (at, &a) in pins.iter().enumerate() {
            pins[at + 1..].iter().for_each(|&b| add(a, b, part));
        }
    }
    let firsts = first_of_components(linked.len(), &pairs);
    if firsts.len() > COMPONENTS {
        for pair in firsts.windows(2) {
            let (a, b) = (u64::from(pair[0]), u64::from(pair[1]));
            pairs.extend([(a << 32 | b, 1), (b << 32 | a, 1)]);
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Where rows of a graph begin, neighbours, and weights.
type Rows = (Vec<metis::Idx>, Vec<metis::Idx>, Vec<metis::Idx>);

/// METIS's form of sorted pairs of this many vertices. `None` if there are too many for it.
fn rows(pairs: &[(u64, u64)], vertices: usize) -> Option<Rows> {
    let mut starts = vec![0; vertices + 1];
    let (mut neighbors, mut weights) = (Vec::new(), Vec::new());
    for equal in pairs.chunk_by(|a, b| a.0 == b.0) {
        let (from, to) = (equal[0].0 >> 32, equal[0].0 as u32);
        let weight: u64 = equal.iter().map(|pair| pair.1).sum();
        starts[from as usize + 1] += 1;
        neighbors.push(metis::Idx::try_from(to).ok()?);
        weights.push(metis::Idx::try_from(weight.min(1 << 20)).ok()?);
    }
    metis::Idx::try_from(neighbors.len()).ok()?;
    for vertex in 0..vertices {
        starts[vertex + 1] += starts[vertex];
    }
    Some((starts, neighbors, weights))
}

/// The lowest vertex of each component of the graph with these edges, rising.
fn first_of_components(vertices: usize, pairs: &[(u64, u64)]) -> Vec<u32> {
    let mut lower: Vec<u32> = (0..vertices as u32).collect();
    let first = |lower: &mut [u32], mut vertex: u32| {
        while lower[vertex as usize] != vertex {
            // Halves the path, so that later searches are short.
            lower[vertex as usize] = lower[lower[vertex as usize] as usize];
            vertex = lower[vertex as usize];
        }
        vertex
    };
    for &(pair, _) in pairs {
        let [a, b] = [(pair >> 32) as u32, pair as u32].map(|end| first(&mut lower, end));
        lower[a.max(b) as usize] = a.min(b);
    }
    let all = 0..vertices as u32;
    all.filter(|&vertex| lower[vertex as usize] == vertex)
        .collect()
}

/// The group of a vertex that has none for now.
const NOWHERE: u32 = u32::MAX;

/// The vertices of each part, and those that are [`NOWHERE`].
fn members(parts: &[u32], count: usize) -> (Vec<Vec<u32>>, Vec<u32>) {
    let (mut groups, mut idle) = (vec![Vec::new(); count], Vec::new());
    for (vertex, &part) in (0..).zip(parts) {
        match part {
            NOWHERE => idle.push(vertex),
            _ => groups[part as usize].push(vertex),
        }
    }
    (groups, idle)
}

/// How much a vertex with these edges has in common with the other vertices of a group, about: of
/// `group`, which has the group of each vertex, those that are in `with`.
fn in_common(
    hypergraph: &Hypergraph,
    edges: &[u32],
    vertex: u32,
    (group, with): (&[u32], u32),
) -> u64 {
    let of_edge = |&edge: &u32| {
        let (pins, weight) = hypergraph.edge(edge as usize);
        let others = pins.iter().take(64);
        let others = others.filter(|&&pin| pin != vertex && group[pin as usize] == with);
        others.count() as u64 * weight
    };
    edges.iter().map(of_edge).sum()
}

/// Groups of equal size from parts of about equal size: vertices with the least in common with
/// their part go to one with room that they have most in common with. Vertices that are
/// [`NOWHERE`] take what room is left.
fn equal(
    hypergraph: &Hypergraph,
    incidence: &Incidence,
    parts: &[u32],
    size: usize,
    count: usize,
) -> Vec<Vec<u32>> {
    let (mut groups, idle) = members(parts, count);
    let mut group = group_of(hypergraph.vertices(), &groups);
    let common = |vertex: u32, group: &[u32], with: u32| {
        in_common(hypergraph, incidence.of(vertex), vertex, (group, with))
    };
    let mut homeless = Vec::new();
    let last = hypergraph.vertices() - size * (count - 1);
    // The one group that may be smaller is the smallest.
    let smallest = (0..count)
        .min_by_key(|&at| (groups[at].len(), at))
        .unwrap_or(0);
    let room = |at: usize| if at == smallest { last } else { size };
    for (at, own) in groups.iter_mut().enumerate().take(count) {
        let extra = own.len().saturating_sub(room(at));
        let members = std::mem::take(own);
        let mut ranked: Vec<(u64, u32)> = members
            .iter()
            .map(|&vertex| (common(vertex, &group, at as u32), vertex))
            .collect();
        ranked.sort_unstable();
        for &(_, vertex) in &ranked[..extra] {
            group[vertex as usize] = NOWHERE;
            homeless.push(vertex);
        }
        *own = ranked[extra..].iter().map(|&(_, vertex)| vertex).collect();
    }
    homeless.extend(idle);
    let mut free = 0;
    for vertex in homeless {
        let edges = incidence.of(vertex).iter();
        let near = edges.flat_map(|&edge| hypergraph.edge(edge as usize).0.iter().take(64));
        let mut near: Vec<u32> = near.map(|&pin| group[pin as usize]).collect();
        near.sort_unstable();
        near.dedup();
        near.retain(|&to| to != NOWHERE && groups[to as usize].len() < room(to as usize));
        let rank = |&to: &u32| (common(vertex, &group, to), std::cmp::Reverse(to));
        let to = near.into_iter().max_by_key(rank);
        while to.is_none() && groups[free].len() >= room(free) {
            free += 1;
        }
        let to = to.map_or(free, |to| to as usize);
        group[vertex as usize] = to as u32;
        groups[to].push(vertex);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each vertex is in one group, and all groups but the last are full.
    fn is_partition(groups: &[Vec<u32>], vertices: usize, size: usize) -> bool {
        let mut all = groups.concat();
        all.sort_unstable();
        let full = groups[..groups.len() - 1]
            .iter()
            .all(|group| group.len() == size);
        full && all.iter().copied().eq(0..vertices as u32)
    }

    #[test]
    fn vertices_without_edges_take_the_room_that_is_left() {
        // One vertex of 32 has an edge: they fit 64 groups of the 2,048. Each shares with the one
        // that is 1,024 away among them.
        let vertices = 1 << 16;
        let edges = (0..1024).map(|at| (vec![32 * at, 32 * (at + 1024)], 1));
        let hypergraph = Hypergraph::new(vertices, edges);
        let groups = partition(&hypergraph, 32, 1).unwrap();
        assert!(is_partition(&groups, vertices, 32));
        assert!(
            hypergraph.copies(&groups) < 1024 + 32,
            "each in two groups were 2048"
        );
        assert_eq!(groups, partition(&hypergraph, 32, 1).unwrap());
    }

    #[test]
    fn groups_of_vertices_without_edges_stay() {
        // 270,336 threads, of which the first 500 share data with another one each.
        let vertices = 2112 * 128 + 5;
        let edges = (0..250).map(|at| (vec![at, 499 - at], 1));
        let hypergraph = Hypergraph::new(vertices, edges);
        let groups = partition(&hypergraph, 32, 1).unwrap();
        assert!(is_partition(&groups, vertices, 32));
        assert!(
            hypergraph.copies(&groups) < 250 + 16,
            "each in two groups were 500"
        );
        for (at, group) in groups.iter().enumerate().skip(16) {
            let first = 32 * at as u32;
            assert!(group.iter().copied().eq(first..first + group.len() as u32));
        }
    }

    #[test]
    fn many_components_are_partitioned_in_time() {
        // 65,536 pairs of distant vertices.
        let half = 1 << 16;
        let edges = (0..half).map(|at| (vec![at, at + half], 1));
        let hypergraph = Hypergraph::new(2 * half as usize, edges);
        let groups = partition(&hypergraph, 32, 1).unwrap();
        assert!(is_partition(&groups, 2 * half as usize, 32));
        assert!(hypergraph.copies(&groups) < u64::from(half) * 11 / 10);
    }

    #[test]
    fn components_begin_at_their_lowest_vertex() {
        let pairs = [(5, 2), (2, 7), (3, 4), (7, 1)];
        let pairs = pairs.map(|(a, b): (u64, u64)| (a << 32 | b, 1));
        assert_eq!(first_of_components(8, &pairs), [0, 1, 3, 6]);
    }
}
