//! Forms of instructions on floats of 32 and 64 bits.
//!
//! Results of 32 bits that are NaN are PTX's one NaN, 0x7fffffff. What PTX calls approximate is
//! calculated in 64 bits and rounded: no farther off than PTX allows, and the same on every
//! machine.

use super::opcode::{Opcode, Rounding};
use super::round;
use super::typed;
use crate::lanes::{Form, Single, Type};

/// `single!(ftz; |a, b| a + b)`: with subnormal numbers flushed to zero, or not.
macro_rules! single {
    ($ftz:expr; |$($x:ident),+| $body:expr) => {
        if $ftz {
            lanes!(|$($x: f32),+| -> Single {
                $(let $x = flushed($x);)+
                canonical(flushed($body))
            })
        } else {
            lanes!(|$($x: f32),+| -> Single { canonical($body) })
        }
    };
}

/// A form for each direction; `$way` stands for it.
macro_rules! directed {
    ($rounding:expr; $way:ident => $form:expr) => {
        match $rounding {
            Rounding::Nearest => {
                const $way: Rounding = Rounding::Nearest;
                $form
            }
            Rounding::Zero => {
                const $way: Rounding = Rounding::Zero;
                $form
            }
            Rounding::Down => {
                const $way: Rounding = Rounding::Down;
                $form
            }
            Rounding::Up => {
                const $way: Rounding = Rounding::Up;
                $form
            }
        }
    };
}

pub(super) use directed;

/// PTX's NaN of a single.
pub const NAN: f32 = f32::from_bits(0x7fff_ffff);

/// The bits of a single, with any NaN as [`NAN`].
#[inline(always)]
pub fn canonical(value: f32) -> Single {
    let bits = value.to_bits();
    let is_nan = bits & 0x7fff_ffff > 0x7f80_0000;
    Single(if is_nan { 0x7fff_ffff } else { bits })
}

/// Subnormal numbers become zeros of their sign.
#[inline(always)]
pub fn flushed(value: f32) -> f32 {
    if value.abs() < f32::MIN_POSITIVE {
        0.0f32.copysign(value)
    } else {
        value
    }
}

pub fn find(opcode: &mut Opcode<'_>) -> Option<Vec<Form>> {
    let ty = opcode.ty();
    let ftz = opcode.takes("ftz");
    let form = if ty == Type::F32 {
        singles(opcode, ftz)
    } else {
        doubles(opcode)
    }?;
    let mut forms = vec![form];
    if opcode.takes("sat") {
        forms.push(saturate(ty)?);
    }
    Some(forms)
}

/// Into 0 … 1; a NaN becomes 0.
pub fn saturate(ty: Type) -> Option<Form> {
    typed!(ty; F32 => f32, F64 => f64; lanes!(|a: T| -> T { if a > 0.0 { a.min(1.0) } else { 0.0 } }))
}

fn singles(opcode: &mut Opcode<'_>, ftz: bool) -> Option<Form> {
    let approximate = opcode.takes("approx") || opcode.takes("full");
    let rounding = opcode.rounding().unwrap_or(Rounding::Nearest);
    if rounding != Rounding::Nearest {
        return directed_single(opcode.base, rounding, ftz);
    }
    Some(match opcode.base {
        "mov" => lanes!(|a: u32| -> u32 { a }),
        "add" => single!(ftz; |a, b| a + b),
        "sub" => single!(ftz; |a, b| a - b),
        "mul" => single!(ftz; |a, b| a * b),
        "fma" | "mad" => single!(ftz; |a, b, c| a.mul_add(b, c)),
        "div" => single!(ftz; |a, b| a / b),
        "rcp" => single!(ftz; |a| 1.0 / a),
        "sqrt" => single!(ftz; |a| a.sqrt()),
        "neg" => {
            if ftz {
                lanes!(|a: f32| -> f32 { -flushed(a) })
            } else {
                lanes!(|a: f32| -> f32 { -a })
            }
        }
        "abs" => {
            if ftz {
                lanes!(|a: f32| -> f32 { flushed(a).abs() })
            } else {
                lanes!(|a: f32| -> f32 { a.abs() })
            }
        }
        "min" | "max" => extreme(opcode, ftz),
        "copysign" => lanes!(|a: f32, b: f32| -> f32 { b.copysign(a) }),
        "rsqrt" if approximate => single!(ftz; |a| (1.0 / f64::from(a).sqrt()) as f32),
        "sin" if approximate => single!(ftz; |a| libm::sin(f64::from(a)) as f32),
        "cos" if approximate => single!(ftz; |a| libm::cos(f64::from(a)) as f32),
        "ex2" if approximate => single!(ftz; |a| libm::exp2(f64::from(a)) as f32),
        "lg2" if approximate => single!(ftz; |a| libm::log2(f64::from(a)) as f32),
        "tanh" if approximate => single!(ftz; |a| libm::tanh(f64::from(a)) as f32),
        _ => return None,
    })
}

