//! [`Scenario`]: the six ways in which blocks share a machine. [`Scenario::streams`] makes the
//! reference streams of a run that a characteristic is calculated of.

mod blocks;
mod reference;
mod warps;

pub use blocks::{BLOCK_SCHEDULERS, BlockScheduler, Sequential, SharingBlocks, block_scheduler};
pub use reference::Reference;
pub use warps::{RoundRobin, SharingWarps, WARP_SCHEDULERS, WarpScheduler, warp_scheduler};

use std::ops::Range;

use crate::{KernelRun, SimtError};

/// A reference stream: memory instructions in order, each with the items that it touches.
pub trait ReferenceStream {
    /// Memory instructions.
    fn instructions(&self) -> u64;

    /// Items are numbered below this.
    fn items(&self) -> u32;

    /// Calls `each` with positions from 0, which never fall, and items that are touched there;
    /// several calls may be for one position. Called once for each group of threads, not once for
    /// each access. Two calls of `visit` visit the same.
    fn visit(&self, each: &mut dyn FnMut(u64, &[u32]));

    /// As [`visit`](Self::visit), for callers that look at the items of a range only: others may be
    /// left out.
    fn visit_range(&self, range: Range<u32>, each: &mut dyn FnMut(u64, &[u32]));

    /// Whether all that was visited could be read.
    ///
    /// # Errors
    /// As [`KernelRun::check`].
    fn check(&self) -> Result<(), SimtError>;
}

/// Instructions written down: for examples and tests.
impl ReferenceStream for [Vec<u32>] {
    fn instructions(&self) -> u64 {
        self.len() as u64
    }

    fn items(&self) -> u32 {
        self.iter().flatten().max().map_or(0, |last| last + 1)
    }

    fn visit(&self, each: &mut dyn FnMut(u64, &[u32])) {
        for (position, items) in self.iter().enumerate() {
            each(position as u64, items);
        }
    }

    fn visit_range(&self, _: Range<u32>, each: &mut dyn FnMut(u64, &[u32])) {
        self.visit(each);
    }

    fn check(&self) -> Result<(), SimtError> {
        Ok(())
    }
}

/// How blocks share the machine.
///
/// *Merged* blocks run at the same time: instructions with the same position index in their blocks
/// become one. *Serialised* ones run one after the other.
///
/// Source: Garrido 2013, section VI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// 1: all blocks serialised.
    Serialised,
    /// 2: each block by itself.
    Each,
    /// 3: all blocks merged.
    Merged,
    /// 4: groups of `blocks` blocks, chosen by a block scheduler, are merged; the groups
    /// serialised.
    Concurrent {
        /// Blocks at a time.
        blocks: usize,
    },
    /// 5: blocks are dealt to clusters, whose blocks are serialised; an instruction of more threads
    /// than a cluster has load/store units is issued as several.
    Clusters {
        /// Core clusters.
        clusters: usize,
        /// Load/store units of each.
        units: usize,
    },
    /// 6: as 5, but blocks that run at the same time are merged, and the units are those of all
    /// clusters.
    Collective {
        /// Core clusters.
        clusters: usize,
        /// Load/store units of each.
        units: usize,
    },
}

impl Scenario {
    /// The number that the literature gives it.
    pub const fn number(self) -> u8 {
        match self {
            Scenario::Serialised => 1,
            Scenario::Each => 2,
            Scenario::Merged => 3,
            Scenario::Concurrent { .. } => 4,
            Scenario::Clusters { .. } => 5,
            Scenario::Collective { .. } => 6,
        }
    }

    /// The reference streams of a run: one, or one for each block (2) or cluster (5).
    pub fn streams<'a>(
        self,
        run: &'a KernelRun,
        blocks: &dyn BlockScheduler,
        warps: &'a dyn WarpScheduler,
    ) -> Vec<Reference<'a>> {
        let count = run.blocks().len();
        let one = |groups, units| Reference::new(run, groups, units, warps);
        match self {
            Scenario::Serialised => vec![one(blocks::groups(run, blocks, 1), None)],
            Scenario::Each => (0..count).map(|at| one(vec![vec![at]], None)).collect(),
            Scenario::Merged => vec![one(blocks::groups(run, blocks, count), None)],
            Scenario::Concurrent { blocks: k } => vec![one(blocks::groups(run, blocks, k), None)],
            Scenario::Clusters { clusters, units } => {
                let groups = blocks::groups(run, blocks, clusters);
                let of = |cluster: usize| {
                    let own = groups.iter().filter_map(move |group| group.get(cluster));
                    own.map(|&block| vec![block]).collect::<Vec<_>>()
                };
                let clusters = clusters.clamp(1, count.max(1));
                (0..clusters)
                    .map(|cluster| one(of(cluster), Some(units)))
                    .collect()
            }
            Scenario::Collective { clusters, units } => {
                let groups = blocks::groups(run, blocks, clusters);
                vec![one(groups, Some(units.saturating_mul(clusters.max(1))))]
            }
        }
    }
}
