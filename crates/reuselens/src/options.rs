//! What to analyse and how.

use std::num::NonZeroUsize;

use reuselens_attribute::{DataFilter, Kinds, NamesMode, PlacementOptions};
use reuselens_profile::{PlacementData, Sharing};
use reuselens_trace::Source;
use reuselens_units::{Bytes, Granularity};

use crate::counts;

/// The engine that is chosen for the trace.
const AUTO: &str = "auto";

/// The part of the memory limit that footprints may take, as a divisor.
const FOOTPRINT_SHARE: u64 = 8;
/// Bytes of an entry of a footprint, by the sizes of its tables: a slot of the hash table has 25
/// bytes, at most 7 of 8 are full, and the old table is kept while one of twice the size is filled,
/// which makes 86 bytes. At the end the sorted copy adds 24 to at most 57. The rest is for leaves
/// and cells.
const FOOTPRINT_ENTRY: u64 = 100;
/// Entries of footprints at most, where memory has no limit: 6.7 GB.
const MAX_FOOTPRINT_ENTRIES: u64 = 1 << 26;

/// Pairs of an instruction and a path that are counted by themselves by default.
pub const MOST_PATHS: u64 = 1 << 19;

/// Which device the engines `gpu` and `hp-rda-gpu` run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// A GPU if there is one; never the interpreter.
    #[default]
    Auto,
    /// A GPU, by NVIDIA's driver.
    Cuda,
    /// The interpreter of kernels, on the processor.
    Interpreter,
}

/// How the engines `hp-rda` and `hp-rda-gpu` cut a trace, and `gpu`, which has chunks only. What is
/// `None` is as published, or as much as memory allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineChunks {
    /// Accesses of a chunk. Of `hp-rda` and `hp-rda-gpu` 1 to 32768, 2048 as published: distances
    /// depend on it. Of `gpu` up to 2³¹: distances do not.
    pub accesses: Option<u64>,
    /// Chunks of a block, 1 to 64, each with a thread of a GPU; 64 as published.
    pub per_block: Option<u64>,
    /// Blocks that are analysed together, 1 to 512, fewer where memory is short: no distance
    /// depends on it. 512 as published.
    pub blocks: Option<u64>,
}

/// What to analyse and how; the default is what `reuselens profile` does without options.
#[derive(Clone, Debug)]
pub struct AnalysisOptions {
    /// Name of the engine, or `auto`.
    pub engine: String,
    /// Bytes per item; `None` = this machine's cache line. Traces of ids always have granularity 1.
    pub granularity: Option<Granularity>,
    /// Which accesses count.
    pub kinds: Kinds,
    /// Which data count.
    pub data: DataFilter,
    /// Whether a statement of the program's own marks counts an element once.
    pub names: NamesMode,
    /// Whether accesses are broken down by calling context.
    pub contexts: bool,
    /// Count all accesses together, without a breakdown by line, object, context or thread, which
    /// is the fastest. Has no effect if `data` or `names` need one.
    pub totals_only: bool,
    /// Whether accesses are counted per element where the element size is known.
    pub elements: bool,
    /// What is recorded for placing objects in memory: chunks of large objects, lifetimes, and
    /// footprints and entries of calling contexts. Has no effect with `totals_only`. Takes up to an
    /// eighth of the memory limit for footprints, and leaves them out, with a warning, beyond.
    pub placement: Option<PlacementData>,
    /// Whether a distance is the sum of the sizes of the objects in between, in bytes, and not
    /// their number: for traces of ids that have sizes. Counted in units of `granularity`, by
    /// default 64 bytes.
    pub weigh_bytes: bool,
    /// Whether distances look back over all program threads, interleaved, or over one at a time.
    pub sharing: Sharing,
    /// Tell only distances below so many items, in memory that grows with them and not with the
    /// distinct items; all others count as cold. `None` = all distances.
    pub max_distance: Option<u64>,
    /// Whether reuse times are counted, and the footprint with them. Takes 48 to 96 bytes per
    /// distinct item, and a second look-up per access.
    pub reuse_times: bool,
    /// Whether forward distances are counted, per cell. As `reuse_times`, and a count per access.
    pub forward: bool,
    /// Whether paths are followed, and distances counted by instruction and path; needs a source
    /// with basic blocks.
    pub paths: bool,
    /// The most pairs of an instruction and a path that are counted by themselves. Beyond, paths
    /// are kept shorter. Memory is 100 to 200 bytes a pair, and as much again while the profile is
    /// made; both are within `memory_limit`, or paths are kept shorter.
    pub most_paths: u64,
    /// Whether to record why accesses miss, and in which cache: its size.
    /// [`Machine::default_cause_cache`](reuselens_profile::Machine::default_cause_cache) is a
    /// choice. Takes two to three times the time, and 57 to 85 bytes per distinct item: 24 to 48
    /// for its number, 16 for the use of its line, 16 for its last access where there are basic
    /// blocks, 1 for phases, 4 where there are several threads; up to twice that while a table has
    /// just grown. With a sample, which has only the use of lines and elements, 101 to 153 bytes
    /// per sampled item: 24 to 48 for its number, 48 for the use of its line in three caches, and
    /// 29 to 57 for each place in the program that brings it in.
    pub causes: Option<Bytes>,
    /// Threads to work on; `None` = one per processor. The results do not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// Whether the engines `hp-rda` and `hp-rda-gpu` adjust distances beyond the number of items.
    pub adjusting: bool,
    /// How the engines `hp-rda`, `hp-rda-gpu` and `gpu` cut the trace.
    pub chunks: EngineChunks,
    /// Whether the profile says how long each step of these engines took, which is never the same
    /// twice.
    pub engine_times: bool,
    /// Which device the engines `gpu` and `hp-rda-gpu` run on.
    pub device: DeviceChoice,
    /// The most memory that the analysis may take; `None` = three quarters of what is free.
    pub memory_limit: Option<Bytes>,
    /// The share of the items to look at, above 0 and up to 1, for the engines `sampled` and
    /// `auto`; `None` = what the engine does by itself.
    pub sample: Option<f64>,
    /// Whether the source is a run of which bursts are recorded
    /// ([`ControlOptions::strata`](reuselens_capture::ControlOptions::strata)), and the counts
    /// estimates for all of it. With nothing that needs every access: causes, paths, forward
    /// distances and the like are refused.
    pub bursts: bool,
    /// The number that all chance of a sample comes from: equal seeds, equal profiles.
    pub seed: u64,
}

