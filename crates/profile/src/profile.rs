//! [`Profile`]: everything that a report can show about one run, as one value.
//!
//! Only the value is here, with its machine, its method and its warnings. Its tables are made of
//! [`entries`](crate::entries). Questions about it are methods in files of their own: `grouping`,
//! `sums`, `context_tree`, `element_groups`, `path_groups`, `merge`, `difference`.

use std::collections::BTreeMap;

use reuselens_locality::{BoundedCurve, ExactHistogram, ReuseTimes};
use reuselens_units::{Bytes, Granularity};
use serde::{Deserialize, Serialize, Serializer};

use crate::entries::is_zero;
use crate::{Causes, Cell, Context, Object, PathProfile, ProfiledThread, Site};

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

/// One cache of a machine, as the operating system describes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cache {
    /// 1 for L1 and so on.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Its size.
    pub size: Bytes,
    /// Bytes per line.
    pub line: Bytes,
    /// Lines per set; 0 = fully associative or unknown.
    pub ways: u32,
    /// Number of sets; 0 = unknown.
    pub sets: u32,
    /// Number of logical processors that share it.
    pub shared_by: u32,
}

/// The machine that ran the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Machine {
    /// Processor model, as the operating system names it.
    pub processor: String,
    /// Its data and unified caches, by level.
    pub caches: Vec<Cache>,
}

/// Which accesses a reuse distance looks back over, where a program has several threads.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// Those of all threads, interleaved: what a cache sees that all threads share.
    #[default]
    Shared,
    /// Those of the same thread (of the same process) only: what a cache sees that each thread has
    /// for itself, if no other takes lines away from it. An item that several threads access has a
    /// first access in each of them. All counts are sums over the threads.
    Private,
    /// As [`Private`](Sharing::Private), in caches that are kept coherent: a store of a thread
    /// invalidates the item in the caches of the others. An access that finds its item invalidated
    /// misses in a cache of any size: it has no distance, and is one of [`Profile::invalidated`].
    Coherent,
}

impl Sharing {
    fn is_shared(&self) -> bool {
        *self == Sharing::Shared
    }
}

/// How the profile was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// Name of the engine.
    pub engine: String,
    /// Whether the distances are exact.
    pub exact: bool,
    /// Bound on the error of a miss ratio, if the engine has one. A bound that is not finite is not
    /// stored.
    #[serde(serialize_with = "finite_bound")]
    pub error_bound: Option<f64>,
    /// The smallest distance in items that was not measured: cold accesses are these and the first
    /// ones. `None` if every distance was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_distance: Option<u64>,
    /// The bound for each cache size, if the engine has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_bounds: Option<BoundedCurve>,
    /// Whether the items are ids, which have no size, so that the machine's caches do not apply.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ids: bool,
    /// Whether all accesses were counted together, without a breakdown. Profiles store it as
    /// `whole`.
    #[serde(rename = "whole", default, skip_serializing_if = "std::ops::Not::not")]
    pub totals_only: bool,
    /// Where the accesses come from, and which are seen.
    pub source: String,
    /// Whether a recorded trace was analysed: [`Profile::command`] is its path then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
    /// How the order between threads came about.
    pub order: String,
    /// Distances below this number of items may depend on a guess: the order between accesses of
    /// threads that did not synchronise. `None` where no order is guessed, or where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_guessed_below: Option<u64>,
    /// Whether distances look back over all threads or over one, in caches that are coherent or
    /// not. Stored where it is not shared.
    #[serde(default, skip_serializing_if = "Sharing::is_shared")]
    pub sharing: Sharing,
    /// Which accesses count: `all`, `loads` or `stores`.
    pub kinds: String,
    /// Which data count: `all`, `heap`, `stack` or `static`.
    pub data: String,
    /// What was recorded for placing objects in memory, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementData>,
    /// How long each step of the engine took, where that was asked for: no two runs are equal in
    /// it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub engine_steps: Vec<EngineStep>,
}

impl Method {
    /// The engine of runs of which bursts were recorded.
    pub const BURSTS: &str = "bursts";

    /// Whether all counts are estimates from bursts of the run.
    pub fn is_from_bursts(&self) -> bool {
        !self.exact && self.engine == Method::BURSTS
    }
}

/// A step of an engine, and how long it took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EngineStep {
    /// What was done, as a report names it: `local`, `block merge`, `transfer`.
    pub step: String,
    /// How long it took, in seconds, summed over the threads that did it.
    pub seconds: f64,
}

/// That a profile has what is needed to place objects in memory: chunks of large objects
/// ([`Object::part`]), lifetimes ([`Object::lifetime`]), and how often contexts were entered and
/// how many items they accessed ([`Context::entries`], [`Context::footprint`]).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct PlacementData {
    /// The bytes of a chunk that were asked for; `None` if they were chosen by the size of each
    /// object. An object of too many chunks has larger ones: see
    /// [`ObjectPart::chunk`](crate::ObjectPart::chunk).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u64>,
}

impl PlacementData {
    /// The sizes of chunks.
    pub const fn chunk_limits(self) -> ChunkLimits {
        match self.chunk_bytes {
            Some(0) => ChunkLimits {
                bytes: 1,
                most: 1024,
            },
            Some(bytes) => ChunkLimits { bytes, most: 1024 },
            None => ChunkLimits {
                bytes: 64 << 10,
                most: 64,
            },
        }
    }
}

/// How objects are cut into chunks: those of an object are as small as these limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkLimits {
    /// Bytes of a chunk, doubled until the longest block has no more than `most` chunks.
    pub bytes: u64,
    /// Chunks of a block, at most.
    pub most: u64,
}

