//! The depth of each vertex: the number of edges on a shortest path from the root.

mod costs;
mod published;
mod repaired;
mod search;

pub use published::PublishedDepths;
pub use repaired::Depths;
pub use search::StaticDepths;

/// The depth of a vertex that no path leads to.
pub const UNREACHED: u32 = u32::MAX;
