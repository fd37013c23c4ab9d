//! Forms of the video instructions: dot products of the bytes of registers (`dp4a`, `dp2a`), and
//! what is calculated of each half or byte of registers (`vadd2`, `vmax4`, …). Of the latter, those
//! that clang's headers use: all types are equal, no operand selects parts, and only absolute
//! differences are added up.

use super::opcode::Opcode;
use crate::lanes::{Form, Type};

pub fn find(opcode: &mut Opcode<'_>) -> Option<Form> {
    let (a, b) = (opcode.types.first()?, opcode.types.get(1)?);
    let signs = (*a == Type::S32, *b == Type::S32);
    match opcode.base {
        "dp4a" => Some(match signs {
            (false, false) => {
                lanes!(|a: u32, b: u32, c: u32| -> u32 { dot4(a, b, c, false, false) })
            }
            (false, true) => lanes!(|a: u32, b: u32, c: u32| -> u32 { dot4(a, b, c, false, true) }),
            (true, false) => lanes!(|a: u32, b: u32, c: u32| -> u32 { dot4(a, b, c, true, false) }),
            (true, true) => lanes!(|a: u32, b: u32, c: u32| -> u32 { dot4(a, b, c, true, true) }),
        }),
        "dp2a" => {
            let high = opcode.takes("hi");
            opcode.takes("lo");
            Some(match (signs, high) {
                ((false, false), false) => {
                    lanes!(|a: u32, b: u32, c: u32| -> u32 { dot2(a, b, c, false, false) })
                }
                ((false, true), false) => {
                    lanes!(|a: u32, b: u32, c: u32| -> u32 { dot2(a, b, c, false, true) })
                }
                ((true, false), false) => {
                    lanes!(|a: u32, b: u32, c: u32| -> u32 { dot2(a, b, c, true, false) })
                }
                ((true, true), false) => {
                    lanes!(|a: u32, b: u32, c: u32| -> u32 { dot2(a, b, c, true, true) })
                }
                ((false, false), true) => {
                    lanes!(|a: u32, b: u32, c: u32| -> u32 { dot2(a, b >> 16, c, false, false) })
                }
                ((false, true), true) => {
                    lanes!(|a: u32, b: u32, c: u32| -> u32 { dot2(a, b >> 16, c, false, true) })
                }
                ((true, false), true) => {
                    lanes!(|a: u32, b: u32, c: u32| -> u32 { dot2(a, b >> 16, c, true, false) })
                }
                ((true, true), true) => {
                    lanes!(|a: u32, b: u32, c: u32| -> u32 { dot2(a, b >> 16, c, true, true) })
                }
            })
        }
        _ => simd(opcode),
    }
}

/// A form for halves and for bytes, signed and unsigned, of what is calculated of two parts; for
/// results that wrap only, or (`saturates`) that are also clamped to the parts' range.
macro_rules! each_part {
    ($halves:expr, $signed:expr; |$x:ident, $y:ident| $value:expr) => {
        match ($halves, $signed) {
            (true, false) => each_part!(@ 2, false, false, |$x, $y| $value),
            (true, true) => each_part!(@ 2, true, false, |$x, $y| $value),
            (false, false) => each_part!(@ 4, false, false, |$x, $y| $value),
            (false, true) => each_part!(@ 4, true, false, |$x, $y| $value),
        }
    };
    ($halves:expr, $signed:expr, $saturates:expr; |$x:ident, $y:ident| $value:expr) => {
        match ($halves, $signed, $saturates) {
            (_, _, false) => each_part!($halves, $signed; |$x, $y| $value),
            (true, false, true) => each_part!(@ 2, false, true, |$x, $y| $value),
            (true, true, true) => each_part!(@ 2, true, true, |$x, $y| $value),
            (false, false, true) => each_part!(@ 4, false, true, |$x, $y| $value),
            (false, true, true) => each_part!(@ 4, true, true, |$x, $y| $value),
        }
    };
    (@ $parts:literal, $signed:literal, $saturates:literal, |$x:ident, $y:ident| $value:expr) => {
        lanes!(|a: u32, b: u32, c: u32| -> u32 {
            // The third operand is the result of parts that are not selected; all are.
            let _ = c;
            let value = |$x: i32, $y: i32| -> i32 { $value };
            combine::<$parts>(a, b, $signed, $saturates, value)
        })
    };
}

