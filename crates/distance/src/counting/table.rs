//! What the engine asks of a table of last accesses.

use super::compare::{Compare, Portable};
use super::dense::Dense;
use super::live_bits::LiveBits;
use super::sparse::Sparse;

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

    /// Does the same if that needs no more than the memory at `home`. `None` if more is needed, which is then asked for:
    /// call [`replace`](Self::replace) later, for all accesses to that item in order.
    fn replace_at_home(
        &mut self,
        compare: impl Compare,
        item: u64,
        home: usize,
        step: u32,
    ) -> Option<u32>;

    /// Renumbers the steps of all items: 1 is the first live step, and so on.
    fn renumber(&mut self, bits: &LiveBits);

    /// Whether it is time to ask if a table of the other kind suits the ids better.
    fn may_be_unsuitable(&self) -> bool;

    /// All items with their last steps, in no order.
    fn for_each(&self, visit: impl FnMut(u64, u32));
}

/// The table that suits the ids.
pub(crate) enum AnyTable {
    /// A hash table, for ids that lie anywhere.
    Sparse(Sparse),
    /// Shadow pages, for ids that lie close together.
    Dense(Box<Dense>),
}

impl AnyTable {
    /// An empty table, which will hold about so many items; 0 if nobody knows.
    pub(crate) fn expecting(items: usize) -> Self {
        AnyTable::Sparse(Sparse::expecting(items))
    }

    /// Goes over to the other kind, where that suits the ids better.
    pub(crate) fn adapt(&mut self) {
        match self {
            AnyTable::Sparse(sparse) => {
                if let Some(shift) = sparse.is_crowded() {
                    *self = AnyTable::Dense(Box::new(moved(sparse, Dense::new(shift))));
                }
            }
            AnyTable::Dense(dense) => {
                if dense.is_thin() {
                    *self = AnyTable::Sparse(moved(&**dense, Sparse::new()));
                }
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            AnyTable::Sparse(sparse) => sparse.len(),
            AnyTable::Dense(dense) => dense.len(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            AnyTable::Sparse(sparse) => sparse.bytes(),
            AnyTable::Dense(dense) => dense.bytes(),
        }
    }

    pub(crate) fn for_each(&self, visit: impl FnMut(u64, u32)) {
        match self {
            AnyTable::Sparse(sparse) => sparse.for_each(visit),
            AnyTable::Dense(dense) => dense.for_each(visit),
        }
    }
}

/// All items of one table in another.
fn moved<T: Table>(from: &impl Table, mut to: T) -> T {
    from.for_each(|item, step| {
        to.make_room(1);
        let home = to.home(item);
        to.replace(Portable, item, home, step);
    });
    to
}
