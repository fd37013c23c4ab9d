//! Forms of instructions on floats of 16 bits (`f16`, `bf16`), one or a pair in a register.
//!
//! Sums and products of halves are exact in 64 bits, or so nearly that rounding them is the same as
//! rounding once.

use half::{bf16, f16};

use super::opcode::Opcode;
use crate::lanes::{Form, Type};

/// A number without a value, as GPUs write it.
pub const NAN: u16 = 0x7fff;

/// A float of 16 bits.
pub trait Half: Copy {
    fn of(bits: u16) -> Self;
    fn number(self) -> f64;
    /// The bits of the nearest one.
    fn nearest(number: f64) -> u16;
    /// The bits of the one that is nearest to a single.
    fn nearest_single(number: f32) -> u16;
}

impl Half for f16 {
    #[inline(always)]
    fn of(bits: u16) -> f16 {
        f16::from_bits(bits)
    }

    #[inline(always)]
    fn number(self) -> f64 {
        self.to_f64()
    }

    #[inline(always)]
    fn nearest(number: f64) -> u16 {
        f16::from_f32(to_odd(number)).to_bits()
    }

    #[inline(always)]
    fn nearest_single(number: f32) -> u16 {
        f16::from_f32(number).to_bits()
    }
}

impl Half for bf16 {
    #[inline(always)]
    fn of(bits: u16) -> bf16 {
        bf16::from_bits(bits)
    }

    #[inline(always)]
    fn number(self) -> f64 {
        self.to_f64()
    }

    #[inline(always)]
    fn nearest(number: f64) -> u16 {
        bf16::from_f32(to_odd(number)).to_bits()
    }

    #[inline(always)]
    fn nearest_single(number: f32) -> u16 {
        bf16::from_f32(number).to_bits()
    }
}

/// A double as a single that keeps, in its lowest bit, whether anything was cut off: rounding it
/// again gives what rounding the double once gives (Boldo and Melquiond, *Emulation of a FMA and
/// Correctly Rounded Sums*, 2008).
#[inline(always)]
fn to_odd(number: f64) -> f32 {
    let near = number as f32;
    let back = f64::from(near);
    if back == number || number.is_nan() {
        return near;
    }
    let cut = near.to_bits() - u32::from(back.abs() > number.abs());
    f32::from_bits(cut | 1)
}

/// The form for one number in a register.
macro_rules! single {
    ($half:ty, $base:expr, $keeps_nan:expr) => {
        Some(match ($base, $keeps_nan) {
            ("add", _) => lanes!(|a: u16, b: u16| -> u16 { sum::<$half>(a, b) }),
            ("sub", _) => lanes!(|a: u16, b: u16| -> u16 { sum::<$half>(a, b ^ 0x8000) }),
            ("mul", _) => lanes!(|a: u16, b: u16| -> u16 { product::<$half>(a, b) }),
            ("fma", _) => {
                lanes!(|a: u16, b: u16, c: u16| -> u16 { fused::<$half>(a, b, c) })
            }
            ("min", false) => lanes!(|a: u16, b: u16| -> u16 { least::<$half>(a, b) }),
            ("max", false) => lanes!(|a: u16, b: u16| -> u16 { greatest::<$half>(a, b) }),
            ("min", true) => {
                lanes!(|a: u16, b: u16| -> u16 { or_nan::<$half>(a, b, least::<$half>(a, b)) })
            }
            ("max", true) => {
                lanes!(|a: u16, b: u16| -> u16 { or_nan::<$half>(a, b, greatest::<$half>(a, b)) })
            }
            _ => return None,
        })
    };
}