/// How the run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The trace was read to its end; no program was watched.
    #[default]
    Complete,
    /// The program exited with this status.
    Exit(i32),
    /// This signal killed the program; everything up to its last complete block is here.
    Signal(i32),
    /// The trace broke off, or the analysis stopped: why, as a clause. Everything before that is
    /// here.
    Incomplete(String),
}

/// Something that a reader must know before relying on the numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Warning {
    /// A short stable name.
    pub code: String,
    /// What happened and why.
    pub message: String,
    /// What to do or type; may be empty.
    pub hint: String,
}

impl Warning {
    /// Code of the warning that the trace was cut off or damaged, so that its rest is missing.
    pub const TRUNCATED: &str = "truncated";
    /// Code of the remark that accesses before or between the recorded ones were left out, as
    /// `--function` and `--after` ask for.
    pub const LEFT_OUT: &str = "left-out";
}

/// One run, analysed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Version of reuselens that made it.
    pub version: String,
    /// The command that was measured, or the trace that was read.
    pub command: Vec<String>,
    /// The machine.
    pub machine: Machine,
    /// How it was made.
    pub method: Method,
    /// How the run ended.
    pub outcome: Outcome,
    /// Bytes per item.
    pub granularity: Granularity,
    /// Loads, stores, atomics and ranges that the program executed and that count.
    pub references: u64,
    /// Exact distances of all accesses of items: a reference that covers two items counts twice.
    pub histogram: ExactHistogram,
    /// Of the cold accesses, those whose item another thread's store had invalidated; 0 unless the
    /// sharing is [`Sharing::Coherent`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub invalidated: u64,
    /// Accesses of loops in which a thread waits for another, which are left out of all other
    /// counts: see [`Profile::leave_out_waiting`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waiting: u64,
    /// The bytes requested by distance, if objects were weighed by their sizes: then all distances
    /// of this profile are sums of sizes, in units of the granularity, and the accesses are
    /// requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_bytes: Option<ExactHistogram>,
    /// Reuse times of all accesses, if they were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse_times: Option<ReuseTimes>,
    /// Distances by instruction and path, if paths were followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<PathProfile>,
    /// Why accesses miss in one cache, if that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causes: Option<Causes>,
    /// GNU build ids of the modules that instructions are in, in hexadecimal, by file name; without
    /// those that have none. Equal offsets of modules with equal ids are the same instruction.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub builds: BTreeMap<String, String>,
    /// The instructions; index 0 is the unknown one.
    pub sites: Vec<Site>,
    /// The objects; index 0 is the unknown one.
    pub objects: Vec<Object>,
    /// The calling context tree; index 0 is the root.
    pub contexts: Vec<Context>,
    /// The threads.
    pub threads: Vec<ProfiledThread>,
    /// The groups' histograms, ordered by their four indices.
    pub cells: Vec<Cell>,
    /// What the reader must know.
    pub warnings: Vec<Warning>,
}

impl Profile {
    /// A run that accessed nothing, in one thread without a name: of sites, objects and contexts
    /// there are only those at index 0.
    pub fn empty(granularity: Granularity) -> Profile {
        Profile {
            version: String::new(),
            command: Vec::new(),
            machine: Machine::default(),
            method: Method::default(),
            outcome: Outcome::default(),
            granularity,
            references: 0,
            histogram: ExactHistogram::new(),
            invalidated: 0,
            waiting: 0,
            requested_bytes: None,
            reuse_times: None,
            paths: None,
            causes: None,
            builds: BTreeMap::new(),
            sites: vec![Site::default()],
            objects: vec![Object::default()],
            contexts: vec![Context::default()],
            threads: vec![ProfiledThread::default()],
            cells: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Whether its trace was cut off or damaged: what follows that point is missing.
    pub fn is_truncated(&self) -> bool {
        let mut warnings = self.warnings.iter();
        warnings.any(|warning| warning.code == Warning::TRUNCATED)
    }

    /// Whether parts of the run before or between the recorded ones were left out (`--function`,
    /// `--region`, `--after`, `--burst`).
    pub fn is_of_parts(&self) -> bool {
        let mut warnings = self.warnings.iter();
        warnings.any(|warning| warning.code == Warning::LEFT_OUT)
    }

    /// The command as a shell takes it: words with other letters than those of names are quoted.
    /// Empty if there is no command.
    pub fn command_line(&self) -> String {
        let plain = |letter: char| letter.is_alphanumeric() || "-_./=:,+@%".contains(letter);
        let quote = |word: &String| {
            if !word.is_empty() && word.chars().all(plain) {
                word.clone()
            } else {
                format!("'{}'", word.replace('\'', "'\\''"))
            }
        };
        let words: Vec<String> = self.command.iter().map(quote).collect();
        words.join(" ")
    }

    /// The accesses that were the first of their cache to their item: the cold ones without those
    /// that another thread's store had invalidated.
    pub fn first_touches(&self) -> u64 {
        self.histogram.cold().saturating_sub(self.invalidated)
    }

    /// The accesses that found their item invalidated, if such accesses are counted.
    pub fn invalidations(&self) -> Option<u64> {
        (self.method.sharing == Sharing::Coherent).then_some(self.invalidated)
    }
}

/// Stores a bound so that equal bounds are equal bytes: −0 as 0, and what is not finite as none.
fn finite_bound<S: Serializer>(bound: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    bound
        .filter(|bound| bound.is_finite())
        .map(|bound| bound + 0.0)
        .serialize(serializer)
}
