//! Paths to accesses, reuse distances for inputs that have not been run, and orders of statements that shorten them.
//!
//! - [`PathTracker`]: which way a thread came, from the basic blocks that it runs, with loops squashed.
//!
//! No function here reads or writes anything; profiles come from the `locality` crate.
//!
//! For: anyone who has profiles of two inputs, or a trace of blocks.
//! Not for: making profiles (the `reuselens` crate) or showing them (the `report` crate).

mod blocks;
mod known;
mod tracker;

pub use blocks::{BasicBlock, BlockEnd};
pub use tracker::PathTracker;