/// The form for two numbers in a register.
macro_rules! pair {
    ($half:ty, $base:expr, $keeps_nan:expr) => {
        Some(match ($base, $keeps_nan) {
            ("add", _) => {
                lanes!(|a: u32, b: u32| -> u32 { both(a, b, 0, |a, b, _| sum::<$half>(a, b)) })
            }
            ("sub", _) => lanes!(|a: u32, b: u32| -> u32 {
                both(a, b, 0, |a, b, _| sum::<$half>(a, b ^ 0x8000))
            }),
            ("mul", _) => {
                lanes!(|a: u32, b: u32| -> u32 { both(a, b, 0, |a, b, _| product::<$half>(a, b)) })
            }
            ("fma", _) => {
                lanes!(|a: u32, b: u32, c: u32| -> u32 { both(a, b, c, fused::<$half>) })
            }
            ("min", false) => {
                lanes!(|a: u32, b: u32| -> u32 { both(a, b, 0, |a, b, _| least::<$half>(a, b)) })
            }
            ("max", false) => {
                lanes!(|a: u32, b: u32| -> u32 { both(a, b, 0, |a, b, _| greatest::<$half>(a, b)) })
            }
            ("min", true) => lanes!(|a: u32, b: u32| -> u32 {
                both(a, b, 0, |a, b, _| {
                    or_nan::<$half>(a, b, least::<$half>(a, b))
                })
            }),
            ("max", true) => lanes!(|a: u32, b: u32| -> u32 {
                both(a, b, 0, |a, b, _| {
                    or_nan::<$half>(a, b, greatest::<$half>(a, b))
                })
            }),
            _ => return None,
        })
    };
}

/// The forms of an instruction, one after the other.
pub fn find(opcode: &mut Opcode<'_>) -> Option<Vec<Form>> {
    opcode.takes("rn");
    let (saturates, relu) = (opcode.takes("sat"), opcode.takes("relu"));
    let keeps_nan = opcode.takes("NaN");
    let is_sum = matches!(opcode.base, "add" | "sub" | "mul" | "fma");
    let is_extremum = matches!(opcode.base, "min" | "max");
    if saturates && (relu || !is_sum) || relu && !is_sum || keeps_nan && !is_extremum {
        return None;
    }
    let base = opcode.base;
    let is_pair = matches!(opcode.ty(), Type::F16x2 | Type::Bf16x2);
    let simple = if is_pair {
        pair_signs(base)
    } else {
        signs(base)
    };
    let form = simple.or_else(|| match opcode.ty() {
        Type::F16 => single!(f16, base, keeps_nan),
        Type::Bf16 => single!(bf16, base, keeps_nan),
        Type::F16x2 => pair!(f16, base, keeps_nan),
        Type::Bf16x2 => pair!(bf16, base, keeps_nan),
        _ => None,
    });
    let mut forms = vec![form?];
    match (opcode.ty(), saturates, relu) {
        (_, false, false) => {}
        (Type::F16, true, _) => forms.push(lanes!(|a: u16| -> u16 { unit::<f16>(a) })),
        (Type::Bf16, true, _) => forms.push(lanes!(|a: u16| -> u16 { unit::<bf16>(a) })),
        (Type::F16x2, true, _) => {
            forms.push(lanes!(|a: u32| -> u32 {
                both(a, 0, 0, |a, _, _| unit::<f16>(a))
            }));
        }
        (_, true, _) => {
            forms.push(lanes!(|a: u32| -> u32 {
                both(a, 0, 0, |a, _, _| unit::<bf16>(a))
            }));
        }
        (_, false, true) if is_pair => {
            forms.push(lanes!(|a: u32| -> u32 {
                both(a, 0, 0, |a, _, _| positive(a))
            }));
        }
        (_, false, true) => forms.push(lanes!(|a: u16| -> u16 { positive(a) })),
    }
    Some(forms)
}

fn signs(base: &str) -> Option<Form> {
    Some(match base {
        "mov" => lanes!(|a: u16| -> u16 { a }),
        "neg" => lanes!(|a: u16| -> u16 { a ^ 0x8000 }),
        "abs" => lanes!(|a: u16| -> u16 { a & 0x7fff }),
        _ => return None,
    })
}

fn pair_signs(base: &str) -> Option<Form> {
    Some(match base {
        "mov" => lanes!(|a: u32| -> u32 { a }),
        "neg" => lanes!(|a: u32| -> u32 { a ^ 0x8000_8000 }),
        "abs" => lanes!(|a: u32| -> u32 { a & 0x7fff_7fff }),
        _ => return None,
    })
}

#[inline(always)]
fn rounded<H: Half>(number: f64) -> u16 {
    if number.is_nan() {
        NAN
    } else {
        H::nearest(number)
    }
}

#[inline(always)]
fn sum<H: Half>(a: u16, b: u16) -> u16 {
    rounded::<H>(H::of(a).number() + H::of(b).number())
}

#[inline(always)]
fn product<H: Half>(a: u16, b: u16) -> u16 {
    rounded::<H>(H::of(a).number() * H::of(b).number())
}

