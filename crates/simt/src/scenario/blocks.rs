//! [`BlockScheduler`]: which block runs next, in the order of the grid or by shared data.

use crate::KernelRun;

/// Chooses the next block to run.
pub trait BlockScheduler {
    /// Chooses the block that runs next: an index into `waiting`, which is not empty. `running` are
    /// the blocks that will run at the same time. Both hold indices into [`KernelRun::blocks`];
    /// `waiting` is in grid order.
    fn choose(&self, waiting: &[usize], running: &[usize]) -> usize;
}

/// Names of block schedulers, and what they do.
pub const BLOCK_SCHEDULERS: [(&str, &str); 2] = [
    ("sequential", "in the order of the grid, as published"),
    (
        "sharing",
        "the block that has most data in common with those running",
    ),
];

/// The block scheduler with that name.
pub fn block_scheduler<'a>(name: &str, run: &'a KernelRun) -> Option<Box<dyn BlockScheduler + 'a>> {
    match name {
        "sequential" => Some(Box::new(Sequential)),
        "sharing" => Some(Box::new(SharingBlocks::new(run))),
        _ => None,
    }
}

/// Blocks in the order of the grid.
#[derive(Clone, Copy, Debug)]
pub struct Sequential;

impl BlockScheduler for Sequential {
    fn choose(&self, _: &[usize], _: &[usize]) -> usize {
        0
    }
}

/// The block that has most distinct items in common with those that run; the first of equals. Where
/// none runs yet, the first that waits.
///
/// Time: the footprints of all waiting blocks for each choice.
#[derive(Clone, Debug)]
pub struct SharingBlocks {
    footprints: Vec<Vec<u32>>,
    items: u32,
}

impl SharingBlocks {
    /// For the blocks of a run; 4 bytes for each of their distinct items.
    pub fn new(run: &KernelRun) -> SharingBlocks {
        SharingBlocks {
            footprints: run
                .blocks()
                .iter()
                .map(crate::run::BlockStream::footprint)
                .collect(),
            items: run.items(),
        }
    }
}

impl BlockScheduler for SharingBlocks {
    fn choose(&self, waiting: &[usize], running: &[usize]) -> usize {
        if running.is_empty() {
            return 0;
        }
        let mut held = vec![false; self.items as usize];
        for &block in running {
            for &item in &self.footprints[block] {
                held[item as usize] = true;
            }
        }
        let common = |block: usize| {
            let items = self.footprints[block].iter();
            items.filter(|&&item| held[item as usize]).count()
        };
        let best = waiting.iter().enumerate();
        best.max_by_key(|&(at, &block)| (common(block), std::cmp::Reverse(at)))
            .map_or(0, |(at, _)| at)
    }
}

/// All blocks in groups of `size` that run at the same time; the last may be smaller.
pub(super) fn groups(
    run: &KernelRun,
    scheduler: &dyn BlockScheduler,
    size: usize,
) -> Vec<Vec<usize>> {
    let mut waiting: Vec<usize> = (0..run.blocks().len()).collect();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut running = Vec::new();
    while !waiting.is_empty() {
        let chosen = scheduler.choose(&waiting, &running).min(waiting.len() - 1);
        running.push(waiting.remove(chosen));
        if running.len() >= size.max(1) {
            groups.push(std::mem::take(&mut running));
        }
    }
    if !running.is_empty() {
        groups.push(running);
    }
    groups
}
