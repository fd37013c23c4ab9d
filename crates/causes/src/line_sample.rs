//! [`LineSample`]: a bound of the utilisation of lines, where only some items are counted.
//!
//! The sample is one of items: of those that are in it all fills are counted. Fills of one item are
//! alike, so that each item is a cluster, and the utilisation is a ratio of two sums over clusters.
//! With `xᵢ` the bytes brought in for item `i`, `yᵢ` those used, `n` items and the rate `f`:
//!
//! `R = Σ yᵢ / Σ xᵢ`, `var R = (1 − f) · n / (n − 1) · Σ (yᵢ − R·xᵢ)² / (Σ xᵢ)²`
//!
//! (Cochran, *Sampling Techniques*, 3rd edition 1977, section 6.4). The bound is the sum of two
//! parts:
//!
//! - *Chance*: 1.96 deviations of `R`. That takes `R` to be normal, which it is not with few items,
//!   or where a few of them have most fills: with fewer than 30 items there is no bound. The number
//!   of items is taken to be `(Σ xᵢ)² / Σ xᵢ²`, which is `n` if all have equally many fills.
//! - *Doubt*: distances are estimates, so that hits are taken for misses and misses for hits. An
//!   estimate at the size `C` of the cache has the standard deviation `√(C · (1 − f) / f)`
//!   ([`ItemSample`](reuselens_distance::ItemSample)). All fills are counted for caches that are
//!   two of these deviations smaller and larger, too, and the doubt is the larger one of the
//!   differences of their utilisations from `R`. That assumes that the utilisation of a cache in
//!   between is not further from `R` than those of both ends: nothing bounds it where it swings.
//!
//! How often the bound holds is tested for rates of 10 to 50 % with a cache of 400 items, and for 1
//! and 2 % with one of 8,000 (`tests/brute_force/sample.rs`). Other rates rest on the formulae.

use std::collections::{BTreeMap, HashMap};

use reuselens_profile::{CellCauses, ElementUse, SampledUse};

use crate::CellPlace;
use crate::table_memory::table_memory;

/// Items of equally many fills from which on there is a bound.
const ENOUGH: f64 = 30.0;
/// Deviations on both sides of a normal distribution that leave out 5%.
const DEVIATIONS: f64 = 1.96;
/// Deviations of an estimated distance that are in doubt.
const DOUBTFUL: f64 = 2.0;

/// Bytes of fills.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FillBytes {
    pub brought: u64,
    pub used: u64,
}

impl FillBytes {
    pub fn add(&mut self, other: FillBytes) {
        self.brought += other.brought;
        self.used += other.used;
    }

    /// The share of the bytes that is used.
    fn utilisation(&self) -> f64 {
        self.used as f64 / self.brought.max(1) as f64
    }
}

/// Bytes of the fills of each object, and those of all (`None`).
pub(crate) type ObjectSums = BTreeMap<Option<u32>, FillBytes>;

/// The caches whose fills are counted beside those of a cache of `cache` items, where a share
/// `rate` of the items is sampled: two deviations of an estimated distance smaller and larger.
pub(crate) fn doubtful_caches(cache: u64, rate: f64) -> [u64; 2] {
    let items = cache as f64;
    let doubt = DOUBTFUL * (items * (1.0 - rate) / rate).sqrt();
    let smaller = (items - doubt).max(1.0).floor();
    [smaller as u64, (items + doubt).ceil() as u64]
}

/// Sums up fills by item and by the cell that made them.
///
/// Memory: 29 to 57 bytes for each pair of an item and a cell.
pub(crate) struct LineSample {
    rate: f64,
    bytes: HashMap<(u32, u32), FillBytes>,
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
    pub fn end(&mut self, item: u32, cell: u32, fill: FillBytes) {
        self.bytes.entry((item, cell)).or_default().add(fill);
    }

    /// What a count of the sample is one of all items.
    fn scale(&self, count: u64) -> u64 {
        (count as f64 / self.rate).round() as u64
    }

    /// Makes the fills of cells those of all items.
    pub fn scale_cells(&self, cells: &mut [CellCauses], line_bytes: u64) {
        for cell in cells {
            cell.fills = self.scale(cell.fills);
            // Rounding must not make more bytes used than there are.
            let brought = cell.fills.saturating_mul(line_bytes);
            cell.used_bytes = self.scale(cell.used_bytes).min(brought);
            cell.new_bytes = self.scale(cell.new_bytes).min(cell.used_bytes);
            cell.single_use_fills = self.scale(cell.single_use_fills).min(cell.fills);
        }
    }

    /// Makes the counts of an element those of all items.
    pub fn scale_element(&self, element: &mut ElementUse) {
        let columns = [
            &mut element.accesses,
            &mut element.misses,
            &mut element.brought,
            &mut element.used,
        ];
        for count in columns.into_iter().flatten() {
            *count = self.scale(*count);
        }
    }

    /// The memory held.
    pub fn memory(&self) -> u64 {
        table_memory::<((u32, u32), FillBytes)>(self.bytes.capacity()) as u64
    }

    /// The utilisation of all fills, then of those of each object. `others`: the sums of these
    /// fills in the [`doubtful_caches`].
    pub fn finish(&self, places: &[CellPlace], others: &[ObjectSums]) -> Vec<SampledUse> {
        let mut clusters: BTreeMap<Option<u32>, BTreeMap<u32, FillBytes>> = BTreeMap::new();
        for (&(item, cell), bytes) in &self.bytes {
            for object in [None, Some(places[cell as usize].object)] {
                let cluster = clusters.entry(object).or_default().entry(item).or_default();
                cluster.add(*bytes);
            }
        }
        let objects = clusters.iter();
        let uses = objects.map(|(&object, items)| {
            let known = sampled_use(self.rate, items.values());
            // What misses for the first time misses in any cache.
            let doubts = others.iter().filter_map(|sums| sums.get(&object));
            let doubts = doubts.map(|sum| (sum.utilisation() - known.utilisation).abs());
            let doubt = doubts.fold(0.0, f64::max);
            SampledUse {
                object,
                half_width: (known.half_width + doubt).min(1.0),
                ..known
            }
        });
        uses.collect()
    }
}

/// The ratio of two sums over clusters, and the part of its bound that is chance.
fn sampled_use<'a>(rate: f64, clusters: impl Iterator<Item = &'a FillBytes> + Clone) -> SampledUse {
    let items = clusters.clone().count() as u64;
    let mut sum = FillBytes::default();
    clusters.clone().for_each(|bytes| sum.add(*bytes));
    let (brought, utilisation) = (sum.brought.max(1) as f64, sum.utilisation());
    let errors = clusters.clone();
    let errors = errors.map(|it| (it.used as f64 - utilisation * it.brought as f64).powi(2));
    let correction = items as f64 / (items.max(2) - 1) as f64;
    let variance = (1.0 - rate) * correction * errors.sum::<f64>() / brought.powi(2);
    let squares = clusters.map(|it| (it.brought as f64).powi(2)).sum::<f64>();
    let is_known = brought.powi(2) >= ENOUGH * squares;
    SampledUse {
        object: None,
        items,
        utilisation,
        half_width: if rate >= 1.0 {
            0.0
        } else if is_known {
            (DEVIATIONS * variance.sqrt()).min(1.0)
        } else {
            1.0
        },
    }
}
