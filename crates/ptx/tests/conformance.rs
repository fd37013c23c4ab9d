//! Each instruction of the subset, alone, on edge values and on noise, against a reference written
//! apart from the interpreter; with all lanes and with every second one; for each set of the
//! processor's instructions.

#![allow(
    clippy::precedence,
    reason = "shifts of products, as the manual writes them"
)]

use crate::common::body::run;
use crate::common::{Run, noise};
use reuselens_ptx::{Ignore, Isa, Options};

/// An instruction: opcode, types of the sources, type of the result, and what it gives. Behind the
/// opcode may be parts of the registers, of the result first: `vadd.u32.u32.u32 . .b1 .h0`.
struct Case {
    opcode: &'static str,
    sources: &'static [&'static str],
    result: &'static str,
    reference: fn(&[u64]) -> u64,
}

macro_rules! cases {
    ($($opcode:literal: $($source:literal)* => $result:literal, |$v:ident| $body:expr;)*) => {
        vec![$(Case { opcode: $opcode, sources: &[$($source),*], result: $result, reference: |$v| $body }),*]
    };
}

fn s32(bits: u64) -> i32 {
    bits as u32 as i32
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// The bits of a single, with PTX's NaN.
fn single(value: f32) -> u64 {
    if value.is_nan() {
        0x7fff_ffff
    } else {
        u64::from(value.to_bits())
    }
}

fn double(value: f64) -> u64 {
    value.to_bits()
}

fn yes(value: bool) -> u64 {
    u64::from(value)
}

fn narrow(value: i128) -> u64 {
    u64::from(value as u32)
}

fn flush(value: f32) -> f32 {
    if value.is_subnormal() {
        0.0f32.copysign(value)
    } else {
        value
    }
}

fn bytes_of(value: u64, index: usize) -> u64 {
    value >> (8 * index) & 255
}

fn clamped(value: u64, low: i32, high: i32) -> u64 {
    s32(value).clamp(low, high) as u64
}

/// As the manual has it: from the base on, bit by bit, in the direction of the sign.
fn nth_set(mask: u64, base: i64, nth: i64) -> u64 {
    let mut at = base & 31;
    if nth == 0 {
        return if mask >> at & 1 == 1 {
            at as u64
        } else {
            0xffff_ffff
        };
    }
    let mut left = nth.abs() - 1;
    while (0..32).contains(&at) {
        if mask >> at & 1 == 1 {
            if left == 0 {
                return at as u64;
            }
            left -= 1;
        }
        at += nth.signum();
    }
    0xffff_ffff
}

fn whole_numbers() -> Vec<Case> {
    cases! {
        "add.s32": "b32" "b32" => "b32", |v| narrow(v[0] as i128 + v[1] as i128);
        "add.u16": "b16" "b16" => "b16", |v| (v[0] + v[1]) & 0xffff;
        "add.s64": "b64" "b64" => "b64", |v| v[0].wrapping_add(v[1]);
        "add.sat.s32": "b32" "b32" => "b32", |v| narrow((s32(v[0]) as i128 + s32(v[1]) as i128).clamp(i32::MIN as i128, i32::MAX as i128));
        "sub.s32": "b32" "b32" => "b32", |v| narrow(v[0] as i128 - v[1] as i128);
        "sub.s16": "b16" "b16" => "b16", |v| v[0].wrapping_sub(v[1]) & 0xffff;
        "sub.u64": "b64" "b64" => "b64", |v| v[0].wrapping_sub(v[1]);
        "sub.sat.s32": "b32" "b32" => "b32", |v| narrow((s32(v[0]) as i128 - s32(v[1]) as i128).clamp(i32::MIN as i128, i32::MAX as i128));
        "mul.lo.s32": "b32" "b32" => "b32", |v| narrow(s32(v[0]) as i128 * s32(v[1]) as i128);
        "mul.lo.u16": "b16" "b16" => "b16", |v| v[0] * v[1] & 0xffff;
        "mul.lo.s64": "b64" "b64" => "b64", |v| (v[0] as i64 as i128).wrapping_mul(v[1] as i64 as i128) as u64;
        "mul.hi.s32": "b32" "b32" => "b32", |v| narrow(s32(v[0]) as i128 * s32(v[1]) as i128 >> 32);
        "mul.hi.u32": "b32" "b32" => "b32", |v| narrow(v[0] as i128 * v[1] as i128 >> 32);
        "mul.hi.s16": "b16" "b16" => "b16", |v| ((v[0] as i16 as i64 * v[1] as i16 as i64) >> 16) as u64 & 0xffff;
        "mul.hi.u16": "b16" "b16" => "b16", |v| v[0] * v[1] >> 16;
        "mul.hi.u64": "b64" "b64" => "b64", |v| (v[0] as u128 * v[1] as u128 >> 64) as u64;
        "mul.hi.s64": "b64" "b64" => "b64", |v| (v[0] as i64 as i128 * v[1] as i64 as i128 >> 64) as u64;
        "mul.wide.s32": "b32" "b32" => "b64", |v| (s32(v[0]) as i64 * s32(v[1]) as i64) as u64;
        "mul.wide.u32": "b32" "b32" => "b64", |v| v[0] * v[1];
        "mul.wide.s16": "b16" "b16" => "b32", |v| narrow(v[0] as i16 as i128 * v[1] as i16 as i128);
        "mul.wide.u16": "b16" "b16" => "b32", |v| v[0] * v[1];
        "mad.lo.s32": "b32" "b32" "b32" => "b32", |v| narrow(v[0] as i128 * v[1] as i128 + v[2] as i128);
        "mad.lo.u64": "b64" "b64" "b64" => "b64", |v| v[0].wrapping_mul(v[1]).wrapping_add(v[2]);
        "mad.lo.u16": "b16" "b16" "b16" => "b16", |v| v[0] * v[1] + v[2] & 0xffff;
        "mad.hi.s32": "b32" "b32" "b32" => "b32", |v| narrow((s32(v[0]) as i128 * s32(v[1]) as i128 >> 32) + v[2] as i128);
        "mad.hi.u32": "b32" "b32" "b32" => "b32", |v| narrow((v[0] as i128 * v[1] as i128 >> 32) + v[2] as i128);
        "mad.wide.s32": "b32" "b32" "b64" => "b64", |v| (s32(v[0]) as i64 * s32(v[1]) as i64).wrapping_add(v[2] as i64) as u64;
        "mad.wide.u32": "b32" "b32" "b64" => "b64", |v| (v[0] * v[1]).wrapping_add(v[2]);
        "mad.wide.u16": "b16" "b16" "b32" => "b32", |v| narrow((v[0] * v[1]) as i128 + v[2] as i128);
        "mul24.lo.u32": "b32" "b32" => "b32", |v| narrow((v[0] & 0xff_ffff) as i128 * (v[1] & 0xff_ffff) as i128);
        "mul24.hi.s32": "b32" "b32" => "b32", |v| narrow(((s32(v[0]) << 8 >> 8) as i128 * (s32(v[1]) << 8 >> 8) as i128) >> 16);
        "mad24.lo.s32": "b32" "b32" "b32" => "b32", |v| narrow((s32(v[0]) << 8 >> 8) as i128 * (s32(v[1]) << 8 >> 8) as i128 + v[2] as i128);
        "sad.s32": "b32" "b32" "b32" => "b32", |v| narrow((s32(v[0]) as i128 - s32(v[1]) as i128).abs() + v[2] as i128);
        "sad.u32": "b32" "b32" "b32" => "b32", |v| narrow((v[0] as i128 - v[1] as i128).abs() + v[2] as i128);
        "div.s32": "b32" "b32" => "b32", |v| if v[1] == 0 { 0xffff_ffff } else { narrow(s32(v[0]) as i128 / s32(v[1]) as i128) };
        "div.u32": "b32" "b32" => "b32", |v| v[0].checked_div(v[1]).unwrap_or(0xffff_ffff);
        "div.s64": "b64" "b64" => "b64", |v| if v[1] == 0 { u64::MAX } else { (v[0] as i64 as i128 / v[1] as i64 as i128) as u64 };
        "div.u64": "b64" "b64" => "b64", |v| v[0].checked_div(v[1]).unwrap_or(u64::MAX);
        "div.u16": "b16" "b16" => "b16", |v| v[0].checked_div(v[1]).unwrap_or(0xffff);
        "rem.s32": "b32" "b32" => "b32", |v| if v[1] == 0 { v[0] } else { narrow(s32(v[0]) as i128 % s32(v[1]) as i128) };
        "rem.u32": "b32" "b32" => "b32", |v| v[0].checked_rem(v[1]).unwrap_or(v[0]);
        "rem.s64": "b64" "b64" => "b64", |v| if v[1] == 0 { v[0] } else { (v[0] as i64 as i128 % v[1] as i64 as i128) as u64 };
        "rem.u64": "b64" "b64" => "b64", |v| v[0].checked_rem(v[1]).unwrap_or(v[0]);
        "min.s32": "b32" "b32" => "b32", |v| narrow(s32(v[0]).min(s32(v[1])) as i128);
        "min.u32": "b32" "b32" => "b32", |v| v[0].min(v[1]);
        "min.s64": "b64" "b64" => "b64", |v| (v[0] as i64).min(v[1] as i64) as u64;
        "min.u16": "b16" "b16" => "b16", |v| v[0].min(v[1]);
        "max.s32": "b32" "b32" => "b32", |v| narrow(s32(v[0]).max(s32(v[1])) as i128);
        "max.u64": "b64" "b64" => "b64", |v| v[0].max(v[1]);
        "max.s16": "b16" "b16" => "b16", |v| (v[0] as i16).max(v[1] as i16) as u16 as u64;
        "neg.s32": "b32" => "b32", |v| narrow(-(v[0] as i128));
        "neg.s64": "b64" => "b64", |v| v[0].wrapping_neg();
        "neg.s16": "b16" => "b16", |v| v[0].wrapping_neg() & 0xffff;
        "abs.s32": "b32" => "b32", |v| narrow((s32(v[0]) as i128).abs());
        "abs.s64": "b64" => "b64", |v| (v[0] as i64 as i128).unsigned_abs() as u64;
        "fns.b32": "b32" "b32" "b32" => "b32", |v| nth_set(v[0], v[1] as i64, s32(v[2]) as i64);
        "cvt.pack.sat.u16.s32": "b32" "b32" => "b32", |v| clamped(v[0], 0, 65535) << 16 | clamped(v[1], 0, 65535);
        "cvt.pack.sat.s16.s32": "b32" "b32" => "b32", |v| clamped(v[0], -32768, 32767) << 16 & 0xffff_0000 | clamped(v[1], -32768, 32767) & 0xffff;
        "cvt.pack.sat.u8.s32.b32": "b32" "b32" "b32" => "b32", |v| (v[2] << 16 | clamped(v[0], 0, 255) << 8 | clamped(v[1], 0, 255)) & 0xffff_ffff;
        "cvt.pack.sat.s8.s32.b32": "b32" "b32" "b32" => "b32", |v| (v[2] << 16 | (clamped(v[0], -128, 127) & 255) << 8 | clamped(v[1], -128, 127) & 255) & 0xffff_ffff;
        "cvt.pack.sat.s4.s32.b32": "b32" "b32" "b32" => "b32", |v| (v[2] << 8 | (clamped(v[0], -8, 7) & 15) << 4 | clamped(v[1], -8, 7) & 15) & 0xffff_ffff;
        "cvt.pack.sat.u2.s32.b32": "b32" "b32" "b32" => "b32", |v| (v[2] << 4 | clamped(v[0], 0, 3) << 2 | clamped(v[1], 0, 3)) & 0xffff_ffff;
        "dp4a.u32.u32": "b32" "b32" "b32" => "b32", |v| narrow((0..4).map(|i| (bytes_of(v[0], i) * bytes_of(v[1], i)) as i128).sum::<i128>() + v[2] as i128);
        "dp4a.s32.s32": "b32" "b32" "b32" => "b32", |v| narrow((0..4).map(|i| bytes_of(v[0], i) as i8 as i128 * bytes_of(v[1], i) as i8 as i128).sum::<i128>() + v[2] as i128);
        "dp2a.lo.u32.u32": "b32" "b32" "b32" => "b32", |v| narrow(((v[0] & 0xffff) * bytes_of(v[1], 0) + (v[0] >> 16) * bytes_of(v[1], 1)) as i128 + v[2] as i128);
        "dp2a.hi.s32.u32": "b32" "b32" "b32" => "b32", |v| narrow(v[0] as i16 as i128 * bytes_of(v[1], 2) as i128 + (v[0] >> 16) as i16 as i128 * bytes_of(v[1], 3) as i128 + v[2] as i128);
    }
}

/// What a calculation gives for each half (16 bits) or byte (8), in the place of the part.
fn of_parts(v: &[u64], bits: u32, signed: bool, value: fn(i128, i128) -> i128) -> u64 {
    let size = 1 << bits;
    let part = |value: u64, index: u32| {
        let part = i128::from(value >> (bits * index)) % size;
        if signed && part >= size / 2 {
            part - size
        } else {
            part
        }
    };
    (0..32 / bits).fold(0, |sum, index| {
        let value = value(part(v[0], index), part(v[1], index));
        sum | (value.rem_euclid(size) as u64) << (bits * index)
    })
}

/// Of a register the bits from `first` on, with a sign or without.
fn part_of(value: u64, first: u32, bits: u32, signed: bool) -> i128 {
    let part = i128::from(value >> first) % (1 << bits);
    if signed && part >= 1 << (bits - 1) {
        part - (1 << bits)
    } else {
        part
    }
}

fn scalar_videos() -> Vec<Case> {
    cases! {
        "vadd.s32.s32.u32": "b32" "b32" => "b32", |v| narrow(v[0] as i128 + v[1] as i128);
        "vadd.u32.u32.s32.sat . .b3 .h1": "b32" "b32" => "b32", |v| narrow((part_of(v[0], 24, 8, false) + part_of(v[1], 16, 16, true)).max(0));
        "vadd.s32.u32.u32.sat.add": "b32" "b32" "b32" => "b32", |v| narrow((v[0] as i128 + v[1] as i128).min(i32::MAX as i128) + v[2] as i128);
        "vsub.s32.u32.u32.sat": "b32" "b32" => "b32", |v| narrow((v[0] as i128 - v[1] as i128).clamp(i32::MIN as i128, i32::MAX as i128));
        "vsub.u32.s32.s32.min . .h0 .b0": "b32" "b32" "b32" => "b32", |v| narrow(narrow(part_of(v[0], 0, 16, true) - part_of(v[1], 0, 8, true)).min(v[2]) as i128);
        "vabsdiff.u32.s32.s32": "b32" "b32" => "b32", |v| narrow((s32(v[0]) as i128 - s32(v[1]) as i128).abs());
        "vabsdiff.s32.u32.u32.sat .b2": "b32" "b32" "b32" => "b32", |v| v[2] & !0xff_0000 | ((v[0] as i128 - v[1] as i128).abs().min(127) as u64) << 16;
        "vmin.s32.s32.s32 .h1 . .b1": "b32" "b32" "b32" => "b32", |v| v[2] & 0xffff | ((s32(v[0]) as i128).min(part_of(v[1], 8, 8, true)) as u64 & 0xffff) << 16;
        "vmax.s32.u32.s32.max": "b32" "b32" "b32" => "b32", |v| narrow(s32((v[0] as i128).max(s32(v[1]) as i128) as u64).max(s32(v[2])) as i128);
        "vshl.u32.u32.u32.clamp": "b32" "b32" => "b32", |v| narrow((v[0] as i128) << v[1].min(32));
        "vshl.s32.s32.u32.sat.wrap": "b32" "b32" => "b32", |v| narrow(((s32(v[0]) as i128) << (v[1] & 31)).clamp(i32::MIN as i128, i32::MAX as i128));
        "vshr.s32.s32.u32.clamp . . .b0": "b32" "b32" => "b32", |v| narrow(s32(v[0]) as i128 >> (v[1] & 255).min(32));
        "vshr.u32.u32.u32.wrap.add": "b32" "b32" "b32" => "b32", |v| narrow((v[0] >> (v[1] & 31)) as i128 + v[2] as i128);
        "vmad.u32.u32.u32": "b32" "b32" "b32" => "b32", |v| narrow(v[0] as i128 * v[1] as i128 + v[2] as i128);
        "vmad.u32.u32.u32.sat.shr7": "b32" "b32" "b32" => "b32", |v| narrow(((v[0] as i128 * v[1] as i128 + v[2] as i128) >> 7).min(u32::MAX as i128));
        "vmad.s32.s32.u32.sat.shr15 . .h1 .b2": "b32" "b32" "b32" => "b32", |v| narrow(((part_of(v[0], 16, 16, true) * part_of(v[1], 16, 8, false) + s32(v[2]) as i128) >> 15).clamp(i32::MIN as i128, i32::MAX as i128));
        "vmad.u32.u32.u32.po.shr7 . .b0 .b0": "b32" "b32" "b32" => "b32", |v| narrow(((v[0] & 255) as i128 * (v[1] & 255) as i128 + v[2] as i128 + 1) >> 7);
        "vset.s32.u32.lt": "b32" "b32" => "b32", |v| yes((s32(v[0]) as i128) < v[1] as i128);
        "vset.u32.u32.ge.add . .b1 .h0": "b32" "b32" "b32" => "b32", |v| narrow(yes(part_of(v[0], 8, 8, false) >= part_of(v[1], 0, 16, false)) as i128 + v[2] as i128);
        "vset.s32.s32.ne .h0": "b32" "b32" "b32" => "b32", |v| v[2] & !0xffff | yes(v[0] != v[1]);
    }
}

fn videos() -> Vec<Case> {
    cases! {
        "vadd2.u32.u32.u32": "b32" "b32" "b32" => "b32", |v| of_parts(v, 16, false, |x, y| x + y);
        "vadd4.u32.u32.u32": "b32" "b32" "b32" => "b32", |v| of_parts(v, 8, false, |x, y| x + y);
        "vadd4.u32.u32.u32.sat": "b32" "b32" "b32" => "b32", |v| of_parts(v, 8, false, |x, y| (x + y).min(255));
        "vadd4.s32.s32.s32.sat": "b32" "b32" "b32" => "b32", |v| of_parts(v, 8, true, |x, y| (x + y).clamp(-128, 127));
        "vadd2.s32.s32.s32.sat": "b32" "b32" "b32" => "b32", |v| of_parts(v, 16, true, |x, y| (x + y).clamp(-32768, 32767));
        "vadd2.u32.u32.u32.sat": "b32" "b32" "b32" => "b32", |v| of_parts(v, 16, false, |x, y| (x + y).min(65535));
        "vsub2.u32.u32.u32": "b32" "b32" "b32" => "b32", |v| of_parts(v, 16, false, |x, y| x - y);
        "vsub4.u32.u32.u32.sat": "b32" "b32" "b32" => "b32", |v| of_parts(v, 8, false, |x, y| (x - y).max(0));
        "vsub4.s32.s32.s32.sat": "b32" "b32" "b32" => "b32", |v| of_parts(v, 8, true, |x, y| (x - y).clamp(-128, 127));
        "vabsdiff2.s32.s32.s32": "b32" "b32" "b32" => "b32", |v| of_parts(v, 16, true, |x, y| (x - y).abs());
        "vabsdiff4.u32.u32.u32": "b32" "b32" "b32" => "b32", |v| of_parts(v, 8, false, |x, y| (x - y).abs());
        "vabsdiff2.s32.s32.s32.sat": "b32" "b32" "b32" => "b32", |v| of_parts(v, 16, true, |x, y| (x - y).abs().min(32767));
        "vabsdiff4.s32.s32.s32.sat": "b32" "b32" "b32" => "b32", |v| of_parts(v, 8, true, |x, y| (x - y).abs().min(127));
        "vabsdiff4.u32.u32.u32.add": "b32" "b32" "b32" => "b32", |v| narrow((0..4).map(|i| (bytes_of(v[0], i) as i128 - bytes_of(v[1], i) as i128).abs()).sum::<i128>() + v[2] as i128);
        "vabsdiff2.s32.s32.s32.add": "b32" "b32" "b32" => "b32", |v| narrow((v[0] as i16 as i128 - v[1] as i16 as i128).abs() + ((v[0] >> 16) as i16 as i128 - (v[1] >> 16) as i16 as i128).abs() + v[2] as i128);
        "vavrg4.s32.s32.s32": "b32" "b32" "b32" => "b32", |v| of_parts(v, 8, true, |x, y| if x + y >= 0 { (x + y + 1) / 2 } else { (x + y).div_euclid(2) });
        "vavrg2.u32.u32.u32": "b32" "b32" "b32" => "b32", |v| of_parts(v, 16, false, |x, y| (x + y + 1) / 2);
        "vmin4.s32.s32.s32": "b32" "b32" "b32" => "b32", |v| of_parts(v, 8, true, i128::min);
        "vmin2.u32.u32.u32": "b32" "b32" "b32" => "b32", |v| of_parts(v, 16, false, i128::min);
        "vmax4.u32.u32.u32": "b32" "b32" "b32" => "b32", |v| of_parts(v, 8, false, i128::max);
        "vmax2.s32.s32.s32": "b32" "b32" "b32" => "b32", |v| of_parts(v, 16, true, i128::max);
        "vset4.u32.u32.eq": "b32" "b32" "b32" => "b32", |v| of_parts(v, 8, false, |x, y| i128::from(x == y));
        "vset2.u32.u32.ne": "b32" "b32" "b32" => "b32", |v| of_parts(v, 16, false, |x, y| i128::from(x != y));
        "vset4.s32.s32.lt": "b32" "b32" "b32" => "b32", |v| of_parts(v, 8, true, |x, y| i128::from(x < y));
        "vset2.u32.u32.le": "b32" "b32" "b32" => "b32", |v| of_parts(v, 16, false, |x, y| i128::from(x <= y));
        "vset2.s32.s32.gt": "b32" "b32" "b32" => "b32", |v| of_parts(v, 16, true, |x, y| i128::from(x > y));
        "vset4.u32.u32.ge": "b32" "b32" "b32" => "b32", |v| of_parts(v, 8, false, |x, y| i128::from(x >= y));
    }
}

/// A field of bits, signed or not, by taking one bit at a time.
fn field(value: u64, start: u64, length: u64, bits: u64, signed: bool) -> u64 {
    let (start, length) = (start & 255, length & 255);
    let bit = |index: u64| if index < bits { value >> index & 1 } else { 0 };
    let sign = if signed && length > 0 {
        value >> (start + length - 1).min(bits - 1) & 1
    } else {
        0
    };
    (0..bits).fold(0, |sum, index| {
        sum | (if index < length && start + index < bits {
            bit(start + index)
        } else {
            sign
        }) << index
    })
}

fn bits() -> Vec<Case> {
    cases! {
        "and.b32": "b32" "b32" => "b32", |v| v[0] & v[1];
        "or.b64": "b64" "b64" => "b64", |v| v[0] | v[1];
        "xor.b16": "b16" "b16" => "b16", |v| v[0] ^ v[1];
        "not.b32": "b32" => "b32", |v| !v[0] & 0xffff_ffff;
        "not.b64": "b64" => "b64", |v| !v[0];
        "cnot.b32": "b32" => "b32", |v| yes(v[0] == 0);
        "shl.b32": "b32" "b32" => "b32", |v| if v[1] > 31 { 0 } else { v[0] << v[1] & 0xffff_ffff };
        "shl.b64": "b64" "b32" => "b64", |v| if v[1] > 63 { 0 } else { v[0] << v[1] };
        "shl.b16": "b16" "b32" => "b16", |v| if v[1] > 15 { 0 } else { v[0] << v[1] & 0xffff };
        "shr.u32": "b32" "b32" => "b32", |v| if v[1] > 31 { 0 } else { v[0] >> v[1] };
        "shr.s32": "b32" "b32" => "b32", |v| narrow((s32(v[0]) >> v[1].min(31)) as i128);
        "shr.u64": "b64" "b32" => "b64", |v| if v[1] > 63 { 0 } else { v[0] >> v[1] };
        "shr.s64": "b64" "b32" => "b64", |v| (v[0] as i64 >> v[1].min(63)) as u64;
        "shr.s16": "b16" "b32" => "b16", |v| (v[0] as i16 >> v[1].min(15)) as u16 as u64;
        "shr.u16": "b16" "b32" => "b16", |v| if v[1] > 15 { 0 } else { v[0] >> v[1] };
        "shf.l.wrap.b32": "b32" "b32" "b32" => "b32", |v| ((v[1] << 32 | v[0]) << (v[2] & 31)) >> 32;
        "shf.r.wrap.b32": "b32" "b32" "b32" => "b32", |v| ((v[1] << 32 | v[0]) >> (v[2] & 31)) & 0xffff_ffff;
        "shf.l.clamp.b32": "b32" "b32" "b32" => "b32", |v| if v[2] >= 32 { v[0] } else { ((v[1] << 32 | v[0]) << v[2]) >> 32 };
        "shf.r.clamp.b32": "b32" "b32" "b32" => "b32", |v| if v[2] >= 32 { v[1] } else { ((v[1] << 32 | v[0]) >> v[2]) & 0xffff_ffff };
        "bfe.u32": "b32" "b32" "b32" => "b32", |v| field(v[0], v[1], v[2], 32, false);
        "bfe.s32": "b32" "b32" "b32" => "b32", |v| field(v[0], v[1], v[2], 32, true);
        "bfe.u64": "b64" "b32" "b32" => "b64", |v| field(v[0], v[1], v[2], 64, false);
        "bfe.s64": "b64" "b32" "b32" => "b64", |v| field(v[0], v[1], v[2], 64, true);
        "bfi.b32": "b32" "b32" "b32" "b32" => "b32", |v| (0..32u64).fold(v[1], |r, i| if i < (v[3] & 255) && i + (v[2] & 255) < 32 { let at = i + (v[2] & 255); r & !(1 << at) | (v[0] >> i & 1) << at } else { r });
        "bfi.b64": "b64" "b64" "b32" "b32" => "b64", |v| (0..64u64).fold(v[1], |r, i| if i < (v[3] & 255) && i + (v[2] & 255) < 64 { let at = i + (v[2] & 255); r & !(1 << at) | (v[0] >> i & 1) << at } else { r });
        "bfind.u32": "b32" => "b32", |v| (0..32).rev().find(|i| v[0] >> i & 1 == 1).unwrap_or(0xffff_ffff);
        "bfind.s32": "b32" => "b32", |v| { let x = if v[0] >> 31 == 1 { !v[0] & 0xffff_ffff } else { v[0] }; (0..32).rev().find(|i| x >> i & 1 == 1).unwrap_or(0xffff_ffff) };
        "bfind.u64": "b64" => "b32", |v| (0..64).rev().find(|i| v[0] >> i & 1 == 1).unwrap_or(0xffff_ffff);
        "bfind.shiftamt.u32": "b32" => "b32", |v| (0..32).rev().find(|i| v[0] >> i & 1 == 1).map_or(0xffff_ffff, |i| 31 - i);
        "bmsk.clamp.b32": "b32" "b32" => "b32", |v| (0..32u64).fold(0, |r, i| r | yes(i >= v[0] && i - v[0] < v[1]) << i);
        "szext.clamp.s32": "b32" "b32" => "b32", |v| field(v[0], 0, v[1].min(32), 32, true);
        "brev.b32": "b32" => "b32", |v| (v[0] as u32).reverse_bits() as u64;
        "brev.b64": "b64" => "b64", |v| v[0].reverse_bits();
        "popc.b32": "b32" => "b32", |v| v[0].count_ones() as u64;
        "popc.b64": "b64" => "b32", |v| v[0].count_ones() as u64;
        "clz.b32": "b32" => "b32", |v| (v[0] as u32).leading_zeros() as u64;
        "clz.b64": "b64" => "b32", |v| v[0].leading_zeros() as u64;
        "prmt.b32": "b32" "b32" "b32" => "b32", |v| (0..4).fold(0, |r, i| { let n = v[2] >> (4 * i) & 15; let byte = (v[1] << 32 | v[0]) >> (8 * (n & 7)) & 255; let byte = if n & 8 == 0 { byte } else if byte & 128 != 0 { 255 } else { 0 }; r | byte << (8 * i) });
        "prmt.b32.rc8": "b32" "b32" "b32" => "b32", |v| (v[0] >> (8 * (v[2] & 3)) & 255) * 0x0101_0101;
        "prmt.b32.f4e": "b32" "b32" "b32" => "b32", |v| ((v[1] << 32 | v[0]) >> (8 * (v[2] & 3))) & 0xffff_ffff;
        "mov.b32": "b32" => "b32", |v| v[0];
        "mov.u64": "b64" => "b64", |v| v[0];
        "mov.u16": "b16" => "b16", |v| v[0];
    }
}

fn floats() -> Vec<Case> {
    cases! {
        "add.f32": "f32" "f32" => "f32", |v| single(f(v[0]) + f(v[1]));
        "add.rn.ftz.f32": "f32" "f32" => "f32", |v| single(flush(flush(f(v[0])) + flush(f(v[1]))));
        "add.sat.f32": "f32" "f32" => "f32", |v| { let s = f(v[0]) + f(v[1]); single(if s > 0.0 { s.min(1.0) } else { 0.0 }) };
        "sub.f32": "f32" "f32" => "f32", |v| single(f(v[0]) - f(v[1]));
        "mul.f32": "f32" "f32" => "f32", |v| single(f(v[0]) * f(v[1]));
        "mul.ftz.f32": "f32" "f32" => "f32", |v| single(flush(flush(f(v[0])) * flush(f(v[1]))));
        "fma.rn.f32": "f32" "f32" "f32" => "f32", |v| single(f(v[0]).mul_add(f(v[1]), f(v[2])));
        "div.rn.f32": "f32" "f32" => "f32", |v| single(f(v[0]) / f(v[1]));
        "div.full.f32": "f32" "f32" => "f32", |v| single(f(v[0]) / f(v[1]));
        "rcp.rn.f32": "f32" => "f32", |v| single(1.0 / f(v[0]));
        "sqrt.rn.f32": "f32" => "f32", |v| single(f(v[0]).sqrt());
        "rsqrt.approx.f32": "f32" => "f32", |v| single((1.0 / (f(v[0]) as f64).sqrt()) as f32);
        "neg.f32": "f32" => "f32", |v| v[0] ^ 1 << 31;
        "abs.f32": "f32" => "f32", |v| v[0] & 0x7fff_ffff;
        "min.f32": "f32" "f32" => "f32", |v| single(if f(v[0]).is_nan() { f(v[1]) } else if f(v[1]).is_nan() { f(v[0]) } else if f(v[0]) == f(v[1]) { if v[0] >> 31 == 1 { f(v[0]) } else { f(v[1]) } } else { f(v[0]).min(f(v[1])) });
        "max.f32": "f32" "f32" => "f32", |v| single(if f(v[0]).is_nan() { f(v[1]) } else if f(v[1]).is_nan() { f(v[0]) } else if f(v[0]) == f(v[1]) { if v[0] >> 31 == 0 { f(v[0]) } else { f(v[1]) } } else { f(v[0]).max(f(v[1])) });
        "max.NaN.f32": "f32" "f32" => "f32", |v| single(if f(v[0]).is_nan() || f(v[1]).is_nan() { f32::NAN } else if f(v[0]) == f(v[1]) { if v[0] >> 31 == 0 { f(v[0]) } else { f(v[1]) } } else { f(v[0]).max(f(v[1])) });
        "copysign.f32": "f32" "f32" => "f32", |v| v[1] & 0x7fff_ffff | v[0] & 0x8000_0000;
        "add.f64": "f64" "f64" => "f64", |v| double(d(v[0]) + d(v[1]));
        "sub.f64": "f64" "f64" => "f64", |v| double(d(v[0]) - d(v[1]));
        "mul.f64": "f64" "f64" => "f64", |v| double(d(v[0]) * d(v[1]));
        "fma.rn.f64": "f64" "f64" "f64" => "f64", |v| double(d(v[0]).mul_add(d(v[1]), d(v[2])));
        "div.rn.f64": "f64" "f64" => "f64", |v| double(d(v[0]) / d(v[1]));
        "sqrt.rn.f64": "f64" => "f64", |v| double(d(v[0]).sqrt());
        "rcp.rn.f64": "f64" => "f64", |v| double(1.0 / d(v[0]));
        "neg.f64": "f64" => "f64", |v| v[0] ^ 1 << 63;
        "abs.f64": "f64" => "f64", |v| v[0] & !(1 << 63);
    }
}

fn conversions() -> Vec<Case> {
    cases! {
        "cvt.u64.u32": "b32" => "b64", |v| v[0];
        "cvt.s64.s32": "b32" => "b64", |v| s32(v[0]) as i64 as u64;
        "cvt.u32.u64": "b64" => "b32", |v| v[0] & 0xffff_ffff;
        "cvt.u32.u16": "b16" => "b32", |v| v[0];
        "cvt.s32.s16": "b16" => "b32", |v| narrow(v[0] as i16 as i128);
        "cvt.s32.s8": "b32" => "b32", |v| narrow(v[0] as i8 as i128);
        "cvt.u32.u8": "b32" => "b32", |v| v[0] & 255;
        "cvt.s64.s8": "b64" => "b64", |v| v[0] as i8 as i64 as u64;
        "cvt.s16.s32": "b32" => "b64", |v| v[0] as i16 as i64 as u64;
        "cvt.sat.u8.s32": "b32" => "b32", |v| s32(v[0]).clamp(0, 255) as u64;
        "cvt.sat.s16.s64": "b64" => "b32", |v| narrow((v[0] as i64).clamp(-32768, 32767) as i128);
        "cvt.sat.s32.u32": "b32" => "b32", |v| v[0].min(i32::MAX as u64);
        "cvt.rn.f32.s32": "b32" => "f32", |v| single(s32(v[0]) as f32);
        "cvt.rn.f32.u64": "b64" => "f32", |v| single(v[0] as f32);
        "cvt.rz.f32.u32": "b32" => "f32", |v| { let n = v[0] as f32; single(if n as f64 > v[0] as f64 { n.next_down() } else { n }) };
        "cvt.rp.f32.s64": "b64" => "f32", |v| { let x = v[0] as i64 as i128; let n = x as f32; single(if (n as i128) < x { n.next_up() } else { n }) };
        "cvt.rn.f64.s32": "b32" => "f64", |v| double(s32(v[0]) as f64);
        "cvt.rn.f64.u64": "b64" => "f64", |v| double(v[0] as f64);
        "cvt.rm.f64.s64": "b64" => "f64", |v| { let x = v[0] as i64 as i128; let n = x as f64; double(if n as i128 > x { n.next_down() } else { n }) };
        "cvt.rzi.s32.f32": "f32" => "b32", |v| narrow((f(v[0]) as i32) as i128);
        "cvt.rni.s32.f32": "f32" => "b32", |v| narrow((f(v[0]).round_ties_even() as i32) as i128);
        "cvt.rmi.u32.f32": "f32" => "b32", |v| (f(v[0]).floor() as u32) as u64;
        "cvt.rpi.s64.f64": "f64" => "b64", |v| if d(v[0]).is_nan() { 1 << 63 } else { d(v[0]).ceil() as i64 as u64 };
        "cvt.rzi.u64.f32": "f32" => "b64", |v| if f(v[0]).is_nan() { 1 << 63 } else { f(v[0]) as u64 };
        "cvt.rzi.s32.f64": "f64" => "b32", |v| if d(v[0]).is_nan() { 1 << 31 } else { narrow(d(v[0]) as i32 as i128) };
        "cvt.f64.f32": "f32" => "f64", |v| double(f(v[0]) as f64);
        "cvt.rn.f32.f64": "f64" => "f32", |v| single(d(v[0]) as f32);
        "cvt.rz.f32.f64": "f64" => "f32", |v| { let n = d(v[0]) as f32; single(if n.is_infinite() && d(v[0]).is_finite() { f32::MAX.copysign(n) } else if (n as f64).abs() > d(v[0]).abs() { if n > 0.0 { n.next_down() } else { n.next_up() } } else { n }) };
        "cvt.rmi.f32.f32": "f32" => "f32", |v| single(f(v[0]).floor());
        "cvt.rni.f64.f64": "f64" => "f64", |v| double(d(v[0]).round_ties_even());
        "cvt.sat.f32.f32": "f32" => "f32", |v| single(if f(v[0]) > 0.0 { f(v[0]).min(1.0) } else { 0.0 });
        "cvt.ftz.f32.f32": "f32" => "f32", |v| u64::from(flush(f(v[0])).to_bits());
    }
}

fn comparisons() -> Vec<Case> {
    cases! {
        "setp.eq.s32": "b32" "b32" => "pred", |v| yes(v[0] == v[1]);
        "setp.ne.b64": "b64" "b64" => "pred", |v| yes(v[0] != v[1]);
        "setp.lt.s32": "b32" "b32" => "pred", |v| yes(s32(v[0]) < s32(v[1]));
        "setp.lt.u32": "b32" "b32" => "pred", |v| yes(v[0] < v[1]);
        "setp.lo.u32": "b32" "b32" => "pred", |v| yes(v[0] < v[1]);
        "setp.hs.u64": "b64" "b64" => "pred", |v| yes(v[0] >= v[1]);
        "setp.le.s64": "b64" "b64" => "pred", |v| yes(v[0] as i64 <= v[1] as i64);
        "setp.gt.s16": "b16" "b16" => "pred", |v| yes(v[0] as i16 > v[1] as i16);
        "setp.ge.u16": "b16" "b16" => "pred", |v| yes(v[0] >= v[1]);
        "setp.eq.f32": "f32" "f32" => "pred", |v| yes(f(v[0]) == f(v[1]));
        "setp.ne.f32": "f32" "f32" => "pred", |v| yes(f(v[0]) != f(v[1]) && !f(v[0]).is_nan() && !f(v[1]).is_nan());
        "setp.lt.f32": "f32" "f32" => "pred", |v| yes(f(v[0]) < f(v[1]));
        "setp.leu.f32": "f32" "f32" => "pred", |v| yes(f(v[0]) <= f(v[1]) || f(v[0]).is_nan() || f(v[1]).is_nan());
        "setp.neu.f64": "f64" "f64" => "pred", |v| yes(d(v[0]) != d(v[1]));
        "setp.geu.f64": "f64" "f64" => "pred", |v| yes(d(v[0]) >= d(v[1]) || d(v[0]).is_nan() || d(v[1]).is_nan());
        "setp.num.f32": "f32" "f32" => "pred", |v| yes(!f(v[0]).is_nan() && !f(v[1]).is_nan());
        "setp.nan.f64": "f64" "f64" => "pred", |v| yes(d(v[0]).is_nan() || d(v[1]).is_nan());
        "setp.eq.ftz.f32": "f32" "f32" => "pred", |v| yes(flush(f(v[0])) == flush(f(v[1])));
        "set.lt.u32.s32": "b32" "b32" => "b32", |v| if s32(v[0]) < s32(v[1]) { 0xffff_ffff } else { 0 };
        "set.gt.f32.f32": "f32" "f32" => "b32", |v| if f(v[0]) > f(v[1]) { 0x3f80_0000 } else { 0 };
        "slct.s32.s32": "b32" "b32" "b32" => "b32", |v| if s32(v[2]) >= 0 { v[0] } else { v[1] };
        "slct.b64.f32": "b64" "b64" "f32" => "b64", |v| if f(v[2]) >= 0.0 { v[0] } else { v[1] };
        "testp.finite.f32": "f32" => "pred", |v| yes(f(v[0]).is_finite());
        "testp.subnormal.f64": "f64" => "pred", |v| yes(d(v[0]).is_subnormal());
    }
}

/// Values with which things go wrong.
fn values(ty: &str) -> Vec<u64> {
    let f32s = [
        0.0f32,
        -0.0,
        1.0,
        -1.5,
        0.1,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-40,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        2.5,
        3e9,
        -2147483648.0,
        0.75,
        16777217.0,
    ];
    let f64s = [
        0.0f64,
        -0.0,
        1.0,
        -1.5,
        0.1,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        2.5,
        3e9,
        1e300,
        3.5e38,
        0.3,
    ];
    let mask = match ty {
        "b16" => 0xffff,
        "b32" | "f32" => 0xffff_ffff,
        _ => u64::MAX,
    };
    let edges: Vec<u64> = match ty {
        "f32" => f32s
            .iter()
            .map(|value| u64::from(value.to_bits()))
            .collect(),
        "f64" => f64s.iter().map(|value| value.to_bits()).collect(),
        _ => vec![
            0,
            1,
            2,
            3,
            7,
            15,
            31,
            32,
            33,
            63,
            64,
            255,
            256,
            mask,
            mask - 1,
            mask >> 1,
            (mask >> 1) + 1,
            0x8000,
            0x1234_5678 & mask,
        ],
    };
    edges
        .into_iter()
        .chain(noise(13, 99).into_iter().map(|bits| bits & mask))
        .collect()
}

/// A kernel that does the instruction, with all lanes and with odd ones, on values that lie apart
/// by 256 bytes per source and eight per lane.
fn kernel(case: &Case) -> String {
    let register = |ty: &str| match ty {
        "b16" => "%h",
        "b32" => "%r",
        "b64" => "%x",
        "f32" => "%f",
        "f64" => "%d",
        _ => "%p",
    };
    let mut text = String::from(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {\n.reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %x<9>; .reg .f32 %f<9>; .reg .f64 %d<9>; .reg .pred %p<9>; .reg .b64 %a<9>; .reg .b32 %t<9>; .reg .pred %odd;\nld.param.u64 %a0, [in]; ld.param.u64 %a1, [out]; mov.u32 %t0, %tid.x; mul.wide.u32 %a2, %t0, 8; add.s64 %a0, %a0, %a2; add.s64 %a1, %a1, %a2; and.b32 %t1, %t0, 1; setp.eq.u32 %odd, %t1, 1;\n",
    );
    let mut words = case.opcode.split(' ');
    let opcode = words.next().unwrap();
    let parts: Vec<&str> = words
        .map(|part| part.strip_suffix('.').unwrap_or(part))
        .collect();
    let part = |index: usize| parts.get(index).copied().unwrap_or_default();
    let mut list = String::new();
    for (index, source) in case.sources.iter().enumerate() {
        let name = format!("{}{index}", register(source));
        text.push_str(&format!(
            "ld.global.{source} {name}, [%a0+{}];\n",
            256 * index
        ));
        list.push_str(&format!(", {name}{}", part(index + 1)));
    }
    let result = register(case.result);
    for (number, guard) in [(7, ""), (8, "@%odd ")] {
        if case.result == "pred" {
            text.push_str(&format!("setp.eq.u32 %p{number}, 0, 1;\n{guard}{} %p{number}{list};\nselp.b32 %t2, 1, 0, %p{number};\nst.global.b32 [%a1+{}], %t2;\n", case.opcode, 256 * (number - 7)));
        } else {
            let ty = case.result.replace('f', "b");
            text.push_str(&format!("mov.{} {result}{number}, 0;\n{guard}{opcode} {result}{number}{}{list};\nst.global.{ty} [%a1+{}], {result}{number};\n", ty, part(0), 256 * (number - 7)));
        }
    }
    text + "ret; }\n"
}

fn check(case: &Case, isa: Isa) {
    let mut run = Run::new(
        &kernel(case),
        Options {
            isa,
            threads: 1,
            ..Options::default()
        },
    );
    let columns: Vec<Vec<u64>> = case.sources.iter().map(|ty| values(ty)).collect();
    for turn in 0..columns[0].len() {
        // Each value of the first source meets each of the second, and some of the others.
        let lane = |lane: usize| -> Vec<u64> {
            columns
                .iter()
                .enumerate()
                .map(|(index, column)| {
                    column[if index == 0 {
                        turn
                    } else {
                        (lane * (2 * index - 1) + turn * (index - 1)) % column.len()
                    }]
                })
                .collect()
        };
        let inputs: Vec<Vec<u64>> = (0..32).map(lane).collect();
        let memory: Vec<u64> = (0..case.sources.len())
            .flat_map(|index| inputs.iter().map(move |values| values[index]))
            .collect();
        let (input, output) = (run.put(&memory), run.put(&[0u64; 64]));
        run.launch("k", [1, 1, 1], [32, 1, 1], 0, &[input, output.clone()]);
        let found: Vec<u64> = run.get(&output, 64);
        for (lane, values) in inputs.iter().enumerate() {
            let expected = (case.reference)(values);
            let is_nan = case.result == "f64" && d(expected).is_nan();
            let same = |found: u64| found == expected || is_nan && d(found).is_nan();
            assert!(
                same(found[lane]),
                "{} of {values:x?} is {:#x}, not {expected:#x} ({})",
                case.opcode,
                found[lane],
                isa.name()
            );
            let guarded = found[32 + lane];
            assert!(
                if lane % 2 == 1 {
                    same(guarded)
                } else {
                    guarded == 0
                },
                "{} with a guard, lane {lane}: {guarded:#x}",
                case.opcode
            );
        }
    }
}

fn check_all(cases: &[Case]) {
    for isa in Isa::available() {
        for case in cases {
            check(case, isa);
        }
    }
}

#[test]
fn integers_conform() {
    check_all(&whole_numbers());
}

#[test]
fn bits_conform() {
    check_all(&bits());
}

#[test]
fn videos_conform() {
    check_all(&videos());
    check_all(&scalar_videos());
}

#[test]
fn floats_conform() {
    check_all(&floats());
}

#[test]
fn conversions_conform() {
    check_all(&conversions());
}

#[test]
fn comparisons_conform() {
    check_all(&comparisons());
}

/// Carries run through words of 32 bits as through wider numbers.
#[test]
fn carries_conform() {
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out) {\n.reg .b32 %r<20>; .reg .b64 %a<9>;\nld.param.u64 %a0, [a]; ld.param.u64 %a1, [b]; ld.param.u64 %a2, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %a3, %r0, 8; add.s64 %a0, %a0, %a3; add.s64 %a1, %a1, %a3; mul.wide.u32 %a3, %r0, 24; add.s64 %a2, %a2, %a3;\nld.global.v2.u32 {%r1, %r2}, [%a0]; ld.global.v2.u32 {%r3, %r4}, [%a1];\nadd.cc.u32 %r5, %r1, %r3; addc.u32 %r6, %r2, %r4;\nsub.cc.u32 %r7, %r1, %r3; subc.u32 %r8, %r2, %r4;\nmul.lo.u32 %r9, %r1, %r3; mul.hi.u32 %r10, %r1, %r3; mad.lo.cc.u32 %r10, %r1, %r4, %r10; madc.hi.u32 %r11, %r1, %r4, 0;\nst.global.v2.u32 [%a2], {%r5, %r6}; st.global.v2.u32 [%a2+8], {%r7, %r8}; st.global.v2.u32 [%a2+16], {%r9, %r10};\nret; }\n";
    let mut run = Run::new(text, Options::default());
    let [a, b] = [1, 2].map(|seed| noise(32, seed));
    let (da, db, out) = (run.put(&a), run.put(&b), run.put(&[0u64; 96]));
    run.launch("k", [1, 1, 1], [32, 1, 1], 0, &[da, db, out.clone()]);
    let found: Vec<u64> = run.get(&out, 96);
    for lane in 0..32 {
        let product = (a[lane] & 0xffff_ffff).wrapping_mul(b[lane]);
        assert_eq!(
            found[3 * lane..3 * lane + 3],
            [
                a[lane].wrapping_add(b[lane]),
                a[lane].wrapping_sub(b[lane]),
                product
            ]
        );
    }
}

/// Any table of three bits.
#[test]
fn lop3_conforms() {
    for table in [0u32, 0x80, 0xe8, 0x96, 0xfe, 0x3c, 0xff] {
        let text = format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n.reg .b32 %r<9>; .reg .b64 %a;\nld.param.u64 %a, [out]; mov.u32 %r1, 0xf0f0f0f0; mov.u32 %r2, 0xcccccccc; mov.u32 %r3, 0xaaaaaaaa; lop3.b32 %r4, %r1, %r2, %r3, {table}; st.global.u32 [%a], %r4; ret; }}\n"
        );
        let mut run = Run::new(&text, Options::default());
        let out = run.put(&[0u32]);
        run.launch("k", [1, 1, 1], [1, 1, 1], 0, std::slice::from_ref(&out));
        assert_eq!(run.get::<u32>(&out, 1), [table * 0x0101_0101]);
    }
}

