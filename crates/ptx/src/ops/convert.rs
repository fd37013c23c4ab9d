//! Forms of `cvt`: a conversion is a chain of steps, each of them a form with one source.

use half::{bf16, f16};

use super::half::{Half, NAN};

use super::float::{canonical, directed, flushed, saturate};
use super::opcode::{Opcode, Rounding};
use super::round;
use super::typed;
use crate::lanes::{Form, Single, Type};

/// The steps of a conversion.
pub fn find(opcode: &mut Opcode<'_>) -> Option<Vec<Form>> {
    let (to, from) = (*opcode.types.first()?, *opcode.types.get(1)?);
    let rounding = opcode.rounding();
    let integral = opcode.integer_rounding();
    let saturates = opcode.takes("sat");
    let ftz = opcode.takes("ftz");
    let mut steps = Vec::new();
    match (is_float(from)?, is_float(to)?) {
        (false, false) if saturates => {
            let full = at_full_width(&mut steps, from)?;
            steps.push(clamped(full, to)?);
        }
        (false, false) => steps.push(resized(from, to)?),
        (false, true) => {
            from_whole(&mut steps, from, to, rounding.unwrap_or(Rounding::Nearest))?;
        }
        (true, false) => {
            let from = widened(&mut steps, from, ftz)?;
            steps.push(made_whole(
                from,
                integral.or(rounding).unwrap_or(Rounding::Zero),
            )?);
            steps.push(cut(from, to)?);
        }
        (true, true) => {
            let from = widened(&mut steps, from, ftz)?;
            if let Some(rounding) = integral {
                steps.push(made_whole(from, rounding)?);
            }
            resize_float(&mut steps, from, to, rounding.unwrap_or(Rounding::Nearest))?;
            if ftz && to == Type::F32 {
                steps.push(lanes!(|a: f32| -> f32 { flushed(a) }));
            }
        }
    }
    if saturates && to.is_float() {
        steps.push(saturate(to)?);
    }
    Some(steps)
}

/// Whether a type is a float; none for pairs and predicates.
fn is_float(ty: Type) -> Option<bool> {
    (!matches!(ty, Type::Pred | Type::F16x2 | Type::Bf16x2)).then(|| ty.is_float())
}

macro_rules! whole_types {
    ($ty:expr; $form:expr) => {
        typed!($ty; U8 | B8 => u8, S8 => i8, U16 | B16 => u16, S16 => i16, U32 | B32 => u32, S32 => i32, U64 | B64 => u64, S64 => i64; $form)
    };
}

/// The low bits, or more of them.
fn resized(from: Type, to: Type) -> Option<Form> {
    match to {
        Type::U8 | Type::B8 => whole_types!(from; lanes!(|a: T| -> u8 { a as u8 })),
        Type::S8 => whole_types!(from; lanes!(|a: T| -> i8 { a as i8 })),
        Type::U16 | Type::B16 => whole_types!(from; lanes!(|a: T| -> u16 { a as u16 })),
        Type::S16 => whole_types!(from; lanes!(|a: T| -> i16 { a as i16 })),
        Type::U32 | Type::B32 => whole_types!(from; lanes!(|a: T| -> u32 { a as u32 })),
        // In a register of their own size, signs are not in the bits.
        Type::S32 => resized(from, Type::U32).map(|form| Form {
            result: Type::S32,
            ..form
        }),
        Type::U64 | Type::B64 => whole_types!(from; lanes!(|a: T| -> u64 { a as u64 })),
        Type::S64 => whole_types!(from; lanes!(|a: T| -> i64 { a as i64 })),
        _ => None,
    }
}

/// An integer as one of 64 bits, which holds it exactly. Returns the type it then has.
fn at_full_width(steps: &mut Vec<Form>, from: Type) -> Option<Type> {
    let full = if matches!(from, Type::U64 | Type::B64) {
        Type::U64
    } else {
        Type::S64
    };
    if from.size() < 8 {
        steps.push(resized(from, full)?);
    }
    Some(full)
}

