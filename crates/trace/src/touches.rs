//! The accesses of a block as addresses only, for who wants to know nothing else of them.
//!
//! An analysis of a program as a whole needs no program counters, kinds, calls or basic blocks. A
//! source that can leave them out does so if it is asked to ([`crate::Source::condense`]): most
//! rows are then never made.

use reuselens_units::Granularity;

use crate::Kind;

/// What is to be known of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Bytes per item: which of them an access touches is all that is asked of it.
    pub granularity: Granularity,
    /// Bit k is set if accesses of the kind of number k count.
    counted: u16,
}

impl Wish {
    /// Items of `granularity`, of accesses of the kinds that count.
    pub fn new(granularity: Granularity, counts: impl Fn(Kind) -> bool) -> Wish {
        let kinds = (0..16).filter_map(Kind::from_u8);
        let counted = kinds.filter(|kind| kind.is_access() && counts(*kind));
        Wish {
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

/// Accesses in order, without the rows that they were, of one or several blocks of a thread. The
/// block's own rows are those that were left: whoever takes them needs to know more than a [`Wish`]
/// says.
///
/// Which accesses became touches and which stayed rows is the source's to choose. Not left are:
/// calls, statements and basic blocks; accesses that do not count; operands of other rows than
/// those that are left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touches {
    /// The items touched: addresses without the bits below an item's. Of an access to several
    /// items, all of them. In the place of the last as many as there are `bases`, addresses as they
    /// are.
    pub items: Vec<u64>,
    /// Whether the touches are what the program names ([`Kind::Named`]).
    pub named: bool,
    /// What the last of them name as their bases. As long as each element of each structure that
    /// the program named lies within an item, nothing depends on what structure an access is to,
    /// and there are none.
    pub bases: Vec<u64>,
    /// Whether one of the block's rows names a structure of which an element can lie in several
    /// items. All named touches behind it have bases.
    pub uneven: bool,
    /// How many touches come before each of the block's rows.
    pub before: Vec<u32>,
    /// The accesses that the touches are of.
    pub references: u64,
    /// How many blocks this is made of, and of how many rows they are. None: the block is one of
    /// rows, as usual.
    pub blocks: u64,
    /// See `blocks`.
    pub rows: u64,
}

impl Touches {
    /// Whether the block is made of touches.
    #[inline]
    pub fn is_there(&self) -> bool {
        self.blocks > 0
    }

    /// Forgets them and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.bases.clear();
        self.before.clear();
        (self.named, self.uneven, self.references) = (false, false, 0);
        (self.blocks, self.rows) = (0, 0);
    }
}
