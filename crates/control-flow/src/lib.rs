//! The loops and the calls that a thread is in, from the basic blocks that it runs.
//!
//! [`NestTracker`] finds the loops of the graph of blocks that ran, wherever their code is. What it
//! remembers of a loop is a [`LoopState`] of the caller: the times when it was entered (the crate
//! `causes`), or the path to it (the crate `predict`).
//!
//! For: analyses of basic blocks that were captured. Not for: the control-flow graph of code that
//! has not run.

mod blocks;
mod call_stack;
mod flow_graph;
mod loop_forest;
mod loop_state;
mod nest_tracker;

pub use blocks::{BasicBlock, BlockEnd};
pub use call_stack::ActiveCall;
pub use loop_state::LoopState;
pub use nest_tracker::{NestTracker, NestedCall, NestedLoop};
