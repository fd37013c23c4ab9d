//! Scalar video instructions: integers of 8, 16 and 32 bits, exact in between, and only then
//! clamped or cut to the result.
//!
//! Source: NVIDIA, *Parallel Thread Execution ISA* 8.7, section 9.7.17, "Scalar Video
//! Instructions".

use crate::decode::kernel::{VideoFunction, VideoLast, VideoOp, VideoPart, VideoSource};
use crate::lanes::WARP;
use crate::ops::Comparison;

use super::warp::Warp;

/// Does an instruction for the lanes of the mask.
pub fn run(warp: &mut Warp, op: &VideoOp, mask: u32) {
    let registers = &mut warp.registers.narrow;
    let [a, b, c] = [op.a.slot, op.b.slot, op.c].map(|slot| registers[slot as usize].0);
    let result = &mut registers[op.result as usize].0;
    for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
        result[lane] = value(op, a[lane], b[lane], c[lane]);
    }
}

/// The result of a lane.
fn value(op: &VideoOp, a: u32, b: u32, c: u32) -> u32 {
    let (x, y) = (selected(a, op.a), selected(b, op.b));
    let exact = match op.function {
        VideoFunction::Add => x + y,
        VideoFunction::Subtract => x - y,
        VideoFunction::Difference => (x - y).abs(),
        VideoFunction::Min => x.min(y),
        VideoFunction::Max => x.max(y),
        // The distance is a number of bits of 32.
        VideoFunction::ShiftLeft { wraps } => x << distance(y, wraps),
        VideoFunction::ShiftRight { wraps } => x >> distance(y, wraps),
        VideoFunction::MultiplyAdd { one_more, shift } => {
            let third = number(c, op.a.is_signed || op.b.is_signed);
            (x * y + third + i128::from(one_more)) >> shift
        }
        VideoFunction::Compare(comparison) => i128::from(holds(comparison, x, y)),
    };
    let part = match op.last {
        VideoLast::Merge(part) => part,
        _ => VideoPart { first: 0, bits: 32 },
    };
    let exact = if op.saturates {
        clamped(exact, part.bits, op.is_signed)
    } else {
        exact
    };
    let third = number(c, op.is_signed);
    match op.last {
        VideoLast::Nothing => exact as u32,
        VideoLast::Add => (exact + third) as u32,
        VideoLast::Min => number(exact as u32, op.is_signed).min(third) as u32,
        VideoLast::Max => number(exact as u32, op.is_signed).max(third) as u32,
        VideoLast::Merge(part) => {
            let bits = u32::MAX >> (32 - part.bits) << part.first;
            c & !bits | (exact as u32) << part.first & bits
        }
    }
}

/// A part of a register as a number.
fn selected(bits: u32, source: VideoSource) -> i128 {
    let VideoPart { first, bits: width } = source.part;
    // The part is moved to the upper end, and back with its sign or with zeros.
    let high = bits << (32 - first - width);
    number_of(high, source.is_signed, 32 - width)
}

fn number(bits: u32, is_signed: bool) -> i128 {
    number_of(bits, is_signed, 0)
}

fn number_of(bits: u32, is_signed: bool, shift: u32) -> i128 {
    if is_signed {
        i128::from(bits as i32 >> shift)
    } else {
        i128::from(bits >> shift)
    }
}

fn distance(y: i128, wraps: bool) -> u32 {
    if wraps {
        y as u32 & 31
    } else {
        y.clamp(0, 32) as u32
    }
}

fn holds(comparison: Comparison, x: i128, y: i128) -> bool {
    match comparison {
        Comparison::Ne => x != y,
        Comparison::Lt => x < y,
        Comparison::Le => x <= y,
        Comparison::Gt => x > y,
        Comparison::Ge => x >= y,
        // There are no others for integers.
        _ => x == y,
    }
}

/// The nearest number of `bits` bits.
fn clamped(number: i128, bits: u32, is_signed: bool) -> i128 {
    let (low, high) = if is_signed {
        (-1 << (bits - 1), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    };
    number.clamp(low, high)
}
