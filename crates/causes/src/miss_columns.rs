//! [`MissColumns`]: what analyses of causes take.

use std::ops::Range;

pub use reuselens_profile::NO_OFFSET;
use reuselens_units::Distance;

/// Item accesses of one thread, in the order of the accesses. All columns are equally long.
#[derive(Clone, Copy, Debug)]
pub struct MissColumns<'a> {
    /// The thread, by a number that no other thread of the trace has.
    pub thread: u32,
    /// The items. Equal items are the same data, of any process.
    pub items: &'a [u64],
    /// The distances, over all threads. A miss in a cache of `n` items is a distance of `n` or
    /// more, or none ([`Distance::COLD`]).
    pub distances: &'a [Distance],
    /// The cells: groups by site, object, context and thread.
    pub cells: &'a [u32],
    /// The bytes of the item that are accessed, at least one: bit `i` is byte `i` of an item of up
    /// to 64 bytes. Of larger items each bit is 1/64, and is set if some of its bytes are accessed.
    pub bytes: &'a [u64],
    /// Whether the access writes.
    pub stores: &'a [bool],
    /// The offset of the access's first byte in its element, or [`NO_OFFSET`]. Of an access that
    /// covers several items, the offset is that of the first byte within the item.
    pub offsets: &'a [u32],
}

impl<'a> MissColumns<'a> {
    /// The number of accesses.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no accesses.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The accesses of a range.
    ///
    /// # Panics
    /// If one of the columns ends before the range does (a fault of the caller).
    pub fn slice(&self, range: Range<usize>) -> MissColumns<'a> {
        MissColumns {
            thread: self.thread,
            items: &self.items[range.clone()],
            distances: &self.distances[range.clone()],
            cells: &self.cells[range.clone()],
            bytes: &self.bytes[range.clone()],
            stores: &self.stores[range.clone()],
            offsets: &self.offsets[range],
        }
    }
}
