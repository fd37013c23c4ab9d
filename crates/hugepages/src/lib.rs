//! Memory for large tables that are accessed at random: arrays on huge pages.
//!
//! [`Huge`] is such an array, [`prefetch`] loads a place of a slice into the cache before its use,
//! and [`random_key`] draws the key of a hash table. [`Allocator`] and [`catch`] let a program
//! report what it has found when the system refuses memory.
//!
//! For: engines and histograms, whose tables are larger than the memory whose page addresses a
//! processor caches. Not for: small or short-lived arrays; each is a mapping of its own.

mod allocator;
mod exhausted;
mod huge;
mod key;
mod limit;
mod prefetch;

pub use allocator::Allocator;
pub use exhausted::{OutOfMemory, catch, out_of_memory};
pub use huge::{Huge, PIECE, Zeroable, reserve};
pub use key::random_key;
pub use limit::{address_space_limit, data_limit};
pub use prefetch::prefetch;
