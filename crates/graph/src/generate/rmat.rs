//! [`rmat`]: graphs with hubs, by recursive quarters of the matrix.

use super::{GenerateError, SeededRandom, check_size};
use crate::{Edge, EdgeKind};

/// The shares of the upper left, upper right and lower left quarter; the rest is the lower right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmatShares {
    /// Upper left: both ends in the lower half of the numbers.
    pub a: f64,
    /// Upper right.
    pub b: f64,
    /// Lower left.
    pub c: f64,
}

impl Default for RmatShares {
    /// Those of Graph500: 0.57, 0.19, 0.19.
    fn default() -> Self {
        Self {
            a: 0.57,
            b: 0.19,
            c: 0.19,
        }
    }
}

/// An R-MAT graph (Chakrabarti, Zhan, Faloutsos 2004) of 2^`scale` vertices. As in Graph500,
/// `draws` pairs are drawn, and self loops and repeats among them are left out, so the graph has
/// fewer edges than that. Vertices are not renumbered: the hubs have the lowest numbers.
///
/// # Errors
/// If `scale` is above 31, there are more draws than the limit of edges, or the shares are negative
/// or more than 1 together.
pub fn rmat(
    kind: EdgeKind,
    scale: u32,
    draws: u64,
    shares: RmatShares,
    seed: u64,
) -> Result<Vec<Edge>, GenerateError> {
    if scale > 31 {
        let what = format!("a scale of {scale} is 2^{scale} vertices; 31 is the largest scale");
        return Err(GenerateError(what));
    }
    check_size(1 << scale, draws)?;
    let RmatShares { a, b, c } = shares;
    if !([a, b, c].iter().all(|share| *share >= 0.0) && a + b + c <= 1.0) {
        let what =
            format!("the shares {a}, {b} and {c} should be 0 or more, and 1 together at most");
        return Err(GenerateError(what));
    }
    let mut random = SeededRandom::new(seed);
    let mut edges = Vec::with_capacity(draws as usize);
    for _ in 0..draws {
        let (mut from, mut to) = (0_u32, 0_u32);
        for _ in 0..scale {
            let place = random.unit();
            let (down, right) = if place < a {
                (0, 0)
            } else if place < a + b {
                (0, 1)
            } else {
                (1, u32::from(place >= a + b + c))
            };
            (from, to) = (from << 1 | down, to << 1 | right);
        }
        let edge = Edge::new(kind, from, to);
        if !edge.is_loop() {
            edges.push(edge);
        }
    }
    edges.sort_unstable();
    edges.dedup();
    Ok(edges)
}
