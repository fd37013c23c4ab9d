//! [`Reference`]: the stream of a run's blocks, merged or one after the other, with instructions
//! cut to the number of load/store units. It refers to the run and copies nothing.

use reuselens_warp::LANES;

use crate::KernelRun;
use crate::scenario::{ReferenceStream, WarpScheduler};

/// Groups of blocks: merged within a group, one group after the other. It holds no copy of the
/// run's touches.
pub struct Reference<'a> {
    run: &'a KernelRun,
    /// Indices into the run's blocks.
    groups: Vec<Vec<usize>>,
    /// Threads that can issue at once; `None` for any number.
    units: Option<usize>,
    warps: &'a dyn WarpScheduler,
    instructions: u64,
}

/// The touches of one warp in an instruction.
struct Slice<'a> {
    items: &'a [u32],
    threads: &'a [u16],
}

impl<'a> Reference<'a> {
    pub(super) fn new(
        run: &'a KernelRun,
        groups: Vec<Vec<usize>>,
        units: Option<usize>,
        warps: &'a dyn WarpScheduler,
    ) -> Reference<'a> {
        let mut reference = Reference {
            run,
            groups,
            units: units.map(|units| units.max(1)),
            warps,
            instructions: 0,
        };
        let mut last = None;
        reference.visit(&mut |position, _| last = Some(position));
        reference.instructions = last.map_or(0, |last| last + 1);
        reference
    }

    /// The groups of blocks, as indices into [`KernelRun::blocks`].
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    /// Issues the `at`-th instruction of a group's blocks from `position` on; returns the position
    /// after it.
    fn issue(
        &self,
        group: &[usize],
        at: usize,
        units: usize,
        before: &mut Vec<u32>,
        mut position: u64,
        each: &mut dyn FnMut(u64, &[u32]),
    ) -> u64 {
        let mut slices = Vec::new();
        for &block in group {
            let block = &self.run.blocks()[block];
            if at < block.len() {
                split(block.items(at), block.threads(at), &mut slices);
            }
        }
        let mut order: Vec<usize> = (0..slices.len()).collect();
        let warps: Vec<&[u32]> = slices.iter().map(|slice| slice.items).collect();
        self.warps.order(&warps, before, &mut order);
        let mut free = units;
        for &warp in &order {
            let Slice {
                mut items,
                mut threads,
            } = slices[warp];
            while !items.is_empty() {
                if free == 0 {
                    (position, free) = (position + 1, units);
                }
                let (served, touches) = first_threads(threads, free);
                each(position, &items[..touches]);
                free -= served;
                (items, threads) = (&items[touches..], &threads[touches..]);
            }
        }
        before.clear();
        if let Some(&last) = order.last() {
            before.extend_from_slice(slices[last].items);
        }
        position + u64::from(!order.is_empty())
    }
}

/// Up to `limit` threads from the front: how many there are, and how many touches they have.
fn first_threads(threads: &[u16], limit: usize) -> (usize, usize) {
    let (mut served, mut touches) = (0, 0);
    for same in threads.chunk_by(|a, b| a == b) {
        if served == limit {
            break;
        }
        served += 1;
        touches += same.len();
    }
    (served, touches)
}

/// Cuts an instruction of a block into its warps.
fn split<'a>(mut items: &'a [u32], mut threads: &'a [u16], slices: &mut Vec<Slice<'a>>) {
    while let Some(&first) = threads.first() {
        let warp = usize::from(first) / LANES;
        let end = threads.partition_point(|&thread| usize::from(thread) / LANES <= warp);
        slices.push(Slice {
            items: &items[..end],
            threads: &threads[..end],
        });
        (items, threads) = (&items[end..], &threads[end..]);
    }
}

impl ReferenceStream for Reference<'_> {
    fn instructions(&self) -> u64 {
        self.instructions
    }

    fn items(&self) -> u32 {
        self.run.items()
    }

    fn visit(&self, each: &mut dyn FnMut(u64, &[u32])) {
        let mut position = 0;
        let mut before = Vec::new();
        for group in &self.groups {
            let lengths = group.iter().map(|&block| self.run.blocks()[block].len());
            for at in 0..lengths.max().unwrap_or(0) {
                if let Some(units) = self.units {
                    position = self.issue(group, at, units, &mut before, position, each);
                    continue;
                }
                for &block in group {
                    let block = &self.run.blocks()[block];
                    if at < block.len() {
                        each(position, block.items(at));
                    }
                }
                position += 1;
            }
        }
    }
}