#[inline(always)]
fn fused<H: Half>(a: u16, b: u16, c: u16) -> u16 {
    rounded::<H>(
        H::of(a)
            .number()
            .mul_add(H::of(b).number(), H::of(c).number()),
    )
}

/// Of a number and a NaN the number; the negative zero is the lesser one.
#[inline(always)]
fn least<H: Half>(a: u16, b: u16) -> u16 {
    let (x, y) = (H::of(a).number(), H::of(b).number());
    match (x.is_nan(), y.is_nan()) {
        (true, true) => NAN,
        (true, false) => b,
        (false, true) => a,
        _ if x < y || x == y && a & 0x8000 != 0 => a,
        _ => b,
    }
}

#[inline(always)]
fn greatest<H: Half>(a: u16, b: u16) -> u16 {
    match least::<H>(a ^ 0x8000, b ^ 0x8000) {
        NAN => NAN,
        bits => bits ^ 0x8000,
    }
}

/// The number, or a NaN if one of its sources is one.
#[inline(always)]
fn or_nan<H: Half>(a: u16, b: u16, number: u16) -> u16 {
    let is_nan = H::of(a).number().is_nan() || H::of(b).number().is_nan();
    if is_nan { NAN } else { number }
}

/// From 0 to 1; a NaN becomes 0.
#[inline(always)]
fn unit<H: Half>(a: u16) -> u16 {
    let number = H::of(a).number();
    if number >= 0.0 {
        H::nearest(number.min(1.0) + 0.0)
    } else {
        0
    }
}

/// Not below 0. A NaN has no sign here.
#[inline(always)]
fn positive(a: u16) -> u16 {
    if a & 0x8000 != 0 { 0 } else { a }
}

#[inline(always)]
fn both(a: u32, b: u32, c: u32, function: fn(u16, u16, u16) -> u16) -> u32 {
    let low = function(a as u16, b as u16, c as u16);
    let high = function((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16);
    u32::from(low) | u32::from(high) << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_rounded_once() {
        let (tie, bit) = (2f64.powi(-11), 2f64.powi(-40));
        assert_eq!(f16::nearest(1.0 + tie), 0x3c00, "to even");
        assert_eq!(f16::nearest(1.0 + tie + bit), 0x3c01, "above the tie");
        assert_eq!(f16::nearest(-(1.0 + tie + bit)), 0xbc01);
        assert_eq!(
            f16::nearest(1.0 + 3.0 * tie - bit),
            0x3c01,
            "below the next tie"
        );
        assert_eq!(bf16::nearest(1.0 + 2f64.powi(-8) + bit), 0x3f81);
        assert_eq!(bf16::nearest(1.0 + 2f64.powi(-8)), 0x3f80);
        assert_eq!(f16::nearest(1e300), 0x7c00);
        assert_eq!(
            f16::nearest(2f64.powi(-25) + 2f64.powi(-60)),
            1,
            "the least one"
        );
        assert_eq!(f16::nearest(2f64.powi(-25)), 0);
        for bits in 0..=u16::MAX {
            let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
            if !half.is_nan() {
                assert_eq!(f16::nearest(half.to_f64()), bits);
            }
            if !brain.is_nan() {
                assert_eq!(bf16::nearest(brain.to_f64()), bits);
            }
        }
    }

    #[test]
    fn extrema_prefer_numbers_to_nans() {
        let (one, two, zero, minus_zero) = (0x3c00, 0x4000, 0, 0x8000);
        assert_eq!(least::<f16>(one, two), one);
        assert_eq!(greatest::<f16>(one, two), two);
        assert_eq!(least::<f16>(0x7e00, two), two);
        assert_eq!(greatest::<f16>(one, 0xfe00), one);
        assert_eq!(least::<f16>(0x7e00, 0xfe01), NAN);
        assert_eq!(greatest::<f16>(0x7e00, 0xfe01), NAN);
        assert_eq!(least::<f16>(zero, minus_zero), minus_zero);
        assert_eq!(greatest::<f16>(minus_zero, zero), zero);
        assert_eq!(or_nan::<f16>(one, 0x7e00, one), NAN);
        assert_eq!(
            (unit::<f16>(two), unit::<f16>(0xbc00), unit::<f16>(0x7e00)),
            (one, 0, 0)
        );
        assert_eq!((positive(0xbc00), positive(one)), (0, one));
    }
}
