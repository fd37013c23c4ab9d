//! [`AddressHash`]: the slots of hash tables by numbers that a program chooses.

use reuselens_hugepages::random_key;

/// Gives each number a slot of a table by the top bits of its product with a random odd number.
///
/// Two numbers, whatever they are, have the same one of `n` slots for at most `2 / n` of the odd
/// numbers, so that a trace cannot be made whose addresses collide. Cost: a multiplication.
///
/// Source: Dietzfelbinger, Hagerup, Katajainen and Penttonen, *A reliable randomized algorithm for
/// the closest-pair problem*, 1997, section 2.2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddressHash {
    odd: u64,
}

impl AddressHash {
    /// With another random number each time.
    pub fn new() -> Self {
        Self::with_key(random_key())
    }

    fn with_key(key: u64) -> Self {
        AddressHash { odd: key | 1 }
    }

    /// The slot of a number, of this many slots: a power of two from 2 on.
    #[inline]
    pub fn slot(&self, number: u64, slots: usize) -> usize {
        (number.wrapping_mul(self.odd) >> (u64::BITS - slots.trailing_zeros())) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::AddressHash;

    /// Pairs of numbers with the same slot of 256, for the average of a thousand keys.
    fn collisions(numbers: &[u64]) -> f64 {
        let (keys, mut pairs, mut key) = (1000, 0_u64, 0_u64);
        for _ in 0..keys {
            // The multiplier and the increment of Knuth's MMIX.
            key = key
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let hash = AddressHash::with_key(key >> 16 ^ key << 48);
            let mut counts = [0_u64; 256];
            for number in numbers {
                let count = &mut counts[hash.slot(*number, 256)];
                pairs += *count;
                *count += 1;
            }
        }
        pairs as f64 / f64::from(keys)
    }

    #[test]
    fn numbers_that_differ_in_a_few_bits_rarely_collide() {
        let pairs = 200.0 * 199.0 / 2.0;
        for shift in [0, 4, 16, 32, 48, 56] {
            let numbers: Vec<u64> = (0..200).map(|number| number << shift).collect();
            let collide = collisions(&numbers);
            assert!(
                collide < 1.5 * pairs * 2.0 / 256.0,
                "{shift}: {collide} of {pairs} pairs"
            );
        }
    }
}
