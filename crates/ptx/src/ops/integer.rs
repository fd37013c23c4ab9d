//! Forms of arithmetic on integers.
//!
//! Where PTX leaves a result open it is decided here: a quotient by zero has all bits set, and the
//! remainder is the dividend.

use super::opcode::Opcode;
use super::{integers, patterns, typed};
use crate::lanes::{Form, Type};

pub fn find(opcode: &mut Opcode<'_>) -> Option<Form> {
    let ty = opcode.ty();
    let base = opcode.base;
    match base {
        "add" | "sub" if opcode.takes("sat") => saturating(base, ty),
        "add" => patterns!(ty; lanes!(|a: T, b: T| -> T { a.wrapping_add(b) })),
        "sub" => patterns!(ty; lanes!(|a: T, b: T| -> T { a.wrapping_sub(b) })),
        "mul" => multiply(opcode, ty),
        "mad" => multiply_add(opcode, ty),
        "mul24" | "mad24" => short(opcode, ty),
        "div" => divide(ty),
        "rem" => remainder(ty),
        "min" => integers!(ty; lanes!(|a: T, b: T| -> T { a.min(b) })),
        "max" => integers!(ty; lanes!(|a: T, b: T| -> T { a.max(b) })),
        "neg" => patterns!(ty; lanes!(|a: T| -> T { a.wrapping_neg() })),
        "abs" => {
            typed!(ty; S16 => i16, S32 => i32, S64 => i64; lanes!(|a: T| -> T { a.wrapping_abs() }))
        }
        "sad" => {
            integers!(ty; lanes!(|a: T, b: T, c: T| -> T { c.wrapping_add(a.abs_diff(b) as T) }))
        }
        _ => None,
    }
}

fn saturating(base: &str, ty: Type) -> Option<Form> {
    match (base, ty) {
        ("add", Type::S32) => Some(lanes!(|a: i32, b: i32| -> i32 { a.saturating_add(b) })),
        ("sub", Type::S32) => Some(lanes!(|a: i32, b: i32| -> i32 { a.saturating_sub(b) })),
        _ => None,
    }
}

fn multiply(opcode: &mut Opcode<'_>, ty: Type) -> Option<Form> {
    if opcode.takes("wide") {
        return match ty {
            Type::U16 => Some(lanes!(|a: u16, b: u16| -> u32 {
                u32::from(a) * u32::from(b)
            })),
            Type::S16 => Some(lanes!(|a: i16, b: i16| -> i32 {
                i32::from(a) * i32::from(b)
            })),
            Type::U32 => Some(lanes!(|a: u32, b: u32| -> u64 {
                u64::from(a) * u64::from(b)
            })),
            Type::S32 => Some(lanes!(|a: i32, b: i32| -> i64 {
                i64::from(a) * i64::from(b)
            })),
            _ => None,
        };
    }
    if opcode.takes("hi") {
        return high(ty);
    }
    opcode.takes("lo");
    patterns!(ty; lanes!(|a: T, b: T| -> T { a.wrapping_mul(b) }))
}

fn high(ty: Type) -> Option<Form> {
    Some(match ty {
        Type::U16 => {
            lanes!(|a: u16, b: u16| -> u16 { ((u32::from(a) * u32::from(b)) >> 16) as u16 })
        }
        Type::S16 => {
            lanes!(|a: i16, b: i16| -> i16 { ((i32::from(a) * i32::from(b)) >> 16) as i16 })
        }
        Type::U32 => {
            lanes!(|a: u32, b: u32| -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 })
        }
        Type::S32 => {
            lanes!(|a: i32, b: i32| -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 })
        }
        Type::U64 => {
            lanes!(|a: u64, b: u64| -> u64 { ((u128::from(a) * u128::from(b)) >> 64) as u64 })
        }
        Type::S64 => {
            lanes!(|a: i64, b: i64| -> i64 { ((i128::from(a) * i128::from(b)) >> 64) as i64 })
        }
        _ => return None,
    })
}

