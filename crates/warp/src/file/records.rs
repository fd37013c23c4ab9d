//! Records that are encoded where they are made.

use crate::file::encode::{self, Memory};
use crate::source::Piece;
use crate::{WarpBatch, WarpRow};

/// Some records of one launch in the form of the file: what
/// [`file::Writer`](crate::file::Writer) takes from those who make them on several threads.
/// They decode without those before them.
///
/// Memory: 1 to 2 bytes a record where addresses rise evenly, up to 10 for each access where they
/// do not; the state that is foretold beside it, 40 bytes a site.
pub struct Records {
    pub(super) bytes: Vec<u8>,
    memory: Memory,
    pub(super) count: usize,
    pub(super) accesses: u64,
    /// The largest numbers, and whether any record is none.
    pub(super) block: u32,
    pub(super) warp: u32,
    pub(super) site: u32,
    pub(super) is_odd: bool,
}

impl Records {
    /// No records.
    pub fn new() -> Records {
        let mut records = Records {
            bytes: Vec::new(),
            memory: Memory::default(),
            count: 0,
            accesses: 0,
            block: 0,
            warp: 0,
            site: 0,
            is_odd: false,
        };
        records.memory.begin();
        records
    }

    /// Those of a batch too.
    pub fn extend(&mut self, batch: &WarpBatch) {
        self.bytes.reserve(batch.len() * 8);
        for row in batch.rows() {
            self.add(&row);
        }
    }
}

impl Default for Records {
    fn default() -> Records {
        Records::new()
    }
}

impl Piece for Records {
    #[inline]
    fn add(&mut self, row: &WarpRow<'_>) {
        if row.mask == 0 {
            return;
        }
        self.count += 1;
        self.accesses += row.addresses.len() as u64;
        self.block = self.block.max(row.block);
        self.warp = self.warp.max(row.warp);
        self.site = self.site.max(row.site);
        // A number beyond what any launch has would make the state grow; such records are refused
        // later.
        self.is_odd |= row.bytes == 0 || row.site as usize >= crate::launch::MAX_SITES;
        self.is_odd |= row.addresses.len() != row.mask.count_ones() as usize;
        if !self.is_odd {
            encode::record(&mut self.bytes, &mut self.memory, row);
        }
    }

    fn is_full(&self) -> bool {
        self.count >= WarpBatch::FULL
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.memory.begin();
        (self.count, self.accesses) = (0, 0);
        (self.block, self.warp, self.site, self.is_odd) = (0, 0, 0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LANES, Space, WarpAccess, WarpKind};

    #[test]
    fn a_piece_begins_with_nothing_foretold() {
        let batch = |sites: &[u32]| {
            let mut batch = WarpBatch::new();
            for (at, &site) in (0_u64..).zip(sites) {
                batch.push(&WarpAccess {
                    site,
                    position: at + 1,
                    block: 3,
                    warp: 1,
                    mask: u32::MAX,
                    space: Space::Global,
                    kind: WarpKind::Load,
                    bytes: 4,
                    addresses: std::array::from_fn::<_, LANES, _>(|lane| {
                        at * 999 + lane as u64 * 8
                    }),
                });
            }
            batch
        };
        let batches = [batch(&[4, 7, 4, 0]), batch(&[7, 4, 9]), batch(&[0, 9, 7])];
        let mut used = Records::new();
        // The stamps begin anew on the way.
        used.memory.piece = u32::MAX - 7;
        for batch in batches.iter().cycle().take(20) {
            used.clear();
            used.extend(batch);
            let mut new = Records::new();
            new.extend(batch);
            assert_eq!(used.bytes, new.bytes);
        }
        assert!(used.memory.piece < 20);
    }
}
