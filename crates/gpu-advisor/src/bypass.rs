//! Horizontal bypassing: how many warps of each block should use the L1, while the loads of the
//! others go past it to the L2.
//!
//! # Advice
//! `warps = L1 bytes / (RD · line bytes · MD · blocks of an SM)`, rounded down, then at least 1 and
//! at most the warps of a block. RD is the mean of the finite reuse distances of loads in lines, 1
//! at least; MD the mean number of lines of 128 bytes that a load accesses. The text that it is
//! from reports RD per block (CTA), but what a warp needs in the L1 is RD per warp: both are here.
//! The lines of divergent loads are in RD already, so that the product counts them twice, and the
//! advice for such kernels is too low; the oracle says by how much.
//!
//! # Oracle
//! The L1 model runs once for each number of warps, on the first SM. What is minimised is the
//! traffic: sectors that the L1's misses and the bypassing loads fetch from the L2. A bypassing
//! warp leaves the L1 as it is, but for stores, which go by [`StorePolicy`](crate::StorePolicy).
//!
//! Source: Shen 2021, section 3.4.

use crate::ratio;

/// The means that the formula takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BypassInputs {
    /// Bytes of an SM's L1.
    pub l1_bytes: u64,
    /// Bytes of a line that distances count.
    pub line_bytes: u64,
    /// Mean of the finite reuse distances of loads, in lines; none if nothing is reused.
    pub reuse_distance: Option<f64>,
    /// Mean number of lines of 128 bytes that a load accesses.
    pub memory_divergence: f64,
    /// Blocks that an SM holds at the same time.
    pub blocks_per_sm: u32,
    /// Warps of a block.
    pub warps_per_block: u32,
}

impl BypassInputs {
    /// How many warps of each block should use the L1, by the formula.
    ///
    /// Where nothing is reused there is no distance to go by: all warps use the L1.
    pub fn advice(&self) -> u32 {
        let most = self.warps_per_block.max(1);
        let Some(distance) = self.reuse_distance else {
            return most;
        };
        let lines = distance.max(1.0) * self.memory_divergence.max(1.0);
        let bytes = lines * self.line_bytes as f64 * f64::from(self.blocks_per_sm.max(1));
        let warps = (self.l1_bytes as f64 / bytes).floor();
        (warps.min(most.into()) as u32).max(1)
    }
}

/// What the model fetches from the L2 with each number of warps that use the L1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BypassOracle {
    /// Sectors of loads on the first SM.
    pub loads: u64,
    /// Index *w* − 1: sectors fetched from the L2 if *w* warps of each block use the L1. With more
    /// warps than there are here it is as with the last.
    pub traffic: Vec<u64>,
}

impl BypassOracle {
    /// Sectors fetched from the L2 if `warps` warps of each block use the L1.
    pub fn traffic(&self, warps: u32) -> u64 {
        let at = (warps.max(1) as usize).min(self.traffic.len());
        self.traffic.get(at.wrapping_sub(1)).copied().unwrap_or(0)
    }

    /// Hit rate of all loads, those that bypass the L1 included.
    pub fn hit_rate(&self, warps: u32) -> f64 {
        ratio(self.loads.saturating_sub(self.traffic(warps)), self.loads)
    }

    /// The number of warps with the least traffic; of several, the most warps.
    pub fn best(&self) -> u32 {
        let least = self.traffic.iter().min();
        let best = self
            .traffic
            .iter()
            .rposition(|traffic| Some(traffic) == least);
        best.map_or(1, |at| at as u32 + 1)
    }

    /// How much more traffic `warps` warps cause than the best number: 0.05 is 5 % more.
    pub fn distance(&self, warps: u32) -> f64 {
        let least = self.traffic(self.best());
        ratio(self.traffic(warps).saturating_sub(least), least)
    }

    /// Adds the sectors of another.
    pub fn merge(&mut self, other: &BypassOracle) {
        let length = self.traffic.len().max(other.traffic.len());
        let sum = |at| self.traffic(at) + other.traffic(at);
        let traffic = (1..=length as u32).map(sum).collect();
        self.loads += other.loads;
        self.traffic = traffic;
    }
}

/// Advice on bypassing, and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct BypassReport {
    /// The formula with reuse distances per warp.
    pub per_warp: BypassInputs,
    /// The formula with reuse distances per block.
    pub per_cta: BypassInputs,
    /// The model's answer; none if it did not run, or the first SM loaded nothing.
    pub oracle: Option<BypassOracle>,
}
