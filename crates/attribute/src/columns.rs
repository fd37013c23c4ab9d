//! What an attributor makes of a block.

use reuselens_trace::{BasicBlock, Row};

/// One entry per item touch, in the order of the accesses: the item, and the numbers of the cell
/// and of the element it counts for. The columns are always equally long, or there is none of
/// elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The items. Equal items are the same data.
    pub items: Vec<u64>,
    /// The cells: indices into [`Tables::cells`](crate::Tables::cells).
    pub cells: Vec<u32>,
    /// The elements: indices into [`Tables::elements`](crate::Tables::elements), 0 for none. Empty
    /// where no touch is of an element that is told apart.
    pub elements: Vec<u32>,
    /// Whether each touch writes to its item (a store or an atomic operation); empty where that is
    /// not asked for.
    pub stores: Vec<bool>,
    /// Basic blocks that began, each with the number of touches before it; empty where they are not
    /// asked for.
    pub basic_blocks: Vec<(u32, BasicBlock)>,
    /// By cell, the instruction that it is of: a number, the same for all cells of an instruction.
    /// Of all cells so far, these columns' or not; empty where basic blocks are not asked for.
    pub sites: Vec<u32>,
}

impl Columns {
    /// Empty columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of touches.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no touches.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Forgets the touches and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.cells.clear();
        self.elements.clear();
        self.stores.clear();
        self.basic_blocks.clear();
    }

    /// Makes room for `touches` more.
    pub(crate) fn reserve(&mut self, touches: usize) {
        self.items.reserve(touches);
        self.cells.reserve(touches);
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, item: u64, cell: u32) {
        self.items.push(item);
        self.cells.push(cell);
    }

    /// Notes that the basic block that a row tells of began after so many touches.
    #[inline(always)]
    pub(crate) fn begin(&mut self, touches: usize, row: Row) {
        let began = BasicBlock::of(&row);
        self.basic_blocks
            .extend(began.map(|began| (touches as u32, began)));
    }

    /// Appends touches.
    #[inline(always)]
    pub(crate) fn extend(&mut self, items: &[u64], cells: &[u32]) {
        self.items.extend_from_slice(items);
        self.cells.extend_from_slice(cells);
    }

    /// Appends touches, each with its cell.
    #[inline(always)]
    pub(crate) fn extend_told(&mut self, items: impl ExactSizeIterator<Item = u64>, cells: &[u32]) {
        self.items.extend(items);
        self.cells.extend_from_slice(cells);
    }

    /// The last touch is of this element.
    pub(crate) fn set_element(&mut self, element: u32) {
        // Touches of no element are made up for when one of some follows.
        self.elements.resize(self.items.len() - 1, 0);
        self.elements.push(element);
    }

    /// The touches since the last call all write, or none does.
    #[inline]
    pub(crate) fn set_stores(&mut self, stores: bool) {
        self.stores.resize(self.items.len(), stores);
    }

    /// Appends touches of the first cell; [`Columns::complete`] says so.
    #[inline(always)]
    pub(crate) fn extend_items(&mut self, items: impl ExactSizeIterator<Item = u64>) {
        self.items.extend(items);
    }

    /// What comes next belongs to others: the columns get their length.
    pub(crate) fn complete(&mut self) {
        if self.cells.len() < self.items.len() {
            // All are of the first cell, then.
            self.cells.resize(self.items.len(), 0);
        }
        if !self.elements.is_empty() {
            self.elements.resize(self.items.len(), 0);
        }
    }
}
