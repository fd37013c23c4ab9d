//! Exact reuse-distance engines: a stream of items in, a stream of distances out.
//!
//! An item is a number (a cache line, an element, a block id). Every engine here is exact: fed the
//! same items, in blocks of any size, each gives the same distances, and `cases/*.toml` and the
//! property tests hold them to the brute-force oracle.
//!
//! | engine | per access | bytes per distinct item | for |
//! |---|---|---|---|
//! | [`CountingTree`] | O(1), misses overlapped | 33–66 | everything |
//! | [`OlkenTree`] | O(log M), misses in a chain | 43–87 | comparison with the literature |
//! | [`BruteForce`] | O(M) | 8 | an oracle for tests |
//!
//! [`Shard`] is the counting tree on one stretch of a stream, for threads, processes and machines that
//! share the work. [`by_name`] makes an engine from what was typed; [`ENGINES`] lists them. [`generate`] makes the
//! streams that they are measured with.
//!
//! For: anyone with a stream of ids. Not for: files, programs, names, reports or histograms; this
//! crate reads nothing, prints nothing and knows nothing of programs.

mod brute;
mod counting;
mod dispatch;
mod engine;
pub mod generate;
mod olken;
mod prefetch;
mod registry;
mod shard;

pub use brute::BruteForce;
pub use counting::{CountingTree, LookupBound};
pub use engine::Engine;
pub use olken::OlkenTree;
pub use registry::{ENGINES, EngineError, EngineInfo, by_name};
pub use shard::{Recency, Shard};
