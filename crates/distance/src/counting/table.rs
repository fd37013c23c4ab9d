//! What the engine asks of a table of last accesses.

use super::compare::Compare;
use super::live_bits::LiveBits;

/// Where every item was last accessed.
pub(crate) trait Table {
    /// The number of items.
    fn len(&self) -> usize;

    /// Bytes held.
    fn bytes(&self) -> usize;

    /// Makes room for `more` items; whether homes found before are void.
    fn make_room(&mut self, more: usize) -> bool;

    /// Where to look for `item` first.
    fn home(&mut self, item: u64) -> usize;

    /// Asks for the memory there.
    fn prefetch(&self, home: usize);

    /// Makes `step` the last access of `item` and returns the one before, or
    /// [`NEVER`](super::line::NEVER). There must be room.
    fn replace(&mut self, compare: impl Compare, item: u64, home: usize, step: u32) -> u32;

    /// Renumbers the steps of all items: 1 is the first live step, and so on.
    fn renumber(&mut self, bits: &LiveBits);

    /// All items with their last steps, in no order.
    fn for_each(&self, visit: impl FnMut(u64, u32));
}
