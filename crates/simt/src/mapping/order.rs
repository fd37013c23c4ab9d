//! [`order`]: an order of blocks in which those that share data are close to each other.

use crate::mapping::Hypergraph;
use crate::mapping::hypergraph::Incidence;

/// Rounds of exchanges of neighbours at most.
const ROUNDS: usize = 50;

/// An order of the vertices in which those that share data are close: each next one has most in
/// common with the one before it, then neighbours change places as long as [`span`] falls.
pub fn order(blocks: &Hypergraph) -> Vec<usize> {
    let incidence = blocks.incidence();
    let mut order = chain(blocks, &incidence);
    let mut place = vec![0; order.len()];
    for (at, &block) in order.iter().enumerate() {
        place[block] = at;
    }
    for _ in 0..ROUNDS {
        let mut changed = false;
        for at in 1..order.len() {
            let (a, b) = (order[at - 1], order[at]);
            let edges = || incidence.of(a as u32).iter().chain(incidence.of(b as u32));
            let before: u64 = edges().map(|&edge| edge_span(blocks, edge, &place)).sum();
            place.swap(a, b);
            let after: u64 = edges().map(|&edge| edge_span(blocks, edge, &place)).sum();
            if after < before {
                order.swap(at - 1, at);
                changed = true;
            } else {
                place.swap(a, b);
            }
        }
        if !changed {
            break;
        }
    }
    let as_is: Vec<usize> = (0..order.len()).collect();
    if span(blocks, &as_is) <= span(blocks, &order) {
        as_is
    } else {
        order
    }
}

/// The total distance between successive uses of shared data, in blocks, if blocks run in that
/// order.
pub fn span(blocks: &Hypergraph, order: &[usize]) -> u64 {
    let mut place = vec![0; order.len()];
    for (at, &block) in order.iter().enumerate() {
        place[block] = at;
    }
    (0..blocks.edges() as u32)
        .map(|edge| edge_span(blocks, edge, &place))
        .sum()
}

/// Successive distances add up to that from the first to the last.
fn edge_span(blocks: &Hypergraph, edge: u32, place: &[usize]) -> u64 {
    let (pins, weight) = blocks.edge(edge as usize);
    let places = || pins.iter().map(|&pin| place[pin as usize]);
    let span = places().max().unwrap_or(0) - places().min().unwrap_or(0);
    span as u64 * weight
}

/// From the first vertex on, always the one that shares most with the last; the first of equals.
/// Only vertices that share something with the last are looked at, or else the first that is left:
/// most vertices may share nothing.
fn chain(blocks: &Hypergraph, incidence: &Incidence) -> Vec<usize> {
    let count = blocks.vertices();
    let mut used = vec![false; count];
    let mut order = Vec::with_capacity(count);
    let mut common = vec![0_u64; count];
    let mut near: Vec<u32> = Vec::new();
    let (mut last, mut first_left) = (0, 0);
    while order.len() < count {
        used[last] = true;
        order.push(last);
        for &edge in incidence.of(last as u32) {
            let (pins, weight) = blocks.edge(edge as usize);
            for &pin in pins {
                if common[pin as usize] == 0 {
                    near.push(pin);
                }
                common[pin as usize] += weight;
            }
        }
        let mut best = (0, std::cmp::Reverse(count));
        for block in near.drain(..).map(|block| block as usize) {
            let shared = std::mem::take(&mut common[block]);
            if shared > 0 && !used[block] {
                best = best.max((shared, std::cmp::Reverse(block)));
            }
        }
        while first_left < count && used[first_left] {
            first_left += 1;
        }
        last = if best.0 > 0 { best.1.0 } else { first_left };
    }
    order
}
