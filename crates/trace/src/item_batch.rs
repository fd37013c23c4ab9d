//! The accesses of a block as items only.
//!
//! An analysis of a program as a whole needs no program counters, kinds, calls or basic blocks. A
//! source that can leave them out does so on request
//! ([`Projection::Items`](crate::Projection::Items)): most rows are then never made.
//! `rltrace::Reader` does; the pass of crate `attribute` takes the batches.

use reuselens_units::Granularity;

use crate::Kind;

/// What an analysis needs to know of accesses, if it needs only items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemProjection {
    /// Bytes per item.
    pub granularity: Granularity,
    /// Bit k is set if accesses of the kind of number k count.
    counted: u16,
}

impl ItemProjection {
    /// Items of `granularity`, of accesses of the kinds that count.
    pub fn new(granularity: Granularity, counts: impl Fn(Kind) -> bool) -> ItemProjection {
        let kinds = (0..16).filter_map(Kind::from_u8);
        let counted = kinds.filter(|kind| kind.is_access() && counts(*kind));
        ItemProjection {
            granularity,
            counted: counted.fold(0, |all, kind| all | 1 << kind as u16),
        }
    }

    /// Whether accesses of this kind count.
    #[inline(always)]
    pub fn counts(&self, kind: Kind) -> bool {
        self.counted >> kind as u16 & 1 == 1
    }
}

/// Item accesses in order, of one or several blocks of a thread. The block's own rows are those
/// that the source did not turn into item accesses: they need more than an [`ItemProjection`] to be
/// understood.
///
/// The source chooses which accesses it turns into item accesses. It leaves out calls, statements,
/// basic blocks, accesses that do not count, and the operands of rows that it leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemBatch {
    /// The items: addresses without the bits below an item's; of an access to several items, all
    /// of them. The last `bases.len()` entries are whole addresses.
    pub items: Vec<u64>,
    /// Whether the accesses are those that the program names ([`Kind::Named`]).
    pub named: bool,
    /// The bases that the last `bases.len()` accesses name. Empty as long as each element of each
    /// named structure is within one item: then the structure of an access does not matter.
    pub bases: Vec<u64>,
    /// Whether one of the block's rows names a structure of which an element can lie in several
    /// items. All later named accesses have bases.
    pub elements_straddle: bool,
    /// For each of the block's rows, the number of item accesses before it.
    pub before: Vec<u32>,
    /// The number of accesses that the items are of.
    pub references: u64,
    /// The number of blocks that this is made of; 0 if the block has its rows, as usual.
    pub blocks: u64,
    /// The number of rows of those blocks.
    pub rows: u64,
}

impl ItemBatch {
    /// Whether the block is made of item accesses.
    #[inline]
    pub fn is_used(&self) -> bool {
        self.blocks > 0
    }

    /// Bytes held, used or not.
    pub(crate) fn memory(&self) -> usize {
        (self.items.capacity() + self.bases.capacity()) * size_of::<u64>()
            + self.before.capacity() * size_of::<u32>()
    }

    /// Forgets them and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.bases.clear();
        self.before.clear();
        (self.named, self.elements_straddle, self.references) = (false, false, 0);
        (self.blocks, self.rows) = (0, 0);
    }
}