fn multiply_add(opcode: &mut Opcode<'_>, ty: Type) -> Option<Form> {
    if opcode.takes("wide") {
        return match ty {
            Type::U16 => Some(lanes!(|a: u16, b: u16, c: u32| -> u32 {
                (u32::from(a) * u32::from(b)).wrapping_add(c)
            })),
            Type::S16 => Some(lanes!(|a: i16, b: i16, c: i32| -> i32 {
                (i32::from(a) * i32::from(b)).wrapping_add(c)
            })),
            Type::U32 => Some(lanes!(|a: u32, b: u32, c: u64| -> u64 {
                (u64::from(a) * u64::from(b)).wrapping_add(c)
            })),
            Type::S32 => Some(lanes!(|a: i32, b: i32, c: i64| -> i64 {
                (i64::from(a) * i64::from(b)).wrapping_add(c)
            })),
            _ => None,
        };
    }
    if opcode.takes("hi") {
        let saturates = opcode.takes("sat");
        return Some(match ty {
            Type::S32 if saturates => lanes!(|a: i32, b: i32, c: i32| -> i32 {
                (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c)
            }),
            Type::U16 => lanes!(|a: u16, b: u16, c: u16| -> u16 {
                (((u32::from(a) * u32::from(b)) >> 16) as u16).wrapping_add(c)
            }),
            Type::S16 => lanes!(|a: i16, b: i16, c: i16| -> i16 {
                (((i32::from(a) * i32::from(b)) >> 16) as i16).wrapping_add(c)
            }),
            Type::U32 => lanes!(|a: u32, b: u32, c: u32| -> u32 {
                (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c)
            }),
            Type::S32 => lanes!(|a: i32, b: i32, c: i32| -> i32 {
                (((i64::from(a) * i64::from(b)) >> 32) as i32).wrapping_add(c)
            }),
            Type::U64 => lanes!(|a: u64, b: u64, c: u64| -> u64 {
                (((u128::from(a) * u128::from(b)) >> 64) as u64).wrapping_add(c)
            }),
            Type::S64 => lanes!(|a: i64, b: i64, c: i64| -> i64 {
                (((i128::from(a) * i128::from(b)) >> 64) as i64).wrapping_add(c)
            }),
            _ => return None,
        });
    }
    opcode.takes("lo");
    patterns!(ty; lanes!(|a: T, b: T, c: T| -> T { a.wrapping_mul(b).wrapping_add(c) }))
}

/// Products of the low 24 bits.
fn short(opcode: &mut Opcode<'_>, ty: Type) -> Option<Form> {
    let high = opcode.takes("hi");
    opcode.takes("lo");
    Some(match (opcode.base, ty, high) {
        ("mul24", Type::U32, false) => lanes!(|a: u32, b: u32| -> u32 { unsigned24(a, b) as u32 }),
        ("mul24", Type::S32, false) => lanes!(|a: i32, b: i32| -> i32 { signed24(a, b) as i32 }),
        ("mul24", Type::U32, true) => {
            lanes!(|a: u32, b: u32| -> u32 { (unsigned24(a, b) >> 16) as u32 })
        }
        ("mul24", Type::S32, true) => {
            lanes!(|a: i32, b: i32| -> i32 { (signed24(a, b) >> 16) as i32 })
        }
        ("mad24", Type::U32, false) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { (unsigned24(a, b) as u32).wrapping_add(c) })
        }
        ("mad24", Type::S32, false) => {
            lanes!(|a: i32, b: i32, c: i32| -> i32 { (signed24(a, b) as i32).wrapping_add(c) })
        }
        ("mad24", Type::U32, true) => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            ((unsigned24(a, b) >> 16) as u32).wrapping_add(c)
        }),
        ("mad24", Type::S32, true) => lanes!(|a: i32, b: i32, c: i32| -> i32 {
            ((signed24(a, b) >> 16) as i32).wrapping_add(c)
        }),
        _ => return None,
    })
}

#[inline(always)]
fn unsigned24(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
}

#[inline(always)]
fn signed24(a: i32, b: i32) -> i64 {
    i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)
}

fn divide(ty: Type) -> Option<Form> {
    typed!(ty; U16 => u16, U32 => u32, U64 => u64; lanes!(|a: T, b: T| -> T { a.checked_div(b).unwrap_or(T::MAX) }))
        .or_else(|| {
            typed!(ty; S16 => i16, S32 => i32, S64 => i64;
                lanes!(|a: T, b: T| -> T { if b == 0 { -1 } else { a.wrapping_div(b) } }))
        })
}

fn remainder(ty: Type) -> Option<Form> {
    integers!(ty; lanes!(|a: T, b: T| -> T { if b == 0 { a } else { a.wrapping_rem(b) } }))
}
