//! Thread mapping: which threads should be in one warp, which warps in one block, and in which order blocks run.
//!
//! The data that threads share is a hypergraph ([`Hypergraph`]): a vertex for each thread, an edge for each set of
//! threads that share data, weighted by how much. Threads are clustered into warps so that requests for data are in few warps
//! ([`Hypergraph::of_requests`], [`partition`]), warps into blocks so that data is in few blocks ([`Hypergraph::of`]), and
//! blocks are put in an order in which those that share data are close ([`order`]). What comes out is a permutation
//! ([`Mapping`]).
//!
//! Source: Garrido 2013, section VIII, after Kuo, Chen, Lai and Jou, *Thread Affinity Mapping for Irregular Data Access
//! on Shared Cache GPGPU*, ASP-DAC 2012. Vertices are weighted by private data there; here all warps must
//! be full, so each thread counts one. Edges are data there for warps too; but a warp that comes back to its data fetches it
//! again, so that a mapping with half the copies of data can need as many transactions as before. [`Common::Data`] is theirs.

mod hypergraph;
mod order;
mod partition;
mod refine;
mod remap;
mod users;

pub use hypergraph::Hypergraph;
pub use order::{order, span};
pub use partition::partition;
pub use remap::{Mapping, Stage};

use reuselens_trace::warp::LANES;

use crate::transactions::{Layout, Transactions};
use crate::{Run, SimtError};

/// The most threads of a launch that are mapped.
const MAX_THREADS: u64 = 1 << 24;

/// What the threads of a warp should have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Common {
    /// Requests: sectors that they touch in the same instruction, for fewest transactions.
    #[default]
    Requests,
    /// Data, at whatever time they touch it: for reuse within warps, as the literature has it.
    Data,
}

/// Maps the threads of a run, whose items are elements: clusters them into warps of `lanes` threads, if `stage` says so
/// warps into blocks, and orders blocks. `layout` says which data stays where it is.
///
/// Never more transactions than before: if clustering does not help, threads stay in their warps. Deterministic
/// for a seed.
///
/// # Errors
/// [`SimtError::Unfit`] if blocks are not a whole number of warps, or items no elements; [`SimtError::TooLarge`] from
/// 16 Mi threads on.
pub fn map(
    run: &Run,
    layout: Layout,
    common: Common,
    lanes: usize,
    stage: Stage,
    seed: u64,
) -> Result<Mapping, SimtError> {
    let block = run.block_threads() as usize;
    if lanes == 0 || block == 0 || !block.is_multiple_of(lanes) {
        return Err(SimtError::Unfit(format!(
            "blocks of {block} threads are not a whole number of warps of {lanes}: launch the kernel with full warps"
        )));
    }
    let found = run.launch().grid.count().saturating_mul(block as u64);
    if found > MAX_THREADS {
        return Err(SimtError::TooLarge {
            what: "threads to map",
            found,
            limit: MAX_THREADS,
            hint: "run the kernel on smaller data",
        });
    }
    let sharing = match common {
        Common::Requests => Hypergraph::of_requests(run, layout),
        Common::Data => Hypergraph::of(run, layout),
    };
    let clustered = partition(&sharing, lanes, seed)?;
    let all: Vec<u32> = (0..found as u32).collect();
    let as_is: Vec<Vec<u32>> = all.chunks(lanes).map(<[u32]>::to_vec).collect();
    let count = |warps: &[Vec<u32>]| -> Result<u64, SimtError> {
        let mapping = Mapping::new(warps.concat(), block)?;
        Ok(Transactions::of(&mapping.apply(run)?, layout)?.sectors)
    };
    let worse = lanes == LANES && count(&clustered)? > count(&as_is)?;
    let warps = if worse { as_is } else { clustered };
    if stage == Stage::Threads {
        return arrange(&warps, &in_place(&warps), block);
    }
    let sharing = Hypergraph::of(run, layout).contract(&warps);
    let blocks = partition(&sharing, block / lanes, seed)?;
    let blocks = match stage {
        Stage::Blocks => {
            let sequence = order(&sharing.contract(&blocks));
            sequence.iter().flat_map(|&at| blocks[at].clone()).collect()
        }
        Stage::Threads | Stage::Warps => blocks.concat(),
    };
    arrange(&warps, &blocks, block)
}

/// The warps one after the other in that order.
fn arrange(warps: &[Vec<u32>], order: &[u32], block: usize) -> Result<Mapping, SimtError> {
    let threads = order.iter().flat_map(|&warp| &warps[warp as usize]);
    Mapping::new(threads.copied().collect(), block)
}

/// Warps in the order of their first threads: nothing but threads has moved.
fn in_place(warps: &[Vec<u32>]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..warps.len() as u32).collect();
    order.sort_by_key(|&warp| warps[warp as usize].first().copied());
    order
}
