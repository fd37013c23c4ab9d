//! Reuse-distance engines: a stream of items in, a stream of distances out; and a sampler, which
//! estimates.
//!
//! An item is a number (a cache line, an element, a block id). Every [`Engine`] here is exact: fed
//! the same items, in blocks of any size, each gives the same distances, and `cases/*.toml` and the
//! property tests hold them to the brute-force oracle.
//!
//! | engine | per access | bytes per distinct item | for |
//! |---|---|---|---|
//! | [`CountingTree`] | O(1), misses overlapped | 4–27 | everything |
//! | [`FenwickTree`] | O(log M), misses in a chain | 35–71 | comparison with other tools |
//! | [`OlkenTree`] | O(log M), misses in a chain | 43–87 | comparison with the literature |
//! | [`BruteForce`] | O(M) | 8 | an oracle for tests |
//!
//! [`Bounded`] is the counting tree for distances up to a limit, in memory that grows with the
//! limit. [`Previous`] is no engine: it tells when, and by whom, each item was accessed before.
//! [`Coherent`] has a stack for each core of several; a store of one core invalidates the entries
//! of the others. [`WeightedTree`] has distances in bytes, of objects that have sizes. A
//! [`Sampler`] looks at a hundredth of that and estimates the miss-ratio curve, with a bound on its
//! error. [`HpRda`] is approximate: the parallel analysis of the literature, to compare with.
//!
//! [`Shard`] is the counting tree on one stretch of a stream, for threads, processes and machines
//! that share the work. [`by_name`] makes an engine from what was typed; [`ENGINES`] lists them.
//! [`generate`] makes the streams that they are measured with.
//!
//! For: anyone with a stream of ids. Not for: files, programs, names, reports or histograms; this
//! crate reads nothing, prints nothing and knows nothing of programs.

mod bounded;
mod brute;
mod coherent;
mod counting;
pub mod crowd;
mod dispatch;
mod engine;
mod fenwick;
pub mod generate;
mod hp_rda;
mod mix;
mod olken;
mod prefetch {
    pub(crate) use reuselens_memory::prefetch;
}
mod previous;
mod registry;
mod sampled;
mod shard;
mod simd;
mod tally;
mod weighted;

pub use bounded::Bounded;
pub use brute::BruteForce;
pub use coherent::Coherent;
pub use counting::{CountingTree, Expected, LookupBound};
pub use engine::Engine;
pub use fenwick::FenwickTree;
pub use hp_rda::{Adjustment, BlockCount, Finished, HpRda, HpRdaSettings, HpRdaTimes};
pub use olken::OlkenTree;
pub use previous::{Previous, PreviousAccess};
pub use registry::{ENGINES, EngineError, EngineInfo, by_name, find};
pub use sampled::{
    BoundedPoint, Estimate, SampleOptions, SamplePart, SampleSource, Sampler, Samples,
};
pub use shard::{Recency, Shard};
pub use simd::Simd;
pub use tally::Tally;
pub use weighted::WeightedTree;
