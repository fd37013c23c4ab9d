//! Results that are rounded up, down or towards zero.
//!
//! The nearest result comes with its error, which is exact (Dekker, *A floating-point technique for
//! extending the available precision*, 1971; for products and quotients by fused multiply-add). Its
//! sign gives the side of the nearest result on which the true one is.
//!
//! Functions of doubles and of integers are not inlined: they branch, so a loop over 32 lanes
//! does not become one over vectors, but 32 copies, of which there would be three for each
//! direction.

use super::opcode::Rounding;

/// The neighbour of `nearest` on the wanted side, if the true value, `nearest + error`, is there.
macro_rules! toward {
    ($name:ident, $float:ty) => {
        /// `nearest`, moved to the neighbour if the rounding asks for it; only the sign of `error`
        /// counts.
        pub fn $name(nearest: $float, error: $float, rounding: Rounding) -> $float {
            if nearest.is_nan() || error == 0.0 || error.is_nan() {
                return nearest;
            }
            match rounding {
                Rounding::Nearest => nearest,
                Rounding::Down if error < 0.0 => nearest.next_down(),
                Rounding::Up if error > 0.0 => nearest.next_up(),
                Rounding::Zero if nearest > 0.0 && error < 0.0 => nearest.next_down(),
                Rounding::Zero if nearest < 0.0 && error > 0.0 => nearest.next_up(),
                _ => nearest,
            }
        }
    };
}

toward!(toward32, f32);
toward!(toward64, f64);

/// A finite true value beyond the largest number, where the nearest one is infinite.
fn overflowed(nearest: f64, operands: &[f64], rounding: Rounding) -> Option<f64> {
    if nearest.is_finite() || nearest.is_nan() || operands.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let stays = match rounding {
        Rounding::Nearest => false,
        Rounding::Zero => true,
        Rounding::Down => nearest > 0.0,
        Rounding::Up => nearest < 0.0,
    };
    Some(if stays {
        f64::MAX.copysign(nearest)
    } else {
        nearest
    })
}

/// A sum of zero is negative when rounding down, unless both were positive.
fn signed_zero(sum: f64, a: f64, b: f64, rounding: Rounding) -> f64 {
    let cancels = sum == 0.0 && (a != 0.0 || a.is_sign_negative() != b.is_sign_negative());
    if cancels && rounding == Rounding::Down {
        -0.0
    } else {
        sum
    }
}

/// `a + b`.
#[inline(never)]
pub fn add(a: f64, b: f64, rounding: Rounding) -> f64 {
    let sum = a + b;
    if let Some(limit) = overflowed(sum, &[a, b], rounding) {
        return limit;
    }
    toward64(
        signed_zero(sum, a, b, rounding),
        sum_error(a, b, sum),
        rounding,
    )
}

fn sum_error(a: f64, b: f64, sum: f64) -> f64 {
    let from_a = sum - b;
    let from_b = sum - from_a;
    (a - from_a) + (b - from_b)
}

/// `a · b`. Near the smallest numbers the error is not exact, and its sign is taken from larger
/// ones.
#[inline(never)]
pub fn mul(a: f64, b: f64, rounding: Rounding) -> f64 {
    let product = a * b;
    if let Some(limit) = overflowed(product, &[a, b], rounding) {
        return limit;
    }
    // Scaled by powers of two, which changes no sign.
    const SCALE: f64 = (1u128 << 120) as f64;
    let error = if product.abs() < f64::MIN_POSITIVE * SCALE && a.abs().max(b.abs()) < 1e200 {
        let (large, small) = if a.abs() > b.abs() { (a, b) } else { (b, a) };
        (large * SCALE).mul_add(small * SCALE, -(product * SCALE * SCALE))
    } else {
        a.mul_add(b, -product)
    };
    toward64(product, error, rounding)
}

/// `a / b`.
#[inline(never)]
pub fn div(a: f64, b: f64, rounding: Rounding) -> f64 {
    let quotient = a / b;
    if b == 0.0 || !a.is_finite() || !b.is_finite() {
        return quotient;
    }
    if let Some(limit) = overflowed(quotient, &[a, b], rounding) {
        return limit;
    }
    let rest = (-quotient).mul_add(b, a);
    toward64(quotient, rest * b.signum(), rounding)
}

/// The square root.
#[inline(never)]
pub fn sqrt(a: f64, rounding: Rounding) -> f64 {
    let root = a.sqrt();
    if !root.is_finite() {
        return root;
    }
    toward64(root, (-root).mul_add(root, a), rounding)
}

