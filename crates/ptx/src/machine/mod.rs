//! The machine: memory, blocks, warps.

mod access;
mod atomic;
mod block;
mod collective;
mod device_memory;
mod fault;
mod launch;
mod memory;
mod overlay;
mod races;
pub mod random;
mod warp;
pub mod windows;

pub use block::BlockRun;
pub use device_memory::{Allocation, DeviceMemory};
pub use fault::{FaultKind, KernelError};
pub use launch::{Launch, LaunchError, Options, Stats, run};
pub use warp::{Pause, Stop, run_warp};
