//! A buffer of 1024 rows, column by column, that the readers of binary records fill before they
//! append it to a block.
//!
//! Used by champsim and drmemtrace. Other than `batch::Batch` it has no count of its rows: the
//! caller writes a candidate at a place, and goes on to the next place only if the candidate is a
//! row.

use reuselens_trace::{Block, Kind, Row};

/// Rows that a [`RowStage`] holds.
pub(crate) const STAGED: usize = 1024;

/// A short block of fixed length that fits into the L1 cache. Writing a row is four stores
/// without a test, so a loop can write every candidate and go on by one only if it was a row.
#[derive(Clone)]
pub(crate) struct RowStage {
    kinds: [Kind; STAGED],
    sizes: [u8; STAGED],
    pcs: [u64; STAGED],
    addrs: [u64; STAGED],
}

impl RowStage {
    /// A stage on the heap: it takes 18 KiB.
    pub(crate) fn new() -> Box<RowStage> {
        Box::new(RowStage {
            kinds: [Kind::Load; STAGED],
            sizes: [0; STAGED],
            pcs: [0; STAGED],
            addrs: [0; STAGED],
        })
    }

    /// Writes row `at`, modulo [`STAGED`].
    #[inline(always)]
    pub(crate) fn put(&mut self, at: usize, row: Row) {
        let at = at % STAGED;
        self.kinds[at] = row.kind;
        self.sizes[at] = row.size;
        self.pcs[at] = row.pc;
        self.addrs[at] = row.addr;
    }

    /// Appends the first `rows` rows to `block`.
    pub(crate) fn flush(&self, rows: usize, block: &mut Block) {
        let rows = rows.min(STAGED);
        block.append(
            &self.kinds[..rows],
            &self.sizes[..rows],
            &self.pcs[..rows],
            &self.addrs[..rows],
        );
    }
}
