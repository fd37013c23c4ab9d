//! [`Group`] and [`CrossGroup`]: accesses that have a name in common, with their counts; and
//! [`CellSum`], the sum of cells that a group is made of.
//!
//! Plain values. `grouping`, `element_groups` and `path_groups` build groups from a profile.

use reuselens_locality::{ExactHistogram, FineHistogram};

use crate::{Cell, Dimension};

/// The accesses that share one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What was grouped by.
    pub by: Dimension,
    /// Its name: `src/a.c:12`, `sweep`, `main > solve > sweep`, `prog+0x12ab (a.c:12)`; the names
    /// of unknown things are in parentheses.
    pub name: String,
    /// The number of accesses.
    pub accesses: u64,
    /// How many of them were the first to their item.
    pub cold: u64,
    /// How many of them found their item invalidated by another thread's store, which is not cold
    /// here but is in `histogram`. Not known of elements and paths: 0.
    pub invalidated: u64,
    /// The distances.
    pub histogram: FineHistogram,
    /// Mean of the finite distances; 0 if there is none.
    pub mean: f64,
    /// Largest finite distance; 0 if there is none.
    pub max: u64,
    /// The forward distances, if they were measured (not known of elements).
    pub forward: Option<FineHistogram>,
}

impl Group {
    /// Misses in a fully associative LRU cache of `items` items; see [`FineHistogram::misses`].
    pub fn misses(&self, items: u64) -> u64 {
        self.histogram.misses(items)
    }
}

/// The accesses that share a name in each of two dimensions: which array misses on which line.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossGroup {
    /// The accesses, under their name in the first dimension.
    pub group: Group,
    /// The second dimension.
    pub by: Dimension,
    /// Their name in the second dimension.
    pub name: String,
}

/// A sum of cells.
#[derive(Default)]
pub(crate) struct CellSum {
    pub(crate) histogram: FineHistogram,
    pub(crate) sum: u128,
    pub(crate) max: u64,
    pub(crate) invalidated: u64,
    pub(crate) forward: FineHistogram,
}

impl CellSum {
    pub(crate) fn add(&mut self, cell: &Cell) {
        self.histogram.merge(&cell.histogram);
        self.add_rest(cell);
    }

    /// Adds all but the histogram.
    pub(crate) fn add_rest(&mut self, cell: &Cell) {
        self.sum = self.sum.saturating_add(cell.distance_sum);
        self.max = self.max.max(cell.distance_max);
        self.invalidated = self.invalidated.saturating_add(cell.invalidated);
        self.forward.merge(&cell.forward);
    }

    pub(crate) fn group(self, by: Dimension, name: String) -> Group {
        let accesses = self.histogram.accesses();
        let all_cold = self.histogram.cold();
        let reuses = accesses - all_cold;
        let mean = if reuses == 0 {
            0.0
        } else {
            self.sum as f64 / reuses as f64
        };
        Group {
            by,
            name,
            accesses,
            cold: all_cold.saturating_sub(self.invalidated),
            invalidated: self.invalidated,
            histogram: self.histogram,
            mean,
            max: self.max,
            forward: Some(self.forward).filter(|forward| !forward.is_empty()),
        }
    }
}

/// All accesses of a run.
pub(crate) fn all_accesses(histogram: &ExactHistogram) -> Group {
    let mut fine = FineHistogram::new();
    fine.add_exact(histogram);
    Group {
        by: Dimension::Program,
        name: "program".to_owned(),
        accesses: fine.accesses(),
        cold: fine.cold(),
        invalidated: 0,
        histogram: fine,
        mean: histogram.mean().unwrap_or(0.0),
        max: histogram.max().unwrap_or(0),
        forward: None,
    }
}
