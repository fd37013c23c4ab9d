//! The output of an attributor: item accesses as columns.

use reuselens_trace::{BasicBlock, Row};

/// The object of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellObject {
    /// A number that no other object has. Not its index in the tables, which are made at the end.
    pub object: u32,
    /// Bytes of one of its elements, of which offsets are given; 0 if that is unknown when the
    /// cell's first access comes, or if no offsets are.
    pub element_bytes: u32,
    /// Whether no block of the object so far is longer than one element, as far as that is known
    /// when the cell's first access comes.
    pub is_single: bool,
}

/// Item accesses, in the order of the accesses: for each the item, and the numbers of the cell and
/// of the element that it counts for. The columns are equally long, or `elements` is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The items. Equal items are the same data.
    pub items: Vec<u64>,
    /// The cells: indices into [`Tables::cells`](crate::Tables::cells).
    pub cells: Vec<u32>,
    /// The elements: indices into [`Tables::elements`](crate::Tables::elements), 0 for none. Empty
    /// if no item access counts for an element.
    pub elements: Vec<u32>,
    /// Whether each item access writes (a store or an atomic operation). Empty unless
    /// [`Options::stores`](crate::Options::stores) asks for it.
    pub stores: Vec<bool>,
    /// The bytes of each item that the access covers, as a mask
    /// ([`Granularity::covered`](reuselens_units::Granularity::covered)). Empty unless
    /// [`Options::bytes`](crate::Options::bytes) asks for it.
    pub bytes: Vec<u64>,
    /// The offset of each item access in its element, of which
    /// [`Tables::element_types`](crate::Tables::element_types) has the bytes, or
    /// [`NO_OFFSET`](reuselens_profile::NO_OFFSET). It is that of the first byte that the access
    /// covers in the item. Empty unless [`Options::offsets`](crate::Options::offsets) asks for it.
    pub offsets: Vec<u32>,
    /// Basic blocks that began, each with the number of item accesses before it. Empty unless
    /// [`Options::basic_blocks`](crate::Options::basic_blocks) asks for them.
    pub basic_blocks: Vec<(u32, BasicBlock)>,
    /// By cell, the number of its instruction, for all cells so far. Empty unless
    /// [`Options::basic_blocks`](crate::Options::basic_blocks) or
    /// [`Options::bytes`](crate::Options::bytes) asks for it.
    pub sites: Vec<u32>,
    /// By cell, its object, for all cells so far. Empty unless
    /// [`Options::bytes`](crate::Options::bytes) asks for it.
    pub objects: Vec<CellObject>,
    /// Pairs of cells, of which the first became a part of the second before the item accesses of
    /// these columns, in this order. What was counted for the first counts for the second from
    /// there on, and the number of the first is free for another cell. Empty unless
    /// [`Options::merges`](crate::Options::merges) allows it.
    pub merged: Vec<(u32, u32)>,
}

impl Columns {
    /// Empty columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of item accesses.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no item accesses.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Removes the item accesses and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.cells.clear();
        self.elements.clear();
        self.stores.clear();
        self.bytes.clear();
        self.offsets.clear();
        self.basic_blocks.clear();
        self.merged.clear();
    }

    /// Whether there is nothing to count and nothing to merge.
    pub fn has_nothing(&self) -> bool {
        self.items.is_empty() && self.basic_blocks.is_empty() && self.merged.is_empty()
    }

    /// Reserves memory for `count` more.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.items.reserve(count);
        self.cells.reserve(count);
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, item: u64, cell: u32) {
        self.items.push(item);
        self.cells.push(cell);
    }

    /// Adds the basic block that a row begins, after `before` item accesses.
    #[inline(always)]
    pub(crate) fn begin(&mut self, before: usize, row: Row) {
        let began = BasicBlock::of(&row);
        self.basic_blocks
            .extend(began.map(|began| (before as u32, began)));
    }

    /// Appends item accesses.
    #[inline(always)]
    pub(crate) fn extend(&mut self, items: &[u64], cells: &[u32]) {
        self.items.extend_from_slice(items);
        self.cells.extend_from_slice(cells);
    }

    /// Appends item accesses with their cells.
    #[inline(always)]
    pub(crate) fn extend_with_cells(
        &mut self,
        items: impl ExactSizeIterator<Item = u64>,
        cells: &[u32],
    ) {
        self.items.extend(items);
        self.cells.extend_from_slice(cells);
    }

    /// Sets the element of the last item access.
    pub(crate) fn set_element(&mut self, element: u32) {
        // Catches up on earlier item accesses of no element.
        self.elements.resize(self.items.len() - 1, 0);
        self.elements.push(element);
    }

    /// Sets whether the item accesses since the last call write.
    #[inline]
    pub(crate) fn set_stores(&mut self, stores: bool) {
        self.stores.resize(self.items.len(), stores);
    }

    /// Appends item accesses of the first cell, without their cells: see [`Columns::complete`].
    #[inline(always)]
    pub(crate) fn extend_items(&mut self, items: impl ExactSizeIterator<Item = u64>) {
        self.items.extend(items);
    }

    /// Brings the columns to one length, before others read them.
    pub(crate) fn complete(&mut self) {
        if self.cells.len() < self.items.len() {
            // Only `extend_items` leaves cells out, and those are the first cell.
            self.cells.resize(self.items.len(), 0);
        }
        if !self.elements.is_empty() {
            self.elements.resize(self.items.len(), 0);
        }
    }
}
