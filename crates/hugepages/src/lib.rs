//! Memory for tables that are touched at random: large zeroed arrays on huge pages.
//!
//! [`Huge`] is such an array, [`prefetch`] asks for a place of it ahead of its use, and
//! [`random_key`] draws the key of a hash table. [`Allocator`] and [`catch`] let a program report
//! what it has found where the system refuses memory.
//!
//! For: engines and histograms, whose tables are larger than what a processor finds without looking
//! up the place of a page. Not for: small or short-lived arrays; each is a mapping of its own.

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
