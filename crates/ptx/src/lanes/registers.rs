//! The register files of a warp.

use half::{bf16, f16};

use super::WARP;
use crate::syntax::types::Type;

/// A register: one value for each lane.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Lanes<T>(pub [T; WARP]);

/// Three files: up to 32 bits, 64 bits, and predicates with a bit for each lane.
#[derive(Clone, Debug, Default)]
pub struct Registers {
    pub narrow: Vec<Lanes<u32>>,
    pub wide: Vec<Lanes<u64>>,
    pub predicates: Vec<u32>,
}

impl Registers {
    /// Files of these sizes, all zeros.
    pub fn new(narrow: usize, wide: usize, predicates: usize) -> Registers {
        Registers {
            narrow: vec![Lanes([0; WARP]); narrow],
            wide: vec![Lanes([0; WARP]); wide],
            predicates: vec![0; predicates],
        }
    }
}

/// Which registers an instruction works on, by their numbers in their files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slots {
    /// The result.
    pub d: u32,
    /// Sources.
    pub a: u32,
    pub b: u32,
    pub c: u32,
    /// A predicate that is a source too.
    pub p: u32,
}

/// What a register holds in a lane, as a type to calculate with.
///
/// Types of less than 32 bits lie in the low bits of a narrow register. What is above is left over from
/// a sign or zeros, and cut off when it is read.
pub trait Lane: Copy {
    /// What it is to PTX.
    const TYPE: Type;
    /// What lies in the register.
    type Raw: Copy + Default;
    /// The value.
    fn load(raw: Self::Raw) -> Self;
    /// What goes into the register.
    fn store(self) -> Self::Raw;
    /// A register.
    fn row(registers: &Registers, slot: u32) -> &[Self::Raw; WARP];
    /// A register, to be written.
    fn row_mut(registers: &mut Registers, slot: u32) -> &mut [Self::Raw; WARP];

    /// Writes the lanes of the mask.
    #[inline(always)]
    fn put(registers: &mut Registers, slot: u32, values: &[Self::Raw; WARP], mask: u32) {
        let row = Self::row_mut(registers, slot);
        if mask == super::ALL {
            *row = *values;
            return;
        }
        for lane in 0..WARP {
            if mask >> lane & 1 != 0 {
                row[lane] = values[lane];
            }
        }
    }
}

macro_rules! lane {
    ($type:ty, $ptx:ident, $raw:ty, $file:ident, $load:expr, $store:expr) => {
        impl Lane for $type {
            const TYPE: Type = Type::$ptx;
            type Raw = $raw;
            #[inline(always)]
            fn load(raw: $raw) -> $type {
                let load: fn($raw) -> $type = $load;
                load(raw)
            }
            #[inline(always)]
            fn store(self) -> $raw {
                let store: fn($type) -> $raw = $store;
                store(self)
            }
            #[inline(always)]
            fn row(registers: &Registers, slot: u32) -> &[$raw; WARP] {
                &registers.$file[slot as usize].0
            }
            #[inline(always)]
            fn row_mut(registers: &mut Registers, slot: u32) -> &mut [$raw; WARP] {
                &mut registers.$file[slot as usize].0
            }
        }
    };
}

lane!(u8, U8, u32, narrow, |raw| raw as u8, u32::from);
lane!(i8, S8, u32, narrow, |raw| raw as i8, |value| value as u32);
lane!(u16, U16, u32, narrow, |raw| raw as u16, u32::from);
lane!(i16, S16, u32, narrow, |raw| raw as i16, |value| value
    as u32);
lane!(u32, U32, u32, narrow, |raw| raw, |value| value);
lane!(i32, S32, u32, narrow, |raw| raw as i32, |value| value
    as u32);
lane!(f32, F32, u32, narrow, f32::from_bits, f32::to_bits);
lane!(u64, U64, u64, wide, |raw| raw, |value| value);
lane!(i64, S64, u64, wide, |raw| raw as i64, |value| value as u64);
lane!(f64, F64, u64, wide, f64::from_bits, f64::to_bits);
lane!(
    f16,
    F16,
    u32,
    narrow,
    |raw| f16::from_bits(raw as u16),
    |value| u32::from(value.to_bits())
);
lane!(
    bf16,
    Bf16,
    u32,
    narrow,
    |raw| bf16::from_bits(raw as u16),
    |value| u32::from(value.to_bits())
);

/// A single as bits: compilers take one NaN for as good as another, and PTX has one only.
#[derive(Clone, Copy, Debug)]
pub struct Single(pub u32);

lane!(Single, F32, u32, narrow, Single, |value| value.0);

/// Predicates are written as a whole: a bit for each lane.
pub struct Predicate;

impl Predicate {
    /// What it is to PTX.
    pub const TYPE: Type = Type::Pred;

    /// Writes the lanes of the mask.
    #[inline(always)]
    pub fn put(registers: &mut Registers, slot: u32, bits: u32, mask: u32) {
        let predicate = &mut registers.predicates[slot as usize];
        *predicate = *predicate & !mask | bits & mask;
    }
}
