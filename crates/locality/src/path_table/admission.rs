//! [`Admission`]: which of the paths that the table does not have are inserted, once rare paths
//! were shortened.

/// Inserts one of every N paths, by pseudo-random numbers that are the same each time: a frequent
/// path is inserted soon.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admission {
    /// N for the longest paths; a power of two.
    one_in: u64,
    state: u64,
}

/// The largest N.
const MOST: u64 = 1 << 40;

impl Default for Admission {
    /// Inserts every path.
    fn default() -> Self {
        Admission {
            one_in: 1,
            state: 0x9E37_79B9_7F4A_7C15,
        }
    }
}

/// How often a path of `length` outcomes has to occur to stay, if the longest have to occur
/// `longest` times. A shorter path is the sum of many: the number is a quarter for each step that
/// it is shorter.
pub(super) fn enough(longest: u64, length: u32) -> u64 {
    match length {
        32.. => longest,
        16..32 => longest >> 2,
        8..16 => longest >> 4,
        4..8 => longest >> 6,
        2..4 => longest >> 8,
        _ => longest >> 10,
    }
}

impl Admission {
    /// Whether all paths are inserted.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.one_in == 1
    }

    /// Whether the next path of `length` outcomes is inserted.
    #[inline]
    pub fn admits(&mut self, length: u32) -> bool {
        let one_in = enough(self.one_in, length);
        if one_in <= 1 {
            return true;
        }
        // Xorshift: Marsaglia 2003.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 20 & (one_in - 1) == 0
    }

    /// Inserts at most a quarter as many as before, and of the paths that occur less than `rare`
    /// times fewer than one in two.
    pub fn tighten(&mut self, rare: u64) {
        let half = (rare / 2).max(1).next_power_of_two();
        self.one_in = (self.one_in * 4).max(half).min(MOST);
    }

    /// Inserts no more than `other` does.
    pub fn join(&mut self, other: &Admission) {
        self.one_in = self.one_in.max(other.one_in);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admission_inserts_one_of_n() {
        let mut admission = Admission::default();
        assert!((0..100).all(|_| admission.admits(32)));
        admission.tighten(4);
        admission.tighten(100);
        admission.tighten(3);
        // 4, then 64, then 256.
        for (length, expected) in [(32, 100_000.0 / 256.0), (16, 100_000.0 / 64.0), (1, 1e5)] {
            let let_in = (0..100_000).filter(|_| admission.admits(length)).count();
            let off = (let_in as f64 - expected).abs() / expected.sqrt();
            assert!(off < 4.0, "{length}: {let_in}");
        }
    }
}
