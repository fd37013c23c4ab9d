//! [`WarpGroups`]: the threads of a launch in warps, clustered here ([`WarpGroups::cluster`]) or
//! read from the file of another partitioner ([`WarpGroups::read`]).

use super::MAX_THREADS;
use crate::transactions::{DataLayout, Transactions};
use crate::{KernelRun, SimtError};

use super::{Common, Hypergraph, Mapping, partition};

/// The threads of a launch in warps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpGroups {
    /// Threads in each warp, all of one size.
    pub(super) warps: Vec<Vec<u32>>,
    pub(super) block: usize,
}

impl WarpGroups {
    /// Clusters the threads of a run into warps of `lanes`. Never more transactions than before: if
    /// clustering does not help, threads stay in their warps. Deterministic for a seed.
    ///
    /// # Errors
    /// Those of [`map`](super::map).
    pub fn cluster(
        run: &KernelRun,
        layout: DataLayout,
        common: Common,
        lanes: usize,
        seed: u64,
    ) -> Result<WarpGroups, SimtError> {
        let (threads, block) = fits(run, lanes)?;
        let clustered = partition(&Hypergraph::common(run, layout, common), lanes, seed)?;
        let all: Vec<u32> = (0..threads as u32).collect();
        let as_is: Vec<Vec<u32>> = all.chunks(lanes).map(<[u32]>::to_vec).collect();
        let count = |warps: &[Vec<u32>]| -> Result<u64, SimtError> {
            let mapping = Mapping::new(warps.concat(), block)?;
            Ok(Transactions::of_warps(&mapping.apply(run)?, layout, lanes)?.sectors)
        };
        let worse = count(&clustered)? > count(&as_is)?;
        let warps = if worse { as_is } else { clustered };
        Ok(WarpGroups { warps, block })
    }

    /// Reads groups as hMETIS, KaHyPar and METIS write them: for each thread a line with the number
    /// of its group, from 0. Each group is a warp of `lanes` threads; warps are in the order of
    /// their numbers. `name` is for messages.
    ///
    /// # Errors
    /// [`SimtError::Text`] with the line; [`SimtError::Unfit`] if there are not as many lines as
    /// threads, or a group is not one warp; and those of [`map`](super::map).
    pub fn read(
        run: &KernelRun,
        lanes: usize,
        text: &str,
        name: &str,
    ) -> Result<WarpGroups, SimtError> {
        let (threads, block) = fits(run, lanes)?;
        let found = text.lines().count() as u64;
        if found != threads {
            return Err(SimtError::Unfit(format!(
                "{name}: {found} lines, but the launch has {threads} threads: partition the hypergraph that --hgr writes of this stream"
            )));
        }
        let mut warps = vec![Vec::new(); threads as usize / lanes];
        let count = warps.len();
        for (thread, line) in text.lines().enumerate() {
            let group = line.trim().parse::<usize>().ok();
            let warp = group.and_then(|group| warps.get_mut(group));
            let warp = warp.ok_or_else(|| SimtError::Text {
                name: name.to_owned(),
                line: thread + 1,
                what: format!(
                    "'{}' is no group from 0 to {} (they count from 0)",
                    line.escape_debug(),
                    count.saturating_sub(1)
                ),
            })?;
            warp.push(thread as u32);
        }
        if let Some(number) = warps.iter().position(|warp| warp.len() != lanes) {
            return Err(SimtError::Unfit(format!(
                "{name}: group {number} has {} threads, and a warp has {lanes}: partition into {count} groups with an imbalance of 0",
                warps[number].len()
            )));
        }
        Ok(WarpGroups { warps, block })
    }
}

/// How many threads there are in the launch and in a block, if they are whole warps and not too
/// many to be mapped.
///
/// # Errors
/// [`SimtError::Unfit`] if blocks are not a whole number of warps of `lanes` threads;
/// [`SimtError::TooLarge`] from 16 Mi threads on.
pub fn fits(run: &KernelRun, lanes: usize) -> Result<(u64, usize), SimtError> {
    let block = run.block_threads() as usize;
    if lanes == 0 || block == 0 || !block.is_multiple_of(lanes) {
        return Err(SimtError::Unfit(format!(
            "blocks of {block} threads are not a whole number of warps of {lanes}: launch the kernel with full warps"
        )));
    }
    let found = run.threads();
    if found > MAX_THREADS {
        return Err(SimtError::TooLarge {
            what: "threads to map",
            found,
            limit: MAX_THREADS,
            hint: "run the kernel on smaller data",
        });
    }
    Ok((found, block))
}
