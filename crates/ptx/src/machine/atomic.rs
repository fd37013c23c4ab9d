//! Atomic operations of a warp, one lane after the other in the order of the lanes.

use half::{bf16, f16};

use crate::decode::kernel::{Atomic, AtomicOp, NamedSpace};
use crate::lanes::WARP;
use crate::ops::Half;
use crate::sink::{BlockSink, WarpKind};
use crate::syntax::types::Type;

use super::access::{addresses, put, value};
use super::delivery::{AccessRecord, deliver, in_each_space};
use super::fault::Fault;
use super::memory::BlockMemory;
use super::warp::Warp;

/// Does an atomic operation for the lanes of the mask.
#[inline(never)]
pub fn atomic<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &AtomicOp,
    mask: u32,
) -> Result<(), Box<Fault>> {
    addresses(&warp.registers, &op.address, op.space, &mut warp.addresses);
    if op.space != NamedSpace::Generic {
        return in_space(memory, warp, sink, op, op.space, mask);
    }
    in_each_space(warp, mask, |warp, space, lanes| {
        in_space(memory, warp, sink, op, space, lanes)
    })
}

fn in_space<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &AtomicOp,
    space: NamedSpace,
    mask: u32,
) -> Result<(), Box<Fault>> {
    let width = op.ty.size();
    // What the counter of the grid barrier was before and after.
    let mut arrival = None;
    let mut done = mask;
    for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
        let address = warp.addresses[lane];
        let (bytes, what) = (u64::from(width), "atomic operation");
        if !memory.allows(space, warp, address, bytes, lane as u32, what)? {
            done &= !(1 << lane);
            if let Some(result) = op.result {
                put(&mut warp.registers, result, lane, 0);
            }
            continue;
        }
        if let Some(races) = &mut memory.races {
            races.atomic(
                space,
                address,
                u64::from(width),
                (warp.id, warp.syncs, warp.position),
                lane as u32,
            )?;
        }
        let old = memory.read(space, warp, address, width, lane);
        let new = replaced(warp, op, old, lane);
        memory.write(space, warp, address, width, new, lane);
        if space == NamedSpace::Global && memory.grid.is_at(address) {
            arrival = Some((old, new));
        }
        if let Some(result) = op.result {
            put(&mut warp.registers, result, lane, old);
        }
    }
    let record = AccessRecord {
        site: op.site,
        block: memory.block,
        kind: WarpKind::Atomic,
        bytes: width,
    };
    deliver(warp, sink, record, space, done);
    if let Some((old, new)) = arrival {
        memory.grid.arrive(warp, old, new);
    }
    Ok(())
}

/// What a lane's operation makes of the value in memory.
fn replaced(warp: &Warp, op: &AtomicOp, old: u64, lane: usize) -> u64 {
    let operand = value(&warp.registers, op.value, lane);
    match (op.function, op.replacement) {
        (Atomic::CompareAndSwap, Some(replacement)) => {
            if old == low(operand, op.ty) {
                value(&warp.registers, replacement, lane)
            } else {
                old
            }
        }
        (function, _) => combine(function, op.ty, old, operand),
    }
}

fn low(bits: u64, ty: Type) -> u64 {
    let unused = 64 - 8 * u32::from(ty.size());
    bits << unused >> unused
}

/// The new value of an operation on two.
pub fn combine(function: Atomic, ty: Type, old: u64, operand: u64) -> u64 {
    let (a, b) = (low(old, ty), low(operand, ty));
    let signed = |bits: u64| {
        if ty.size() == 8 {
            bits as i64
        } else {
            i64::from(bits as u32 as i32)
        }
    };
    match (function, ty) {
        (Atomic::Add, Type::F32) => {
            let sum = f32::from_bits(a as u32) + f32::from_bits(b as u32);
            u64::from(if sum.is_nan() {
                0x7fff_ffff
            } else {
                sum.to_bits()
            })
        }
        (Atomic::Add, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) => halves(ty, a, b),
        (Atomic::Add, Type::F64) => (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
        (Atomic::Add, _) => a.wrapping_add(b),
        (Atomic::Min, ty) if ty.is_signed() => {
            if signed(a) < signed(b) {
                a
            } else {
                b
            }
        }
        (Atomic::Max, ty) if ty.is_signed() => {
            if signed(a) > signed(b) {
                a
            } else {
                b
            }
        }
        (Atomic::Min, _) => a.min(b),
        (Atomic::Max, _) => a.max(b),
        (Atomic::Inc, _) => {
            if a >= b {
                0
            } else {
                a + 1
            }
        }
        (Atomic::Dec, _) => {
            if a == 0 || a > b {
                b
            } else {
                a - 1
            }
        }
        (Atomic::And, _) => a & b,
        (Atomic::Or, _) => a | b,
        (Atomic::Xor, _) => a ^ b,
        (Atomic::Exchange | Atomic::CompareAndSwap, _) => b,
    }
}

/// The sum of one or two halves.
fn halves(ty: Type, a: u64, b: u64) -> u64 {
    fn sum<H: Half>(a: u64, b: u64) -> u64 {
        // Doubles hold the sum exactly.
        let sum = H::of(a as u16).number() + H::of(b as u16).number();
        u64::from(if sum.is_nan() {
            0x7fff
        } else {
            H::nearest(sum)
        })
    }
    let sum = match ty {
        Type::F16 | Type::F16x2 => sum::<f16>,
        _ => sum::<bf16>,
    };
    match ty.size() {
        2 => sum(a, b),
        _ => sum(a, b) | sum(a >> 16, b >> 16) << 16,
    }
}
