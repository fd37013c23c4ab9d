//! [`Transform`]: exact correlation of long lists by a number-theoretic transform.
//!
//! All is modulo `p = 2⁶⁴ − 2³² + 1`, which is prime and has roots of unity of every order up to
//! 2³². A correlation of numbers is exact if none of its values reaches `p`; no rounding is
//! involved.

/// 2⁶⁴ − 2³² + 1.
pub(super) const P: u64 = 0xffff_ffff_0000_0001;
/// 2³² − 1, which is 2⁶⁴ modulo `P`.
const EPSILON: u64 = 0xffff_ffff;
/// Generates all numbers but 0 by its powers.
const GENERATOR: u64 = 7;

/// Sum modulo `P`, of numbers below it.
#[inline(always)]
pub(super) fn add(a: u64, b: u64) -> u64 {
    let (sum, over) = a.overflowing_add(b);
    let (less, under) = sum.overflowing_sub(P);
    if over || !under { less } else { sum }
}

#[inline(always)]
fn sub(a: u64, b: u64) -> u64 {
    let (difference, under) = a.overflowing_sub(b);
    if under {
        difference.wrapping_add(P)
    } else {
        difference
    }
}

/// Product modulo `P`: the high half is reduced with 2⁶⁴ = 2³² − 1 and 2⁹⁶ = −1.
#[inline(always)]
pub(super) fn mul(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let (low, high) = (product as u64, (product >> 64) as u64);
    let (mut value, under) = low.overflowing_sub(high >> 32);
    if under {
        value = value.wrapping_sub(EPSILON);
    }
    let (sum, over) = value.overflowing_add((high & EPSILON) * EPSILON);
    let sum = if over { sum.wrapping_add(EPSILON) } else { sum };
    if sum >= P { sum - P } else { sum }
}

fn power(mut base: u64, mut exponent: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = mul(result, base);
        }
        base = mul(base, base);
        exponent >>= 1;
    }
    result
}

/// Transforms of one length, a power of two.
pub(super) struct Transform {
    /// Powers of the root of unity, up to half the length.
    roots: Vec<u64>,
    length: usize,
}

impl Transform {
    /// Of length `1 << bits`, at most 2³².
    pub(super) fn new(bits: u32) -> Transform {
        let length = 1_usize << bits;
        let root = power(GENERATOR, (P - 1) >> bits);
        let mut roots = Vec::with_capacity(length / 2);
        let mut value = 1;
        for _ in 0..length / 2 {
            roots.push(value);
            value = mul(value, root);
        }
        Transform { roots, length }
    }

    /// Forward; the result is in bit-reversed order. Decimation in frequency.
    pub(super) fn forward(&self, values: &mut [u64]) {
        let mut half = self.length / 2;
        let mut step = 1;
        while half > 0 {
            for block in values.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for (at, (a, b)) in low.iter_mut().zip(high).enumerate() {
                    let (x, y) = (*a, *b);
                    *a = add(x, y);
                    *b = mul(sub(x, y), self.roots[at * step]);
                }
            }
            half /= 2;
            step *= 2;
        }
    }

    /// The inverse of [`Transform::forward`], from bit-reversed order.
    pub(super) fn inverse(&self, values: &mut [u64]) {
        let mut half = 1;
        let mut step = self.length / 2;
        while half < self.length {
            for block in values.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for (at, (a, b)) in low.iter_mut().zip(high).enumerate() {
                    // The inverse root's power is minus the root's power half way round.
                    let root = if at == 0 {
                        1
                    } else {
                        P - self.roots[self.length / 2 - at * step]
                    };
                    let (x, y) = (*a, mul(*b, root));
                    *a = add(x, y);
                    *b = sub(x, y);
                }
            }
            half *= 2;
            step /= 2;
        }
        let scale = power(self.length as u64, P - 2);
        for value in values {
            *value = mul(*value, scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_wide_integers() {
        let numbers = [
            0,
            1,
            2,
            EPSILON,
            1 << 32,
            P - 1,
            P - 2,
            P / 2,
            0x1234_5678_9abc_def0,
        ];
        for a in numbers {
            for b in numbers {
                let right = u128::from(a) * u128::from(b) % u128::from(P);
                assert_eq!(u128::from(mul(a, b)), right, "{a} {b}");
                let sum = (u128::from(a) + u128::from(b)) % u128::from(P);
                assert_eq!(u128::from(add(a, b)), sum);
                assert_eq!(add(sub(a, b), b), a);
            }
        }
    }

    #[test]
    fn ntt_inverts_and_multiplies() {
        for bits in 1..10 {
            let transform = Transform::new(bits);
            let length = 1 << bits;
            let a: Vec<u64> = (0..length).map(|i| mul(P - 1 - i, i * i + 3)).collect();
            let b: Vec<u64> = (0..length).map(|i| (i * 7 + 1) % 13).collect();
            let (mut x, mut y) = (a.clone(), b.clone());
            transform.forward(&mut x);
            transform.forward(&mut y);
            let mut back = x.clone();
            transform.inverse(&mut back);
            assert_eq!(back, a);
            let mut product: Vec<u64> = x.iter().zip(&y).map(|(x, y)| mul(*x, *y)).collect();
            transform.inverse(&mut product);
            for at in 0..length as usize {
                let right = (0..length as usize).fold(0, |sum, i| {
                    add(
                        sum,
                        mul(a[i], b[(at + length as usize - i) % length as usize]),
                    )
                });
                assert_eq!(product[at], right);
            }
        }
    }
}
