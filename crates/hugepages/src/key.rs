//! [`random_key`]: random keys for hash tables, drawn when a table is made.

use std::hash::{BuildHasher, RandomState};

/// A random key for a hash table, which the author of a trace cannot know. Without one, the author
/// could choose numbers that all have the same hash, and each look-up would visit all of them. No
/// result may depend on the key.
pub fn random_key() -> u64 {
    RandomState::new().hash_one(0)
}
