//! Forms of instructions on bits: logic, shifts, bit fields, permutations of bytes, counts.

use super::opcode::Opcode;
use super::{integers, patterns, typed};
use crate::lanes::{Form, Type};

pub fn find(opcode: &mut Opcode<'_>) -> Option<Form> {
    let ty = opcode.ty();
    match opcode.base {
        "mov" => {
            typed!(ty; U8 | S8 | B8 => u8, U16 | S16 | B16 => u16, U32 | S32 | B32 => u32, U64 | S64 | B64 => u64;
            lanes!(|a: T| -> T { a }))
        }
        "and" => patterns!(ty; lanes!(|a: T, b: T| -> T { a & b })),
        "or" => patterns!(ty; lanes!(|a: T, b: T| -> T { a | b })),
        "xor" => patterns!(ty; lanes!(|a: T, b: T| -> T { a ^ b })),
        "not" => patterns!(ty; lanes!(|a: T| -> T { !a })),
        "cnot" => patterns!(ty; lanes!(|a: T| -> T { T::from(a == 0) })),
        "shl" => {
            patterns!(ty; lanes!(|a: T, b: u32| -> T { if b < T::BITS { a << b } else { 0 } }))
        }
        "shr" => integers!(ty; lanes!(|a: T, b: u32| -> T {
            // By all bits or more: what one bit less leaves, shifted once more.
            let most = T::BITS - 1;
            if b > most { a >> most >> 1 } else { a >> b }
        })),
        "shf" => funnel(opcode),
        "bfe" => extract(ty),
        "bfi" => insert(ty),
        "bfind" => highest(opcode, ty),
        "bmsk" => mask(opcode),
        "szext" => extend(opcode, ty),
        "fns" => Some(lanes!(|a: u32, b: u32, c: i32| -> u32 { nth_set(a, b, c) })),
        "brev" => patterns!(ty; lanes!(|a: T| -> T { a.reverse_bits() })),
        "popc" => typed!(ty; B32 => u32, B64 => u64; lanes!(|a: T| -> u32 { a.count_ones() })),
        "clz" => typed!(ty; B32 => u32, B64 => u64; lanes!(|a: T| -> u32 { a.leading_zeros() })),
        "prmt" => Some(lanes!(|a: u32, b: u32, c: u32| -> u32 {
            permuted(a, b, c)
        })),
        _ => None,
    }
}

/// The place of a set bit of `mask`: at `base` (0), or the `nth` one from there on upwards (above
/// 0) or downwards (below 0); all bits if there is none.
#[inline(always)]
fn nth_set(mask: u32, base: u32, nth: i32) -> u32 {
    let base = base & 31;
    let mut rest = match nth {
        0 => mask & 1 << base,
        1.. => mask & u32::MAX << base,
        // The lowest bit is at `base` then.
        _ => (mask & u32::MAX >> (31 - base)).reverse_bits(),
    };
    for _ in 1..nth.unsigned_abs().min(33) {
        rest &= rest.wrapping_sub(1);
    }
    match (rest, nth < 0) {
        (0, _) => u32::MAX,
        (rest, false) => rest.trailing_zeros(),
        (rest, true) => 31 - rest.trailing_zeros(),
    }
}

fn funnel(opcode: &mut Opcode<'_>) -> Option<Form> {
    let left = opcode.takes("l");
    let right = opcode.takes("r");
    let wraps = opcode.takes("wrap");
    let clamps = opcode.takes("clamp");
    Some(match (left, right, wraps, clamps) {
        (true, false, true, false) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { (joined(a, b) << (c & 31) >> 32) as u32 })
        }
        (true, false, false, true) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { (joined(a, b) << c.min(32) >> 32) as u32 })
        }
        (false, true, true, false) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { (joined(a, b) >> (c & 31)) as u32 })
        }
        (false, true, false, true) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { (joined(a, b) >> c.min(32)) as u32 })
        }
        _ => return None,
    })
}

