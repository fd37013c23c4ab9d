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
