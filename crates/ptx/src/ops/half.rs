//! Forms of instructions on floats of 16 bits (`f16`, `bf16`), one or a pair in a register.
//!
//! Sums and products of halves are exact in 64 bits, or so nearly that rounding them is the same as
//! rounding once.

use half::{bf16, f16};

use super::opcode::Opcode;
use crate::lanes::{Form, Type};

pub fn find(opcode: &mut Opcode<'_>) -> Option<Form> {
    opcode.takes("rn");
    match opcode.ty() {
        Type::F16 => alone(opcode.base),
        Type::F16x2 => pairs(opcode.base),
        Type::Bf16 => brain(opcode.base),
        Type::Bf16x2 if opcode.base == "mov" => Some(lanes!(|a: u32| -> u32 { a })),
        _ => None,
    }
}

fn alone(base: &str) -> Option<Form> {
    Some(match base {
        "mov" => lanes!(|a: u16| -> u16 { a }),
        "add" => lanes!(|a: f16, b: f16| -> f16 { sum(a, b) }),
        "sub" => lanes!(|a: f16, b: f16| -> f16 { sum(a, -b) }),
        "mul" => lanes!(|a: f16, b: f16| -> f16 { product(a, b) }),
        "fma" => lanes!(|a: f16, b: f16, c: f16| -> f16 { fused(a, b, c) }),
        "neg" => lanes!(|a: f16| -> f16 { -a }),
        "abs" => lanes!(|a: u16| -> u16 { a & 0x7fff }),
        _ => return None,
    })
}

fn pairs(base: &str) -> Option<Form> {
    Some(match base {
        "mov" => lanes!(|a: u32| -> u32 { a }),
        "add" => lanes!(|a: u32, b: u32| -> u32 { both(a, b, 0, |a, b, _| sum(a, b)) }),
        "sub" => lanes!(|a: u32, b: u32| -> u32 { both(a, b, 0, |a, b, _| sum(a, -b)) }),
        "mul" => lanes!(|a: u32, b: u32| -> u32 { both(a, b, 0, |a, b, _| product(a, b)) }),
        "fma" => lanes!(|a: u32, b: u32, c: u32| -> u32 { both(a, b, c, fused) }),
        "neg" => lanes!(|a: u32| -> u32 { a ^ 0x8000_8000 }),
        "abs" => lanes!(|a: u32| -> u32 { a & 0x7fff_7fff }),
        _ => return None,
    })
}

fn brain(base: &str) -> Option<Form> {
    Some(match base {
        "mov" => lanes!(|a: u16| -> u16 { a }),
        "fma" => lanes!(|a: bf16, b: bf16, c: bf16| -> bf16 {
            bf16::from_f64(a.to_f64().mul_add(b.to_f64(), c.to_f64()))
        }),
        "neg" => lanes!(|a: u16| -> u16 { a ^ 0x8000 }),
        "abs" => lanes!(|a: u16| -> u16 { a & 0x7fff }),
        _ => return None,
    })
}

#[inline(always)]
fn sum(a: f16, b: f16) -> f16 {
    f16::from_f64(a.to_f64() + b.to_f64())
}

#[inline(always)]
fn product(a: f16, b: f16) -> f16 {
    f16::from_f64(a.to_f64() * b.to_f64())
}

#[inline(always)]
fn fused(a: f16, b: f16, c: f16) -> f16 {
    f16::from_f64(a.to_f64().mul_add(b.to_f64(), c.to_f64()))
}

#[inline(always)]
fn both(a: u32, b: u32, c: u32, function: fn(f16, f16, f16) -> f16) -> u32 {
    let half = |value: u32, shift: u32| f16::from_bits((value >> shift) as u16);
    let low = function(half(a, 0), half(b, 0), half(c, 0)).to_bits();
    let high = function(half(a, 16), half(b, 16), half(c, 16)).to_bits();
    u32::from(low) | u32::from(high) << 16
}
