//! The loops and the calls that a thread is in, from the basic blocks that it runs.
//!
//! There are two ways to find loops. [`NestTracker`] finds those of the graph of blocks, wherever
//! their code is, with the times when they were entered (the crate `causes`). [`LoopTracker`] takes
//! a loop for a range of addresses, by which the paths of profiles are defined (the crate
//! `predict`); what it remembers of a loop is a [`LoopState`] of the caller.
//!
//! For: analyses of basic blocks that were captured. Not for: the control-flow graph of code that
//! has not run.

mod address_hash;
mod blocks;
mod call_stack;
mod flow_graph;
mod loop_forest;
mod loop_state;
mod loop_tracker;
mod nest_tracker;
mod visited_blocks;

pub use blocks::{BasicBlock, BlockEnd};
pub use call_stack::ActiveCall;
pub use loop_state::LoopState;
pub use loop_tracker::LoopTracker;
pub use nest_tracker::{NestTracker, NestedCall, NestedLoop};
