//! [`LineSample`]: a bound of the utilisation of lines, where only some items are counted.
//!
//! The sample is one of items: of those that are in it all fills are counted. Fills of one item are
//! alike, so that each item is a cluster, and the utilisation is a ratio of two sums over clusters.
//! With `xᵢ` the bytes brought in for item `i`, `yᵢ` those used, `n` items and the rate `f`:
//!
//! `R = Σ yᵢ / Σ xᵢ`, `var R = (1 − f) · n / (n − 1) · Σ (yᵢ − R·xᵢ)² / (Σ xᵢ)²`
//!
//! (Cochran, *Sampling Techniques*, 3rd edition 1977, section 6.4). The bound is 1.96 deviations.
//! That takes `R` to be normal, which it is not with few items, or where a few of them have most
//! fills: with fewer than 30 items there is no bound. The bound is of what the sample leaves out.
//! It has no part for the error of distances that are themselves estimates, which can take hits
//! for misses.

use std::collections::{BTreeMap, HashMap};

use reuselens_locality::SampledUse;

use crate::CellPlace;

/// Items from which on there is a bound.
const ENOUGH: u64 = 30;
/// Deviations on both sides of a normal distribution that leave out 5%.
const DEVIATIONS: f64 = 1.96;

/// Bytes of fills.
#[derive(Clone, Copy, Debug, Default)]
struct Bytes {
    brought: u64,
    used: u64,
}

/// Sums up fills by item and by the cell that made them.
///
/// Memory: 34 to 68 bytes for each pair of an item and a cell.
pub(crate) struct LineSample {
    rate: f64,
    bytes: HashMap<(u32, u32), Bytes>,
}

impl LineSample {
    /// Of items that are counted with this probability.
    pub fn new(rate: f64) -> Self {
        LineSample {
            rate,
            bytes: HashMap::new(),
        }
    }

    /// Adds a fill that has ended.
    pub fn end(&mut self, item: u32, cell: u32, brought: u64, used: u64) {
        let bytes = self.bytes.entry((item, cell)).or_default();
        bytes.brought += brought;
        bytes.used += used;
    }

    /// What a count of the sample is one of all items.
    pub fn scale(&self, count: u64) -> u64 {
        (count as f64 / self.rate).round() as u64
    }

    /// The memory held.
    pub fn memory(&self) -> u64 {
        // At least half of the slots are used, and each has a byte more.
        self.bytes.capacity() as u64 * 2 * (size_of::<((u32, u32), Bytes)>() as u64 + 1)
    }

    /// The utilisation of all fills, then of those of each object.
    pub fn finish(&self, places: &[CellPlace]) -> Vec<SampledUse> {
        let mut clusters: BTreeMap<Option<u32>, BTreeMap<u32, Bytes>> = BTreeMap::new();
        for (&(item, cell), bytes) in &self.bytes {
            for object in [None, Some(places[cell as usize].object)] {
                let cluster = clusters.entry(object).or_default().entry(item).or_default();
                cluster.brought += bytes.brought;
                cluster.used += bytes.used;
            }
        }
        let objects = clusters.iter();
        objects
            .map(|(object, items)| SampledUse {
                object: *object,
                ..sampled_use(self.rate, items.values())
            })
            .collect()
    }
}

/// The ratio of two sums over clusters, and its bound.
fn sampled_use<'a>(rate: f64, clusters: impl Iterator<Item = &'a Bytes> + Clone) -> SampledUse {
    let items = clusters.clone().count() as u64;
    let sum = |of: fn(&Bytes) -> u64| clusters.clone().map(of).sum::<u64>() as f64;
    let (brought, used) = (sum(|it| it.brought), sum(|it| it.used));
    let utilisation = used / brought.max(1.0);
    let squares = clusters.map(|it| (it.used as f64 - utilisation * it.brought as f64).powi(2));
    let correction = items as f64 / (items.max(2) - 1) as f64;
    let variance = (1.0 - rate) * correction * squares.sum::<f64>() / brought.max(1.0).powi(2);
    let half_width = match items {
        _ if rate >= 1.0 => 0.0,
        ENOUGH.. => (DEVIATIONS * variance.sqrt()).min(1.0),
        _ => 1.0,
    };
    SampledUse {
        object: None,
        items,
        utilisation,
        half_width,
    }
}
