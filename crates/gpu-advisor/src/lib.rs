//! What the kernels of a GPU program do with memory and branches, and what to change: the analyses
//! of CUDAAdvisor (Shen, *Exploring Heterogeneous Architectures with Tools and Applications*, 2021,
//! chapter 3) and of Nsight Compute's memory tables, on records of warps.
//!
//! An [`Advisor`] takes launches: [`Advisor::begin`], for each block [`Advisor::open`] and
//! [`Advisor::close`] with a [`BlockAdvisor`] that takes the block's records on any thread, then
//! [`Advisor::end`]. It is also a [`reuselens_warp::Collector`], for streams and files of records.
//! [`Advisor::finish`] gives a [`KernelReport`] for each kernel and call path, and [`findings`]
//! says what to change.
//!
//! For: whatever runs kernels or reads records of them (the crate `cuda`, files of `warp`). Not
//! for: who shares data with whom, and at which distance, which is in the crate `simt`.

mod address_run;
mod advisor;
mod banks;
mod block;
mod branches;
mod by_kind;
mod bypass;
mod caches;
mod context;
mod counters;
mod counts;
mod divergence;
mod heat;
mod history;
mod kernel;
mod launches;
mod ledger;
mod left_out;
mod merged;
mod metrics;
mod mix;
mod model;
mod neighbours;
mod occupancy;
mod options;
mod order;
mod places;
mod reference;
mod report;
mod request;
mod reuse;
mod rules;
mod tally;

pub use advisor::Advisor;
pub use banks::{BANKS, BankCounts, wavefronts};
pub use block::BlockAdvisor;
pub use branches::{
    BasicBlockExecutions, BranchExecutions, BranchReport, GuardedExecutions, InstructionExecutions,
    LineBranches, source_line,
};
pub use by_kind::{ByKind, RequestSums};
pub use bypass::{BypassInputs, BypassOracle, BypassReport};
pub use caches::{CacheCounts, CacheDistances, CacheReport};
pub use context::{LaunchContext, ObjectRange};
pub use counts::{GlobalCounts, LINE_BYTES, SECTOR_BYTES};
pub use divergence::{DegreeHistograms, MAX_DEGREE};
pub use heat::{HEAT_PARTS, HeatMap};
pub use launches::{LaunchMetric, LaunchStatistics, Statistic};
pub use ledger::{
    CallPath, CopySum, Direction, FillSum, HostFrame, HostModule, LaunchFault, LaunchSum, Ledger,
    MemoryObject, Origin, VariableSpace,
};
pub use left_out::LeftOutAccesses;
pub use merged::renumber_call_paths;
pub use metrics::{KernelMetric, metrics};
pub use mix::{ClassCounts, InstructionMix};
pub use model::{CacheShape, GpuModel, StorePolicy};
pub use neighbours::{MappingReport, OrderCounts};
pub use occupancy::{ConfiguredLaunches, LaunchConfiguration, Occupancy, OccupancyLimit};
pub use options::AdvisorOptions;
pub use report::{
    InstructionCounts, KernelReport, LocalCounts, MemoryRequests, ObjectCounts, ObjectReport,
    SharedArrayReport, SiteCounts, SiteReport, SpaceCounts,
};
pub use reuse::{ReuseCounts, ReuseReport, ReuseSums};
pub use rules::{KernelNames, RunFacts, findings, rules};

/// `part / total`; 0 of nothing is 0.
pub(crate) fn ratio(part: u64, total: u64) -> f64 {
    match total {
        0 => 0.0,
        total => part as f64 / total as f64,
    }
}

/// The number of bits that are set. Most masks are full or have one bit; for those it takes no
/// instruction that old processors lack.
#[inline(always)]
pub(crate) fn count_bits(bits: u32) -> u32 {
    if bits == u32::MAX {
        u32::BITS
    } else if bits & bits.wrapping_sub(1) == 0 {
        u32::from(bits != 0)
    } else {
        bits.count_ones()
    }
}
