//! [`partition`]: groups of equal size that have as much data in common as possible, found by METIS
//! and improved by `refine`.

use std::sync::Mutex;

use metis::option::{Seed, UFactor};
use reuselens_workers::lock;

use crate::SimtError;
use crate::mapping::Hypergraph;
use crate::mapping::hypergraph::group_of;
use crate::mapping::refine::refine;

/// Edges of more vertices than this become a ring and a star instead of all pairs.
const CLIQUE: usize = 10;
/// Weights are scaled to integers by this: a pair of an edge of `n` vertices weighs `1 / (n −
/// 1)` of it.
const SCALE: u64 = 240;
/// How much METIS may leave groups unequal, in thousandths; they are made equal afterwards.
const UNEQUAL: metis::Idx = 30;

/// A hypergraph is partitioned `SMALL / pins` times, at most [`TRIES`]: in turns by METIS and from
/// random groups.
const SMALL: usize = 1 << 16;
/// Pins up to which METIS's k-way method is tried too, which takes several times as long.
const MEDIUM: usize = 1 << 18;
/// See [`SMALL`].
const TRIES: usize = 32;

/// Groups of exactly `size` vertices (the last may be smaller), such that edges touch few groups.
///
/// METIS partitions the graph of pairs; groups are then made equal, and vertices of different
/// groups change places as long as [`Hypergraph::copies`] falls. Groups of successive vertices
/// are improved likewise, and the better result is taken: it is never worse than leaving them.
///
/// # Errors
/// [`SimtError::Unfit`] if METIS refuses, or the graph is too large for it.
pub fn partition(
    hypergraph: &Hypergraph,
    size: usize,
    seed: u64,
) -> Result<Vec<Vec<u32>>, SimtError> {
    let vertices: Vec<u32> = (0..hypergraph.vertices() as u32).collect();
    let mut in_place: Vec<Vec<u32>> = vertices.chunks(size.max(1)).map(<[u32]>::to_vec).collect();
    if in_place.len() < 2 || size < 2 || hypergraph.edges() == 0 {
        return Ok(in_place);
    }
    let mut found = u64::MAX;
    let mut best = Vec::new();
    let few = hypergraph.pins() <= MEDIUM;
    let tries = (SMALL / hypergraph.pins().max(1)).clamp(1 + 2 * usize::from(few), TRIES) as u64;
    for (at, seed) in (0..tries).map(|at| (at, seed.wrapping_add(at))) {
        let mut groups = if at % 2 == 1 {
            shuffled(&vertices, size, seed)
        } else {
            let parts = metis_parts(hypergraph, in_place.len(), seed, few && at > 0)?;
            equal(hypergraph, &parts, size, in_place.len())
        };
        let copies = refine(hypergraph, &mut groups, found);
        if copies < found {
            (found, best) = (copies, groups);
        }
    }
    if refine(hypergraph, &mut in_place, found) <= found {
        best = in_place;
    }
    for group in &mut best {
        group.sort_unstable();
    }
    best.sort_unstable_by_key(|group| (group.len() < size, group.first().copied()));
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

/// The part of each vertex.
fn metis_parts(
    hypergraph: &Hypergraph,
    parts: usize,
    seed: u64,
    kway: bool,
) -> Result<Vec<u32>, SimtError> {
    let failed =
        |what: String| SimtError::Unfit(format!("METIS cannot partition the threads: {what}"));
    let (xadj, adjacent, weights) =
        graph(hypergraph).ok_or_else(|| failed("too many pairs".to_owned()))?;
    let mut part = vec![0; hypergraph.vertices()];
    if adjacent.is_empty() {
        return Ok(vec![0; hypergraph.vertices()]);
    }
    let count = metis::Idx::try_from(parts).map_err(|_| failed("too many parts".to_owned()))?;
    // METIS draws random numbers from the C library, whose state all threads share. Only if one
    // partition runs at a time does the seed decide the result.
    static METIS: Mutex<()> = Mutex::new(());
    let _guard = lock(&METIS);
    let graph = metis::Graph::new(1, count, &xadj, &adjacent);
    let graph = graph.map_err(|error| failed(error.to_string()))?;
    let graph = graph
        .set_adjwgt(&weights)
        .set_option(Seed((seed % (1 << 30)) as metis::Idx))
        .set_option(UFactor(UNEQUAL));
    let done = if kway && parts > 8 {
        graph.part_kway(&mut part)
    } else {
        graph.part_recursive(&mut part)
    };
    done.map_err(|error| failed(error.to_string()))?;
    Ok(part.into_iter().map(|part| part as u32).collect())
}

/// A graph in METIS's form: where rows begin, neighbours, weights.
type Rows = (Vec<metis::Idx>, Vec<metis::Idx>, Vec<metis::Idx>);

/// The graph of pairs that share data.
fn graph(hypergraph: &Hypergraph) -> Option<Rows> {
    // Both ways: from, to.
    let mut pairs: Vec<(u64, u64)> = Vec::new();
    let mut add = |a: u32, b: u32, weight: u64| {
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
    pairs.sort_unstable();
    let mut xadj = vec![0; hypergraph.vertices() + 1];
    let (mut adjacent, mut weights) = (Vec::new(), Vec::new());
    for equal in pairs.chunk_by(|a, b| a.0 == b.0) {
        let (from, to) = (equal[0].0 >> 32, equal[0].0 as u32);
        let weight: u64 = equal.iter().map(|pair| pair.1).sum();
        xadj[from as usize + 1] += 1;
        adjacent.push(metis::Idx::try_from(to).ok()?);
        weights.push(metis::Idx::try_from(weight.min(1 << 20)).ok()?);
    }
    metis::Idx::try_from(adjacent.len()).ok()?;
    for vertex in 0..hypergraph.vertices() {
        xadj[vertex + 1] += xadj[vertex];
    }
    Some((xadj, adjacent, weights))
}

/// The group of a vertex that has none for now.
const NOWHERE: u32 = u32::MAX;

/// Groups of equal size from parts of about equal size: vertices with the least in common with
/// their part go to one with room that they have most in common with.
fn equal(hypergraph: &Hypergraph, parts: &[u32], size: usize, count: usize) -> Vec<Vec<u32>> {
    let mut groups = vec![Vec::new(); count];
    for (vertex, &part) in parts.iter().enumerate() {
        groups[part as usize].push(vertex as u32);
    }
    let incidence = hypergraph.incidence();
    let mut group = group_of(hypergraph.vertices(), &groups);
    let common = |vertex: u32, group: &[u32], with: u32| -> u64 {
        let edges = incidence.of(vertex).iter();
        edges
            .map(|&edge| {
                let (pins, weight) = hypergraph.edge(edge as usize);
                let others = pins.iter().take(64);
                others
                    .filter(|&&pin| pin != vertex && group[pin as usize] == with)
                    .count() as u64
                    * weight
            })
            .sum()
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
