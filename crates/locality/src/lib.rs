//! Histograms, miss-ratio curves, cache models and profiles: pure values that merge.
//!
//! Every merge is a sum of 64-bit counts, so results do not depend on the order of merging: equal
//! inputs give equal values and equal bytes. Sums beyond 64 bits saturate.
//!
//! - Counts: [`ExactHistogram`] (each distance), [`FineHistogram`] (16 bins per octave, for every
//!   line and object of a program), [`KeyedHistograms`] (many of those, filled in one pass),
//!   [`ElementHistograms`] (very many of few accesses each), [`Log2Histogram`] (the bins of the
//!   field). All are [`Histogram`]s.
//! - Times: [`ReuseTimes`] (accesses between two uses), and from them the average footprint of
//!   windows.
//! - Caches: [`MissRatioCurve`] (fully associative, every size), [`BoundedCurve`] (an estimate of
//!   it), [`SetAssociative`] (Smith and Hill's model), and what a [`Machine`] has.
//! - Comparison: [`error`] (measures between histograms), [`LocalityChange`] and [`GroupChanges`]
//!   (before and after), [`Growth`] (two inputs of one program), [`hills()`].
//! - Causes: [`Causes`] (which bytes of lines are used, which threads share lines, what carries a
//!   reuse, conflicts, phases), if they were recorded.
//! - Limits: [`Limit`] (a rule as people write it), held against profiles: [`Verdict`].
//! - Patterns: [`PatternBins`] (the bins of the literature), merged into locality patterns by
//!   [`patterns()`].
//! - Profiles: [`Profile`] is everything about one run; [`Profile::groups`], [`Profile::cross`] and
//!   [`Profile::context_tree`] ask it questions, [`Profile::merge`] adds runs up, and
//!   [`Profile::to_bytes`] and [`Profile::from_bytes`] are its file. No function here opens one.
//!   [`Framed`] is what such files are made of.
//!
//! ```
//! use reuselens_locality::{ExactHistogram, MissRatioCurve};
//! use reuselens_units::Distance;
//!
//! // The distances of `a b c a a`: three first accesses, one past b and c, one repetition.
//! let mut histogram = ExactHistogram::new();
//! let (cold, far, near) = (Distance::COLD, Distance::new(2), Distance::ZERO);
//! histogram.add_column(&[cold, cold, cold, far, near]);
//! assert_eq!(histogram.misses(3), 3);
//! assert_eq!(MissRatioCurve::new(&histogram).at(2), 0.8);
//! ```
//!
//! For: anyone who has distances and wants to know what a cache would do with them.
//! Not for: computing distances (the `distance` crate) or showing them (the `report` crate).

mod bounded_curve;
mod cache_size;
mod causes;
mod context_tree;
mod context_union;
mod counters;
mod curve;
mod deferred;
mod difference;
mod dimension;
mod element;
mod element_groups;
mod element_histograms;
mod entries;
pub mod error;
mod evadable;
mod exact;
mod fine;
mod footprint;
mod framed;
mod gaps;
mod group;
mod group_change;
mod grouping;
mod hills;
mod histogram;
mod keyed;
mod limit;
mod log2;
mod machine;
mod merge;
mod merge_error;
mod names;
mod path;
mod path_cells;
mod path_groups;
mod path_profile;
mod path_table;
mod pattern;
mod pattern_bins;
mod profile;
mod profile_file;
mod reuse_times;
mod set_associative;
mod sparse;
mod sums;
mod tables;
mod tallies;
#[cfg(test)]
mod testing;
mod visits;
mod waiting;

pub use bounded_curve::{BoundedCurve, BoundedPoint};
pub use cache_size::{CacheSize, CacheSizeError, CacheSpec};
pub use causes::{
    CarriedReuse, Carrier, Causes, CellCauses, CodeScope, DataLayout, ElementTypes, ElementUse,
    FieldUse, LayoutField, MissScope, NO_OFFSET, ObjectMisses, RunInterval, RunPhase, RunPhases,
    SampledUse, ScopeKind, SetCache, SharedData, SharedEnd, TypeOrigin, UnlistedPairs,
};
pub use context_tree::{ContextCost, ContextNode};
pub use curve::{CurvePoint, MissRatioCurve, curve_sizes};
pub use deferred::DeferredHistogram;
pub use difference::{
    BinChange, DifferenceError, LocalityChange, SizeChange, SizeExtent, SizeRange,
};
pub use dimension::{Dimension, DimensionError};
pub use element::Element;
pub use element_histograms::ElementHistograms;
pub use entries::{
    Cell, ChunkedKey, Context, ContextFootprint, FileOffset, Frame, Lifetime, Object, ObjectKind,
    ObjectPart, ProfiledThread, Site,
};
pub use evadable::{Growth, HillGrowth};
pub use exact::ExactHistogram;
pub use fine::FineHistogram;
pub use framed::{FrameError, Framed, Packed};
pub use group::{CrossGroup, Group};
pub use group_change::{GroupChange, GroupChanges};
pub use grouping::Grouping;
pub use hills::{Hill, hills};
pub use histogram::{Histogram, total};
pub use keyed::KeyedHistograms;
pub use limit::{
    Bound, Certainty, CheckError, Judgement, Limit, LimitError, Measured, Metric, NamedError, Side,
    Verdict,
};
pub use log2::Log2Histogram;
pub use merge_error::MergeError;
pub use names::{ShortPaths, signal_name};
pub use path::{BlockTrace, Path, PathShares};
pub use path_cells::PathCell;
pub use path_profile::{LONG, PATH_LENGTHS, PathDistances, PathProfile, PathSite};
pub use path_table::{PathStep, PathTable};
pub use pattern::{Pattern, PatternRule, common_patterns, patterns};
pub use pattern_bins::{PatternBin, PatternBins};
pub use profile::{
    Cache, CacheKind, ChunkLimits, EngineStep, Machine, Method, Outcome, PlacementData, Profile,
    Sharing, Warning,
};
pub use profile_file::ProfileError;
pub use reuse_times::{ReuseTimeCounts, ReuseTimes};
pub use set_associative::{SetAssociative, hit_probability};
pub use sums::HistogramSum;
pub use visits::{ContextVisits, ObjectChunk};
