//! How the threads of a GPU kernel share data, when, and what another mapping of threads would
//! gain.
//!
//! A stream of warp instructions ([`reuselens_warp`]) becomes a [`KernelRun`]: for each block, the
//! memory instructions that its threads issue together, with the items that they touch. A
//! [`Scenario`] says how blocks share the machine and yields reference streams; each has a
//! [`Characteristic`]: how much data is reused at which distance, in memory instructions.
//! [`mapping`] regroups threads into warps and blocks.
//!
//! Source: L. A. Garrido Platero, *A Memory Trace-Based Analysis for Data Sharing Degree in SIMT
//! Architectures*, National Chiao Tung University, 2013; thread mapping after Kuo et al., ASP-DAC
//! 2012.
//!
//! For: callers that ask what a kernel's threads have in common. Not for: times; nothing here knows
//! latencies, caches or bandwidths.

pub mod characteristic;
mod error;
pub mod generate;
pub mod graph;
pub mod mapping;
pub mod netlist;
mod run;
pub mod scenario;
pub mod sharing;
pub mod transactions;

pub use characteristic::{Characteristic, ContourClass, Difference};
pub use error::SimtError;
pub use run::{
    Alignment, BlockInstruction, BlockStream, Grain, ItemClass, KernelRun, Loading, Spaces,
};
pub use scenario::{ReferenceStream, Scenario};
