//! Keys of hash tables.

use std::hash::{BuildHasher, RandomState};

/// A key for a table that whoever made a trace cannot know: random numbers of the system. Without
/// one, the maker could choose numbers that all begin at one place of a table, and each look-up
/// would pass over all of them. No result may depend on it.
pub fn random_key() -> u64 {
    RandomState::new().hash_one(0)
}
