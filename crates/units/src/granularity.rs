//! [`Granularity`]: the size of an item, which turns addresses into items.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The size of a data item in bytes: a power of two. An access is one to every item that it covers.
///
/// 64 on most CPUs (a cache line); 1 for traces whose ids already are the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Granularity {
    shift: u32,
}

/// A granularity that is 0 or not a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "granularity {bytes} is not a power of two; use 1, 2, 4, … bytes, for instance --granularity 64 for cache lines"
)]
pub struct GranularityError {
    bytes: u64,
}

impl Granularity {
    /// One byte per item: ids are items.
    pub const BYTE: Granularity = Granularity { shift: 0 };
    /// A cache line of 64 bytes.
    pub const LINE_64: Granularity = Granularity { shift: 6 };

    /// A granularity of `bytes` bytes.
    ///
    /// # Errors
    /// If `bytes` is 0 or not a power of two.
    pub const fn new(bytes: u64) -> Result<Self, GranularityError> {
        if bytes.is_power_of_two() {
            Ok(Granularity {
                shift: bytes.trailing_zeros(),
            })
        } else {
            Err(GranularityError { bytes })
        }
    }

    /// Bytes per item.
    #[inline]
    pub const fn bytes(self) -> u64 {
        1 << self.shift
    }

    /// log2 of the bytes per item: `address >> shift` is the item.
    #[inline]
    pub const fn shift(self) -> u32 {
        self.shift
    }

    /// The first and the last item that an access of `size` bytes at `address` covers.
    /// A size of 0 counts as 1.
    #[inline]
    pub const fn cover(self, address: u64, size: u64) -> (u64, u64) {
        let reach = if size == 0 { 0 } else { size - 1 };
        let last = address.saturating_add(reach);
        (address >> self.shift, last >> self.shift)
    }

    /// The bytes of `item` that an access of `size` bytes at `address` covers, as a mask: bit `i`
    /// is byte `i` of an item of up to 64 bytes. Of larger items a bit is 1/64, and is set if some
    /// of its bytes are covered. A size of 0 counts as 1. The access must cover some byte of the
    /// item.
    #[inline]
    pub const fn covered(self, item: u64, address: u64, size: u64) -> u64 {
        // Bytes of a bit.
        let unit = self.shift.saturating_sub(6);
        let start = item << self.shift;
        let from = address.saturating_sub(start);
        let reach = if size == 0 { 0 } else { size - 1 };
        let to = address.saturating_add(reach) - start;
        let last = self.bytes() - 1;
        let to = if to < last { to } else { last };
        let (from, to) = ((from >> unit) as u32, (to >> unit) as u32);
        (u64::MAX >> (63 - (to - from))) << from
    }
}

impl TryFrom<u64> for Granularity {
    type Error = GranularityError;

    fn try_from(bytes: u64) -> Result<Self, GranularityError> {
        Granularity::new(bytes)
    }
}

impl From<Granularity> for u64 {
    fn from(granularity: Granularity) -> u64 {
        granularity.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_bytes_are_a_mask() {
        let line = Granularity::LINE_64;
        assert_eq!(line.covered(1, 64, 8), 0xff);
        assert_eq!(line.covered(1, 127, 1), 1 << 63);
        assert_eq!(line.covered(1, 60, 8), 0xf);
        assert_eq!(line.covered(0, 60, 8), 0xf << 60);
        assert_eq!(line.covered(1, 0, 1000), u64::MAX);
        assert_eq!(line.covered(1, 70, 0), 1 << 6);
        // The last item of all.
        assert_eq!(line.covered(u64::MAX >> 6, u64::MAX - 1, 9), 3 << 62);
        let page = Granularity::new(4096).unwrap();
        assert_eq!(page.covered(1, 4096 + 63, 2), 3);
        assert_eq!(page.covered(1, 4096 + 63, 1), 1);
        let word = Granularity::new(8).unwrap();
        assert_eq!(word.covered(2, 18, 2), 0b1100);
        assert_eq!(Granularity::BYTE.covered(9, 9, 1), 1);
    }

    #[test]
    fn only_powers_of_two() {
        for bytes in [0, 3, 65, u64::MAX] {
            assert!(Granularity::new(bytes).is_err(), "{bytes}");
        }
        assert_eq!(Granularity::new(64).unwrap().shift(), 6);
        assert_eq!(Granularity::new(1 << 63).unwrap().bytes(), 1 << 63);
    }

    #[test]
    fn an_access_that_straddles_covers_both_items() {
        let line = Granularity::LINE_64;
        assert_eq!(line.cover(60, 8), (0, 1));
        assert_eq!(line.cover(64, 64), (1, 1));
        assert_eq!(line.cover(64, 65), (1, 2));
        assert_eq!(line.cover(10, 0), (0, 0));
        assert_eq!(line.cover(u64::MAX, 16), (u64::MAX >> 6, u64::MAX >> 6));
    }
}
