//! [`Records`]: records of one launch that are encoded where they are made, maybe on several
//! threads, so that the writer only appends bytes.

use crate::file::encode::{self, Memory};
use crate::source::RecordPiece;
use crate::{WarpBatch, WarpRow};
use reuselens_io::varint::{put, put_signed};

/// Some records of one launch in the format of the file, for
/// [`file::WarpWriter`](crate::file::WarpWriter). They can be decoded without earlier records.
///
/// Memory: 1 to 2 bytes a record if its addresses have a constant stride, up to 10 for each access
/// otherwise; some 2 bytes for each record whose phase is not that of the record before; and 40
/// bytes a site for predictions.
pub struct Records {
    pub(super) bytes: Vec<u8>,
    /// Where the phase changes, as the file has it.
    pub(super) phase_changes: Vec<u8>,
    pub(super) phase_change_count: u64,
    /// The record of the last change.
    last_change: usize,
    memory: Memory,
    pub(super) count: usize,
    pub(super) accesses: u64,
    /// The largest numbers in the records.
    pub(super) block: u32,
    pub(super) warp: u32,
    pub(super) site: u32,
    /// Whether any record is invalid; the writer then refuses all of them.
    pub(super) is_invalid: bool,
}

impl Records {
    /// No records.
    pub fn new() -> Records {
        let mut records = Records {
            bytes: Vec::new(),
            phase_changes: Vec::new(),
            phase_change_count: 0,
            last_change: 0,
            memory: Memory::default(),
            count: 0,
            accesses: 0,
            block: 0,
            warp: 0,
            site: 0,
            is_invalid: false,
        };
        records.memory.begin();
        records
    }

    /// The next record is of another phase than the one before it.
    #[cold]
    fn change_phase(&mut self, phase: u32) {
        let step = u64::from(phase).wrapping_sub(self.memory.phase.into());
        put(
            &mut self.phase_changes,
            (self.count - self.last_change) as u64,
        );
        put_signed(&mut self.phase_changes, step);
        self.phase_change_count += 1;
        self.last_change = self.count;
        self.memory.enter_phase(phase);
    }

    /// Adds the records of a batch.
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

impl RecordPiece for Records {
    #[inline]
    fn add(&mut self, row: &WarpRow<'_>) {
        if row.mask == 0 {
            return;
        }
        if row.phase != self.memory.phase {
            self.change_phase(row.phase);
        }
        self.count += 1;
        self.accesses += row.addresses.len() as u64;
        self.block = self.block.max(row.block);
        self.warp = self.warp.max(row.warp);
        self.site = self.site.max(row.site);
        // Not encoded: a site's number beyond those of any launch would take memory.
        self.is_invalid |= row.bytes == 0 || row.site as usize >= crate::launch::MAX_SITES;
        self.is_invalid |= row.addresses.len() != row.mask.count_ones() as usize;
        if !self.is_invalid {
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
        self.phase_changes.clear();
        (self.phase_change_count, self.last_change) = (0, 0);
        self.memory.begin();
        (self.count, self.accesses) = (0, 0);
        (self.block, self.warp, self.site, self.is_invalid) = (0, 0, 0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LANES, Space, WarpAccess, WarpKind};

    #[test]
    fn clear_resets_all_predictions() {
        let batch = |sites: &[u32]| {
            let mut batch = WarpBatch::new();
            for (at, &site) in (0_u64..).zip(sites) {
                batch.push(&WarpAccess {
                    site,
                    phase: at as u32 / 2,
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
        // The numbers of pieces wrap around meanwhile.
        used.memory.piece = u32::MAX - 7;
        for batch in batches.iter().cycle().take(20) {
            used.clear();
            used.extend(batch);
            let mut new = Records::new();
            new.extend(batch);
            assert_eq!(used.bytes, new.bytes);
            assert_eq!(used.phase_changes, new.phase_changes);
        }
        assert!(used.memory.piece < 20);
    }
}
