//! A cache line of the table: five items and the steps of their last accesses.

use reuselens_hugepages::Zeroable;

use super::compare::Compare;

/// Items of a line.
pub(crate) const ITEMS: usize = 5;

/// The step that no access has: with it, a place is empty.
pub(crate) const NEVER: u32 = 0;

/// Five items, filled from the front. An empty place has item 0 and step [`NEVER`].
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line {
    pub items: [u64; ITEMS],
    pub steps: [u32; ITEMS + 1],
}

impl Line {
    /// How many places are in use.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        let used = self.steps[..ITEMS]
            .iter()
            .map(|step| u32::from(*step != NEVER));
        used.sum::<u32>() as usize
    }

    /// Makes `step` the step of `item` and returns the one before, or [`NEVER`]; `None` if the line
    /// is full of others.
    #[inline(always)]
    pub(crate) fn replace(&mut self, compare: impl Compare, item: u64, step: u32) -> Option<u32> {
        let equal = compare.equal(self, item);
        if equal != 0 {
            let place = equal.trailing_zeros() as usize % ITEMS;
            return Some(std::mem::replace(&mut self.steps[place], step));
        }
        if self.steps[ITEMS - 1] != NEVER {
            return None;
        }
        let place = self.len() % ITEMS;
        (self.items[place], self.steps[place]) = (item, step);
        Some(NEVER)
    }
}

// SAFETY: plain numbers, of which all are valid.
unsafe impl Zeroable for Line {}
