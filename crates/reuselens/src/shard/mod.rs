//! Traces in pieces: threads now, processes and machines when there are.
mod items;
mod stretch;

pub use items::histogram_parallel;
pub(crate) use stretch::{Known, Stretch, Waiting};