/// The nearest value that there is, of a number of 64 bits.
#[allow(clippy::unnecessary_cast, reason = "for one of the types it is")]
fn clamped(from: Type, to: Type) -> Option<Form> {
    match from {
        Type::U64 => {
            typed!(to; U8 => u8, S8 => i8, U16 => u16, S16 => i16, U32 => u32, S32 => i32, U64 => u64, S64 => i64;
            lanes!(|a: u64| -> T { a.min(T::MAX as u64) as T }))
        }
        _ => {
            typed!(to; U8 => u8, S8 => i8, U16 => u16, S16 => i16, U32 => u32, S32 => i32, U64 => u64, S64 => i64;
            lanes!(|a: i64| -> T { i128::from(a).clamp(T::MIN as i128, T::MAX as i128) as T }))
        }
    }
}

fn from_whole(steps: &mut Vec<Form>, from: Type, to: Type, rounding: Rounding) -> Option<()> {
    let step = match (to, rounding) {
        (Type::F64, Rounding::Nearest) => whole_types!(from; lanes!(|a: T| -> f64 { a as f64 }))?,
        (Type::F32, Rounding::Nearest) => whole_types!(from; lanes!(|a: T| -> f32 { a as f32 }))?,
        // As a double, a number that fits into 53 bits is exact, and any other is infinite as a
        // half.
        (Type::F16, Rounding::Nearest) => {
            whole_types!(from; lanes!(|a: T| -> f16 { f16::from_bits(f16::nearest(a as f64)) }))?
        }
        (Type::Bf16, Rounding::Nearest) => {
            typed!(from; U8 => u8, S8 => i8, U16 => u16, S16 => i16, U32 => u32, S32 => i32;
            lanes!(|a: T| -> bf16 { bf16::from_bits(bf16::nearest(f64::from(a))) }))?
        }
        (Type::F64, _) => {
            let full = at_full_width(steps, from)?;
            directed!(rounding; WAY => {
                typed!(full; U64 => u64, S64 => i64; lanes!(|a: T| -> f64 { round::of_integer(i128::from(a), WAY) }))?
            })
        }
        (Type::F32, _) => {
            let full = at_full_width(steps, from)?;
            directed!(rounding; WAY => {
                typed!(full; U64 => u64, S64 => i64; lanes!(|a: T| -> f32 { round::of_integer32(i128::from(a), WAY) }))?
            })
        }
        _ => return None,
    };
    steps.push(step);
    Some(())
}

/// Halves as singles, which is exact. Returns the type they then have.
fn widened(steps: &mut Vec<Form>, from: Type, ftz: bool) -> Option<Type> {
    match from {
        Type::F16 => steps.push(lanes!(|a: f16| -> Single { canonical(a.to_f32()) })),
        Type::Bf16 => steps.push(lanes!(|a: bf16| -> Single { canonical(a.to_f32()) })),
        Type::F32 if ftz => steps.push(lanes!(|a: f32| -> f32 { flushed(a) })),
        Type::F32 | Type::F64 => {}
        _ => return None,
    }
    Some(if from == Type::F64 { from } else { Type::F32 })
}

fn made_whole(ty: Type, rounding: Rounding) -> Option<Form> {
    Some(match ty {
        Type::F32 => {
            directed!(rounding; WAY => lanes!(|a: f32| -> Single { canonical(round::integral(f64::from(a), WAY) as f32) }))
        }
        _ => directed!(rounding; WAY => lanes!(|a: f64| -> f64 { round::integral(a, WAY) })),
    })
}

/// An integer from a float that is one. Too large ones become the largest; a NaN becomes
/// zero, or, where 64 bits are involved, the number with only the highest bit.
fn cut(from: Type, to: Type) -> Option<Form> {
    match (from, to) {
        (Type::F32, Type::U64 | Type::B64) => Some(lanes!(|a: f32| -> u64 {
            if a.is_nan() { 1 << 63 } else { a as u64 }
        })),
        (Type::F32, Type::S64) => Some(lanes!(|a: f32| -> i64 {
            if a.is_nan() { i64::MIN } else { a as i64 }
        })),
        (Type::F32, _) => {
            typed!(to; U8 => u8, S8 => i8, U16 => u16, S16 => i16, U32 => u32, S32 => i32; lanes!(|a: f32| -> T { a as T }))
        }
        (_, _) => {
            typed!(to; U8 => u8, S8 => i8, U16 => u16, S16 => i16, U32 => u32, S32 => i32, U64 => u64, S64 => i64;
            lanes!(|a: f64| -> T { if a.is_nan() { ((1 as T) << (T::BITS - 1)) as T } else { a as T } }))
        }
    }
}

