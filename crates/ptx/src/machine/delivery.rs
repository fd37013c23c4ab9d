//! What loads, stores and atomic operations share: a generic access is split by the spaces that its
//! lanes' addresses are in, and each access is reported to the sink.

use crate::decode::kernel::NamedSpace;
use crate::lanes::WARP;
use crate::sink::{self, BlockSink, WarpAccess, WarpKind};

use super::fault::Fault;
use super::warp::Warp;
use super::windows;

/// What is the same for all lanes of an access.
#[derive(Clone, Copy)]
pub struct AccessRecord {
    pub site: u32,
    pub block: u32,
    pub kind: WarpKind,
    /// Bytes of a lane.
    pub bytes: u8,
}

/// Hands an access that was done to the sink; one that all lanes left out is none.
#[inline(always)]
pub fn deliver<B: BlockSink>(
    warp: &mut Warp,
    sink: &mut B,
    record: AccessRecord,
    space: NamedSpace,
    mask: u32,
) {
    if mask == 0 {
        return;
    }
    warp.position += 1;
    sink.accept(&WarpAccess {
        site: record.site,
        phase: warp.phase,
        position: warp.position - warp.before_phase,
        block: record.block,
        warp: warp.id,
        mask,
        space: called(space),
        kind: record.kind,
        bytes: record.bytes,
        addresses: &warp.addresses,
    });
}

/// The space as sinks call it.
#[inline(always)]
fn called(space: NamedSpace) -> sink::Space {
    match space {
        NamedSpace::Shared => sink::Space::Shared,
        NamedSpace::Local => sink::Space::Local,
        NamedSpace::Const => sink::Space::Const,
        NamedSpace::Param => sink::Space::Param,
        NamedSpace::Global | NamedSpace::Generic => sink::Space::Global,
    }
}

/// Does a generic access in each space that it goes to, with addresses that count from the space's
/// beginning: the address says which space it is, lane by lane.
#[inline(always)]
pub fn in_each_space(
    warp: &mut Warp,
    mask: u32,
    mut access: impl FnMut(&mut Warp, NamedSpace, u32) -> Result<(), Box<Fault>>,
) -> Result<(), Box<Fault>> {
    for (space, lanes) in split(&warp.addresses, mask) {
        if lanes == 0 {
            continue;
        }
        let whole = *warp.addresses;
        let window = windows::base(space).unwrap_or(0);
        for address in warp.addresses.iter_mut() {
            *address = address.wrapping_sub(window);
        }
        access(warp, space, lanes)?;
        *warp.addresses = whole;
    }
    Ok(())
}

/// Which lanes go to which space.
fn split(addresses: &[u64; WARP], mask: u32) -> [(NamedSpace, u32); 4] {
    let mut found = [
        (NamedSpace::Global, 0),
        (NamedSpace::Shared, 0),
        (NamedSpace::Local, 0),
        (NamedSpace::Param, 0),
    ];
    for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
        let space = windows::of(addresses[lane]);
        if let Some(entry) = found.iter_mut().find(|entry| entry.0 == space) {
            entry.1 |= 1 << lane;
        }
    }
    found
}
