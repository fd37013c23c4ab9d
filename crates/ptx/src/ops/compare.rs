//! Forms of comparisons, and of choices between two values (`selp`, `slct`, `testp`).

#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    clippy::double_comparisons,
    reason = "that is what unordered comparisons are"
)]

use half::{bf16, f16};

use super::float::flushed;
use super::opcode::Opcode;
use super::{integers, patterns, typed};
use crate::lanes::{Form, Type};

/// What is asked of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// The same, or one is a NaN.
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// Both are numbers.
    Num,
    /// One is none.
    Nan,
}

use Comparison::*;

impl Comparison {
    /// What a modifier asks. `lo`, `ls`, `hi` and `hs` are those of unsigned numbers, which the
    /// type says.
    pub fn named(name: &str) -> Option<Comparison> {
        Some(match name {
            "eq" => Eq,
            "ne" => Ne,
            "lt" | "lo" => Lt,
            "le" | "ls" => Le,
            "gt" | "hi" => Gt,
            "ge" | "hs" => Ge,
            "equ" => Equ,
            "neu" => Neu,
            "ltu" => Ltu,
            "leu" => Leu,
            "gtu" => Gtu,
            "geu" => Geu,
            "num" => Num,
            "nan" => Nan,
            _ => return None,
        })
    }
}

/// The form of a comparison.
pub fn compare(comparison: Comparison, ty: Type, ftz: bool) -> Option<Form> {
    match ty {
        Type::F32 if ftz => flushing(comparison),
        Type::F32 | Type::F64 => floats(comparison, ty),
        Type::F16 => halves(comparison),
        Type::Bf16 => brain_floats(comparison),
        _ => of_integers(comparison, ty),
    }
}

fn of_integers(comparison: Comparison, ty: Type) -> Option<Form> {
    match comparison {
        Eq => patterns!(ty; test!(|a: T, b: T| a == b)),
        Ne => patterns!(ty; test!(|a: T, b: T| a != b)),
        Lt => integers!(ty; test!(|a: T, b: T| a < b)),
        Le => integers!(ty; test!(|a: T, b: T| a <= b)),
        Gt => integers!(ty; test!(|a: T, b: T| a > b)),
        Ge => integers!(ty; test!(|a: T, b: T| a >= b)),
        _ => None,
    }
}

/// Of two floats that are ready; the negations are those of unordered comparisons.
macro_rules! ordered {
    ($comparison:expr; $test:ident) => {
        match $comparison {
            Eq => $test!(|a, b| a == b),
            Ne => $test!(|a, b| a < b || a > b),
            Lt => $test!(|a, b| a < b),
            Le => $test!(|a, b| a <= b),
            Gt => $test!(|a, b| a > b),
            Ge => $test!(|a, b| a >= b),
            Equ => $test!(|a, b| !(a < b || a > b)),
            Neu => $test!(|a, b| a != b),
            Ltu => $test!(|a, b| !(a >= b)),
            Leu => $test!(|a, b| !(a > b)),
            Gtu => $test!(|a, b| !(a <= b)),
            Geu => $test!(|a, b| !(a < b)),
            Num => $test!(|a, b| !a.is_nan() && !b.is_nan()),
            Nan => $test!(|a, b| a.is_nan() || b.is_nan()),
        }
    };
}

fn floats(comparison: Comparison, ty: Type) -> Option<Form> {
    macro_rules! plain {
        (|$a:ident, $b:ident| $body:expr) => {
            test!(|$a: T, $b: T| $body)
        };
    }
    typed!(ty; F32 => f32, F64 => f64; ordered!(comparison; plain))
}

fn flushing(comparison: Comparison) -> Option<Form> {
    macro_rules! flush {
        (|$a:ident, $b:ident| $body:expr) => {
            test!(|$a: f32, $b: f32| {
                let ($a, $b) = (flushed($a), flushed($b));
                $body
            })
        };
    }
    Some(ordered!(comparison; flush))
}

fn halves(comparison: Comparison) -> Option<Form> {
    macro_rules! half {
        (|$a:ident, $b:ident| $body:expr) => {
            test!(|$a: f16, $b: f16| {
                let ($a, $b) = ($a.to_f32(), $b.to_f32());
                $body
            })
        };
    }
    Some(ordered!(comparison; half))
}

fn brain_floats(comparison: Comparison) -> Option<Form> {
    macro_rules! brain {
        (|$a:ident, $b:ident| $body:expr) => {
            test!(|$a: bf16, $b: bf16| {
                let ($a, $b) = ($a.to_f32(), $b.to_f32());
                $body
            })
        };
    }
    Some(ordered!(comparison; brain))
}

/// `selp`, `slct` and `testp`.
pub fn select(opcode: &mut Opcode<'_>) -> Option<Form> {
    let ty = opcode.ty();
    match opcode.base {
        "selp" => {
            typed!(ty; U16 | S16 | B16 | F16 => u16, U32 | S32 | B32 | F32 | F16x2 => u32, U64 | S64 | B64 | F64 => u64;
            lanes!(|a: T, b: T; p| -> T { if p { a } else { b } }))
        }
        "slct" if opcode.types.get(1) == Some(&Type::F32) => {
            opcode.takes("ftz");
            typed!(ty; U16 | S16 | B16 => u16, U32 | S32 | B32 | F32 => u32, U64 | S64 | B64 | F64 => u64;
                lanes!(|a: T, b: T, c: f32| -> T { if c >= 0.0 { a } else { b } }))
        }
        "slct" => {
            typed!(ty; U16 | S16 | B16 => u16, U32 | S32 | B32 | F32 => u32, U64 | S64 | B64 | F64 => u64;
            lanes!(|a: T, b: T, c: i32| -> T { if c >= 0 { a } else { b } }))
        }
        "testp" => classify(opcode),
        _ => None,
    }
}

fn classify(opcode: &mut Opcode<'_>) -> Option<Form> {
    let ty = opcode.ty();
    if opcode.takes("finite") {
        typed!(ty; F32 => f32, F64 => f64; test!(|a: T| a.is_finite()))
    } else if opcode.takes("infinite") {
        typed!(ty; F32 => f32, F64 => f64; test!(|a: T| a.is_infinite()))
    } else if opcode.takes("number") {
        typed!(ty; F32 => f32, F64 => f64; test!(|a: T| !a.is_nan()))
    } else if opcode.takes("notanumber") {
        typed!(ty; F32 => f32, F64 => f64; test!(|a: T| a.is_nan()))
    } else if opcode.takes("normal") {
        typed!(ty; F32 => f32, F64 => f64; test!(|a: T| a.is_normal()))
    } else if opcode.takes("subnormal") {
        typed!(ty; F32 => f32, F64 => f64; test!(|a: T| a.is_subnormal()))
    } else {
        None
    }
}
