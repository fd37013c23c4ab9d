//! Decodes launches and records of a stream file ([`piece`]), the inverse of `encode`. The bytes
//! may be anything: each number is checked before it is used, and counts are bounded before memory
//! is allocated.

use std::sync::Arc;

use crate::file::encode::{
    ALL_LANES, BATCH, BATCH_WITH_PHASES, EVEN, LAUNCH, LAUNCH_WITH_CALLS, LAUNCH_WITH_USE, Memory,
    NEXT_POSITION, NEXT_SITE, PredictedSite, SAME_KIND, SAME_STEP, SAME_STRIDE, SAME_WARP,
};
use crate::file::writer::MAX_RECORDS;
use crate::launch::{MAX_ARRAYS, MAX_SITES};
use crate::{
    BlockUse, DeviceCall, Extent, KernelSite, LANES, Launch, SharedArray, Space, WarpBatch,
    WarpKind, WarpRow,
};
use reuselens_io::varint::{Cursor, Damage};

/// A decoded piece of a chunk.
pub(super) enum DecodedPiece {
    /// A launch.
    Launch(Launch),
    /// The batch was filled.
    Batch,
}

/// Decodes the next piece. Records go into `batch`, which is cleared first; they must fit
/// `launched`, the last launch.
pub(super) fn piece(
    cursor: &mut Cursor<'_>,
    memory: &mut Memory,
    launched: Option<&Launch>,
    batch: &mut WarpBatch,
) -> Result<DecodedPiece, Damage> {
    match (cursor.byte()?, launched) {
        (kind @ (LAUNCH | LAUNCH_WITH_CALLS | LAUNCH_WITH_USE), _) => {
            launch(cursor, kind).map(DecodedPiece::Launch)
        }
        (BATCH, Some(launched)) => {
            let count = begin_batch(cursor, memory, batch)?;
            records(cursor, memory, launched, batch, count)?;
            Ok(DecodedPiece::Batch)
        }
        (BATCH_WITH_PHASES, Some(launched)) => {
            let count = begin_batch(cursor, memory, batch)?;
            for change in phase_changes(cursor, count)? {
                records(cursor, memory, launched, batch, change.record)?;
                memory.enter_phase(change.phase);
            }
            records(cursor, memory, launched, batch, count)?;
            Ok(DecodedPiece::Batch)
        }
        (BATCH | BATCH_WITH_PHASES, None) => Err(Damage("records come before any launch")),
        _ => Err(Damage(
            "a piece is of a kind that this version does not know",
        )),
    }
}

/// How many records there are. The batch is empty then, and nothing is predicted.
fn begin_batch(
    cursor: &mut Cursor<'_>,
    memory: &mut Memory,
    batch: &mut WarpBatch,
) -> Result<usize, Damage> {
    let count: usize = cursor.small()?;
    if count > MAX_RECORDS {
        return Err(Damage("a batch claims more records than any batch has"));
    }
    batch.clear();
    memory.begin();
    Ok(count)
}

/// A record with another phase than the one before it.
struct PhaseChange {
    /// Its index in the batch.
    record: usize,
    phase: u32,
}

/// The changes of the phase in a batch of `count` records, in their order.
fn phase_changes(cursor: &mut Cursor<'_>, count: usize) -> Result<Vec<PhaseChange>, Damage> {
    let changes: usize = cursor.small()?;
    if changes > count {
        return Err(Damage("a batch has more phases than records"));
    }
    let (mut record, mut phase) = (0_usize, 0_u64);
    // Each takes two bytes of the piece, so a damaged number of them cannot ask for memory.
    let mut found = Vec::new();
    for change in 0..changes {
        let distance: usize = cursor.small()?;
        if distance == 0 && change > 0 {
            return Err(Damage("a record has two phases"));
        }
        record = record.saturating_add(distance);
        if record >= count {
            return Err(Damage("a batch has more phases than records"));
        }
        phase = phase.wrapping_add(cursor.signed()?);
        let phase = u32::try_from(phase).map_err(|_| Damage("a record's phase is too large"))?;
        found.push(PhaseChange { record, phase });
    }
    Ok(found)
}

