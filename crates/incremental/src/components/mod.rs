//! The component of each vertex, named by the smallest vertex in it.

mod costs;
mod forest;
mod published;
mod repaired;
mod search;

pub use published::PublishedComponents;
pub use repaired::Components;
pub use search::StaticComponents;
