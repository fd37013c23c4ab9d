//! [`TableLine`]: a cache line of the hash table, with five items and the steps of their last
//! accesses. [`NEVER`] is the step of an empty place in both kinds of tables.

use reuselens_hugepages::Zeroable;

/// Items of a line.
pub(crate) const ITEMS: usize = 5;

/// The step that no access has: with it, a place is empty.
pub(crate) const NEVER: u32 = 0;

/// Five items, filled from the front. An empty place has item 0 and step [`NEVER`].
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct TableLine {
    pub items: [u64; ITEMS],
    pub steps: [u32; ITEMS + 1],
}

impl TableLine {
    /// How many places are in use.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        let used = self.steps[..ITEMS]
            .iter()
            .map(|step| u32::from(*step != NEVER));
        used.sum::<u32>() as usize
    }
}

// SAFETY: plain numbers, of which all are valid.
unsafe impl Zeroable for TableLine {}
