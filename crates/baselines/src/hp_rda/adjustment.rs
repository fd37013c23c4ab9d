//! [`Adjustment`]: step 5 of HP-RDA, the correction of distances that count items more than once.

use reuselens_units::{Distance, Items};

/// The correction of merged distances: no true distance reaches M, the number of distinct items of
/// the whole stream, so one beyond M counts items more than once. It is multiplied by the
/// *effective factor* `ef = M / Σ count`, the mean of how many of a chunk's items are in no other.
/// Distances up to M stay.
///
/// Source: Cui et al. 2012, section III-E.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjustment {
    distinct: Items,
    counts: u64,
}

impl Adjustment {
    /// The correction of a stream with this many distinct items, whose chunks (or blocks) have the
    /// sum `counts` of theirs.
    pub fn new(distinct: Items, counts: u64) -> Self {
        Adjustment { distinct, counts }
    }

    /// M: the distinct items of the stream.
    pub fn distinct(&self) -> Items {
        self.distinct
    }

    /// Σ count: the sum of the distinct items of each chunk (of each block, with
    /// [`BlockCount::Distinct`](crate::BlockCount)).
    pub fn counts(&self) -> u64 {
        self.counts
    }

    /// The effective factor: above 0, at most 1; 1 for an empty stream.
    pub fn factor(&self) -> f64 {
        match self.counts {
            0 => 1.0,
            counts => self.distinct.get() as f64 / counts as f64,
        }
    }

    /// A distance, adjusted. A histogram is adjusted in the same way, by moving its
    /// counts. Not monotonous: M stays and M + 1 falls to about M · ef. Rounded to the nearest
    /// number of items, halves up. Exact in integers.
    pub fn adjust(&self, distance: Distance) -> Distance {
        match distance.items() {
            Some(items) if items > self.distinct.get() && self.counts > 0 => {
                let product = u128::from(items) * u128::from(self.distinct.get());
                let counts = u128::from(self.counts);
                Distance::new(((product + counts / 2) / counts) as u64)
            }
            _ => distance,
        }
    }
}
