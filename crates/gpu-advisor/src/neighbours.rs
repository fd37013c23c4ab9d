//! What another mapping of threads would gain: threads that share data, but are in different warps
//! and blocks, become neighbours. The mapping is that of the crate `simt`.
//!
//! It needs all accesses at once, so only some are kept: those of global memory of the first blocks
//! of a launch, up to [`AdvisorOptions::mapped_accesses`](crate::AdvisorOptions::mapped_accesses),
//! in the 1st, 4th, 16th, … launch of a kernel from one call path. Of these launches, the one with
//! the largest gain is reported. So memory does not grow with the run, and time with the logarithm
//! of the launches.
//!
//! The partitioner takes about 0.1 s for a thousand threads. It does not run where no order of
//! threads can save enough for a finding ([`KeptBlocks::least_sectors`]), nor for accesses that the
//! launch looked at before had as well ([`KeptBlocks::digest`]). So 10,000 launches of four kernels
//! from 32 call paths take 5.1 s of processor time instead of 19.3 s.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use reuselens_simt::mapping::{Common, Mapping, MappingDepth, map};
use reuselens_simt::transactions::{DataLayout, Transactions};
use reuselens_simt::{KernelRun, Loading};
use reuselens_warp::{Extent, LANES, Launch, WarpBatch, WarpRow, WarpSink, WarpStream};

use crate::SECTOR_BYTES;
use crate::rules::LEAST_OF_PLACE;

/// What an order of threads asks of the memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderCounts {
    /// Distinct sectors of requests of warps, summed over requests.
    pub sectors: u64,
    /// Distinct sectors of blocks, summed over blocks: what the L1 lacks even if it keeps all that
    /// a block has used.
    pub block_sectors: u64,
}

/// The order of threads as it is, and the proposed one. Where no order can save a tenth of the
/// sectors, none is looked for, and the proposed one is that which is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappingReport {
    /// Number of the launch that was looked at, from 1: of those of this kernel and call path.
    pub launch: u64,
    /// Blocks that were looked at, the first ones of the launch.
    pub blocks: u64,
    /// Threads of those.
    pub threads: u64,
    /// Threads that are in a warp of other threads with the proposed order.
    pub moved: u64,
    /// As it is.
    pub before: OrderCounts,
    /// With the proposed mapping, where all data stays where it is.
    pub after: OrderCounts,
}

impl MappingReport {
    /// Sectors of requests that the mapping saves.
    pub fn saved(&self) -> u64 {
        self.before.sectors.saturating_sub(self.after.sectors)
    }
}

/// Seed of the partitioner: the same run, the same mapping.
const SEED: u64 = 1;

/// Whether a kernel's launch with this number, from 1, is looked at.
pub(crate) fn is_chosen(launch: u64) -> bool {
    launch.is_power_of_two() && launch.trailing_zeros().is_multiple_of(2)
}

/// Accesses of global memory of one block, as they are.
#[derive(Debug, Default)]
pub(crate) struct BlockAccesses {
    batch: WarpBatch,
    /// Whether some were left out.
    is_cut: bool,
}

impl BlockAccesses {
    /// Keeps a record, if no more than `most` accesses are kept then.
    #[inline(never)]
    pub fn push(&mut self, row: &WarpRow<'_>, most: usize) {
        self.is_cut |= self.batch.accesses() + row.addresses.len() > most;
        if !self.is_cut {
            self.batch.push_row(row);
        }
    }
}

/// The accesses of the first blocks of a launch.
#[derive(Debug, Default)]
pub(crate) struct KeptBlocks {
    batches: Vec<WarpBatch>,
    accesses: usize,
    is_full: bool,
}

impl KeptBlocks {
    /// Whether more blocks are wanted.
    pub fn is_open(&self) -> bool {
        !self.is_full
    }

    /// Takes no more blocks.
    pub fn close(&mut self) {
        self.is_full = true;
    }

    /// Takes the next block; nothing from the first one on that is too long, or that does not fit.
    pub fn add(&mut self, block: BlockAccesses, most: usize) {
        self.is_full |= block.is_cut || self.accesses + block.batch.accesses() > most;
        if !self.is_full {
            self.accesses += block.batch.accesses();
            self.batches.push(block.batch);
        }
    }

