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
