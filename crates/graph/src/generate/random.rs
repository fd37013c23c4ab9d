//! [`SeededRandom`]: numbers for generators.

/// The generator SplitMix64 (Steele, Lea, Flood 2014): 64 bits of state, the same numbers on every
/// machine. Not for secrets.
#[derive(Clone, Debug)]
pub struct SeededRandom(u64);

impl SeededRandom {
    /// A generator that begins with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    /// A number below `end`, which must not be 0. The bias is below `end / 2^64`.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// A number from 0 to below 1, with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
