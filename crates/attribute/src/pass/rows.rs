//! The columns of some rows, with the addresses that they have now.

use std::ops::Range;

use reuselens_trace::{Block, Kind, Row};

/// Rows of a block, or rows that come again at other addresses.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub kinds: &'a [Kind],
    pub sizes: &'a [u8],
    pub pcs: &'a [u64],
    pub addrs: &'a [u64],
}

impl<'a> Rows<'a> {
    /// All that are there.
    pub fn of(block: &'a Block) -> Rows<'a> {
        Rows {
            kinds: block.kinds(),
            sizes: block.sizes(),
            pcs: block.pcs(),
            addrs: block.addrs(),
        }
    }

    /// Some of them.
    #[inline]
    pub fn range(self, range: Range<usize>) -> Self {
        Rows {
            kinds: &self.kinds[range.clone()],
            sizes: &self.sizes[range.clone()],
            pcs: &self.pcs[range.clone()],
            addrs: &self.addrs[range],
        }
    }

    /// A row that there is.
    #[inline]
    pub fn row(self, row: usize) -> Row {
        Row {
            kind: self.kinds[row],
            size: self.sizes[row],
            pc: self.pcs[row],
            addr: self.addrs[row],
        }
    }

    /// Operand `number` (from 1) of a row.
    #[inline]
    pub fn operand(self, row: usize, number: usize) -> Option<u64> {
        let row = row.checked_add(number)?;
        (*self.kinds.get(row)? == Kind::Operand).then(|| self.addrs[row])
    }
}
