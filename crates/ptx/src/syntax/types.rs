//! The scalar types ([`Type`]) and state spaces ([`StateSpace`]) of PTX, with their names and
//! sizes.

/// A fundamental type of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Type {
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    Pred,
}

use Type::*;

impl Type {
    /// All of them.
    pub const ALL: [Type; 19] = [
        B8, B16, B32, B64, U8, U16, U32, U64, S8, S16, S32, S64, F16, F16x2, Bf16, Bf16x2, F32,
        F64, Pred,
    ];

    /// The type called so, without its dot.
    pub fn named(name: &str) -> Option<Type> {
        Type::ALL.into_iter().find(|ty| ty.name() == name)
    }

    /// What it is called, without the dot.
    pub fn name(self) -> &'static str {
        match self {
            B8 => "b8",
            B16 => "b16",
            B32 => "b32",
            B64 => "b64",
            U8 => "u8",
            U16 => "u16",
            U32 => "u32",
            U64 => "u64",
            S8 => "s8",
            S16 => "s16",
            S32 => "s32",
            S64 => "s64",
            F16 => "f16",
            F16x2 => "f16x2",
            Bf16 => "bf16",
            Bf16x2 => "bf16x2",
            F32 => "f32",
            F64 => "f64",
            Pred => "pred",
        }
    }

    /// Size in bytes; a predicate counts as one.
    pub fn size(self) -> u8 {
        match self {
            B8 | U8 | S8 | Pred => 1,
            B16 | U16 | S16 | F16 | Bf16 => 2,
            B32 | U32 | S32 | F32 | F16x2 | Bf16x2 => 4,
            B64 | U64 | S64 | F64 => 8,
        }
    }

    /// Whether it is a signed integer.
    pub fn is_signed(self) -> bool {
        matches!(self, S8 | S16 | S32 | S64)
    }

    /// Whether it is a floating-point number.
    pub fn is_float(self) -> bool {
        matches!(self, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64)
    }
}

/// The memory that a variable is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateSpace {
    /// Memory of the device.
    Global,
    /// Constants of the module.
    Const,
    /// Memory of a block.
    Shared,
    /// Memory of a thread.
    Local,
    /// Parameters of a kernel or a function.
    Param,
}

impl StateSpace {
    /// The space of a directive or a modifier, without its dot.
    pub fn named(name: &str) -> Option<StateSpace> {
        Some(match name {
            "global" => StateSpace::Global,
            "const" => StateSpace::Const,
            "shared" | "shared::cta" => StateSpace::Shared,
            "local" => StateSpace::Local,
            "param" | "param::entry" | "param::func" => StateSpace::Param,
            _ => return None,
        })
    }
}
