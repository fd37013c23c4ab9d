//! Histograms, miss-ratio curves, cache models and profiles: pure values that merge.
//!
//! Every merge is a sum of 64-bit counts, so the order of merging never shows: equal inputs give
//! equal values and equal bytes.
//!
//! For: anyone who has distances and wants to know what a cache would do with them.
//! Not for: computing distances (the `distance` crate) or showing them (the `report` crate).

mod exact;
mod fine;
mod profile;

pub use exact::ExactHistogram;
pub use fine::FineHistogram;
pub use profile::{
    Cache, CacheKind, Cell, Context, Frame, Machine, Method, Object, ObjectKind, Outcome, Profile,
    ProfiledThread, Site, Warning,
};
