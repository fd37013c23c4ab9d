//! [`WarpBatch`]: consecutive records of one launch, stored in columns. Streams are delivered in
//! batches of about 4,096 records; [`WarpRow`] is one record of a batch.

use crate::{LANES, RecordPiece, Space, WarpAccess, WarpKind};

/// Consecutive warp instructions of one launch, in columns. Only addresses of active lanes are
/// stored, in the order of lanes, record after record.
///
/// Memory: 27 bytes a record, 4 more if any record of the batch is after a barrier, and 8 for each
/// active lane. Batches should have some thousand records ([`WarpBatch::is_full`]), so that they
/// stay in the processor's caches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarpBatch {
    sites: Vec<u32>,
    /// Empty while all phases are 0.
    phases: Vec<u32>,
    positions: Vec<u64>,
    blocks: Vec<u32>,
    warps: Vec<u32>,
    masks: Vec<u32>,
    spaces: Vec<Space>,
    kinds: Vec<WarpKind>,
    bytes: Vec<u8>,
    addresses: Vec<u64>,
}

/// One record of a batch, without copying its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpRow<'a> {
    /// See [`WarpAccess::site`].
    pub site: u32,
    /// See [`WarpAccess::phase`].
    pub phase: u32,
    /// See [`WarpAccess::position`].
    pub position: u64,
    /// See [`WarpAccess::block`].
    pub block: u32,
    /// See [`WarpAccess::warp`].
    pub warp: u32,
    /// See [`WarpAccess::mask`].
    pub mask: u32,
    /// See [`WarpAccess::space`].
    pub space: Space,
    /// See [`WarpAccess::kind`].
    pub kind: WarpKind,
    /// See [`WarpAccess::bytes`].
    pub bytes: u8,
    /// The addresses of the active lanes, lowest lane first: as many as the mask has bits.
    pub addresses: &'a [u64],
}

impl WarpRow<'_> {
    /// The active lanes, lowest first.
    pub fn lanes(&self) -> impl Iterator<Item = u32> + use<> {
        let mut mask = self.mask;
        std::iter::from_fn(move || {
            let lane = mask.trailing_zeros();
            mask &= mask.wrapping_sub(1);
            (lane < LANES as u32).then_some(lane)
        })
    }
}

impl WarpBatch {
    /// Records after which a producer sends a batch.
    pub const FULL: usize = 4096;

    /// No records.
    pub fn new() -> WarpBatch {
        WarpBatch::default()
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// Whether it has enough records to be sent.
    pub fn is_full(&self) -> bool {
        self.len() >= WarpBatch::FULL
    }

    /// Number of accesses: active lanes of all records.
    pub fn accesses(&self) -> usize {
        self.addresses.len()
    }

    /// Removes the records and keeps the memory.
    pub fn clear(&mut self) {
        self.sites.clear();
        self.phases.clear();
        self.positions.clear();
        self.blocks.clear();
        self.warps.clear();
        self.masks.clear();
        self.spaces.clear();
        self.kinds.clear();
        self.bytes.clear();
        self.addresses.clear();
    }

    /// Adds a record. A record without an active lane is no access and is not added.
    #[inline]
    pub fn push(&mut self, access: &WarpAccess) {
        if access.mask == 0 {
            return;
        }
        self.head(access);
        if access.mask == u32::MAX {
            self.addresses.extend_from_slice(&access.addresses);
            return;
        }
        let mut mask = access.mask;
        while mask != 0 {
            self.addresses
                .push(access.addresses[mask.trailing_zeros() as usize]);
            mask &= mask - 1;
        }
    }

    /// Adds a record with the addresses of its active lanes only: one for each bit of its mask,
    /// lowest first.
    ///
    /// # Panics
    /// If there are more or fewer addresses than bits.
    pub fn push_row(&mut self, row: &WarpRow<'_>) {
        assert_eq!(row.mask.count_ones() as usize, row.addresses.len());
        if row.mask == 0 {
            return;
        }
        self.push_phase(row.phase);
        self.sites.push(row.site);
        self.positions.push(row.position);
        self.blocks.push(row.block);
        self.warps.push(row.warp);
        self.masks.push(row.mask);
        self.spaces.push(row.space);
        self.kinds.push(row.kind);
        self.bytes.push(row.bytes);
        self.addresses.extend_from_slice(row.addresses);
    }

    #[inline]
    fn head(&mut self, access: &WarpAccess) {
        self.push_phase(access.phase);
        self.sites.push(access.site);
        self.positions.push(access.position);
        self.blocks.push(access.block);
        self.warps.push(access.warp);
        self.masks.push(access.mask);
        self.spaces.push(access.space);
        self.kinds.push(access.kind);
        self.bytes.push(access.bytes);
    }

    /// Adds the phase of the record that is added now; before its other fields.
    #[inline]
    fn push_phase(&mut self, phase: u32) {
        if phase != 0 && self.phases.is_empty() {
            self.phases.resize(self.len(), 0);
        }
        if phase != 0 || !self.phases.is_empty() {
            self.phases.push(phase);
        }
    }

    /// Whether any record is after a barrier.
    pub fn has_phases(&self) -> bool {
        !self.phases.is_empty()
    }

    /// The records, first to last.
    pub fn rows(&self) -> impl Iterator<Item = WarpRow<'_>> {
        let mut rest = &self.addresses[..];
        (0..self.len()).map(move |at| {
            let (addresses, after) = rest.split_at(self.masks[at].count_ones() as usize);
            rest = after;
            WarpRow {
                site: self.sites[at],
                phase: self.phases.get(at).copied().unwrap_or(0),
                position: self.positions[at],
                block: self.blocks[at],
                warp: self.warps[at],
                mask: self.masks[at],
                space: self.spaces[at],
                kind: self.kinds[at],
                bytes: self.bytes[at],
                addresses,
            }
        })
    }
}

impl RecordPiece for WarpBatch {
    #[inline]
    fn add(&mut self, row: &WarpRow<'_>) {
        self.push_row(row);
    }

    fn is_full(&self) -> bool {
        WarpBatch::is_full(self)
    }

    fn is_empty(&self) -> bool {
        WarpBatch::is_empty(self)
    }

    fn clear(&mut self) {
        WarpBatch::clear(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_active_lanes_are_kept() {
        let mut access = WarpAccess {
            site: 3,
            phase: 0,
            position: 7,
            block: 1,
            warp: 2,
            mask: 0b1010,
            space: Space::Shared,
            kind: WarpKind::Atomic,
            bytes: 4,
            addresses: std::array::from_fn(|lane| lane as u64 * 4),
        };
        let mut batch = WarpBatch::new();
        batch.push(&access);
        access.mask = 0;
        batch.push(&access);
        access.mask = u32::MAX;
        batch.push(&access);
        assert_eq!((batch.len(), batch.accesses()), (2, 34));
        let rows: Vec<WarpRow> = batch.rows().collect();
        assert_eq!(rows[0].addresses, [4, 12]);
        assert_eq!(rows[0].lanes().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(rows[1].lanes().count(), 32);
        assert_eq!(rows[1].addresses, access.addresses);
    }
}
