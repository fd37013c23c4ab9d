//! [`erdos_renyi`]: every graph of so many edges is equally likely.

use hashbrown::HashSet;

use super::{GenerateError, SeededRandom, check_size};
use crate::{Edge, EdgeKind};

/// A graph G(n, m) of Erdős and Rényi: exactly `edges` edges, and every such graph is equally
/// likely. The pairs are drawn by Floyd's algorithm, so time and memory grow with the edges even if
/// nearly all pairs are edges.
///
/// # Errors
/// If there are fewer pairs of vertices than edges, or more vertices or edges than the limits.
pub fn erdos_renyi(
    kind: EdgeKind,
    vertices: u32,
    edges: u64,
    seed: u64,
) -> Result<Vec<Edge>, GenerateError> {
    let n = u64::from(vertices);
    check_size(n, edges)?;
    let ordered = n * n.saturating_sub(1);
    let pairs = match kind {
        EdgeKind::Undirected => ordered / 2,
        EdgeKind::Directed => ordered,
    };
    if edges > pairs {
        return Err(GenerateError(format!(
            "{vertices} vertices have {pairs} pairs, fewer than {edges} edges; take more vertices"
        )));
    }
    let mut random = SeededRandom::new(seed);
    let mut drawn = HashSet::with_capacity(edges as usize);
    for last in pairs - edges..pairs {
        let pair = random.below(last + 1);
        if !drawn.insert(pair) {
            drawn.insert(last);
        }
    }
    let mut list: Vec<Edge> = drawn.into_iter().map(|pair| at(kind, n, pair)).collect();
    list.sort_unstable();
    Ok(list)
}

/// The edge at this place in the list of all pairs.
fn at(kind: EdgeKind, vertices: u64, pair: u64) -> Edge {
    let (from, to) = match kind {
        EdgeKind::Directed => {
            let (from, to) = (pair / (vertices - 1), pair % (vertices - 1));
            (from, to + u64::from(to >= from))
        }
        EdgeKind::Undirected => {
            // The larger end v has the places v (v - 1) / 2 and on.
            let mut v = ((1 + 8 * u128::from(pair)).isqrt() as u64).div_ceil(2);
            while v * (v - 1) / 2 > pair {
                v -= 1;
            }
            (pair - v * (v - 1) / 2, v)
        }
    };
    Edge::new(kind, from as u32, to as u32)
}
