//! [`Registers`]: the register files of a warp, one for values of up to 32 bits, one for 64 bits
//! and one for predicates. [`Lane`] says how each type of PTX is held in a register.

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
/// Types of less than 32 bits are in the low bits of a narrow register. What is above is left over
/// from a sign or zeros, and cut off when it is read.
pub trait Lane: Copy {
    /// What it is to PTX.
    const TYPE: Type;
    /// What is in the register.
    type Raw: LaneValue;
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
        Self::Raw::merge(row, values, mask);
    }
}

/// What a lane of a register file holds.
pub trait LaneValue: Copy + Default {
    /// Overwrites the lanes of the mask in a row.
    fn merge(row: &mut [Self; WARP], values: &[Self; WARP], mask: u32);
}

/// Every lane is written: with its old value where the mask has a zero, and by bits, not by a
/// condition. A condition becomes 32 tests and branches, 900 bytes in the loop of each instruction;
/// this becomes masked stores on AVX-512 (40 bytes) and a few vector instructions elsewhere. The
/// bits are a table because SSE2 cannot shift each lane by a number of its own.
macro_rules! raw {
    ($raw:ty) => {
        impl LaneValue for $raw {
            #[inline(always)]
            fn merge(row: &mut [$raw; WARP], values: &[$raw; WARP], mask: u32) {
                const BITS: [$raw; WARP] = {
                    let mut bits = [0; WARP];
                    let mut lane = 0;
                    while lane < WARP {
                        bits[lane] = 1 << lane;
                        lane += 1;
                    }
                    bits
                };
                let mask = <$raw>::from(mask);
                for lane in 0..WARP {
                    let chosen = match mask & BITS[lane] {
                        0 => 0,
                        _ => <$raw>::MAX,
                    };
                    row[lane] = values[lane] & chosen | row[lane] & !chosen;
                }
            }
        }
    };
}

raw!(u32);
raw!(u64);

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

/// A predicate: all lanes in one number, a bit for each.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn put_writes_the_lanes_of_the_mask_and_no_others() {
        let narrow: [u32; WARP] = std::array::from_fn(|lane| 1000 + lane as u32);
        let wide: [u64; WARP] = std::array::from_fn(|lane| u64::MAX - lane as u64);
        for mask in [0, 1, 1 << 31, 0x8000_0001, 0x0f0f_3355, !1, u32::MAX] {
            let mut registers = Registers::new(1, 1, 0);
            registers.narrow[0].0.fill(7);
            registers.wide[0].0.fill(9);
            u32::put(&mut registers, 0, &narrow, mask);
            i64::put(&mut registers, 0, &wide, mask);
            for lane in 0..WARP {
                let (low, high) = match mask >> lane & 1 {
                    0 => (7, 9),
                    _ => (narrow[lane], wide[lane]),
                };
                assert_eq!(registers.narrow[0].0[lane], low, "{mask:x} {lane}");
                assert_eq!(registers.wide[0].0[lane], high, "{mask:x} {lane}");
            }
        }
    }
}
