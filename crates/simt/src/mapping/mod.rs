//! Thread mapping: which threads should be in one warp, which warps in one block, and in which
//! order blocks run.
//!
//! The data that threads share is a hypergraph ([`Hypergraph`]): a vertex for each thread, an edge
//! for each set of threads that share data, weighted by how much. Threads are clustered into warps
//! so that requests for data are in few warps ([`Hypergraph::of_requests`], [`partition`]), warps
//! into blocks so that data is in few blocks ([`Hypergraph::of`]), and blocks are put in an order
//! in which those that share data are close ([`order`]). What comes out is a permutation
//! ([`Mapping`]).
//!
//! Source: Garrido 2013, section VIII, after Kuo, Chen, Lai and Jou, *Thread Affinity Mapping for
//! Irregular Data Access on Shared Cache GPGPU*, ASP-DAC 2012. Vertices are weighted by private
//! data there; here all warps must be full, so each thread counts one. Edges are data there for
//! warps too; but a warp that comes back to its data fetches it again, so that a mapping with half
//! the copies of data can need as many transactions as before. [`Common::Data`] is theirs.

mod groups;
mod hypergraph;
mod order;
mod partition;
mod refine;
mod remap;
mod users;

pub use groups::{WarpGroups, fits};
pub use hypergraph::Hypergraph;
pub use order::{order, span};
pub use partition::partition;
pub use remap::{Mapping, MappingDepth};

use crate::transactions::DataLayout;
use crate::{KernelRun, SimtError};

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

/// Maps the threads of a run, whose items are elements: clusters them into warps of `lanes` threads
/// ([`WarpGroups::cluster`]) and goes on to `stage` with those ([`go_on`]). `layout` says which
/// data stays where it is.
///
/// # Errors
/// [`SimtError::Unfit`] if blocks are not a whole number of warps, or items no elements;
/// [`SimtError::TooLarge`] from 16 Mi threads on.
pub fn map(
    run: &KernelRun,
    layout: DataLayout,
    common: Common,
    lanes: usize,
    stage: MappingDepth,
    seed: u64,
) -> Result<Mapping, SimtError> {
    let groups = WarpGroups::cluster(run, layout, common, lanes, seed)?;
    go_on(run, layout, &groups, stage, seed)
}

/// From warps on to `stage`: depending on it, warps are clustered into blocks, and blocks put in
/// order. Deterministic for a seed.
///
/// # Errors
/// [`SimtError::Unfit`] if items are no elements, or the groups are of another run.
pub fn go_on(
    run: &KernelRun,
    layout: DataLayout,
    groups: &WarpGroups,
    stage: MappingDepth,
    seed: u64,
) -> Result<Mapping, SimtError> {
    let WarpGroups { warps, block } = groups;
    let threads = run.threads();
    let grouped: usize = warps.iter().map(Vec::len).sum();
    if grouped as u64 != threads || *block != run.block_threads() as usize {
        return Err(SimtError::Unfit(format!(
            "groups of {grouped} threads in blocks of {block} are not of this launch of {threads}"
        )));
    }
    if stage == MappingDepth::Threads {
        return arrange(warps, &in_place(warps), *block);
    }
    let sharing = Hypergraph::of(run, layout).contract(warps);
    let lanes = warps.first().map_or(1, Vec::len);
    let blocks = partition(&sharing, block / lanes, seed)?;
    let blocks = match stage {
        MappingDepth::Blocks => {
            let sequence = order(&sharing.contract(&blocks));
            sequence.iter().flat_map(|&at| blocks[at].clone()).collect()
        }
        MappingDepth::Threads | MappingDepth::Warps => blocks.concat(),
    };
    arrange(warps, &blocks, *block)
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
