//! What instructions calculate: from an opcode and its types to the [`Form`]s that do it. The
//! decoder asks [`find`]; instructions that take more than one step ask for their forms by name.

mod bits;
mod carry;
mod compare;
mod convert;
mod float;
mod float8;
mod half;
mod integer;
mod opcode;
mod round;
mod video;

pub use bits::{minterm, permute, place};
pub use carry::{carrying, makes_carry};
pub use compare::{Comparison, compare, select};
pub use convert::{packed, pair, short};
pub use float8::{Float8, pairs};
pub use half::Half;
pub use opcode::Opcode;

use crate::lanes::{Form, Type};

/// Chooses a form by type: the alias `T` stands for the lane type in it.
macro_rules! typed {
    ($ty:expr; $($($ptx:ident)|+ => $lane:ty),+; $form:expr) => {
        match $ty {
            $($($crate::lanes::Type::$ptx)|+ => {
                type T = $lane;
                Some($form)
            })+
            _ => None,
        }
    };
}

/// A form for each size of integers, signed and unsigned.
macro_rules! integers {
    ($ty:expr; $form:expr) => {
        typed!($ty; U16 | B16 => u16, S16 => i16, U32 | B32 => u32, S32 => i32, U64 | B64 => u64, S64 => i64; $form)
    };
}

/// A form for each size where signs make no difference.
macro_rules! patterns {
    ($ty:expr; $form:expr) => {
        typed!($ty; U16 | B16 | S16 => u16, U32 | B32 | S32 => u32, U64 | B64 | S64 => u64; $form)
    };
}

use {integers, patterns, typed};

/// The forms of an instruction that only calculates, one after the other: each takes the result of
/// the one before as its only source. None if this is no such instruction.
pub fn find(opcode: &mut Opcode<'_>) -> Option<Vec<Form>> {
    if opcode.base == "cvt" {
        return convert::find(opcode);
    }
    let ty = opcode.ty();
    let form = match ty {
        Type::F32 | Type::F64 => return float::find(opcode),
        Type::F16 | Type::Bf16 | Type::F16x2 | Type::Bf16x2 => return half::find(opcode),
        Type::Pred => predicate(opcode),
        _ => integer::find(opcode)
            .or_else(|| bits::find(opcode))
            .or_else(|| video::find(opcode)),
    };
    form.map(|form| vec![form])
}

fn predicate(opcode: &Opcode<'_>) -> Option<Form> {
    Some(match opcode.base {
        "and" => predicates!(|a, b| a & b),
        "or" => predicates!(|a, b| a | b),
        "xor" => predicates!(|a, b| a ^ b),
        "not" => predicates!(|a| !a),
        "mov" => predicates!(|a| a),
        _ => return None,
    })
}

/// Copies of registers.
pub fn copy(ty: Type) -> Form {
    match ty.size() {
        _ if ty == Type::Pred => predicates!(|a| a),
        8 => lanes!(|a: u64| -> u64 { a }),
        _ => lanes!(|a: u32| -> u32 { a }),
    }
}

/// The low bits of a wide register.
pub fn truncate() -> Form {
    lanes!(|a: u64| -> u32 { a as u32 })
}

/// A narrow register in a wide one.
pub fn extend(ty: Type) -> Form {
    match ty {
        Type::S8 => lanes!(|a: i8| -> i64 { i64::from(a) }),
        Type::S16 => lanes!(|a: i16| -> i64 { i64::from(a) }),
        Type::S32 => lanes!(|a: i32| -> i64 { i64::from(a) }),
        _ => match ty.size() {
            1 => lanes!(|a: u8| -> u64 { u64::from(a) }),
            2 => lanes!(|a: u16| -> u64 { u64::from(a) }),
            _ => lanes!(|a: u32| -> u64 { u64::from(a) }),
        },
    }
}

/// Two narrow registers in a wide one, and its halves; two of 16 bits in one of 32, and its halves.
pub fn pack(wide: bool) -> Form {
    if wide {
        lanes!(|a: u32, b: u32| -> u64 { u64::from(a) | u64::from(b) << 32 })
    } else {
        lanes!(|a: u16, b: u16| -> u32 { u32::from(a) | u32::from(b) << 16 })
    }
}

/// The low or the high half.
pub fn half_of(wide: bool, high: bool) -> Form {
    match (wide, high) {
        (true, false) => lanes!(|a: u64| -> u32 { a as u32 }),
        (true, true) => lanes!(|a: u64| -> u32 { (a >> 32) as u32 }),
        (false, false) => lanes!(|a: u32| -> u16 { a as u16 }),
        (false, true) => lanes!(|a: u32| -> u16 { (a >> 16) as u16 }),
    }
}
