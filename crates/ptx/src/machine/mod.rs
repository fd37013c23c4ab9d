//! The machine that runs kernels: device memory, launches, blocks and warps. [`run`] is a launch;
//! the operations that it interprets are those of `decode::kernel`.

mod access;
mod assertion;
mod atomic;
mod block;
mod block_queue;
mod call;
mod collective;
mod cooperative;
mod copy;
mod delivery;
mod device_memory;
mod fault;
mod flow;
mod grid;
mod heap;
mod launch;
mod matrix;
mod memory;
mod overlay;
mod print;
mod races;
pub mod random;
mod skipped;
mod texture;
mod warp;
pub mod windows;

pub use block::BlockRun;
pub use device_memory::{Allocation, DeviceMemory};
pub use fault::{FaultKind, KernelError};
pub use flow::{BlockFlow, BranchFlow, FlowCounts};
pub use grid::LaunchConfig;
pub use launch::{LaunchError, Options, Stats, run};
pub use skipped::{OnFault, SkippedAccess, SkippedSum};
pub use warp::{Pause, StoppedWarp, run_warp};