/// Decodes records until the batch has `end` of them.
fn records(
    cursor: &mut Cursor<'_>,
    memory: &mut Memory,
    launch: &Launch,
    batch: &mut WarpBatch,
    end: usize,
) -> Result<(), Damage> {
    while batch.len() < end {
        record(cursor, memory, launch, batch)?;
    }
    Ok(())
}

fn launch(cursor: &mut Cursor<'_>, kind: u8) -> Result<Launch, Damage> {
    let kernel = cursor.text()?;
    let grid = extent(cursor)?;
    let block = extent(cursor)?;
    let (used, arrays) = match kind {
        LAUNCH_WITH_USE => (Some(block_use(cursor)?), shared_arrays(cursor)?),
        _ => (None, Arc::default()),
    };
    let count: usize = cursor.small()?;
    if count > MAX_SITES {
        return Err(Damage("a kernel claims more instructions than any has"));
    }
    let mut sites = Vec::new();
    for _ in 0..count {
        let place = cursor.text()?;
        let text = cursor.text()?;
        let calls = match kind {
            LAUNCH => Arc::default(),
            _ => calls(cursor)?,
        };
        sites.push(KernelSite { place, text, calls });
    }
    let launch = Launch {
        kernel,
        grid,
        block,
        used,
        arrays,
        sites: sites.into(),
    };
    if !launch.has_separate_arrays() {
        return Err(Damage(
            "the shared arrays of a kernel overlap, or are not in their order",
        ));
    }
    Ok(launch)
}

fn block_use(cursor: &mut Cursor<'_>) -> Result<BlockUse, Damage> {
    Ok(BlockUse {
        static_shared: cursor.number()?,
        dynamic_shared: cursor.number()?,
        has_exchange: cursor.byte()? != 0,
    })
}

/// The arrays in shared memory. Each takes bytes, so a damaged number of them cannot ask for
/// memory.
fn shared_arrays(cursor: &mut Cursor<'_>) -> Result<Arc<[SharedArray]>, Damage> {
    let count: usize = cursor.small()?;
    if count > MAX_ARRAYS {
        return Err(Damage("a kernel claims more shared arrays than any has"));
    }
    let mut arrays: Vec<SharedArray> = Vec::new();
    for _ in 0..count {
        arrays.push(SharedArray {
            name: cursor.text()?,
            start: cursor.number()?,
            bytes: cursor.number()?.checked_sub(1),
        });
    }
    Ok(arrays.into())
}

/// The calls that lead to a site. Each takes bytes, so a damaged number of them cannot ask for
/// memory.
fn calls(cursor: &mut Cursor<'_>) -> Result<Arc<[DeviceCall]>, Damage> {
    let count: usize = cursor.small()?;
    let mut calls = Vec::new();
    for _ in 0..count {
        calls.push(DeviceCall {
            function: cursor.text()?,
            place: cursor.text()?,
            is_inlined: cursor.byte()? != 0,
        });
    }
    Ok(calls.into())
}

fn extent(cursor: &mut Cursor<'_>) -> Result<Extent, Damage> {
    let (x, y, z) = (cursor.small()?, cursor.small()?, cursor.small()?);
    Ok(Extent { x, y, z })
}

#[inline]
fn record(
    cursor: &mut Cursor<'_>,
    memory: &mut Memory,
    launch: &Launch,
    batch: &mut WarpBatch,
) -> Result<(), Damage> {
    let tag = cursor.byte()?;
    if tag & SAME_WARP == 0 {
        let block = u64::from(memory.block).wrapping_add(cursor.signed()?);
        memory.block = u32::try_from(block).map_err(|_| Damage("a block's number is too large"))?;
        memory.warp = cursor.small()?;
    }
    if u64::from(memory.block) >= launch.grid.count() || u64::from(memory.warp) >= launch.warps() {
        return Err(Damage(
            "a record is of a block or warp that the launch does not have",
        ));
    }
    let before = memory.site as usize;
    if tag & NEXT_SITE == 0 {
        memory.sites[before].next = cursor.small()?;
    }
    let site = memory.sites[before].next;
    if !launch.has_site(site) {
        return Err(Damage(
            "a record is of an instruction that the kernel does not have",
        ));
    }
    memory.go(site);
    let position = position(cursor, memory, tag)?;
    let mask = if tag & ALL_LANES == 0 {
        cursor.small()?
    } else {
        u32::MAX
    };
    if mask == 0 {
        return Err(Damage("a record has no active lane"));
    }
    let predicted = &mut memory.sites[memory.site as usize];
    if tag & SAME_KIND == 0 {
        predicted.kind = cursor.small()?;
    }
    let (space, kind, bytes) = kind_from(predicted.kind)?;
    let mut lanes = [0; LANES];
    let lanes = &mut lanes[..mask.count_ones() as usize];
    addresses(cursor, predicted, tag, lanes)?;
    batch.push_row(&WarpRow {
        site: memory.site,
        phase: memory.phase,
        position,
        block: memory.block,
        warp: memory.warp,
        mask,
        space,
        kind,
        bytes,
        addresses: lanes,
    });
    Ok(())
}

