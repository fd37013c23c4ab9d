//! Graphs whose edges come and go.
//!
//! A stream of [`EdgeChange`]s is cut into batches. A stored graph applies a batch, and returns its
//! net effect as a [`Delta`]: the edges that are new, and those that are gone. Whatever is computed
//! from the graph is kept up to date from deltas.
//!
//! Vertices are numbered from 0 without gaps ([`VertexId`]). Graphs are simple: an edge is present
//! or it is not, and no vertex is its own neighbour.
//!
//! For: programs that keep graphs in memory and change them by batches. Not for: edges with
//! weights or properties, graphs that are larger than the memory, or graphs that never change.

mod blocks;
mod change;
pub mod formats;
pub mod generate;
mod names;
mod requests;
mod sorted;
mod storage;

pub use blocks::BlockGraph;
pub use change::{Delta, Edge, EdgeChange, EdgeKind, VertexId};
pub use names::VertexNames;
pub use sorted::{NeighborBlocks, SortedGraph};
pub use storage::{StoredGraph, VERTEX_LIMIT};
