//! A model of the caches: an L1 for each SM, and an L2 that all share.
//!
//! # The schedule
//! The launch's blocks run in waves of [`GpuModel::sms`] times the resident blocks of an SM
//! ([`GpuModel::resident_blocks`]: by warps and shared memory). The launch's block *b*, in the
//! order in which blocks are closed, runs on SM *b* mod [`GpuModel::sms`].
//! The warps of a wave advance together: requests are in the order of their phases (what barriers
//! order), then of their positions, then of blocks, then of warps. L1 caches are emptied before
//! each launch; the L2 is kept from launch to launch.
//!
//! # The caches
//! [`CacheShape`] has sets and replacement, [`StorePolicy`] what stores do to the L1. Atomic
//! operations are done in the L2, and evict from the L1. In the L2, stores and atomic operations
//! bring their sectors in, without a fetch. Copies by the host do not change the L2.
//! Loads that PTX lets pass the L1 by ([`bypassing_sites`]) neither find anything in it nor bring
//! anything in.
//!
//! # What it costs
//! Memory: for the blocks of a wave, 16 bytes for each request and 48 for each line of a request,
//! up to [`AdvisorOptions::resident_window`] lines: a longer wave is cut into several, and counted
//! in `cut_waves`. A block that has more lines than that is cut, and counted in `cut_blocks`: the
//! model leaves out its later requests. Blocks that are open or wait to be closed take 16 bytes for
//! each request and 16 for each line, up to as many lines each.
//!
//! Time: two look-ups for each line of a request, about 40 ns; they are made while a block is
//! closed, by one thread.
//!
//! [`CacheShape`]: crate::CacheShape
//! [`StorePolicy`]: crate::StorePolicy
//! [`GpuModel::sms`]: crate::GpuModel::sms
//! [`GpuModel::resident_blocks`]: crate::GpuModel::resident_blocks
//! [`AdvisorOptions::resident_window`]: crate::AdvisorOptions::resident_window

mod distances;
mod lru;
mod requests;
mod waves;

use std::sync::Arc;

use reuselens_warp::KernelSite;

use crate::tally::LAST_SITE;
use crate::{GpuModel, ratio};

pub use distances::CacheDistances;
pub(crate) use distances::DistanceMeter;
pub(crate) use requests::{BlockRequests, CacheRequest, CacheStep};
pub(crate) use waves::{CacheOutcome, CacheSimulator};

/// Sectors that a cache was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Sectors of loads.
    pub loads: u64,
    /// Of those, the ones that the cache had.
    pub load_hits: u64,
    /// Sectors of stores and atomic operations.
    pub stores: u64,
    /// Of those, the ones that the cache had.
    pub store_hits: u64,
}

impl CacheCounts {
    /// Share of the loads' sectors that the cache had; 0 without loads.
    pub fn load_hit_rate(&self) -> f64 {
        ratio(self.load_hits, self.loads)
    }

    /// Share of all sectors that the cache had; 0 without any.
    pub fn hit_rate(&self) -> f64 {
        ratio(self.load_hits + self.store_hits, self.loads + self.stores)
    }

    /// Sectors of loads that the cache did not have.
    pub fn load_misses(&self) -> u64 {
        self.loads - self.load_hits
    }

    /// Adds the sectors of another.
    pub fn merge(&mut self, other: &CacheCounts) {
        self.loads += other.loads;
        self.load_hits += other.load_hits;
        self.stores += other.stores;
        self.store_hits += other.store_hits;
    }
}

/// By the site: whether it is a load that passes the L1 by. Empty if none is. It is read off the
/// instruction's text, so that records need not have it; sites without a text do not pass it by.
/// Sites from [`LAST_SITE`] on are counted as one, and are taken for loads that do not.
pub(crate) fn bypassing_sites(sites: &[KernelSite]) -> Arc<[bool]> {
    let sites = sites.iter().take(LAST_SITE as usize);
    let bypassing: Vec<bool> = sites.map(|site| is_bypassing(&site.text)).collect();
    if bypassing.contains(&true) {
        bypassing.into()
    } else {
        Arc::default()
    }
}

/// Whether an instruction of PTX is a load that the L1 does not cache: `.cg` is cached in the L2
/// only, `.cv` and `volatile` fetch again, `L1::no_allocate` brings nothing in, and what other
/// blocks write is seen by loads with an order (`relaxed`, `acquire`) that holds for the GPU, the
/// cluster or the system. Source: *PTX ISA*, "Cache Operators" and "Memory Consistency Model".
fn is_bypassing(text: &str) -> bool {
    let opcode = text.split_ascii_whitespace().next().unwrap_or_default();
    let mut words = opcode.split('.');
    if words.next() != Some("ld") {
        return false;
    }
    let words: Vec<&str> = words.collect();
    let has = |any: &[&str]| words.iter().any(|word| any.contains(word));
    let is_ordered = has(&["relaxed", "acquire"]) && has(&["gpu", "cluster", "sys"]);
    is_ordered || has(&["cg", "cv", "volatile", "mmio", "L1::no_allocate"])
}

/// What the model says of the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheReport {
    /// The GPU.
    pub model: GpuModel,
    /// The L1 caches of all SMs.
    pub l1: CacheCounts,
    /// The L2 cache.
    pub l2: CacheCounts,
    /// The most blocks that an SM held at the same time.
    pub resident_blocks: u32,
    /// Waves of blocks.
    pub waves: u64,
    /// Of those, the ones that were cut because they were too long.
    pub cut_waves: u64,
    /// Blocks whose later requests the model leaves out because there were too many.
    pub cut_blocks: u64,
}

impl CacheReport {
    /// Adds the sectors of another of the same model.
    pub fn merge(&mut self, other: &CacheReport) {
        self.l1.merge(&other.l1);
        self.l2.merge(&other.l2);
        self.resident_blocks = self.resident_blocks.max(other.resident_blocks);
        self.waves += other.waves;
        self.cut_waves += other.cut_waves;
        self.cut_blocks += other.cut_blocks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(texts: &[&str]) -> Vec<KernelSite> {
        let site = |text: &&str| KernelSite {
            text: (*text).to_owned(),
            ..KernelSite::default()
        };
        texts.iter().map(site).collect()
    }

    #[test]
    fn loads_that_pass_the_l1_by_are_known_by_their_text() {
        for text in [
            "ld.global.cg.u32 (PTX line 7)",
            "ld.global.cv.f32",
            "ld.volatile.global.u32 (PTX line 7)",
            "ld.relaxed.gpu.global.u32",
            "ld.acquire.sys.global.u32",
            "ld.global.L1::no_allocate.v4.u32",
        ] {
            assert!(is_bypassing(text), "{text}");
        }
        for text in [
            "ld.global.u32 (PTX line 7)",
            "ld.global.nc.f32",
            "ld.global.cs.f32",
            "ld.relaxed.cta.global.u32",
            "st.global.cg.u32",
            "atom.relaxed.gpu.global.add.u32",
            "cvt.ld.cg",
            "+0x120",
            "",
        ] {
            assert!(!is_bypassing(text), "{text}");
        }
    }

    #[test]
    fn table_is_empty_without_such_loads() {
        assert!(bypassing_sites(&sites(&["ld.global.u32", "st.global.cg.u32"])).is_empty());
        let table = bypassing_sites(&sites(&["ld.global.u32", "ld.global.cg.u32"]));
        assert_eq!(*table, [false, true]);
    }
}
