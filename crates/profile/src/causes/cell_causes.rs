//! [`CellCauses`]: what is known of a cell's misses.

use serde::{Deserialize, Serialize};

/// Why the accesses of a cell miss. A *fill* is a line that an access brought into the cache of
/// [`Causes::cache`](super::Causes::cache), from its miss until the line's next miss, or the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellCauses {
    /// Fills that accesses of the cell made: its misses, first touches included.
    #[serde(default)]
    pub fills: u64,
    /// Of the bytes of these fills, those that any access read or wrote during the fill.
    #[serde(default)]
    pub used_bytes: u64,
    /// Of the used bytes, those that no earlier fill of the same line had used. Over all cells of
    /// an object: the bytes of its lines that were ever used, as far as no other object is in
    /// them. 0 in profiles of earlier versions.
    #[serde(default)]
    pub new_bytes: u64,
    /// Fills during which the line was accessed by no instruction but the one that made it, and
    /// each byte at most once.
    #[serde(default)]
    pub single_use_fills: u64,
    /// Misses in each of [`Causes::set_caches`](super::Causes::set_caches). Empty if there are
    /// none.
    #[serde(default)]
    pub set_misses: Vec<u64>,
    /// Accesses that found their line invalidated by another thread, and used bytes that another
    /// thread had written: invalidations by true sharing.
    #[serde(default)]
    pub true_sharing: u64,
    /// Accesses that found their line invalidated by another thread, while none of the bytes that
    /// the thread used until it lost the line again had been written: by false sharing.
    #[serde(default)]
    pub false_sharing: u64,
}

impl CellCauses {
    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        *self == CellCauses::default()
    }

    /// Adds another cell's counts. Sums beyond 64 bits saturate.
    pub fn merge(&mut self, other: &CellCauses) {
        let sum = |into: &mut u64, other: u64| *into = into.saturating_add(other);
        sum(&mut self.fills, other.fills);
        sum(&mut self.used_bytes, other.used_bytes);
        sum(&mut self.new_bytes, other.new_bytes);
        sum(&mut self.single_use_fills, other.single_use_fills);
        sum(&mut self.true_sharing, other.true_sharing);
        sum(&mut self.false_sharing, other.false_sharing);
        if self.set_misses.len() < other.set_misses.len() {
            self.set_misses.resize(other.set_misses.len(), 0);
        }
        for (into, other) in self.set_misses.iter_mut().zip(&other.set_misses) {
            sum(into, *other);
        }
    }

    /// The share of the bytes of its fills that were used, from 0 to 1; `None` without fills.
    /// `line`: bytes of a line.
    pub fn utilisation(&self, line: u64) -> Option<f64> {
        let brought = self.fills.saturating_mul(line);
        (brought > 0).then(|| self.used_bytes as f64 / brought as f64)
    }
}