/// A sum of doubles as a single: `high + low` is the true value, `low` far smaller.
pub fn narrow(high: f64, low: f64, rounding: Rounding) -> f32 {
    let nearest = high as f32;
    if nearest.is_infinite() && high.is_finite() {
        return match overflowed(f64::INFINITY.copysign(high), &[], rounding) {
            Some(limit) if limit.is_finite() => f32::MAX.copysign(high as f32),
            _ => nearest,
        };
    }
    let rest = (high - f64::from(nearest)) + low;
    // Only the sign matters, and it must survive.
    toward32(
        nearest,
        if rest > 0.0 {
            1.0
        } else if rest < 0.0 {
            -1.0
        } else {
            0.0
        },
        rounding,
    )
}

/// `a + b` of singles: their sum as doubles, and its error.
pub fn add32(a: f32, b: f32, rounding: Rounding) -> f32 {
    let (a, b) = (f64::from(a), f64::from(b));
    let sum = a + b;
    narrow(
        signed_zero(sum, a, b, rounding),
        finite(sum_error(a, b, sum)),
        rounding,
    )
}

/// `a · b` of singles, which is exact as a double.
pub fn mul32(a: f32, b: f32, rounding: Rounding) -> f32 {
    narrow(f64::from(a) * f64::from(b), 0.0, rounding)
}

/// `a · b + c` of singles.
pub fn fma32(a: f32, b: f32, c: f32, rounding: Rounding) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    narrow(
        signed_zero(sum, product, c, rounding),
        finite(sum_error(product, c, sum)),
        rounding,
    )
}

/// `a / b` of singles.
pub fn div32(a: f32, b: f32, rounding: Rounding) -> f32 {
    let (a, b) = (f64::from(a), f64::from(b));
    let quotient = a / b;
    let rest = (-quotient).mul_add(b, a) * b.signum();
    narrow(quotient, finite(rest), rounding)
}

/// The square root of a single.
pub fn sqrt32(a: f32, rounding: Rounding) -> f32 {
    let root = f64::from(a).sqrt();
    narrow(root, finite((-root).mul_add(root, f64::from(a))), rounding)
}

fn finite(error: f64) -> f64 {
    if error.is_finite() { error } else { 0.0 }
}

/// An integer as a double.
#[inline(never)]
pub fn of_integer(value: i128, rounding: Rounding) -> f64 {
    let nearest = value as f64;
    let error = value - nearest as i128;
    toward64(nearest, error as f64, rounding)
}

/// An integer as a single.
#[inline(never)]
pub fn of_integer32(value: i128, rounding: Rounding) -> f32 {
    let nearest = value as f32;
    let error = value - nearest as i128;
    toward32(nearest, error as f32, rounding)
}

/// A number rounded to an integer.
#[inline(always)]
pub fn integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nearest, down, up and zero bracket the value, found by brute force from neighbours.
    #[test]
    fn directed_results_bracket_the_true_one() {
        let values = [
            0.1f32,
            -0.3,
            1.0e-3,
            3.0,
            7.7e5,
            -1.0e-7,
            16_777_216.0,
            0.333_333_34,
        ];
        for a in values {
            for b in values {
                let exact = f64::from(a) * f64::from(b);
                let (down, up) = (mul32(a, b, Rounding::Down), mul32(a, b, Rounding::Up));
                assert!(f64::from(down) <= exact && exact <= f64::from(up));
                assert!(down == up || down.next_up() == up);
                let zero = mul32(a, b, Rounding::Zero);
                assert_eq!(zero, if exact > 0.0 { down } else { up });
                let (down, up) = (add32(a, b, Rounding::Down), add32(a, b, Rounding::Up));
                assert!(down == up || down.next_up() == up, "{a} + {b}");
                let (down, up) = (div32(a, b, Rounding::Down), div32(a, b, Rounding::Up));
                assert!(down == up || down.next_up() == up, "{a} / {b}");
                assert!(down <= a / b && a / b <= up);
            }
        }
    }

    #[test]
    fn doubles_move_by_one_neighbour_at_most() {
        for (a, b) in [(0.1, 0.2), (1.0, 3.0), (-5.5, 0.7), (1e300, 3e-7)] {
            for (nearest, function) in [
                (a + b, add as fn(f64, f64, Rounding) -> f64),
                (a * b, mul),
                (a / b, div),
            ] {
                let (down, up) = (function(a, b, Rounding::Down), function(a, b, Rounding::Up));
                assert!(down <= nearest && nearest <= up);
                assert!(down == up || down.next_up() == up);
            }
        }
        assert_eq!(add(f64::MAX, f64::MAX, Rounding::Zero), f64::MAX);
        assert_eq!(mul(f64::MAX, 2.0, Rounding::Down), f64::MAX);
        assert_eq!(
            add(1.0, -1.0, Rounding::Down).to_bits(),
            (-0.0f64).to_bits()
        );
        assert_eq!(
            of_integer(i128::from(i64::MAX), Rounding::Zero),
            9_223_372_036_854_774_784.0
        );
    }
}
