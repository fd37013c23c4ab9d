//! What the kernels of a GPU program do with memory and branches, and what to change: the analyses
//! of CUDAAdvisor (Shen, *Exploring Heterogeneous Architectures with Tools and Applications*, 2021,
//! chapter 3) and of Nsight Compute's memory tables, on records of warps.
//!
//! For: whatever runs kernels or reads records of them (the crate `cuda`, files of `warp`). Not
//! for: how threads share data and which should be neighbours, which is in the crate `simt`.

mod context;
mod ledger;

pub use context::{LaunchContext, ObjectRange};
pub use ledger::{
    CallPath, CopySum, Direction, FillSum, HostFrame, HostModule, LaunchFault, LaunchSum, Ledger,
    MemoryObject, Origin, VariableSpace,
};
