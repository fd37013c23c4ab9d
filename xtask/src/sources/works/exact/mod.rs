//! The report on exact reuse distances: its algorithms, the locality of six programs, and how
//! reuse-driven execution and loop fusion change it. Items are elements of 8 bytes.

mod algorithms;
mod histograms;
mod programs;
mod reordered;
mod tested;

pub use algorithms::ALGORITHMS;
pub use histograms::HISTOGRAMS;
pub use reordered::REORDERED;
pub use tested::{COSTS, TESTED};

/// A share in percent, with a decimal.
fn percent(part: u64, all: u64) -> String {
    format!("{:.1}", 100.0 * part as f64 / all.max(1) as f64)
}
