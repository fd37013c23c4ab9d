//! Histograms, miss-ratio curves and cache models: pure values that merge.
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
//!   it), [`SetAssociative`] (Smith and Hill's model).
//! - Comparison: [`error`] (measures between histograms), [`Growth`] (two inputs of one program),
//!   [`hills()`].
//! - Patterns: [`PatternBins`] (the bins of the literature), merged into locality patterns by
//!   [`patterns()`]; by path to the access: [`PathTable`].
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
//! Not for: computing distances (the `distance` crate), or whose they are (the `profile` crate).

mod bounded_curve;
mod counters;
mod curve;
mod deferred;
mod element_histograms;
pub mod error;
mod evadable;
mod exact;
mod fine;
mod footprint;
mod gaps;
mod hills;
mod histogram;
mod keyed;
mod log2;
mod path;
mod path_cells;
mod path_table;
mod pattern;
mod pattern_bins;
mod reuse_times;
mod set_associative;
mod sparse;
mod tallies;

pub use bounded_curve::{BoundedCurve, BoundedPoint};
pub use curve::{CurvePoint, MissRatioCurve, curve_sizes};
pub use deferred::DeferredHistogram;
pub use element_histograms::ElementHistograms;
pub use evadable::{Growth, HillGrowth};
pub use exact::ExactHistogram;
pub use fine::FineHistogram;
pub use hills::{Hill, hills};
pub use histogram::{Histogram, ratio, total};
pub use keyed::KeyedHistograms;
pub use log2::Log2Histogram;
pub use path::{BlockTrace, Path, PathShares};
pub use path_cells::{PathCell, PathShareCounter};
pub use path_table::{PathStep, PathTable};
pub use pattern::{Pattern, PatternRule, common_patterns, patterns};
pub use pattern_bins::{PatternBin, PatternBins};
pub use reuse_times::{ReuseTimeCounts, ReuseTimes};
pub use set_associative::{SetAssociative, hit_probability};
