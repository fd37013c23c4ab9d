//! Reuse-distance engines: a stream of items in, a stream of distances out; and a sampler, which
//! estimates.
//!
//! An item is a number (a cache line, an element, a block id). Every [`Engine`] is exact: fed the
//! same items, in blocks of any size, each gives the same distances.
//!
//! [`CountingTree`] is the engine for everything: O(1) per access, with overlapped cache misses,
//! and 4 to 27 bytes per distinct item. `cases/*.toml` and the property tests hold it to an oracle
//! and to the engines of the literature, which are in crate `reuselens-baselines`.
//!
//! [`Bounded`] is the counting tree for distances up to a limit, in memory that grows with the
//! limit. [`Previous`] is no engine: it finds when, and by whom, each item was accessed before.
//! [`Coherent`] has a stack for each core of several; a store of one core invalidates the entries
//! of the others. [`WeightedTree`] has distances in bytes, of objects that have sizes. A
//! [`Sampler`] looks at a hundredth of the accesses and estimates the miss-ratio curve, with a
//! bound on its error.
//!
//! [`Shard`] is the counting tree on one segment of a stream, for threads, processes and machines
//! that share the work. [`generate`] makes the streams that engines are measured with.
//!
//! For: anyone with a stream of ids. Not for: files, programs, names, reports or histograms; this
//! crate reads nothing, prints nothing and knows nothing of programs.

mod bounded;
mod coherent;
mod counting;
pub mod dense_ids;
mod engine;
pub mod generate;
pub mod growth;
mod mix;
mod prefetch {
    pub(crate) use reuselens_hugepages::prefetch;
}
mod previous;
mod sampled;
mod shard;
mod simd;
mod tally;
mod weighted;

pub use bounded::Bounded;
pub use coherent::Coherent;
pub use counting::{CountingTree, Expected, LookupBound};
pub use engine::Engine;
pub use previous::{Previous, PreviousAccess};
pub use sampled::{
    AccessesFor, BoundedPoint, BurstEstimate, BurstSampler, Estimate, ItemSample, MeasuredAccess,
    Precision, SampleOptions, SamplePart, SampleSource, Sampler, Samples,
};
pub use shard::{Recency, Shard};
pub use simd::Simd;
pub use tally::Tally;
pub use weighted::WeightedTree;
