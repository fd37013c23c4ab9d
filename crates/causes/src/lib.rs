//! Why accesses miss, from columns of item accesses with their distances.
//!
//! [`CauseCounts`] takes [`MissColumns`], piece by piece in the order of the trace, and returns
//! values of [`reuselens_profile::Causes`] at the end.
//!
//! | what | modules |
//! |---|---|
//! | what all analyses take: chunks of accesses, numbers for items | `chunk`, `item_numbers` |
//! | bytes used per line, and per byte of an element | `line_use`, `element_counts` |
//! | the bound of a sample | `line_sample` |
//! | true and false sharing | `sharing`, `shared_pairs` |
//! | misses of caches with sets | `conflicts` |
//! | intervals and phases of the run | `phases`, `phase_clusters` |
//! | what carries a reuse | `carried` |
//! | scopes, and counts of reuses | `scope_tracker`, `code_scopes`, `reuse_pairs` |
//!
//! Nanoseconds of processor time per access, of `cargo run --release -p reuselens-causes --example
//! cost` with 20 million accesses, on an AMD EPYC 7003 whose other core was busy. The first column
//! is the exact engine that the distances come from; the others include the look-up of items,
//! which all analyses share. The machine has three caches with sets.
//!
//! | trace | engine | look-up | line use | sharing | phases | sets | all |
//! |---|---|---|---|---|---|---|---|
//! | three arrays of 8 MiB, in step | 9.4 | 8.8 | 16.7 | 8.5 | 10.4 | 25.3 | 34.0 |
//! | rows and columns of matrices of 8 MB | 12.0 | 5.3 | 12.3 | 5.3 | 6.7 | 21.3 | 30.0 |
//! | anywhere in 128 MiB | 34.9 | 19.5 | 52.6 | 16.1 | 29.0 | 67.7 | 127.6 |
//! | 16 accesses to one of 65,536 nodes | 4.2 | 3.0 | 9.7 | 2.8 | 3.2 | 6.8 | 14.6 |
//! | four threads with a shared table | 9.2 | 4.4 | 10.6 | 13.0 | 5.3 | 14.6 | 31.6 |
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
mod line_sample;
mod line_use;
mod miss_columns;
mod phase_clusters;
mod phases;
mod reuse_pairs;
mod scope_tracker;
mod shared_pairs;
mod sharing;
mod table_memory;

pub use carried::CarriedCounts;
pub use cause_counts::{CauseCounts, CauseOptions};
pub use cells::{CauseCell, CellPlace};
pub use conflicts::set_caches;
pub use miss_columns::{MissColumns, NO_OFFSET};
pub use reuse_pairs::CarriedPair;