impl AnalysisOptions {
    /// Whether loops and calls are followed, for which the source should have basic blocks: causes
    /// of misses ask what carries a reuse, unless a sample is asked for.
    pub fn needs_scopes(&self) -> bool {
        self.causes.is_some() && counts::sample_rate(self).is_none()
    }

    /// The unit of distances in bytes, where objects are weighed.
    pub fn weight_unit(&self) -> Granularity {
        self.granularity.unwrap_or(Granularity::LINE_64)
    }

    /// What an attributor is to record for placing objects, with these options, which are
    /// [resolved](Self::resolved).
    pub(crate) fn placement_options(&self) -> Option<PlacementOptions> {
        let entries = self.memory_limit().get() / FOOTPRINT_SHARE / FOOTPRINT_ENTRY;
        Some(PlacementOptions {
            chunk_bytes: self.placement?.chunk_bytes,
            max_footprint_entries: entries.min(MAX_FOOTPRINT_ENTRIES) as usize,
        })
    }

    /// Whether accesses are counted without a breakdown.
    pub(crate) fn is_totals_only(&self) -> bool {
        let options = reuselens_attribute::Options {
            totals_only: self.totals_only,
            data: self.data,
            names: self.names,
            ..Default::default()
        };
        options.is_totals_only()
    }

    /// Whether all accesses of `source` are of one cell: it has ids, which no instruction or object
    /// is known of, and one thread. Their counts are then those of the whole trace, and need not be
    /// broken down. Samples are: their estimate of a cell is one of its own.
    pub(crate) fn has_one_cell(&self, source: &dyn Source) -> bool {
        !source.has_addresses()
            && source.is_of_one_thread()
            && self.sharing == Sharing::Shared
            && self.sample.is_none()
            && !self.paths
            && self.causes.is_none()
            && (self.engine == AUTO || counts::is_exact(&self.engine))
    }

    /// The options to count `source` with, [resolved](Self::resolved), after which what
    /// [`Self::has_one_cell`] is put into that cell.
    pub(crate) fn to_count(&self, source: &dyn Source) -> AnalysisOptions {
        AnalysisOptions {
            totals_only: self.totals_only || self.has_one_cell(source),
            ..self.resolved()
        }
    }
}

impl Default for AnalysisOptions {
    fn default() -> Self {
        AnalysisOptions {
            engine: "auto".to_owned(),
            granularity: None,
            kinds: Kinds::All,
            data: DataFilter::All,
            names: NamesMode::Instruction,
            contexts: true,
            totals_only: false,
            elements: false,
            placement: None,
            weigh_bytes: false,
            sharing: Sharing::Shared,
            max_distance: None,
            reuse_times: false,
            forward: false,
            paths: false,
            most_paths: MOST_PATHS,
            causes: None,
            threads: None,
            adjusting: true,
            chunks: EngineChunks::default(),
            engine_times: false,
            device: DeviceChoice::Auto,
            memory_limit: None,
            sample: None,
            bursts: false,
            seed: 1,
        }
    }
}
