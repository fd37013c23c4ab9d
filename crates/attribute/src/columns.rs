//! What an attributor makes of a block.

/// One entry per item touch, in the order of the accesses: the item and the number of the cell it
/// counts for. The columns are always equally long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The items. Equal items are the same data.
    pub items: Vec<u64>,
    /// The cells: indices into [`Tables::cells`](crate::Tables::cells).
    pub cells: Vec<u32>,
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
}