fn resize_float(steps: &mut Vec<Form>, from: Type, to: Type, rounding: Rounding) -> Option<()> {
    let is_nearest = rounding == Rounding::Nearest;
    match (from, to) {
        (Type::F32, Type::F32) => steps.push(lanes!(|a: f32| -> f32 { a })),
        (Type::F64, Type::F64) => steps.push(lanes!(|a: f64| -> f64 { a })),
        (Type::F32, Type::F64) => steps.push(lanes!(|a: f32| -> f64 { f64::from(a) })),
        (_, Type::F32) => steps.push(directed!(rounding; WAY => {
            lanes!(|a: f64| -> Single { canonical(round::narrow(a, 0.0, WAY)) })
        })),
        (Type::F32, Type::F16) if is_nearest => steps.push(lanes!(|a: f32| -> f16 {
            f16::from_bits(nearest::<f16>(a))
        })),
        (Type::F64, Type::F16) if is_nearest => {
            steps.push(lanes!(|a: f64| -> f16 { f16::from_bits(f16::nearest(a)) }))
        }
        (Type::F64, Type::Bf16) if is_nearest => steps.push(lanes!(|a: f64| -> bf16 {
            bf16::from_bits(bf16::nearest(a))
        })),
        (Type::F32, Type::Bf16) if is_nearest => steps.push(lanes!(|a: f32| -> bf16 {
            bf16::from_bits(nearest::<bf16>(a))
        })),
        (Type::F32, Type::F16) if rounding == Rounding::Zero => {
            steps.push(lanes!(|a: f32| -> f16 {
                f16::from_bits(f16_towards_zero(a))
            }))
        }
        (Type::F32, Type::Bf16) if rounding == Rounding::Zero => {
            steps.push(lanes!(|a: f32| -> bf16 {
                bf16::from_bits(bf16_towards_zero(a))
            }))
        }
        _ => return None,
    }
    Some(())
}

/// `cvt.rn.f16x2.f32` and the like: two singles as a pair, the first one in the high half; then
/// what `satfinite` and `relu` make of that.
pub fn pair(opcode: &mut Opcode<'_>) -> Option<Vec<Form>> {
    /// Two singles, each by a function that gives the bits of a half.
    macro_rules! halves {
        ($convert:path) => {
            lanes!(|a: f32, b: f32| -> u32 {
                u32::from($convert(b)) | u32::from($convert(a)) << 16
            })
        };
    }
    let ty = opcode.ty();
    let mut steps = vec![match (ty, opcode.rounding()?) {
        (Type::F16x2, Rounding::Nearest) => halves!(nearest::<f16>),
        (Type::Bf16x2, Rounding::Nearest) => halves!(nearest::<bf16>),
        (Type::F16x2, Rounding::Zero) => halves!(f16_towards_zero),
        (Type::Bf16x2, Rounding::Zero) => halves!(bf16_towards_zero),
        _ => return None,
    }];
    if opcode.takes("satfinite") {
        steps.push(match ty {
            Type::F16x2 => lanes!(|a: u32| -> u32 { each_half(a, |half| finite(half, 0x7c00)) }),
            _ => lanes!(|a: u32| -> u32 { each_half(a, |half| finite(half, 0x7f80)) }),
        });
    }
    if opcode.takes("relu") {
        steps.push(lanes!(|a: u32| -> u32 {
            each_half(a, |half| half & !((half as i16) >> 15) as u16)
        }));
    }
    Some(steps)
}

#[inline(always)]
fn each_half(pair: u32, change: impl Fn(u16) -> u16) -> u32 {
    u32::from(change(pair as u16)) | u32::from(change((pair >> 16) as u16)) << 16
}

/// The bits of a half, those of the largest number if they were infinity's.
#[inline(always)]
fn finite(bits: u16, infinity: u16) -> u16 {
    bits - u16::from(bits & 0x7fff == infinity)
}

/// The bits of the half that is nearest to a single.
#[inline(always)]
fn nearest<H: Half>(number: f32) -> u16 {
    if number.is_nan() {
        NAN
    } else {
        H::nearest_single(number)
    }
}

