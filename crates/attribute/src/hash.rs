//! A fast hash for keys of a few words, with a seed that is drawn when a table is made.
//!
//! The numbers in a trace are whatever its maker chose. Without a seed, a maker could choose
//! numbers that all begin at one place of a table, and each look-up would pass over all of them. No
//! result depends on the seed: tables are searched, and never read in the order of their places.

use std::hash::{BuildHasher, Hasher};

use reuselens_hugepages::random_key;

/// A map with the fast hash. Its order is another in each run: do not let it reach a result.
pub(crate) type FastMap<K, V> = hashbrown::HashMap<K, V, FastHash>;

/// Makes hashers that begin with the key of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastHash(u64);

impl Default for FastHash {
    fn default() -> Self {
        FastHash(random_key())
    }
}

impl BuildHasher for FastHash {
    type Hasher = FastHasher;

    #[inline(always)]
    fn build_hasher(&self) -> FastHasher {
        FastHasher(self.0)
    }
}

/// Multiplies and folds each word (the high half of the product carries the mixing).
#[derive(Clone, Copy)]
pub(crate) struct FastHasher(u64);

/// 2⁶⁴ over the golden ratio, odd (Knuth, The Art of Computer Programming 3, section 6.4).
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl FastHasher {
    #[inline(always)]
    fn word(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word).wrapping_mul(u128::from(GOLDEN));
        self.0 = (product as u64).rotate_left(17) ^ (product >> 64) as u64;
    }
}

impl Hasher for FastHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.word(u64::from_le_bytes(word) ^ (piece.len() as u64) << 56);
        }
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.word(number.into());
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.word(number.into());
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.word(number.into());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.word(number);
    }

    #[inline]
    fn write_u128(&mut self, number: u128) {
        self.word(number as u64);
        self.word((number >> 64) as u64);
    }
}
