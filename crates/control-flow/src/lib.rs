//! The loops and the calls that a thread is in, from the basic blocks that it runs.
//!
//! [`LoopTracker`] takes [`BasicBlock`]s and keeps both as stacks. What is to be remembered of a
//! loop or a call is a [`LoopState`] of the caller: a path (the crate `predict`), or when a scope
//! was entered (the crate `causes`).
//!
//! For: analyses of basic blocks that were captured. Not for: the control-flow graph of code that
//! has not run.

mod blocks;
mod loop_state;
mod loop_tracker;
mod visited_blocks;

pub use blocks::{BasicBlock, BlockEnd};
pub use loop_state::LoopState;
pub use loop_tracker::{ActiveCall, ActiveLoop, LoopTracker};
