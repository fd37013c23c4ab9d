//! The profile of a run, and what can be asked of it: pure values that merge.
//!
//! - [`Profile`] is everything about one run: its method, its sites, objects, contexts and threads,
//!   and a histogram for each cell of accesses. [`Profile::groups`], [`Profile::cross`] and
//!   [`Profile::context_tree`] ask it questions, [`Profile::merge`] adds runs up, and
//!   [`Profile::to_bytes`] and [`Profile::from_bytes`] are its file. No function here opens one.
//!   [`Framed`] is what such files are made of.
//! - Comparison: [`LocalityChange`] and [`GroupChanges`] (before and after).
//! - Causes: [`Causes`] (which bytes of lines are used, which threads share lines, what carries a
//!   reuse, conflicts, phases), if they were recorded.
//! - Limits: [`Limit`] (a rule as people write it), held against profiles: [`Verdict`].
//! - Caches: what a [`Machine`] has, and a size as people write it ([`CacheSpec`]).
//!
//! Every merge is a sum of 64-bit counts, so the order of merging does not show in a single byte.
//!
//! For: anyone who has a profile and questions. Not for: histograms and models of caches
//! (the `locality` crate) or showing anything (the `report` crate).

mod cache_size;
mod causes;
mod context_tree;
mod context_union;
mod difference;
mod dimension;
mod element;
mod element_groups;
mod entries;
mod framed;
mod group;
mod group_change;
mod grouping;
mod limit;
mod machine;
mod merge;
mod merge_error;
mod names;
mod path_groups;
mod path_profile;
mod profile;
mod profile_file;
mod sums;
mod tables;
#[cfg(test)]
mod testing;
mod visits;
mod waiting;

pub use cache_size::{CacheSize, CacheSizeError, CacheSpec};
pub use causes::{
    CarriedReuse, Carrier, Causes, CellCauses, CodeScope, DataLayout, ElementTypes, ElementUse,
    FieldUse, LayoutField, MissScope, NO_OFFSET, ObjectMisses, RunInterval, RunPhase, RunPhases,
    SampledUse, ScopeKind, SetCache, SharedData, SharedEnd, TypeOrigin, UnlistedPairs,
};
pub use context_tree::{ContextCost, ContextNode};
pub use difference::{
    BinChange, DifferenceError, LocalityChange, SizeChange, SizeExtent, SizeRange,
};
pub use dimension::{Dimension, DimensionError};
pub use element::Element;
pub use entries::{
    Cell, ChunkedKey, Context, ContextFootprint, FileOffset, Frame, Lifetime, Object, ObjectKind,
    ObjectPart, ProfiledThread, Site,
};
pub use framed::{FrameError, Framed, Packed};
pub use group::{CrossGroup, Group};
pub use group_change::{GroupChange, GroupChanges};
pub use grouping::Grouping;
pub use limit::{
    Bound, Certainty, CheckError, Judgement, Limit, LimitError, Measured, Metric, NamedError, Side,
    Verdict,
};
pub use merge_error::MergeError;
pub use names::{ShortPaths, signal_name};
pub use path_profile::{LONG, PATH_LENGTHS, PathDistances, PathProfile, PathSite};
pub use profile::{
    Cache, CacheKind, ChunkLimits, EngineStep, Machine, Method, Outcome, PlacementData, Profile,
    Sharing, Warning,
};
pub use profile_file::ProfileError;
pub use sums::HistogramSum;
pub use visits::{ContextVisits, ObjectChunk};
