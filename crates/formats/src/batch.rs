//! A buffer of about a thousand rows, column by column, that the readers of text formats fill
//! before they append it to a block: writing a row needs no test of the capacity.
//!
//! Used by `lines::each` and the formats that it calls (din, lackey, msr, csv). A line of text
//! becomes at most four rows, and `Batch::last_begin` keeps room for these; a row beyond the
//! capacity would overwrite an earlier one.

use reuselens_trace::{Block, Kind, Row};

/// Rows held at once: a power of two, and few enough for the L1 cache.
const ROWS: usize = 1 << 10;
/// The most rows that one line of text becomes.
const MOST: usize = 4;

/// Some rows. Nothing is reserved, checked or branched on per row.
pub struct Batch {
    len: usize,
    kinds: [Kind; ROWS],
    sizes: [u8; ROWS],
    pcs: [u64; ROWS],
    addrs: [u64; ROWS],
}

impl Batch {
    /// An empty batch.
    pub(super) fn new() -> Box<Batch> {
        Box::new(Batch {
            len: 0,
            kinds: [Kind::Load; ROWS],
            sizes: [0; ROWS],
            pcs: [0; ROWS],
            addrs: [0; ROWS],
        })
    }

    /// How many rows the batch may have when one more line begins, if `wanted` rows are enough (not
    /// 0).
    pub(super) fn last_begin(wanted: usize) -> usize {
        (ROWS - MOST).min(wanted.saturating_sub(1))
    }

    /// Rows in the batch.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Writes a row after the others; it counts only if `keep`.
    #[inline(always)]
    pub(super) fn push_if(&mut self, keep: bool, row: Row) {
        let at = self.len % ROWS;
        self.kinds[at] = row.kind;
        self.sizes[at] = row.size;
        self.pcs[at] = row.pc;
        self.addrs[at] = row.addr;
        self.len += usize::from(keep);
    }

    /// Appends an access of `size` bytes: a row, or, if a byte cannot hold the size, a range
    /// operation and its operand. What both reads and writes is one access, of which there is no
    /// range operation: a store then.
    #[inline(always)]
    pub(super) fn push(&mut self, kind: Kind, size: u64, pc: u64, addr: u64) {
        if let Ok(size) = u8::try_from(size) {
            let row = Row {
                kind,
                size,
                pc,
                addr,
            };
            return self.push_if(true, row);
        }
        let kind = match kind {
            Kind::Load => Kind::RangeLoad,
            _ => Kind::RangeStore,
        };
        self.push_range(kind, size, pc, addr);
    }

    fn push_range(&mut self, kind: Kind, bytes: u64, pc: u64, addr: u64) {
        let (size, operand) = (0, Kind::Operand);
        self.push_if(
            true,
            Row {
                kind,
                size,
                pc,
                addr,
            },
        );
        self.push_if(
            true,
            Row {
                kind: operand,
                size,
                pc: 0,
                addr: bytes,
            },
        );
    }

    /// Moves all rows to the end of `rows`.
    pub(super) fn move_to(&mut self, rows: &mut Block) {
        let len = self.len.min(ROWS);
        let columns = self.kinds[..len]
            .iter()
            .zip(&self.sizes[..len])
            .zip(&self.pcs[..len])
            .zip(&self.addrs[..len]);
        rows.extend(columns.map(|(((&kind, &size), &pc), &addr)| Row {
            kind,
            size,
            pc,
            addr,
        }));
        self.len = 0;
    }
}