/// The bits of the nearest half among those that are not farther from zero.
#[inline(always)]
fn f16_towards_zero(number: f32) -> u16 {
    if number.is_nan() {
        return NAN;
    }
    let near = f16::from_f32(number);
    // One step back, if that was too far; the largest one comes before infinity.
    let is_beyond = near.to_f32().abs() > number.abs();
    near.to_bits() - u16::from(is_beyond)
}

/// The bits of a single without the low ones: not farther from zero.
#[inline(always)]
fn bf16_towards_zero(number: f32) -> u16 {
    if number.is_nan() {
        NAN
    } else {
        (number.to_bits() >> 16) as u16
    }
}

/// `cvt.pack`: two integers, each clamped to a few bits, and before them the low bits of a third.
/// The first source comes before the second one.
pub fn packed(opcode: &mut Opcode<'_>) -> Option<Form> {
    macro_rules! of_bits {
        ($bits:literal, $signed:literal) => {
            lanes!(|a: i32, b: i32, c: u32| -> u32 {
                let [a, b] = [a, b].map(|number| {
                    let (low, high) = if $signed {
                        (-(1i32 << ($bits - 1)), (1i32 << ($bits - 1)) - 1)
                    } else {
                        (0, (1i32 << $bits) - 1)
                    };
                    number.clamp(low, high) as u32 & ((1 << $bits) - 1)
                });
                (u64::from(c) << (2 * $bits)) as u32 | a << $bits | b
            })
        };
    }
    if !opcode.takes("pack") || !opcode.takes("sat") || !opcode.types.contains(&Type::S32) {
        return None;
    }
    let name = match opcode.types.first()? {
        Type::S32 => opcode.take(|word| {
            ["s4", "u4", "s2", "u2"]
                .into_iter()
                .find(|name| *name == word)
        })?,
        small => small.name(),
    };
    Some(match name {
        "s16" => of_bits!(16, true),
        "u16" => of_bits!(16, false),
        "s8" => of_bits!(8, true),
        "u8" => of_bits!(8, false),
        "s4" => of_bits!(4, true),
        "u4" => of_bits!(4, false),
        "s2" => of_bits!(2, true),
        "u2" => of_bits!(2, false),
        _ => return None,
    })
}

/// `cvt.rna.tf32.f32` and `cvt.rn.tf32.f32`: a single whose low 13 bits are zero, ties away from
/// zero or to even.
pub fn short(away: bool) -> Form {
    if away {
        lanes!(|a: u32| -> u32 { shortened(a, 0x1000) })
    } else {
        lanes!(|a: u32| -> u32 { shortened(a, 0xfff + (a >> 13 & 1)) })
    }
}

/// With what is added for rounding. Infinity stays, and all that is no number becomes the same.
#[inline(always)]
fn shortened(bits: u32, half: u32) -> u32 {
    match bits & 0x7fff_ffff {
        0x7f80_0000 => bits,
        size if size > 0x7f80_0000 => 0x7fff_ffff,
        _ => (bits + half) & !0x1fff,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_cut_towards_zero() {
        let cut = |number: f32| f16::from_bits(f16_towards_zero(number)).to_f32();
        assert_eq!((cut(2049.9), cut(-2049.9)), (2048.0, -2048.0));
        assert_eq!((cut(65535.0), cut(1e30)), (65504.0, 65504.0));
        assert_eq!((cut(1e-9), cut(-1.0)), (0.0, -1.0));
    }

    #[test]
    fn short_floats_round_as_asked() {
        let one = 1f32.to_bits();
        assert_eq!(
            shortened(one + 0x1000, 0x1000),
            one + 0x2000,
            "a tie, away from zero"
        );
        assert_eq!(shortened(one + 0xfff, 0x1000), one);
        let even = |bits: u32| shortened(bits, 0xfff + (bits >> 13 & 1));
        assert_eq!(
            (even(one + 0x1000), even(one + 0x3000)),
            (one, one + 0x4000)
        );
        assert_eq!(shortened(0xff80_0000, 0x1000), 0xff80_0000);
        assert_eq!(shortened(0x7fa0_0000, 0x1000), 0x7fff_ffff);
    }
}