#[inline]
fn position(cursor: &mut Cursor<'_>, memory: &mut Memory, tag: u8) -> Result<u64, Damage> {
    let step = if tag & NEXT_POSITION == 0 {
        cursor.signed()?
    } else {
        1
    };
    let last = memory.position(memory.warp);
    *last = last.wrapping_add(step);
    Ok(*last)
}

fn kind_from(number: u32) -> Result<(Space, WarpKind, u8), Damage> {
    const BAD: Damage = Damage("a record is of no known space, kind or size");
    let space = Space::from_u8((number & 15) as u8).ok_or(BAD)?;
    let kind = WarpKind::from_u8((number >> 4 & 15) as u8).ok_or(BAD)?;
    match u8::try_from(number >> 8) {
        Ok(0) | Err(_) => Err(BAD),
        Ok(bytes) => Ok((space, kind, bytes)),
    }
}

#[inline]
fn addresses(
    cursor: &mut Cursor<'_>,
    predicted: &mut PredictedSite,
    tag: u8,
    lanes: &mut [u64],
) -> Result<(), Damage> {
    if tag & SAME_STEP == 0 {
        predicted.step = cursor.signed()?;
    }
    predicted.first = predicted.first.wrapping_add(predicted.step);
    let mut address = predicted.first;
    if tag & EVEN == 0 {
        lanes[0] = address;
        for lane in &mut lanes[1..] {
            address = address.wrapping_add(cursor.signed()?);
            *lane = address;
        }
        return Ok(());
    }
    if tag & SAME_STRIDE == 0 {
        predicted.stride = cursor.signed()?;
    }
    for lane in lanes {
        *lane = address;
        address = address.wrapping_add(predicted.stride);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::encode;

    /// Why a launch with arrays at these places, of these bytes, is refused.
    fn refusal(places: &[(u64, Option<u64>)]) -> Option<String> {
        let array = |&(start, bytes): &(u64, Option<u64>)| SharedArray {
            name: "a".to_owned(),
            start,
            bytes,
        };
        let launch = Launch {
            kernel: "k".to_owned(),
            grid: Extent::line(1),
            block: Extent::line(32),
            used: Some(BlockUse::default()),
            arrays: places.iter().map(array).collect(),
            sites: Arc::default(),
        };
        let mut plain = Vec::new();
        encode::launch(&mut plain, &launch);
        let (mut memory, mut batch) = (Memory::default(), WarpBatch::new());
        match piece(&mut Cursor::new(&plain, 0), &mut memory, None, &mut batch) {
            Ok(DecodedPiece::Launch(back)) => {
                assert_eq!(back, launch);
                None
            }
            Ok(DecodedPiece::Batch) => panic!("a launch became a batch"),
            Err(Damage(why)) => Some(why.to_owned()),
        }
    }

    #[test]
    fn launch_with_overlapping_arrays_is_refused() {
        for places in [
            [(0, Some(16)), (15, Some(1))],
            [(16, Some(4)), (0, Some(4))],
            [(0, None), (64, Some(4))],
            [(8, Some(u64::MAX - 1)), (64, Some(4))],
        ] {
            let why = refusal(&places).expect("arrays that overlap");
            assert!(why.contains("overlap"), "{places:?}: {why}");
        }
        for places in [
            [(0, Some(16)), (16, None)],
            [(0, Some(0)), (0, Some(4))],
            [(4, Some(4)), (64, Some(4))],
        ] {
            assert_eq!(refusal(&places), None, "{places:?}");
        }
    }
}
