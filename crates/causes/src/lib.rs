//! Why accesses miss, from columns of item accesses with their distances.
//!
//! [`CauseCounts`] takes [`MissColumns`], piece by piece in the order of the trace, and returns
//! values of [`reuselens_locality::Causes`] at the end.
//!
//! | what | modules |
//! |---|---|
//! | what all analyses take: chunks of accesses, numbers for items | `chunk`, `item_numbers` |
//! | bytes used per line, and per byte of an element | `line_use`, `element_counts` |
//! | true and false sharing | `sharing`, `shared_pairs` |
//! | misses of caches with sets | `conflicts` |
//! | intervals and phases of the run | `phases`, `phase_clusters` |
//! | what carries a reuse: [`CarriedReuses`] | `carried` |
//! | scopes, and counts of reuses | `scope_tracker`, `code_scopes`, `reuse_pairs` |
//!
//! For: analyses of a profile that is to say why. Not for: distances (the crate `distance`), nor
//! what follows from the counts (the crate `advisor`).

mod carried;
mod cause_counts;
mod cells;
mod chunk;
mod code_scopes;
mod conflicts;
mod element_counts;
mod item_numbers;
mod line_use;
mod miss_columns;
mod phase_clusters;
mod phases;
mod reuse_pairs;
mod scope_tracker;
mod shared_pairs;
mod sharing;

pub use carried::{CarriedCounts, CarriedReuses};
pub use cause_counts::{CauseCounts, CauseOptions};
pub use cells::{CauseCell, CellPlace};
pub use code_scopes::CodeScope;
pub use conflicts::set_caches;
pub use miss_columns::{MissColumns, NO_OFFSET};
pub use reuse_pairs::CarriedPair;
