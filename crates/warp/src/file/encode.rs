//! Launches and records to bytes.

use crate::{Extent, LANES, Launch, WarpRow};
use reuselens_io::varint::{put, put_bytes, put_signed};

/// A launch follows.
pub(super) const LAUNCH: u8 = 0;
/// Records follow.
pub(super) const BATCH: u8 = 1;

/// Same block and warp as the record before.
pub(super) const SAME_WARP: u8 = 1;
/// The site that followed the last site before.
pub(super) const NEXT_SITE: u8 = 2;
/// One position after the warp's last.
pub(super) const NEXT_POSITION: u8 = 4;
/// All 32 lanes are active.
pub(super) const ALL_LANES: u8 = 8;
/// Addresses rise evenly from lane to lane.
pub(super) const EVEN: u8 = 16;
/// Even, and by as much as at this site before.
pub(super) const SAME_STRIDE: u8 = 32;
/// Same space, kind and size as at this site before.
pub(super) const SAME_KIND: u8 = 64;
/// The first address is as far from this site's last one as that was from the one before.
pub(super) const SAME_STEP: u8 = 128;

/// What is foretold of a site's next record.
#[derive(Clone, Copy, Default)]
pub(super) struct Foretold {
    pub(super) first: u64,
    pub(super) step: u64,
    pub(super) stride: u64,
    /// Space, kind and bytes in one number.
    pub(super) kind: u32,
    pub(super) next: u32,
    /// The piece that it is of; that of an older one is as good as none.
    piece: u32,
}

/// What is foretold in all. Encoder and decoder move it alike, and begin anew with each piece.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) sites: Vec<Foretold>,
    pub(super) site: u32,
    pub(super) block: u32,
    pub(super) warp: u32,
    /// Which piece this is. Sites are stamped with it in place of being cleared: a piece of one
    /// record may be of the millionth site.
    pub(super) piece: u32,
    positions: [u64; WARPS],
}

/// Warps that are kept apart for their positions: those of the largest block.
const WARPS: usize = 32;

impl Memory {
    /// Knows nothing.
    pub(super) fn begin(&mut self) {
        self.piece = self.piece.wrapping_add(1);
        if self.piece == 0 {
            // All stamps are used up: once in four billion pieces.
            self.sites.fill(Foretold::default());
            self.piece = 1;
        }
        self.positions.fill(0);
        (self.block, self.warp) = (0, 0);
        self.go(0);
    }

    /// Goes to a site, which is below [`crate::launch::MAX_SITES`]. Room for it is made once.
    #[inline]
    pub(super) fn go(&mut self, site: u32) {
        if site as usize >= self.sites.len() {
            self.sites.resize(site as usize + 1, Foretold::default());
        }
        let foretold = &mut self.sites[site as usize];
        if foretold.piece != self.piece {
            *foretold = Foretold {
                piece: self.piece,
                ..Foretold::default()
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
    out.push(LAUNCH);
    put_bytes(out, launch.kernel.as_bytes());
    for Extent { x, y, z } in [launch.grid, launch.block] {
        for size in [x, y, z] {
            put(out, size.into());
        }
    }
    put(out, launch.sites.len() as u64);
    for site in &launch.sites {
        put_bytes(out, site.place.as_bytes());
        put_bytes(out, site.text.as_bytes());
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
    let foretold = &mut memory.sites[row.site as usize];
    let kind = kind_of(row);
    if kind == foretold.kind {
        tag |= SAME_KIND;
    } else {
        put(out, kind.into());
        foretold.kind = kind;
    }
    out[at] = tag | addresses(out, foretold, row.addresses);
}

#[inline]
fn addresses(out: &mut Vec<u8>, foretold: &mut Foretold, addresses: &[u64]) -> u8 {
    let mut tag = 0;
    let first = addresses[0];
    let step = first.wrapping_sub(foretold.first);
    if step == foretold.step {
        tag |= SAME_STEP;
    } else {
        put_signed(out, step);
    }
    (foretold.first, foretold.step) = (first, step);
    let stride = addresses
        .get(1)
        .map_or(foretold.stride, |second| second.wrapping_sub(first));
    let uneven = match <&[u64; LANES]>::try_from(addresses) {
        // Of a length that the compiler knows: vector instructions, without a loop.
        Ok(whole) => uneven(whole, stride),
        Err(_) => uneven(addresses, stride),
    };
    if uneven {
        for pair in addresses.windows(2) {
            put_signed(out, pair[1].wrapping_sub(pair[0]));
        }
        return tag;
    }
    if stride == foretold.stride {
        return tag | EVEN | SAME_STRIDE;
    }
    put_signed(out, stride);
    foretold.stride = stride;
    tag | EVEN
}

/// Whether addresses do not all rise by `stride`. Without a way out of the loop, so that it becomes
/// vector instructions.
#[inline(always)]
fn uneven(addresses: &[u64], stride: u64) -> bool {
    let odd = addresses.windows(2).fold(0, |odd, pair| {
        odd | (pair[1].wrapping_sub(pair[0]) ^ stride)
    });
    odd != 0
}
