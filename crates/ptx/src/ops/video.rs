//! Forms of `dp4a` and `dp2a`: dot products of the bytes of registers.

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
        _ => None,
    }
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
