//! What the parts of the counting engine agree on: how large its blocks and its window of recent
//! accesses are, and the columns that they hand to a way of comparing ([`Compare`]).
//!
//! Numbers and plain types. [`Compare`] works on them, [`lags`](super::lags) fills them, and
//! [`pending`](super::pending) takes what a block leaves to be done.
//!
//! [`Compare`]: super::compare::Compare

/// Accesses that are looked back over.
pub(crate) const WINDOW: usize = 32;
/// The lag of an access whose item is not among the last [`WINDOW`] accesses.
pub(crate) const FAR: u8 = WINDOW as u8 + 1;
/// Accesses treated together.
pub(crate) const BLOCK: usize = 64;

/// Accesses before a block of which the lags are kept.
pub(crate) const BACK: usize = WINDOW + 1;

/// Lags of a block, from [`BACK`] on, with those of the accesses before; 0 where there is no
/// access.
pub(crate) type Lags = [u8; BACK + BLOCK];

/// For each of the same accesses the index of the one that its lag leads to; 0 if that is further
/// back.
pub(crate) type Reach = [u8; BACK + BLOCK];

/// Keys of some accesses, in two halves: equal items have equal keys, others hardly ever. In a
/// block, those of its accesses begin at [`WINDOW`], after those of the accesses before.
#[derive(Clone, Copy)]
pub(crate) struct Keys<T> {
    pub low: T,
    pub high: T,
}

/// What a block of accesses leaves to be done.
#[derive(Clone, Copy)]
pub(crate) struct Todo<'a> {
    /// The [`BACK`] items before the block, and those of the block.
    pub items: &'a [u64; BACK + BLOCK],
    /// The number of each access of the block within the call; or, where accesses are not numbered,
    /// the distinct items within the window between it and the access before to its item.
    pub numbers: &'a [u32; BLOCK],
    /// Bit i: access i of the block is a far one.
    pub far: u64,
    /// Bit i: at access i the one [`BACK`] before leaves.
    pub leaving: u64,
}

/// Where accesses that are kept are written: items, and the number of each within the call.
pub(crate) type Kept<'a> = (&'a mut [u64], &'a mut [u32]);

/// Marks a piece that leaves the window, and is not a far access.
pub(crate) const LEAVES: u32 = u32::MAX;

/// Where pieces of work are written: items, and the number of the access in the call, or
/// [`LEAVES`].
pub(crate) type Pieces<'a> = (&'a mut [u64], &'a mut [u32]);
