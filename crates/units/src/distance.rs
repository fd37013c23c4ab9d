//! [`Distance`]: the reuse distance of one access, or that it is cold.

use serde::{Deserialize, Serialize};

/// The reuse distance (LRU stack distance) of one access: the number of *distinct* items accessed
/// since the previous access to the same item, that item not counted. `a b c a` → 2, `a a` → 0.
///
/// A first access is [`Distance::COLD`], which orders after every finite distance. Stored as a
/// plain `u64` so that a column of distances is a column of numbers.
///
/// Source: Mattson et al. 1970; Ding & Zhong 2001, section 2.1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(transparent)]
#[serde(transparent)]
pub struct Distance(u64);

impl Distance {
    /// The distance of a first access: infinite.
    pub const COLD: Distance = Distance(u64::MAX);
    /// The distance of an immediate repetition.
    pub const ZERO: Distance = Distance(0);

    /// A finite distance of `items` distinct items. `u64::MAX` is the cold access.
    #[inline]
    pub const fn new(items: u64) -> Self {
        Distance(items)
    }

    /// The number of distinct items, or `None` for a cold access.
    #[inline]
    pub const fn items(self) -> Option<u64> {
        if self.is_cold() { None } else { Some(self.0) }
    }

    /// Whether this is a first access.
    #[inline]
    pub const fn is_cold(self) -> bool {
        self.0 == u64::MAX
    }

    /// The distance as a number; `u64::MAX` for a cold access.
    #[inline]
    pub const fn raw(self) -> u64 {
        self.0
    }
}

impl std::fmt::Debug for Distance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.items() {
            Some(items) => write!(f, "{items}"),
            None => f.write_str("cold"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cold_orders_after_every_finite_distance() {
        assert!(Distance::new(u64::MAX - 1) < Distance::COLD);
        assert_eq!(Distance::COLD.items(), None);
        assert_eq!(Distance::new(7).items(), Some(7));
    }
}
