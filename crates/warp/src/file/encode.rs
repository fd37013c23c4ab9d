//! Encodes launches and records of a stream file ([`launch`], [`record`]). A record is a tag and
//! the fields that are not as predicted ([`Memory`]); the format is described in the module `file`.

use crate::{Extent, LANES, Launch, WarpRow};
use reuselens_io::varint::{put, put_bytes, put_signed};

/// A launch follows.
pub(super) const LAUNCH: u8 = 0;
/// A launch of a kernel with calls of device functions.
pub(super) const LAUNCH_WITH_CALLS: u8 = 2;
/// A launch of a kernel with what its blocks use, and with calls of device functions.
pub(super) const LAUNCH_WITH_USE: u8 = 4;
/// Records follow.
pub(super) const BATCH: u8 = 1;
/// Changes of phases follow, then records.
pub(super) const BATCH_WITH_PHASES: u8 = 3;

/// Same block and warp as the record before.
pub(super) const SAME_WARP: u8 = 1;
/// The site that followed the last record's site when that occurred before.
pub(super) const NEXT_SITE: u8 = 2;
/// One position after the warp's last.
pub(super) const NEXT_POSITION: u8 = 4;
/// All 32 lanes are active.
pub(super) const ALL_LANES: u8 = 8;
/// Addresses increase by the same stride from lane to lane.
pub(super) const EVEN: u8 = 16;
/// Also, by the same stride as in the last record of this site.
pub(super) const SAME_STRIDE: u8 = 32;
/// Same space, kind and size as in the last record of this site.
pub(super) const SAME_KIND: u8 = 64;
/// The first address is as far from that of this site's last record as that was from the one
/// before.
pub(super) const SAME_STEP: u8 = 128;

/// What is predicted for a site's next record.
#[derive(Clone, Copy, Default)]
pub(super) struct PredictedSite {
    pub(super) first: u64,
    pub(super) step: u64,
    pub(super) stride: u64,
    /// Space, kind and bytes in one number.
    pub(super) kind: u32,
    pub(super) next: u32,
    /// The piece in which this was set; if it is an older one, nothing is predicted.
    piece: u32,
}

/// The state of the predictions. Encoder and decoder update it in the same way, and reset it with
/// each piece.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) sites: Vec<PredictedSite>,
    pub(super) site: u32,
    pub(super) block: u32,
    pub(super) warp: u32,
    /// Number of the current piece. Sites have this number instead of being cleared with each
    /// piece, for a piece of one record may have the millionth site.
    pub(super) piece: u32,
    positions: [u64; WARPS],
    /// Of the last record.
    pub(super) phase: u32,
}

/// Warps with positions of their own: those of the largest block.
const WARPS: usize = 32;

impl Memory {
    /// Resets all predictions.
    pub(super) fn begin(&mut self) {
        self.piece = self.piece.wrapping_add(1);
        if self.piece == 0 {
            // The numbers have wrapped around: once in four billion pieces.
            self.sites.fill(PredictedSite::default());
            self.piece = 1;
        }
        self.positions.fill(0);
        self.phase = 0;
        (self.block, self.warp) = (0, 0);
        self.go(0);
    }

    /// The records that follow are of this phase, in which positions begin again.
    pub(super) fn enter_phase(&mut self, phase: u32) {
        self.phase = phase;
        self.positions.fill(0);
    }

    /// Makes `site` the current one; it must be below [`crate::launch::MAX_SITES`].
    #[inline]
    pub(super) fn go(&mut self, site: u32) {
        if site as usize >= self.sites.len() {
            self.sites
                .resize(site as usize + 1, PredictedSite::default());
        }
        let predicted = &mut self.sites[site as usize];
        if predicted.piece != self.piece {
            *predicted = PredictedSite {
                piece: self.piece,
                ..PredictedSite::default()
            };
        }
        self.site = site;
    }

    /// The last position of a warp.
    #[inline]
    pub(super) fn position(&mut self, warp: u32) -> &mut u64 {
        &mut self.positions[warp as usize % WARPS]
    }
}

/// Space, kind and bytes as one number.
#[inline]
pub(super) fn kind_of(row: &WarpRow<'_>) -> u32 {
    row.space as u32 | (row.kind as u32) << 4 | u32::from(row.bytes) << 8
}

