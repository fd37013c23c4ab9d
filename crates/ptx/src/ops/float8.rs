//! Forms of `cvt` on pairs of floats of 8 bits: `e4m3`, whose largest number is 448 and which has
//! no infinity, and `e5m2`, the upper half of an `f16`. Pairs are in registers of 16 bits.

use half::f16;

use super::half::NAN;
use super::opcode::Opcode;
use crate::lanes::{Form, Type};

/// A format of floats of 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Float8 {
    E4m3,
    E5m2,
}

use Float8::{E4m3, E5m2};

impl Float8 {
    /// The format called so: `e4m3`.
    pub fn named(name: &str) -> Option<Float8> {
        match name {
            "e4m3" => Some(E4m3),
            "e5m2" => Some(E5m2),
            _ => None,
        }
    }

    /// Bits of the fraction, and the exponent of the smallest normal number.
    #[inline(always)]
    fn format(self) -> (i32, i32) {
        match self {
            E4m3 => (3, -6),
            E5m2 => (2, -14),
        }
    }

    /// The bits of the largest number.
    #[inline(always)]
    fn largest(self) -> u8 {
        match self {
            E4m3 => 0x7e,
            E5m2 => 0x7b,
        }
    }

    /// The bits of the `f16` of the same value; there is one.
    #[inline(always)]
    pub fn widened(self, bits: u8) -> u16 {
        let sign = u16::from(bits & 0x80) << 8;
        let size = bits & 0x7f;
        match self {
            E5m2 if size > 0x7c => NAN,
            E5m2 => u16::from(bits) << 8,
            E4m3 if size == 0x7f => NAN,
            // As an `f16` with an exponent that is too small by 8.
            E4m3 => {
                let scaled = f16::from_bits(u16::from(size) << 7);
                sign | f16::from_f32(scaled.to_f32() * 256.0).to_bits()
            }
        }
    }

    /// The bits of the nearest number, ties to even; the largest one for all that is larger.
    #[inline(always)]
    fn nearest(self, number: f32) -> u8 {
        if number.is_nan() {
            return 0x7f;
        }
        let (fraction, least) = self.format();
        let size = f64::from(number.abs());
        let exponent = (((size.to_bits() >> 52) as i32) - 1023).max(least);
        // Steps of the last bit; zero and denormal numbers have the least exponent.
        let step = f64::from_bits(((1023 + exponent - fraction) as u64) << 52);
        let steps = (size / step).round_ties_even();
        let bits = steps + f64::from((exponent - least) << fraction);
        let bits = bits.min(f64::from(self.largest())) as u8;
        bits | if number.is_sign_negative() { 0x80 } else { 0 }
    }

    /// Two of them, the first in the low byte; negative ones as zero if that is asked for.
    #[inline(always)]
    fn pair(self, low: f32, high: f32, clamps: bool) -> u16 {
        let one = |number: f32| {
            let bits = self.nearest(number);
            if clamps && bits & 0x80 != 0 { 0 } else { bits }
        };
        u16::from(one(low)) | u16::from(one(high)) << 8
    }
}

/// `cvt.rn.satfinite.e4m3x2.f32 d, a, b`, of which `a` is the high byte; `….f16x2 d, a`; and back:
/// `cvt.rn.f16x2.e4m3x2 d, a`.
pub fn pairs(opcode: &mut Opcode<'_>) -> Option<Form> {
    let format = opcode.take(|word| Float8::named(word.strip_suffix("x2")?))?;
    let clamps = opcode.takes("relu");
    if !opcode.takes("rn") {
        return None;
    }
    let narrows = opcode.takes("satfinite");
    macro_rules! of {
        ($($format:ident, $clamps:literal;)*) => {
            match (opcode.types[..].first()?, opcode.types.len(), narrows, format, clamps) {
                $(
                    (Type::F32, 1, true, $format, $clamps) => {
                        lanes!(|a: f32, b: f32| -> u16 { $format.pair(b, a, $clamps) })
                    }
                    (Type::F16x2, 1, true, $format, $clamps) => lanes!(|a: u32| -> u16 {
                        let half = |bits: u32| f16::from_bits(bits as u16).to_f32();
                        $format.pair(half(a), half(a >> 16), $clamps)
                    }),
                    (Type::F16x2, 1, false, $format, $clamps) => lanes!(|a: u16| -> u32 {
                        let half = |bits: u16| {
                            let half = $format.widened(bits as u8);
                            if $clamps && half & 0x8000 != 0 { 0 } else { u32::from(half) }
                        };
                        half(a) | half(a >> 8) << 16
                    }),
                )*
                _ => return None,
            }
        };
    }
    Some(of! { E4m3, false; E4m3, true; E5m2, false; E5m2, true; })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(format: Float8, bits: u8) -> f32 {
        f16::from_bits(format.widened(bits)).to_f32()
    }

    #[test]
    fn values_are_those_of_the_open_compute_project() {
        // OCP 8-bit Floating Point Specification, table 2.
        let cases = [
            (E4m3, 0x7e, 448.0),
            (E4m3, 0x08, 2f32.powi(-6)),
            (E4m3, 0x07, 0.875 * 2f32.powi(-6)),
            (E4m3, 0x81, -2f32.powi(-9)),
            (E5m2, 0x7b, 57344.0),
            (E5m2, 0x04, 2f32.powi(-14)),
            (E5m2, 0x03, 0.75 * 2f32.powi(-14)),
            (E5m2, 0x81, -2f32.powi(-16)),
            (E5m2, 0x7c, f32::INFINITY),
        ];
        for (format, bits, wanted) in cases {
            assert_eq!(value(format, bits), wanted, "{format:?} {bits:#x}");
        }
        assert!(value(E4m3, 0xff).is_nan() && value(E5m2, 0x7d).is_nan());
    }

    #[test]
    fn nearest_is_that_of_all_numbers() {
        for format in [E4m3, E5m2] {
            let all: Vec<f64> = (0..=format.largest())
                .map(|bits| f64::from(value(format, bits)))
                .collect();
            let check = |number: f32| {
                let largest = all[usize::from(format.largest())];
                let size = f64::from(number.abs()).min(largest);
                let far = |bits: &u8| (all[usize::from(*bits)] - size).abs();
                let least = (0..=format.largest())
                    .min_by(|a, b| far(a).total_cmp(&far(b)).then((a & 1).cmp(&(b & 1))));
                let sign = if number.is_sign_negative() { 0x80 } else { 0 };
                assert_eq!(
                    format.nearest(number),
                    least.unwrap() | sign,
                    "{format:?} {number}"
                );
            };
            // All numbers, the middles between them, and their neighbours.
            for pair in all.windows(2) {
                let middle = ((pair[0] + pair[1]) / 2.0) as f32;
                for number in [pair[0] as f32, middle, middle.next_up(), middle.next_down()] {
                    check(number);
                    check(-number);
                }
            }
            for number in [f32::INFINITY, 1e30, f32::MIN_POSITIVE, 1e-45, 460.0, 6e4] {
                check(number);
                check(-number);
            }
            assert_eq!(format.nearest(f32::NAN), 0x7f);
        }
    }
}
