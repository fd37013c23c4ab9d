//! `cp.async.bulk`: one thread copies many bytes between global and shared memory, and bytes that
//! come to shared memory count for a barrier there.
//!
//! A copy is done where it is started, which is one of the orders that a GPU may choose. A warp's
//! worth of it, 512 bytes, is one access of each memory: as if each lane copied 16 bytes.

use crate::decode::kernel::{BulkCopy, NamedSpace};
use crate::lanes::WARP;
use crate::sink::{BlockSink, WarpKind};

use super::access::addresses;
use super::delivery::{AccessRecord, deliver};
use super::fault::{Fault, FaultKind};
use super::mbarrier;
use super::memory::BlockMemory;
use super::warp::Warp;

/// Bytes that are copied at a time; sizes and addresses are multiples of it.
const PIECE: u64 = 16;

/// A side of a bulk copy.
#[derive(Clone, Copy)]
struct BulkSide {
    space: NamedSpace,
    address: u64,
}

/// Does the copies of the lanes of the mask; as a rule it is one.
#[inline(never)]
pub fn run<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &BulkCopy,
    mask: u32,
) -> Result<(), Box<Fault>> {
    let (from_space, to_space) = match op.barrier {
        Some(_) => (NamedSpace::Global, NamedSpace::Shared),
        None => (NamedSpace::Shared, NamedSpace::Global),
    };
    let (mut from, mut to, mut barriers) = ([0; WARP], [0; WARP], [0; WARP]);
    addresses(&warp.registers, &op.from, from_space, &mut from);
    addresses(&warp.registers, &op.to, to_space, &mut to);
    if let Some(barrier) = &op.barrier {
        addresses(&warp.registers, barrier, NamedSpace::Shared, &mut barriers);
    }
    for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
        let bytes = warp.registers.narrow[op.bytes as usize].0[lane];
        if !u64::from(bytes).is_multiple_of(PIECE) {
            let what = format!("a bulk copy of {bytes} bytes, which is no multiple of {PIECE}");
            return Err(Fault::new(FaultKind::Operand, Some(lane as u32), what));
        }
        let (mut from, mut to) = (
            BulkSide {
                space: from_space,
                address: from[lane],
            },
            BulkSide {
                space: to_space,
                address: to[lane],
            },
        );
        for left in (1..=u64::from(bytes) / PIECE).rev().step_by(WARP) {
            let lanes = u32::MAX >> (WARP as u64 - left.min(WARP as u64));
            part(memory, warp, sink, (op.site, lane), (from, to), lanes)?;
            from.address = from.address.wrapping_add(PIECE * WARP as u64);
            to.address = to.address.wrapping_add(PIECE * WARP as u64);
        }
        if op.barrier.is_some() {
            mbarrier::complete(memory, warp, (barriers[lane], lane), bytes)?;
        }
    }
    Ok(())
}

/// Copies a piece for each lane of `lanes`, as the work of the lane that started the copy.
fn part<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    (site, own): (u32, usize),
    (from, to): (BulkSide, BulkSide),
    lanes: u32,
) -> Result<(), Box<Fault>> {
    let mut done = 0;
    for lane in (0..WARP).filter(|lane| lanes >> lane & 1 != 0) {
        let offset = PIECE * lane as u64;
        let at = [from, to].map(|side| side.address.wrapping_add(offset));
        let is_there = memory.allows(from.space, warp, at[0], PIECE, own as u32, "bulk copy")?
            && memory.allows(to.space, warp, at[1], PIECE, own as u32, "bulk copy")?;
        if !is_there {
            continue;
        }
        memory.note_bytes(from.space, warp, at[0], PIECE, own, false)?;
        memory.note_bytes(to.space, warp, at[1], PIECE, own, true)?;
        for half in [0, 8] {
            let value = memory.read(from.space, warp, at[0] + half, 8, own);
            memory.write(to.space, warp, at[1] + half, 8, value, own);
        }
        done |= 1 << lane;
    }
    for (side, kind) in [(from, WarpKind::Load), (to, WarpKind::Store)] {
        for (lane, address) in warp.addresses.iter_mut().enumerate() {
            *address = side.address.wrapping_add(PIECE * lane as u64);
        }
        let record = AccessRecord {
            site,
            block: memory.block,
            kind,
            bytes: PIECE as u8,
        };
        deliver(warp, sink, record, side.space, done);
    }
    Ok(())
}
