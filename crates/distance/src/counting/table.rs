//! [`Table`]: the operations of a table of last accesses, which gives for each item the step of its
//! last access. `sparse` and `dense` implement it, and `any_table` chooses between them.

use super::compare::Compare;
use super::live_bits::LiveBits;

/// Where every item was last accessed.
pub(crate) trait Table {
    /// The number of items.
    fn len(&self) -> usize;

    /// Bytes held.
    fn bytes(&self) -> usize;

    /// The most bytes held until there are `more` items, growing included. Going over to the other
    /// kind is not.
    fn bytes_with(&self, more: usize) -> usize;

    /// Makes room for `more` items; whether homes found before are void.
    fn make_room(&mut self, more: usize) -> bool;

    /// Where to look for `item` first.
    fn home(&mut self, item: u64) -> usize;

    /// Asks for the memory there.
    fn prefetch(&self, home: usize);

    /// Makes `step` the last access of `item` and returns the one before, or
    /// [`NEVER`](super::line::NEVER). There must be room.
    #[inline(always)]
    fn replace(&mut self, compare: impl Compare, item: u64, home: usize, step: u32) -> u32 {
        match self.replace_at_home(compare, item, home, step) {
            Some(previous) => previous,
            None => self.replace_elsewhere(compare, item, home, step),
        }
    }

    /// Does the same if that needs no more than the memory at `home`. `None` if more is needed,
    /// which is then asked for: call [`replace_elsewhere`](Self::replace_elsewhere) later, for all
    /// accesses to that item in order.
    fn replace_at_home(
        &mut self,
        compare: impl Compare,
        item: u64,
        home: usize,
        step: u32,
    ) -> Option<u32>;

    /// Does the same for an item of which it is known that it is not at `home`, and that there is
    /// no place for it.
    fn replace_elsewhere(
        &mut self,
        compare: impl Compare,
        item: u64,
        home: usize,
        step: u32,
    ) -> u32;

    /// Renumbers the steps of all items: 1 is the first live step, and so on.
    fn renumber(&mut self, bits: &LiveBits);

    /// Whether it is time to ask if a table of the other kind suits the ids better.
    fn may_be_unsuitable(&self) -> bool;

    /// All items with their last steps, in no order.
    fn for_each(&self, visit: impl FnMut(u64, u32));

    /// The same for a table that is of no use any more: its memory is given back on the way.
    fn into_each(self, visit: impl FnMut(u64, u32));
}
