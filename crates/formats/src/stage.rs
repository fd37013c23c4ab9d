//! Rows on their way into a block, where it is known late how many there are.

use reuselens_trace::{Block, Kind, Row};

/// Rows that a [`Stage`] holds.
pub(crate) const STAGED: usize = 1024;

/// A short block of fixed length that lies in the nearest cache. Writing a row is four stores
/// without a test, so a loop can write every candidate and go on by one only if it was a row.
#[derive(Clone)]
pub(crate) struct Stage {
    kinds: [Kind; STAGED],
    sizes: [u8; STAGED],
    pcs: [u64; STAGED],
    addrs: [u64; STAGED],
}

impl Stage {
    /// A stage on the heap: it has 18 KiB.
    pub(crate) fn new() -> Box<Stage> {
        Box::new(Stage {
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
