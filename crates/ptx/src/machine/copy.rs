//! `cp.async`: a lane starts copies to shared memory, puts them into groups, and waits for groups.
//!
//! A copy reads its source at once, and writes when its lane waits for it. So a kernel that reads
//! before it waits finds what was there before, as it may on a GPU.

use crate::decode::kernel::{CopyOp, CopySize, CopyStep, NamedSpace};
use crate::lanes::WARP;
use crate::sink::{BlockSink, WarpKind};

use super::access::addresses;
use super::bulk_copy;
use super::delivery::{AccessRecord, deliver};
use super::fault::{Fault, FaultKind};
use super::memory::BlockMemory;
use super::warp::Warp;

/// Bytes of the largest copy.
const MOST_BYTES: usize = 16;

/// Copies of a warp that may be under way at the same time. Each has 4 bytes of shared memory or
/// more, and a block has 227 KiB, so more of them overwrite each other.
const MOST_PENDING: usize = 1 << 16;

/// The copies of a warp that have not been waited for.
#[derive(Clone, Debug, Default)]
pub struct AsyncCopies {
    pending: Vec<PendingCopy>,
    /// Groups that each lane has made.
    groups: [u32; WARP],
}

#[derive(Clone, Debug)]
struct PendingCopy {
    lane: usize,
    /// The group's number; `OPEN` until the lane makes one of all that it has started.
    group: u32,
    address: u64,
    bytes: u8,
    data: [u8; MOST_BYTES],
}

const OPEN: u32 = u32::MAX;

impl AsyncCopies {
    /// Forgets everything, for a block that begins.
    pub fn clear(&mut self) {
        self.pending.clear();
        self.groups = [0; WARP];
    }

    /// Lanes make groups of what they have started since the last one.
    fn commit(&mut self, mask: u32) {
        for copy in &mut self.pending {
            if copy.group == OPEN && mask >> copy.lane & 1 != 0 {
                copy.group = self.groups[copy.lane];
            }
        }
        for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
            self.groups[lane] += 1;
        }
    }

    /// Takes what lanes wait for: all groups but the last `but`, or everything.
    fn take(&mut self, mask: u32, but: Option<u32>) -> Vec<PendingCopy> {
        let groups = self.groups;
        let is_due = |copy: &mut PendingCopy| {
            let waits = mask >> copy.lane & 1 != 0;
            let is_old = match but {
                None => true,
                Some(but) => copy.group != OPEN && groups[copy.lane] - copy.group > but,
            };
            waits && is_old
        };
        self.pending.extract_if(.., is_due).collect()
    }
}

/// Does a step for the lanes of the mask.
#[inline(never)]
pub fn step<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    step: &CopyStep,
    mask: u32,
) -> Result<(), Box<Fault>> {
    match step {
        CopyStep::Start(op) => start(memory, warp, sink, op, mask),
        CopyStep::Commit => {
            warp.copies.commit(mask);
            Ok(())
        }
        CopyStep::Wait { but } => finish(memory, warp, mask, *but),
        CopyStep::Bulk(op) => bulk_copy::run(memory, warp, sink, op, mask),
    }
}

fn start<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &CopyOp,
    mask: u32,
) -> Result<(), Box<Fault>> {
    if warp.copies.pending.len() + mask.count_ones() as usize > MOST_PENDING {
        let what = format!("more than {MOST_PENDING} copies that the warp has not waited for");
        let lane = Some(mask.trailing_zeros());
        return Err(Fault::new(FaultKind::Operand, lane, what));
    }
    let (mut from, mut to) = ([0; WARP], [0; WARP]);
    addresses(&warp.registers, &op.from, NamedSpace::Global, &mut from);
    addresses(&warp.registers, &op.to, NamedSpace::Shared, &mut to);
    // Which lanes read how many bytes.
    let mut readers = [0u32; MOST_BYTES + 1];
    let mut writers = 0;
    for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
        let bytes = source_bytes(warp, op, lane)?;
        let mut data = [0; MOST_BYTES];
        let is_read = read_source(memory, warp, op, (from[lane], lane), &mut data[..bytes])?;
        readers[bytes] |= u32::from(is_read) << lane;
        let width = u64::from(op.bytes);
        let space = NamedSpace::Shared;
        if !memory.allows(space, warp, to[lane], width, lane as u32, "copy")? {
            continue;
        }
        writers |= 1 << lane;
        warp.copies.pending.push(PendingCopy {
            lane,
            group: OPEN,
            address: to[lane],
            bytes: op.bytes,
            data,
        });
    }
    let record = |kind, bytes| AccessRecord {
        site: op.site,
        block: memory.block,
        kind,
        bytes,
    };
    *warp.addresses = from;
    for (bytes, &lanes) in readers.iter().enumerate().skip(1) {
        if lanes != 0 {
            let record = record(WarpKind::Load, bytes as u8);
            deliver(warp, sink, record, NamedSpace::Global, lanes);
        }
    }
    *warp.addresses = to;
    let record = record(WarpKind::Store, op.bytes);
    deliver(warp, sink, record, NamedSpace::Shared, writers);
    Ok(())
}

/// Bytes that a lane reads; the rest of what it writes is zero.
fn source_bytes(warp: &Warp, op: &CopyOp, lane: usize) -> Result<usize, Box<Fault>> {
    let bytes = match op.size {
        CopySize::All => u32::from(op.bytes),
        CopySize::Register(slot) => warp.registers.narrow[slot as usize].0[lane],
        CopySize::Unless(slot) => {
            let ignores = warp.registers.predicates[slot as usize] >> lane & 1 != 0;
            if ignores { 0 } else { u32::from(op.bytes) }
        }
    };
    if bytes > u32::from(op.bytes) {
        let what = format!("a copy of {bytes} bytes into {}", op.bytes);
        return Err(Fault::new(FaultKind::Operand, Some(lane as u32), what));
    }
    Ok(bytes as usize)
}

/// Reads what a lane copies; whether it does, as it may be left out.
fn read_source(
    memory: &mut BlockMemory<'_>,
    warp: &Warp,
    op: &CopyOp,
    (address, lane): (u64, usize),
    data: &mut [u8],
) -> Result<bool, Box<Fault>> {
    let space = NamedSpace::Global;
    let Some(last) = (data.len() as u64).checked_sub(1) else {
        return Ok(true);
    };
    let allows = |address, bytes| memory.allows(space, warp, address, bytes, lane as u32, "copy");
    let is_aligned = address.is_multiple_of(u64::from(op.bytes));
    // No two buffers are so close that both ends could be in different ones.
    let is_read = (is_aligned || allows(address, u64::from(op.bytes))?)
        && allows(address, 1)?
        && allows(address.wrapping_add(last), 1)?;
    if !is_read {
        return Ok(false);
    }
    memory.note_bytes(space, warp, address, last + 1, lane, false)?;
    for (index, byte) in data.iter_mut().enumerate() {
        *byte = memory.read(space, warp, address + index as u64, 1, lane) as u8;
    }
    Ok(true)
}

/// Writes what lanes have waited for, in the order in which it was started.
pub fn finish(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    mask: u32,
    but: Option<u32>,
) -> Result<(), Box<Fault>> {
    for copy in warp.copies.take(mask, but) {
        let (space, bytes) = (NamedSpace::Shared, u64::from(copy.bytes));
        memory.note_bytes(space, warp, copy.address, bytes, copy.lane, true)?;
        for (index, &byte) in copy.data[..usize::from(copy.bytes)].iter().enumerate() {
            let address = copy.address + index as u64;
            memory.write(space, warp, address, 1, u64::from(byte), copy.lane);
        }
    }
    Ok(())
}