/// Forms of what is calculated of each half or byte. Source: *PTX ISA*, "SIMD Video Instructions".
fn simd(opcode: &mut Opcode<'_>) -> Option<Form> {
    let name = opcode.base.strip_prefix('v')?;
    let (name, halves) = match (name.strip_suffix('2'), name.strip_suffix('4')) {
        (Some(name), _) => (name, true),
        (_, Some(name)) => (name, false),
        _ => return None,
    };
    let ty = opcode.ty();
    let same = opcode.types.iter().all(|other| *other == ty);
    let wanted = if name == "set" { 2 } else { 3 };
    if !same || !matches!(ty, Type::U32 | Type::S32) || opcode.types.len() != wanted {
        return None;
    }
    let signed = ty == Type::S32;
    if name == "set" {
        return compared(opcode, halves, signed);
    }
    if name == "absdiff" && opcode.takes("add") {
        return Some(added_differences(halves, signed));
    }
    let saturates = opcode.takes("sat");
    Some(match name {
        "add" => each_part!(halves, signed, saturates; |x, y| x + y),
        "sub" => each_part!(halves, signed, saturates; |x, y| x - y),
        "absdiff" => each_part!(halves, signed, saturates; |x, y| (x - y).abs()),
        // The others are in range always.
        "avrg" => each_part!(halves, signed; |x, y| (x + y + i32::from(x + y >= 0)) >> 1),
        "min" => each_part!(halves, signed; |x, y| x.min(y)),
        "max" => each_part!(halves, signed; |x, y| x.max(y)),
        _ => return None,
    })
}

/// 1 for each part that compares so, else 0.
fn compared(opcode: &mut Opcode<'_>, halves: bool, signed: bool) -> Option<Form> {
    const NAMES: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
    let name = NAMES.into_iter().find(|name| opcode.takes(name))?;
    Some(match name {
        "eq" => each_part!(halves, signed; |x, y| i32::from(x == y)),
        "ne" => each_part!(halves, signed; |x, y| i32::from(x != y)),
        "lt" => each_part!(halves, signed; |x, y| i32::from(x < y)),
        "le" => each_part!(halves, signed; |x, y| i32::from(x <= y)),
        "gt" => each_part!(halves, signed; |x, y| i32::from(x > y)),
        _ => each_part!(halves, signed; |x, y| i32::from(x >= y)),
    })
}

/// The third operand and the absolute differences of all parts.
fn added_differences(halves: bool, signed: bool) -> Form {
    macro_rules! added {
        ($part:ident, $parts:literal, $signed:literal) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 {
                (0..$parts).fold(c, |sum, index| {
                    let [x, y] = [a, b].map(|value| $part(value, index, $signed) as i32);
                    sum.wrapping_add((x - y).unsigned_abs())
                })
            })
        };
    }
    match (halves, signed) {
        (true, false) => added!(half, 2, false),
        (true, true) => added!(half, 2, true),
        (false, false) => added!(byte, 4, false),
        (false, true) => added!(byte, 4, true),
    }
}

/// What is calculated of each of two halves or four bytes, in the place of its sources.
#[inline(always)]
fn combine<const PARTS: u32>(
    a: u32,
    b: u32,
    signed: bool,
    saturates: bool,
    value: impl Fn(i32, i32) -> i32,
) -> u32 {
    let bits = 32 / PARTS;
    let (least, most) = if signed {
        (-1 << (bits - 1), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    };
    (0..PARTS).fold(0, |sum, index| {
        let [x, y] = [a, b].map(|value| match PARTS {
            2 => half(value, index, signed) as i32,
            _ => byte(value, index, signed) as i32,
        });
        let all = value(x, y);
        let kept = if saturates {
            all.clamp(least, most)
        } else {
            all
        };
        sum | (kept as u32 & ((1 << bits) - 1)) << (bits * index)
    })
}

#[inline(always)]
fn byte(value: u32, index: u32, signed: bool) -> u32 {
    let byte = (value >> (8 * index)) as u8;
    if signed {
        byte as i8 as u32
    } else {
        u32::from(byte)
    }
}

#[inline(always)]
fn half(value: u32, index: u32, signed: bool) -> u32 {
    let half = (value >> (16 * index)) as u16;
    if signed {
        half as i16 as u32
    } else {
        u32::from(half)
    }
}

#[inline(always)]
fn dot4(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    (0..4).fold(c, |sum, index| {
        sum.wrapping_add(byte(a, index, a_signed).wrapping_mul(byte(b, index, b_signed)))
    })
}

#[inline(always)]
fn dot2(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    (0..2).fold(c, |sum, index| {
        sum.wrapping_add(half(a, index, a_signed).wrapping_mul(byte(b, index, b_signed)))
    })
}
