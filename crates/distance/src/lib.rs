//! Exact reuse-distance engines: a stream of items in, a stream of distances out.
//!
//! An item is a number (a cache line, an element, a block id). Every engine here is exact: fed the
//! same items, in blocks of any size, each gives the same distances, and `cases/*.toml` and the
//! property tests hold them to the brute-force oracle.
//!
//! For: anyone with a stream of ids. Not for: files, programs, names, reports or histograms; this
//! crate reads nothing, prints nothing and knows nothing of programs.

mod engine;

pub use engine::Engine;
