//! Graphs and streams of changes from random numbers: the same seed gives the same ones everywhere.
//!
//! Graphs come as sorted lists of edges without self loops and repeats.

mod barabasi_albert;
mod changes;
mod delaunay;
mod erdos_renyi;
mod random;
mod rmat;

use thiserror::Error;

use crate::VERTEX_LIMIT;

pub use barabasi_albert::barabasi_albert;
pub use changes::{ChangeMix, Changes, window};
pub use delaunay::delaunay;
pub use erdos_renyi::erdos_renyi;
pub use random::SeededRandom;
pub use rmat::{RmatShares, rmat};

/// Why a graph cannot be generated.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct GenerateError(String);

/// The most edges that are drawn for a graph: 2^36, for which a machine has 512 GiB or more.
pub const EDGE_LIMIT: u64 = 1 << 36;

/// An error if a graph has more than [`VERTEX_LIMIT`] vertices or [`EDGE_LIMIT`] edges.
fn check_size(vertices: u64, edges: u64) -> Result<(), GenerateError> {
    if vertices > u64::from(VERTEX_LIMIT) {
        return Err(GenerateError(format!(
            "a graph has at most {VERTEX_LIMIT} vertices, and {vertices} were asked for"
        )));
    }
    if edges > EDGE_LIMIT {
        return Err(GenerateError(format!(
            "these are {edges} edges, and 2^36 are the most; ask for fewer edges"
        )));
    }
    Ok(())
}