fn directed_single(base: &str, rounding: Rounding, ftz: bool) -> Option<Form> {
    Some(match base {
        "add" => directed!(rounding; WAY => single!(ftz; |a, b| round::add32(a, b, WAY))),
        "sub" => directed!(rounding; WAY => single!(ftz; |a, b| round::add32(a, -b, WAY))),
        "mul" => directed!(rounding; WAY => single!(ftz; |a, b| round::mul32(a, b, WAY))),
        "fma" | "mad" => {
            directed!(rounding; WAY => single!(ftz; |a, b, c| round::fma32(a, b, c, WAY)))
        }
        "div" => directed!(rounding; WAY => single!(ftz; |a, b| round::div32(a, b, WAY))),
        "rcp" => directed!(rounding; WAY => single!(ftz; |a| round::div32(1.0, a, WAY))),
        "sqrt" => directed!(rounding; WAY => single!(ftz; |a| round::sqrt32(a, WAY))),
        _ => return None,
    })
}

fn extreme(opcode: &mut Opcode<'_>, ftz: bool) -> Form {
    let nan = opcode.takes("NaN");
    match (opcode.base == "min", nan) {
        (true, false) => single!(ftz; |a, b| smaller32(a, b)),
        (true, true) => {
            single!(ftz; |a, b| if a.is_nan() || b.is_nan() { NAN } else { smaller32(a, b) })
        }
        (false, false) => single!(ftz; |a, b| -smaller32(-a, -b)),
        (false, true) => {
            single!(ftz; |a, b| if a.is_nan() || b.is_nan() { NAN } else { -smaller32(-a, -b) })
        }
    }
}

macro_rules! smaller {
    ($name:ident, $float:ty) => {
        /// The smaller one; the number of a number and a NaN; -0 of zeros.
        #[inline(always)]
        pub fn $name(a: $float, b: $float) -> $float {
            let first = a < b || b.is_nan() || (a == b && a.is_sign_negative());
            if first { a } else { b }
        }
    };
}

smaller!(smaller32, f32);
smaller!(smaller64, f64);

fn doubles(opcode: &mut Opcode<'_>) -> Option<Form> {
    let approximate = opcode.takes("approx");
    let rounding = opcode.rounding().unwrap_or(Rounding::Nearest);
    if rounding != Rounding::Nearest {
        return directed_double(opcode.base, rounding);
    }
    Some(match opcode.base {
        "mov" => lanes!(|a: u64| -> u64 { a }),
        "add" => lanes!(|a: f64, b: f64| -> f64 { a + b }),
        "sub" => lanes!(|a: f64, b: f64| -> f64 { a - b }),
        "mul" => lanes!(|a: f64, b: f64| -> f64 { a * b }),
        "fma" | "mad" => lanes!(|a: f64, b: f64, c: f64| -> f64 { a.mul_add(b, c) }),
        "div" => lanes!(|a: f64, b: f64| -> f64 { a / b }),
        "rcp" => lanes!(|a: f64| -> f64 { 1.0 / a }),
        "sqrt" => lanes!(|a: f64| -> f64 { a.sqrt() }),
        "neg" => lanes!(|a: f64| -> f64 { -a }),
        "abs" => lanes!(|a: f64| -> f64 { a.abs() }),
        "min" => lanes!(|a: f64, b: f64| -> f64 { smaller64(a, b) }),
        "max" => lanes!(|a: f64, b: f64| -> f64 { -smaller64(-a, -b) }),
        "copysign" => lanes!(|a: f64, b: f64| -> f64 { b.copysign(a) }),
        "rsqrt" if approximate => lanes!(|a: f64| -> f64 { 1.0 / a.sqrt() }),
        _ => return None,
    })
}

fn directed_double(base: &str, rounding: Rounding) -> Option<Form> {
    Some(match base {
        "add" => {
            directed!(rounding; WAY => lanes!(|a: f64, b: f64| -> f64 { round::add(a, b, WAY) }))
        }
        "sub" => {
            directed!(rounding; WAY => lanes!(|a: f64, b: f64| -> f64 { round::add(a, -b, WAY) }))
        }
        "mul" => {
            directed!(rounding; WAY => lanes!(|a: f64, b: f64| -> f64 { round::mul(a, b, WAY) }))
        }
        "div" => {
            directed!(rounding; WAY => lanes!(|a: f64, b: f64| -> f64 { round::div(a, b, WAY) }))
        }
        "rcp" => directed!(rounding; WAY => lanes!(|a: f64| -> f64 { round::div(1.0, a, WAY) })),
        "sqrt" => directed!(rounding; WAY => lanes!(|a: f64| -> f64 { round::sqrt(a, WAY) })),
        _ => return None,
    })
}
