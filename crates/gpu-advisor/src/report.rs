//! [`KernelReport`]: all that is known of the launches of one kernel from one call path.

use reuselens_warp::{InstructionClass, KernelSite, SharedArray, Space, WarpKind};

use crate::{
    BankCounts, BranchReport, ByKind, BypassReport, CacheCounts, CacheDistances, CacheReport,
    ClassCounts, ConfiguredLaunches, DegreeHistograms, GlobalCounts, HeatMap, InstructionMix,
    LaunchStatistics, LeftOutAccesses, MappingReport, RequestSums, ReuseReport, ReuseSums,
};

/// Instructions that were executed, of any kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounts {
    /// By warps.
    pub warps: u64,
    /// By threads: the active lanes of those.
    pub threads: u64,
}

/// Executions of memory instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryRequests {
    /// By warps.
    pub requests: u64,
    /// By threads: the active lanes of those.
    pub lanes: u64,
}

impl RequestSums for MemoryRequests {
    fn merge(&mut self, other: &MemoryRequests) {
        self.requests += other.requests;
        self.lanes += other.lanes;
    }
}

/// Memory instructions of warps, by the memory that they go to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceCounts {
    /// Index: the number of a [`Space`].
    pub requests: [ByKind<MemoryRequests>; Space::ALL.len()],
}

impl SpaceCounts {
    /// Requests to one memory.
    pub fn of(&self, space: Space) -> u64 {
        self.requests[space as usize].all().requests
    }

    /// Counts a request.
    #[inline(always)]
    pub(crate) fn add(&mut self, space: Space, kind: WarpKind, lanes: u64) {
        let sums = self.requests[space as usize].of(kind);
        sums.requests += 1;
        sums.lanes += lanes;
    }

    /// Adds the requests of another.
    pub fn merge(&mut self, other: &SpaceCounts) {
        for (sums, more) in self.requests.iter_mut().zip(&other.requests) {
            sums.merge(more);
        }
    }

    /// The requests by class of instruction.
    pub fn mix(&self) -> InstructionMix {
        let mut mix = InstructionMix::default();
        for (space, sums) in Space::ALL.into_iter().zip(&self.requests) {
            for (kind, sum) in [
                (WarpKind::Load, sums.loads),
                (WarpKind::Store, sums.stores),
                (WarpKind::Atomic, sums.atomics),
            ] {
                let counts = ClassCounts {
                    warps: sum.requests,
                    threads: sum.lanes,
                    float_operations: 0,
                };
                mix.add(InstructionClass::of_access(space, kind), &counts);
            }
        }
        mix
    }
}

/// Sums over requests of local memory, which is each thread's own: registers that did not fit, and
/// arrays that are indexed by numbers the compiler does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalCounts {
    /// Requests.
    pub requests: u64,
    /// Active lanes of all requests.
    pub lanes: u64,
    /// Bytes that the lanes access.
    pub bytes: u64,
}

impl RequestSums for LocalCounts {
    fn merge(&mut self, other: &LocalCounts) {
        self.requests += other.requests;
        self.lanes += other.lanes;
        self.bytes += other.bytes;
    }
}

/// An array in shared memory, with what requests do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedArrayReport {
    /// The array; none: shared memory that belongs to no known array.
    pub array: Option<SharedArray>,
    /// Requests; each counts for the array that its first lane accesses.
    pub counts: BankCounts,
}

/// What the requests of one place in the code do: of one memory instruction, or of all those of a
/// source line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteCounts {
    /// Requests of global memory.
    pub global: GlobalCounts,
    /// Requests of shared memory.
    pub shared: BankCounts,
    /// Requests of local memory.
    pub local: LocalCounts,
    /// Sectors that the modelled L1 is asked for.
    pub l1: CacheCounts,
    /// Sectors that the modelled L2 is asked for.
    pub l2: CacheCounts,
    /// Reuse of what is loaded from global memory, in blocks.
    pub reuse: ReuseSums,
}

impl SiteCounts {
    /// Adds the requests of another place.
    pub fn merge(&mut self, other: &SiteCounts) {
        self.global.merge(&other.global);
        self.shared.merge(&other.shared);
        self.local.merge(&other.local);
        self.l1.merge(&other.l1);
        self.l2.merge(&other.l2);
        self.reuse.merge(&other.reuse);
    }
}