    /// A number that other accesses hardly ever have: for equal ones, the order of threads that was
    /// found is found again.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for row in self.batches.iter().flat_map(WarpBatch::rows) {
            (row.site, row.block, row.warp, row.mask).hash(&mut hasher);
            row.addresses.hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The fewest sectors that requests can access, whatever the order of threads: each instruction
    /// accesses each of its sectors at least once, and a request has at most [`LANES`] accesses.
    fn least_sectors(&self) -> u64 {
        let mut sites: HashMap<u32, (HashSet<u64>, u64)> = HashMap::new();
        for row in self.batches.iter().flat_map(WarpBatch::rows) {
            let (sectors, accesses) = sites.entry(row.site).or_default();
            sectors.extend(row.addresses.iter().map(|address| address / SECTOR_BYTES));
            *accesses += row.addresses.len() as u64;
        }
        let least = |(sectors, accesses): (HashSet<u64>, u64)| {
            accesses.div_ceil(LANES as u64).max(sectors.len() as u64)
        };
        sites.into_values().map(least).sum()
    }

    /// Maps the threads of the blocks. The order stays as it is where no other one saves
    /// [`LEAST_OF_PLACE`] of the sectors. None if there are fewer than two warps, blocks are no
    /// multiple of a warp, threads meet at barriers, or nothing is accessed.
    pub fn map(self, launch: &Launch, number: u64) -> Option<MappingReport> {
        let blocks = self.batches.len() as u32;
        let threads = u64::from(blocks) * launch.block.count();
        let has_barriers = self.batches.iter().any(WarpBatch::has_phases);
        if self.accesses == 0 || threads < 2 * LANES as u64 || has_barriers {
            return None;
        }
        let mut stream = WarpStream::new();
        let launch = Launch {
            grid: Extent::line(blocks),
            ..launch.clone()
        };
        stream.launch(&launch).ok()?;
        for batch in &self.batches {
            stream.batch(batch).ok()?;
        }
        let run = KernelRun::read(&mut stream.source(), Loading::default()).ok()?;
        let counted = |mapping: &Mapping| counts(&mapping.apply(&run).ok()?);
        let before = counted(&Mapping::identity(&run).ok()?)?;
        let unchanged = MappingReport {
            launch: number,
            blocks: blocks.into(),
            threads,
            moved: 0,
            before,
            after: before,
        };
        let most_saved = before.sectors.saturating_sub(self.least_sectors());
        if (most_saved as f64) < LEAST_OF_PLACE * before.sectors as f64 {
            return Some(unchanged);
        }
        let (layout, common) = (DataLayout::Kept, Common::Requests);
        let mapping = map(&run, layout, common, LANES, MappingDepth::Blocks, SEED).ok()?;
        Some(MappingReport {
            moved: moved(mapping.threads()),
            after: counted(&mapping)?,
            ..unchanged
        })
    }
}

fn counts(run: &KernelRun) -> Option<OrderCounts> {
    let of_block = |block: &reuselens_simt::BlockStream| {
        let items = block.footprint().into_iter();
        let mut sectors: Vec<u64> = items.map(|item| run.address(item) / SECTOR_BYTES).collect();
        sectors.sort_unstable();
        sectors.dedup();
        sectors.len() as u64
    };
    Some(OrderCounts {
        sectors: Transactions::of(run, DataLayout::Kept).ok()?.sectors,
        block_sectors: run.blocks().iter().map(of_block).sum(),
    })
}

/// Threads whose warp has threads of other warps, of a mapping: whose work each thread does.
fn moved(mapping: &[u32]) -> u64 {
    let warps = mapping.chunks(LANES);
    let of_warp = |warp: &[u32]| {
        let home = warp[0] / LANES as u32;
        let is_together = warp.iter().all(|thread| thread / LANES as u32 == home);
        if is_together { 0 } else { warp.len() as u64 }
    };
    warps.map(of_warp).sum()
}