/// `p[~i]` with an unsigned `i`, in 64 bits as clang adds: the sum wraps as it does in 32.
#[test]
fn addresses_of_shared_and_local_memory_wrap() {
    for space in ["shared", "local"] {
        let body = format!(
            ".local .align 4 .b8 own[256];\n\
             mov.u64 %x2, {}; not.b32 %r1, %r0; mul.wide.u32 %x3, %r1, 4;\n\
             shl.b64 %x4, %x3, 32; shr.u64 %x4, %x4, 32; add.u64 %x5, %x2, %x4; and.b64 %x5, %x5, 0xffffffff;\n\
             st.{space}.u32 [%x5+128], %r0;\n\
             add.u64 %x6, %x2, %x3; ld.{space}.u32 %r2, [%x6+128];\n\
             atom.{}.add.u32 %r3, [%x6+128], 100;\n\
             ld.{space}.u32 %r4, [%x5+128]; add.u32 %r2, %r2, %r4;\n\
             mul.wide.u32 %x7, %r0, 4; add.u64 %x7, %x7, %x1; st.global.u32 [%x7], %r2;\n",
            if space == "shared" { "room" } else { "own" },
            if space == "shared" {
                "shared"
            } else {
                "global"
            },
        );
        // There are no atomic operations on local memory.
        let body = if space == "shared" {
            body
        } else {
            body.replace(
                "atom.global.add.u32 %r3, [%x6+128], 100;",
                "st.local.u32 [%x6+128], %r2;",
            )
        };
        let (found, _) = run(&body, &[vec![0; 128]], 32, &mut Ignore).unwrap();
        let added = if space == "shared" { 100 } else { 0 };
        let found: Vec<u32> = found[0]
            .as_chunks()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word))
            .collect();
        let expected: Vec<u32> = (0..32).map(|lane| 2 * lane + added).collect();
        assert_eq!(found, expected, "{space}");
    }
}