/// What requests do with one data object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectCounts {
    /// Requests of global memory. A request that accesses several objects counts for each, with
    /// its lanes, lines and sectors in that object. A line belongs to the object of the lowest
    /// address accessed in it.
    pub global: ByKind<GlobalCounts>,
    /// Sectors of its lines that the modelled L1 is asked for.
    pub l1: CacheCounts,
    /// Sectors of its lines that the modelled L2 is asked for.
    pub l2: CacheCounts,
    /// Reuse of what is loaded from it, in blocks.
    pub reuse: ReuseSums,
}

impl ObjectCounts {
    /// Adds what other requests do with the object.
    pub fn merge(&mut self, other: &ObjectCounts) {
        self.global.merge(&other.global);
        self.l1.merge(&other.l1);
        self.l2.merge(&other.l2);
        self.reuse.merge(&other.reuse);
    }
}

/// One memory instruction of a kernel's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteReport {
    /// Its number: an index into [`reuselens_warp::Launch::sites`].
    pub site: u32,
    /// Its place and text; empty where the code is not known.
    pub code: KernelSite,
    /// The memory that it goes to; of several, the one of its first record in the order of blocks.
    pub space: Space,
    /// What it does.
    pub kind: WarpKind,
    /// The object that all its requests of global memory are in; none if there are several, or it
    /// is not known.
    pub object: Option<u32>,
    /// The array that all its requests of shared memory are in; none if there are several, or it is
    /// not known.
    pub array: Option<String>,
    /// What its requests do.
    pub counts: SiteCounts,
}

/// One data object, as far as a kernel accesses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectReport {
    /// Its number in the run; none: addresses that belong to no known object.
    pub object: Option<u32>,
    /// What requests do with it.
    pub counts: ObjectCounts,
    /// How often its parts are accessed; empty where the object is not known.
    pub heat: HeatMap,
}

/// The launches of one kernel from one call path of the host.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelReport {
    /// The kernel's name, as [`reuselens_warp::Launch::kernel`] has it.
    pub kernel: String,
    /// Number of the host's call path. 0: unknown.
    pub call_path: u32,
    /// Statistics over the launches.
    pub launches: LaunchStatistics,
    /// How they were launched, in the order of the first launches; 64 configurations at most.
    pub configurations: Vec<ConfiguredLaunches>,
    /// Launches with a configuration that is not among those.
    pub other_configurations: u64,
    /// Instructions of all launches where they are known.
    pub instructions: InstructionCounts,
    /// Instructions by class; of a stream, those that access memory only.
    pub mix: InstructionMix,
    /// Memory instructions of all launches.
    pub spaces: SpaceCounts,
    /// All requests of global memory.
    pub global: GlobalCounts,
    /// Reuse distances; none if they were not measured.
    pub reuse: Option<ReuseReport>,
    /// Memory divergence.
    pub divergence: ByKind<DegreeHistograms>,
    /// Bank conflicts.
    pub banks: ByKind<BankCounts>,
    /// Arrays in shared memory that were accessed, by their addresses; what belongs to none is
    /// last.
    pub shared_arrays: Vec<SharedArrayReport>,
    /// Modelled caches; none if they were not modelled.
    pub caches: Option<CacheReport>,
    /// Reuse distances in caches of each SM, and in one of all; none if they were not measured.
    pub cache_distances: Option<CacheDistances>,
    /// Advice on bypassing the L1; none without reuse distances.
    pub bypass: Option<BypassReport>,
    /// What another order of threads would gain; none where it was not looked for.
    pub mapping: Option<MappingReport>,
    /// Branch divergence; empty where it was not counted.
    pub branches: BranchReport,
    /// Accesses that were left out, by line; empty where bad accesses stop kernels.
    pub left_out: Vec<LeftOutAccesses>,
    /// Memory instructions that were executed, in the order of the code.
    pub by_site: Vec<SiteReport>,
    /// Objects that requests of global memory accessed, by their numbers; unknown ones first.
    pub by_object: Vec<ObjectReport>,
    /// Objects that constants were loaded from, ascending.
    pub constants: Vec<u32>,
}
