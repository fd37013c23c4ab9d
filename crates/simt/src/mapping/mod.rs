//! Thread mapping: which threads should be in one warp, which warps in one block, and in which order blocks run.
//!
//! The data that threads share is a hypergraph ([`Hypergraph`]): a vertex for each thread, an edge for each set of
//! threads that share data, weighted by how much. Threads are clustered into warps so that data is in few warps
//! ([`partition`]), warps into blocks in the same way, and blocks are put in an order in which those that
//! share data are close ([`order`]). What comes out is a permutation ([`Mapping`]).
//!
//! Source: Garrido 2013, section VIII, after Kuo, Chen, Lai and Jou, *Thread Affinity Mapping for Irregular Data Access
//! on Shared Cache GPGPU*, ASP-DAC 2012. Vertices are weighted by private data there; here all warps must
//! be full, so each thread counts one.

mod hypergraph;
mod order;
mod partition;
mod refine;
mod remap;

pub use hypergraph::Hypergraph;
pub use order::{order, span};
pub use partition::partition;
pub use remap::{Mapping, Stage};

use crate::{Run, SimtError};

/// The most threads of a launch that are mapped.
const MAX_THREADS: u64 = 1 << 24;

/// Maps the threads of a run: clusters them into warps of `lanes` threads, if `stage` says so warps into blocks, and
/// orders blocks. The run's items should be what a memory transaction fetches: sectors of 32 bytes.
///
/// Deterministic for a seed.
///
/// # Errors
/// [`SimtError::Unfit`] if blocks are not a whole number of warps; [`SimtError::TooLarge`] from 16 Mi threads on.
pub fn map(run: &Run, lanes: usize, stage: Stage, seed: u64) -> Result<Mapping, SimtError> {
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
    let threads = Hypergraph::of(run);
    let warps = partition(&threads, lanes, seed)?;
    let sharing = threads.contract(&warps);
    let per_block = block / lanes;
    let blocks = match stage {
        Stage::Threads => in_place(&warps, per_block),
        Stage::Warps | Stage::Blocks => partition(&sharing, per_block, seed)?,
    };
    let sequence: Vec<usize> = match stage {
        Stage::Blocks => order(&sharing.contract(&blocks)),
        Stage::Threads | Stage::Warps => (0..blocks.len()).collect(),
    };
    let slots = sequence.iter().flat_map(|&block| &blocks[block]);
    let threads = slots.flat_map(|&warp| warps[warp as usize].iter().copied());
    Mapping::new(threads.collect(), block)
}

/// Warps in the order of their first threads, block by block: nothing but threads has moved.
fn in_place(warps: &[Vec<u32>], per_block: usize) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> = (0..warps.len() as u32).collect();
    order.sort_by_key(|&warp| warps[warp as usize].first().copied());
    order.chunks(per_block).map(<[u32]>::to_vec).collect()
}
