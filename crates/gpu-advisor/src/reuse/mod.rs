//! Reuse distances of global memory, per block (CTA) and per warp, by element and by cache line.
//!
//! # What is counted
//! *Elements*: each lane's access is an access to every element that it covers. *Lines*: each
//! distinct line of a request is one access, as the L1 sees it.
//!
//! *Order.* The accesses of a warp are in the order of its records. Those of a block are in the
//! order of their `phase` (what barriers order), then of their `position` (each warp's own count of
//! memory instructions in the phase), then of warps, as if all warps of the block advanced together
//! from barrier to barrier. Blocks with more than [`AdvisorOptions::window`] lines
//! of requests are ordered within pieces of that length; they are counted in `cut_blocks`.
//!
//! *Distance.* The items of a request are accessed together. The distance of an access is the
//! number of distinct other items in the requests since the last one that accessed the item, that
//! one included and the present one not. So an LRU cache of more items than the distance still has
//! it. Lanes that access an item which a lower lane of the same request accesses, too, have
//! distance 0.
//!
//! *Write-evict.* A store or an atomic operation ends the reuse of its items: the next access to
//! them is cold. It counts as an access between those to other items.
//!
//! Source: Shen 2021, section 3.3.
//!
//! [`AdvisorOptions::window`]: crate::AdvisorOptions::window

mod grain;
mod recency;
mod table;
mod tracker;

use reuselens_locality::Log2Histogram;
use reuselens_units::Distance;
use reuselens_warp::WarpKind;

pub(crate) use tracker::{KeptPart, ReuseTargets, SeeReuse, Tracker, Unseen};

/// Accesses by reuse distance, for one kind of item and one scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReuseCounts {
    /// Loads.
    pub loads: Log2Histogram,
    /// Stores and atomic operations.
    pub stores: Log2Histogram,
    /// The finite distances of loads, summed.
    pub load_distance_sum: u64,
    /// Accesses to items that are accessed just once in their scope: streaming accesses.
    pub streaming: u64,
    /// Distinct items, summed over the CTAs or warps.
    pub items: u64,
}

impl ReuseCounts {
    /// Loads with a finite distance.
    pub fn load_reuses(&self) -> u64 {
        self.loads.accesses() - self.loads.cold()
    }

    /// Mean of the finite distances of loads; none if there are none.
    pub fn mean_distance(&self) -> Option<f64> {
        let reuses = self.load_reuses();
        (reuses > 0).then(|| self.load_distance_sum as f64 / reuses as f64)
    }

    /// Loads, stores and atomic operations in one histogram.
    pub fn all(&self) -> Log2Histogram {
        let mut all = self.loads.clone();
        all.merge(&self.stores);
        all
    }

    /// Counts `accesses` at a distance; none is cold.
    #[inline(always)]
    pub(crate) fn add(&mut self, kind: WarpKind, distance: Option<u64>, accesses: u64) {
        let histogram = match kind {
            WarpKind::Load => {
                self.load_distance_sum += distance.unwrap_or(0) * accesses;
                &mut self.loads
            }
            WarpKind::Store | WarpKind::Atomic => &mut self.stores,
        };
        histogram.add(distance.map_or(Distance::COLD, Distance::new), accesses);
    }

    /// Adds the accesses of another.
    pub fn merge(&mut self, other: &ReuseCounts) {
        self.loads.merge(&other.loads);
        self.stores.merge(&other.stores);
        self.load_distance_sum += other.load_distance_sum;
        self.streaming += other.streaming;
        self.items += other.items;
    }
}

/// The loads of a place or an object by whether their lines were used before in the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReuseSums {
    /// Accesses of loads to lines: distinct lines of requests.
    pub loads: u64,
    /// Of those, the ones with a finite distance in their block.
    pub reuses: u64,
    /// Their distances in lines, summed.
    pub distance_sum: u64,
    /// Accesses of loads to elements.
    pub element_loads: u64,
    /// Of those, the ones with a finite distance in their block.
    pub element_reuses: u64,
    /// Sectors of loads.
    pub sectors: u64,
    /// Of those, the ones that their block had loaded before and not written since.
    pub reused_sectors: u64,
}

impl ReuseSums {
    /// Mean of the finite distances, in lines; none if there are none.
    pub fn mean_distance(&self) -> Option<f64> {
        (self.reuses > 0).then(|| self.distance_sum as f64 / self.reuses as f64)
    }

    /// Adds the accesses of another.
    #[inline(always)]
    pub fn merge(&mut self, other: &ReuseSums) {
        self.loads += other.loads;
        self.reuses += other.reuses;
        self.distance_sum += other.distance_sum;
        self.element_loads += other.element_loads;
        self.element_reuses += other.element_reuses;
        self.sectors += other.sectors;
        self.reused_sectors += other.reused_sectors;
    }
}

/// The reuse of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReuseReport {
    /// Size of an element in bytes.
    pub element_bytes: u32,
    /// Size of a line in bytes.
    pub line_bytes: u32,
    /// In CTAs, by element.
    pub cta_elements: ReuseCounts,
    /// In CTAs, by line.
    pub cta_lines: ReuseCounts,
    /// In warps, by element.
    pub warp_elements: ReuseCounts,
    /// In warps, by line.
    pub warp_lines: ReuseCounts,
    /// Blocks that were too long to be ordered as one.
    pub cut_blocks: u64,
}

impl ReuseReport {
    /// Adds the accesses of another; sizes stay.
    pub fn merge(&mut self, other: &ReuseReport) {
        self.cta_elements.merge(&other.cta_elements);
        self.cta_lines.merge(&other.cta_lines);
        self.warp_elements.merge(&other.warp_elements);
        self.warp_lines.merge(&other.warp_lines);
        self.cut_blocks += other.cut_blocks;
    }

    /// What CTAs count into.
    #[inline(always)]
    pub(crate) fn of_ctas(&mut self) -> ReuseTargets<'_> {
        ReuseTargets {
            elements: &mut self.cta_elements,
            lines: &mut self.cta_lines,
        }
    }

    /// What warps count into.
    #[inline(always)]
    pub(crate) fn of_warps(&mut self) -> ReuseTargets<'_> {
        ReuseTargets {
            elements: &mut self.warp_elements,
            lines: &mut self.warp_lines,
        }
    }
}
