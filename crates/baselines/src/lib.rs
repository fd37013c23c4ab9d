//! Reuse-distance engines of the literature: what the engine of this project is compared with and
//! checked by.
//!
//! | engine | distances | per access | bytes per distinct item | use |
//! |---|---|---|---|---|
//! | [`FenwickTree`] | exact | O(log M), misses in a chain | 35–71 | what most tools have |
//! | [`OlkenTree`] | exact | O(log M), misses in a chain | 43–87 | the sequential baseline |
//! | [`BruteForce`] | exact | O(M) | 8 | the definition: an oracle for short streams |
//! | [`HpRda`] | approximate | O(1) | 32–64 | the parallel analysis of Cui et al. |
//!
//! M is the number of distinct items. The exact ones implement
//! [`Engine`](reuselens_distance::Engine): they give the same distances as
//! `reuselens_distance::CountingTree`, wherever a stream is cut into calls.
//!
//! For: comparisons, and tests of other engines. Not for: measuring programs, for which
//! `CountingTree` is faster and takes less memory.

mod brute;
mod fenwick;
mod hp_rda;
mod olken;

pub use brute::BruteForce;
pub use fenwick::FenwickTree;
pub use hp_rda::{
    Adjustment, BlockCount, Finished, HpRda, HpRdaSettings, HpRdaTimes, ImmediateRepeats,
};
pub use olken::OlkenTree;