#[inline(always)]
fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn extract(ty: Type) -> Option<Form> {
    Some(match ty {
        Type::U32 => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { field(u64::from(a), b, c, 32, false) as u32 })
        }
        Type::S32 => lanes!(|a: i32, b: u32, c: u32| -> i32 {
            field(i64::from(a) as u64, b, c, 32, true) as i32
        }),
        Type::U64 => lanes!(|a: u64, b: u32, c: u32| -> u64 { field(a, b, c, 64, false) }),
        Type::S64 => lanes!(|a: u64, b: u32, c: u32| -> u64 { field(a, b, c, 64, true) }),
        _ => return None,
    })
}

/// Bits from `start` on, filled up with their sign if they have one. Only the low eight bits of
/// start and length count.
#[inline(always)]
fn field(value: u64, start: u32, length: u32, bits: u32, signed: bool) -> u64 {
    let (start, length) = (start & 255, length & 255);
    let sign_at = (start + length).saturating_sub(1).min(bits - 1);
    let sign = if signed && length > 0 && value >> sign_at & 1 != 0 {
        u64::MAX
    } else {
        0
    };
    let kept = if length >= 64 {
        u64::MAX
    } else {
        (1 << length) - 1
    };
    let inside = bits.saturating_sub(start).min(64);
    let there = if inside >= 64 {
        u64::MAX
    } else {
        (1 << inside) - 1
    };
    let moved = if start >= 64 { 0 } else { value >> start };
    let taken = kept & there;
    moved & taken | sign & !taken
}

fn insert(ty: Type) -> Option<Form> {
    // The fourth source comes as a fourth operand, for which a form has no room; see `Slots`. So
    // the position and the length come packed, which the decoder does.
    Some(match ty {
        Type::B32 => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            inserted(u64::from(a), u64::from(b), c, 32) as u32
        }),
        Type::B64 => lanes!(|a: u64, b: u64, c: u32| -> u64 { inserted(a, b, c, 64) }),
        _ => return None,
    })
}

/// `a` put into `b`, with the position in the low byte of `place` and the length in the next one.
#[inline(always)]
fn inserted(a: u64, b: u64, place: u32, bits: u32) -> u64 {
    let (start, length) = (place & 255, place >> 8 & 255);
    if start >= bits || length == 0 {
        return b;
    }
    let field = if length >= 64 {
        u64::MAX
    } else {
        (1 << length) - 1
    } << start;
    b & !field | a << start & field
}

/// Two bytes, for [`insert`].
pub fn place() -> Form {
    lanes!(|a: u32, b: u32| -> u32 { a & 255 | (b & 255) << 8 })
}

fn highest(opcode: &mut Opcode<'_>, ty: Type) -> Option<Form> {
    let amount = opcode.takes("shiftamt");
    Some(match (ty, amount) {
        (Type::U32, false) => lanes!(|a: u32| -> u32 { 31u32.wrapping_sub(a.leading_zeros()) }),
        (Type::S32, false) => {
            lanes!(|a: i32| -> u32 { 31u32.wrapping_sub((a ^ a >> 31).leading_zeros()) })
        }
        (Type::U64, false) => lanes!(|a: u64| -> u32 { 63u32.wrapping_sub(a.leading_zeros()) }),
        (Type::S64, false) => {
            lanes!(|a: i64| -> u32 { 63u32.wrapping_sub((a ^ a >> 63).leading_zeros()) })
        }
        (Type::U32, true) => {
            lanes!(|a: u32| -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } })
        }
        (Type::S32, true) => lanes!(|a: i32| -> u32 {
            let a = a ^ a >> 31;
            if a == 0 { u32::MAX } else { a.leading_zeros() }
        }),
        (Type::U64, true) => {
            lanes!(|a: u64| -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } })
        }
        (Type::S64, true) => lanes!(|a: i64| -> u32 {
            let a = a ^ a >> 63;
            if a == 0 { u32::MAX } else { a.leading_zeros() }
        }),
        _ => return None,
    })
}

