//! Hashing of items: [`mix`] spreads 64-bit numbers, and [`Mixing`] hashes by it with a random key,
//! for hash maps. No result depends on the key.

use std::hash::{BuildHasher, Hasher};

use reuselens_hugepages::random_key;

/// A bijection of 64-bit numbers in which every bit of the input reaches every high bit of the
/// output, so that no stride of real addresses crowds one part of a table. The constants and shifts
/// are those of MurmurHash3's finaliser (public domain).
#[inline(always)]
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (number ^ (number >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}

/// Hashes an item by [`mix`], with a random key, so that nobody can make ids that collide. No
/// result depends on it.
#[derive(Clone)]
pub(crate) struct Mixing(u64);

impl Default for Mixing {
    fn default() -> Self {
        Mixing(random_key())
    }
}

impl BuildHasher for Mixing {
    type Hasher = MixHasher;

    fn build_hasher(&self) -> MixHasher {
        MixHasher(self.0)
    }
}

/// One item's hash in the making.
pub(crate) struct MixHasher(u64);

impl Hasher for MixHasher {
    fn finish(&self) -> u64 {
        let mixed = mix(self.0);
        // The table takes its places from the low bits, and the mix is best in the high ones.
        mixed ^ mixed >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.rotate_left(1) ^ number;
    }
}
