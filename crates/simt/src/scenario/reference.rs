//! [`Reference`]: the stream of a run's blocks, merged or one after the other, with instructions
//! cut to the number of load/store units. It refers to the run and copies nothing.

use std::ops::Range;

use crate::run::{BlockCursor, OUTSIDE};
use crate::scenario::{ReferenceStream, WarpScheduler};
use crate::{KernelRun, SimtError};

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

/// What the warps of some blocks touch in one instruction, one warp after the other.
#[derive(Default)]
struct IssuedWarps {
    items: Vec<u32>,
    threads: Vec<u16>,
    /// Where each warp's touches end.
    ends: Vec<usize>,
}

impl IssuedWarps {
    /// Takes the next instruction of each block; whether there are any.
    fn read(&mut self, cursors: &mut [BlockCursor<'_>]) -> bool {
        self.items.clear();
        self.threads.clear();
        self.ends.clear();
        let mut has_any = false;
        for cursor in cursors {
            let Some(found) = cursor.next() else { continue };
            has_any = true;
            for part in found.parts() {
                part.items_into(&mut self.items);
                part.threads_into(&mut self.threads);
                self.ends.push(self.items.len());
            }
        }
        has_any
    }

    fn places(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| start..end)
    }
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
        if reference.units.is_none() {
            let groups = reference.groups.iter();
            reference.instructions = groups.map(|group| reference.length(group)).sum();
            return reference;
        }
        reference.instructions = reference.walk(&(0..0), &mut |_, _| {});
        reference
    }

    /// The groups of blocks, as indices into [`KernelRun::blocks`].
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    /// Instructions of a group whose blocks are merged.
    fn length(&self, group: &[usize]) -> u64 {
        let lengths = group.iter().map(|&block| self.run.blocks()[block].len());
        lengths.max().unwrap_or(0) as u64
    }

    /// Issues an instruction of a group's blocks from `position` on; returns the position after it.
    fn issue(
        &self,
        issued: &IssuedWarps,
        units: usize,
        before: &mut Vec<u32>,
        mut position: u64,
        each: &mut dyn FnMut(u64, &[u32]),
    ) -> u64 {
        let warps: Vec<&[u32]> = issued.places().map(|place| &issued.items[place]).collect();
        let places: Vec<Range<usize>> = issued.places().collect();
        let mut order: Vec<usize> = (0..warps.len()).collect();
        self.warps.order(&warps, before, &mut order);
        let mut free = units;
        for &warp in &order {
            let mut items = warps[warp];
            let mut threads = &issued.threads[places[warp].clone()];
            while !items.is_empty() {
                if free == 0 {
                    (position, free) = (position + 1, units);
                }
                let (served, touches) = first_threads(threads, free);
                each_inside(position, &items[..touches], each);
                free -= served;
                (items, threads) = (&items[touches..], &threads[touches..]);
            }
        }
        before.clear();
        if let Some(&last) = order.last() {
            before.extend_from_slice(warps[last]);
        }
        position + u64::from(!order.is_empty())
    }

    /// Visits a group from `position` on; returns the position after it.
    fn visit_in_units(
        &self,
        cursors: &mut [BlockCursor<'_>],
        units: usize,
        before: &mut Vec<u32>,
        mut position: u64,
        each: &mut dyn FnMut(u64, &[u32]),
    ) -> u64 {
        let mut issued = IssuedWarps::default();
        while issued.read(cursors) {
            position = self.issue(&issued, units, before, position, each);
        }
        position
    }
}

/// Calls `each` with what an instruction touches of the items' class.
fn each_inside(position: u64, items: &[u32], each: &mut dyn FnMut(u64, &[u32])) {
    if items.contains(&OUTSIDE) {
        let inside = items.split(|&item| item == OUTSIDE);
        let inside = inside.filter(|items| !items.is_empty());
        inside.for_each(|items| each(position, items));
    } else if !items.is_empty() {
        each(position, items);
    }
}

/// Visits what blocks touch of `range`, merged, from `position` on.
fn visit_merged(
    mut cursors: Vec<BlockCursor<'_>>,
    range: &Range<u32>,
    mut position: u64,
    each: &mut dyn FnMut(u64, &[u32]),
) {
    let mut items = Vec::new();
    while !cursors.is_empty() {
        cursors.retain_mut(|cursor| {
            let Some(found) = cursor.next() else {
                return false;
            };
            items.clear();
            for part in found.parts().filter(|part| !part.misses(range)) {
                part.items_into(&mut items);
            }
            each_inside(position, &items, each);
            true
        });
        position += 1;
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

impl ReferenceStream for Reference<'_> {
    fn instructions(&self) -> u64 {
        self.instructions
    }

    fn items(&self) -> u32 {
        self.run.items()
    }

    fn visit(&self, each: &mut dyn FnMut(u64, &[u32])) {
        self.visit_range(0..u32::MAX, each);
    }

    fn visit_range(&self, range: Range<u32>, each: &mut dyn FnMut(u64, &[u32])) {
        self.walk(&range, each);
    }

    fn check(&self) -> Result<(), SimtError> {
        self.run.check()
    }
}

impl Reference<'_> {
    /// Visits what is touched of `range`; returns the position after the last instruction.
    fn walk(&self, range: &Range<u32>, each: &mut dyn FnMut(u64, &[u32])) -> u64 {
        let mut position = 0;
        let mut before = Vec::new();
        for group in &self.groups {
            let blocks = group.iter().map(|&block| &self.run.blocks()[block]);
            let mut cursors: Vec<BlockCursor<'_>> = blocks.map(|block| block.cursor()).collect();
            match self.units {
                Some(units) => {
                    position =
                        self.visit_in_units(&mut cursors, units, &mut before, position, each);
                }
                None => {
                    visit_merged(cursors, range, position, each);
                    position += self.length(group);
                }
            }
        }
        position
    }
}