fn mask(opcode: &mut Opcode<'_>) -> Option<Form> {
    if opcode.takes("clamp") {
        return Some(lanes!(|a: u32, b: u32| -> u32 {
            let ones = if b >= 32 { u32::MAX } else { (1 << b) - 1 };
            if a >= 32 { 0 } else { ones << a }
        }));
    }
    opcode
        .takes("wrap")
        .then(|| lanes!(|a: u32, b: u32| -> u32 { ((1 << (b & 31)) - 1) << (a & 31) }))
}

fn extend(opcode: &mut Opcode<'_>, ty: Type) -> Option<Form> {
    let wraps = opcode.takes("wrap");
    let clamps = opcode.takes("clamp");
    Some(match (ty, wraps, clamps) {
        (Type::U32, true, _) => {
            lanes!(|a: u32, b: u32| -> u32 { field(u64::from(a), 0, b & 31, 32, false) as u32 })
        }
        (Type::S32, true, _) => lanes!(|a: i32, b: u32| -> i32 {
            field(i64::from(a) as u64, 0, b & 31, 32, true) as i32
        }),
        (Type::U32, _, true) => {
            lanes!(|a: u32, b: u32| -> u32 { field(u64::from(a), 0, b.min(32), 32, false) as u32 })
        }
        (Type::S32, _, true) => lanes!(|a: i32, b: u32| -> i32 {
            field(i64::from(a) as u64, 0, b.min(32), 32, true) as i32
        }),
        _ => return None,
    })
}

/// The bytes of `b:a` that the nibbles of the selector name; with its high bit, the byte's sign.
#[inline(always)]
fn permuted(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = joined(a, b);
    let mut result = 0;
    for index in 0..4 {
        let nibble = selector >> (4 * index) & 15;
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 != 0 {
            (byte as i8 >> 7) as u8
        } else {
            byte
        };
        result |= u32::from(byte) << (8 * index);
    }
    result
}

/// `prmt` with one of its modes in place of a selector of nibbles.
pub fn permute(mode: &str) -> Option<Form> {
    Some(match mode {
        "f4e" => lanes!(|a: u32, b: u32, c: u32| -> u32 { (joined(a, b) >> (8 * (c & 3))) as u32 }),
        "b4e" => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = c & 3;
            permuted(
                a,
                b,
                n | (n.wrapping_sub(1) & 7) << 4
                    | (n.wrapping_sub(2) & 7) << 8
                    | (n.wrapping_sub(3) & 7) << 12,
            )
        }),
        "rc8" => {
            lanes!(|a: u32, _b: u32, c: u32| -> u32 { (a >> (8 * (c & 3)) & 255) * 0x0101_0101 })
        }
        "ecl" => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = c & 3;
            permuted(a, b, n | n.max(1) << 4 | n.max(2) << 8 | 3 << 12)
        }),
        "ecr" => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = c & 3;
            permuted(a, b, n.min(1) << 4 | n.min(2) << 8 | n << 12)
        }),
        "rc16" => {
            lanes!(|a: u32, _b: u32, c: u32| -> u32 { (a >> (16 * (c & 1)) & 0xffff) * 0x1_0001 })
        }
        _ => return None,
    })
}

/// The minterms of `lop3`: which lanes' bits agree with the three low bits of `INDEX`, one at a
/// time. Its fourth operand is known when it is decoded, so only the minterms that it has are
/// calculated.
pub fn minterm(index: u8) -> Form {
    match index & 7 {
        0 => lanes!(|a: u32, b: u32, c: u32| -> u32 { !a & !b & !c }),
        1 => lanes!(|a: u32, b: u32, c: u32| -> u32 { !a & !b & c }),
        2 => lanes!(|a: u32, b: u32, c: u32| -> u32 { !a & b & !c }),
        3 => lanes!(|a: u32, b: u32, c: u32| -> u32 { !a & b & c }),
        4 => lanes!(|a: u32, b: u32, c: u32| -> u32 { a & !b & !c }),
        5 => lanes!(|a: u32, b: u32, c: u32| -> u32 { a & !b & c }),
        6 => lanes!(|a: u32, b: u32, c: u32| -> u32 { a & b & !c }),
        _ => lanes!(|a: u32, b: u32, c: u32| -> u32 { a & b & c }),
    }
}
