//! Histograms, miss-ratio curves, cache models and profiles: pure values that merge.
//!
//! Every merge is a sum of 64-bit counts, so the order of merging never shows: equal inputs give
//! equal values and equal bytes. Sums beyond 64 bits saturate.
//!
//! - Counts: [`ExactHistogram`] (each distance), [`FineHistogram`] (16 bins per octave, for every line
//!   and object of a program), [`KeyedHistograms`] (many of those, filled in one pass),
//!   [`Log2Histogram`] (the bins of the field). All are [`Histogram`]s.
//!
//! For: anyone who has distances and wants to know what a cache would do with them.
//! Not for: computing distances (the `distance` crate) or showing them (the `report` crate).

mod exact;
mod fine;
mod histogram;
mod keyed;
mod log2;
mod profile;
mod sparse;

pub use exact::ExactHistogram;
pub use fine::FineHistogram;
pub use histogram::Histogram;
pub use keyed::KeyedHistograms;
pub use log2::Log2Histogram;
pub use profile::{
    Cache, CacheKind, Cell, Context, Frame, Machine, Method, Object, ObjectKind, Outcome, Profile,
    ProfiledThread, Site, Warning,
};
