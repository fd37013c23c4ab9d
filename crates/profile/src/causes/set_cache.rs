//! [`SetCache`]: a cache with its sets.

use reuselens_units::Bytes;
use serde::{Deserialize, Serialize};

/// A cache of the machine with its sets, least recently used replacement within a set. An address
/// picks its set by its bits above the line: virtual addresses, as the program has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetCache {
    /// Its name in reports: `L1d`, `L2`.
    pub name: String,
    /// Its size.
    pub size: Bytes,
    /// Its sets.
    pub sets: u64,
    /// Lines of a set.
    pub ways: u64,
    /// Misses of all accesses, first touches included.
    pub misses: u64,
    /// Misses of a fully associative cache of the same size. The difference is conflict misses.
    pub associative_misses: u64,
}
