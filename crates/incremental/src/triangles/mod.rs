//! The number of triangles at each vertex.

mod batch;
mod hubs;
mod lists;
mod published;
mod repaired;
mod search;
mod undirected;

pub use published::PublishedTriangles;
pub use repaired::Triangles;
pub use search::StaticTriangles;
