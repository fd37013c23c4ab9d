//! Memory for tables that are touched at random: large zeroed arrays on huge pages.
//!
//! For: engines and histograms, whose tables are larger than what a processor finds without looking up the
//! place of a page. Not for: small or short-lived arrays; each is a mapping of its own.
//!
//! And [`prefetch`], with which such tables are touched ahead of time.

mod huge;
mod prefetch;

pub use huge::{Huge, PIECE, Zeroable, reserve};
pub use prefetch::prefetch;