/// Appends a launch.
pub(super) fn launch(out: &mut Vec<u8>, launch: &Launch) {
    let has_calls = launch.used.is_some() || launch.sites.iter().any(|site| !site.calls.is_empty());
    out.push(match (launch.used, has_calls) {
        (Some(_), _) => LAUNCH_WITH_USE,
        (None, true) => LAUNCH_WITH_CALLS,
        (None, false) => LAUNCH,
    });
    put_bytes(out, launch.kernel.as_bytes());
    for Extent { x, y, z } in [launch.grid, launch.block] {
        for size in [x, y, z] {
            put(out, size.into());
        }
    }
    if let Some(used) = launch.used {
        put(out, used.static_shared);
        put(out, used.dynamic_shared);
        out.push(used.has_exchange.into());
        put(out, launch.arrays.len() as u64);
        for array in &launch.arrays[..] {
            put_bytes(out, array.name.as_bytes());
            put(out, array.start);
            put(out, array.bytes.map_or(0, |bytes| bytes.saturating_add(1)));
        }
    }
    put(out, launch.sites.len() as u64);
    for site in &launch.sites[..] {
        put_bytes(out, site.place.as_bytes());
        put_bytes(out, site.text.as_bytes());
        if !has_calls {
            continue;
        }
        put(out, site.calls.len() as u64);
        for call in &site.calls[..] {
            put_bytes(out, call.function.as_bytes());
            put_bytes(out, call.place.as_bytes());
            out.push(call.is_inlined.into());
        }
    }
}

/// Appends a record. Its site is below [`crate::launch::MAX_SITES`].
#[inline]
pub(super) fn record(out: &mut Vec<u8>, memory: &mut Memory, row: &WarpRow<'_>) {
    let at = out.len();
    out.push(0);
    let mut tag = 0;
    if (row.block, row.warp) == (memory.block, memory.warp) {
        tag |= SAME_WARP;
    } else {
        put_signed(out, u64::from(row.block).wrapping_sub(memory.block.into()));
        put(out, row.warp.into());
        (memory.block, memory.warp) = (row.block, row.warp);
    }
    let before = &mut memory.sites[memory.site as usize];
    if row.site == before.next {
        tag |= NEXT_SITE;
    } else {
        put(out, row.site.into());
        before.next = row.site;
    }
    memory.go(row.site);
    let last = memory.position(row.warp);
    if row.position == last.wrapping_add(1) {
        tag |= NEXT_POSITION;
    } else {
        put_signed(out, row.position.wrapping_sub(*last));
    }
    *last = row.position;
    if row.mask == u32::MAX {
        tag |= ALL_LANES;
    } else {
        put(out, row.mask.into());
    }
    let predicted = &mut memory.sites[row.site as usize];
    let kind = kind_of(row);
    if kind == predicted.kind {
        tag |= SAME_KIND;
    } else {
        put(out, kind.into());
        predicted.kind = kind;
    }
    out[at] = tag | addresses(out, predicted, row.addresses);
}

#[inline]
fn addresses(out: &mut Vec<u8>, predicted: &mut PredictedSite, addresses: &[u64]) -> u8 {
    let mut tag = 0;
    let first = addresses[0];
    let step = first.wrapping_sub(predicted.first);
    if step == predicted.step {
        tag |= SAME_STEP;
    } else {
        put_signed(out, step);
    }
    (predicted.first, predicted.step) = (first, step);
    let stride = addresses
        .get(1)
        .map_or(predicted.stride, |second| second.wrapping_sub(first));
    let uneven = match <&[u64; LANES]>::try_from(addresses) {
        // With a length that is known at compile time: vector instructions, without a loop.
        Ok(all) => uneven(all, stride),
        Err(_) => uneven(addresses, stride),
    };
    if uneven {
        for pair in addresses.windows(2) {
            put_signed(out, pair[1].wrapping_sub(pair[0]));
        }
        return tag;
    }
    if stride == predicted.stride {
        return tag | EVEN | SAME_STRIDE;
    }
    put_signed(out, stride);
    predicted.stride = stride;
    tag | EVEN
}

/// Whether addresses do not all increase by `stride`. The loop has no early exit, so that it
/// becomes vector instructions.
#[inline(always)]
fn uneven(addresses: &[u64], stride: u64) -> bool {
    let differing = addresses.windows(2).fold(0, |differing, pair| {
        differing | (pair[1].wrapping_sub(pair[0]) ^ stride)
    });
    differing != 0
}
