//! [`Stratum`]: a run in stretches, of each of which a burst of accesses is recorded: stratified
//! sampling of time, one burst to a stratum, at a place chosen by chance.
//!
//! A run's length is not known before its end, so strata grow with it: an octave of access numbers
//! has 64 of them. A short run has short ones, and a long one has bursts as long as it needs to
//! tell the distances of large caches. Three fifths of a burst fill the cache; the others are
//! measured, and each of them stands for [`Stratum::STANDS_FOR`] accesses. So a twenty-fifth of a
//! long run is recorded.
//!
//! ```text
//! numbers  0        BEGINNING          2^22             2^23
//!          ├────────────┼──┬──┬──┬──┬──┼──┬──┬──┬──┬──┬──┼───── …
//! recorded ████████████   ▌ ▌   ▌   ▌▌    ▌  ▌    ▌▌  ▌
//! ```

/// log2 of the strata in an octave of access numbers.
const STRATA_IN_OCTAVE: u32 = 6;
/// log2 of the accesses of the shortest strata. Both parts of their bursts are at least as long as
/// what a thread claims at once.
const SHORTEST_BITS: u32 = 18;

/// Accesses of a run, with consecutive numbers, of which a burst is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stratum {
    /// Number of its first access.
    pub begin: u64,
    /// How many accesses it has.
    pub accesses: u64,
}

/// The numbers of a burst: its first access, the first that is measured, and the first after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstPlace {
    /// From here on accesses fill the cache.
    pub begin: u64,
    /// From here on they are measured.
    pub measured: u64,
    /// The first number after it.
    pub end: u64,
}

impl Stratum {
    /// So many accesses at the beginning are all recorded: a short run is measured exactly.
    pub const BEGINNING: u64 = 1 << 21;
    /// The accesses of a stratum for each that is measured in its burst.
    pub const STANDS_FOR: u64 = 64;

    /// The stratum of access number `at`; `None` in the beginning, which is recorded as a whole.
    pub const fn of(at: u64) -> Option<Stratum> {
        if at < Self::BEGINNING {
            return None;
        }
        let bits = at.ilog2().saturating_sub(STRATA_IN_OCTAVE);
        let bits = if bits < SHORTEST_BITS {
            SHORTEST_BITS
        } else {
            bits
        };
        Some(Stratum {
            begin: at >> bits << bits,
            accesses: 1 << bits,
        })
    }

    /// Its burst, at a place that comes from `seed`.
    pub const fn burst(&self, seed: u64) -> BurstPlace {
        let measured = self.accesses / Self::STANDS_FOR;
        let filling = measured / 2 * 3;
        let room = self.accesses - filling - measured + 1;
        // The remainder of so large a number is as good as even.
        let begin = self.begin + mixed(self.begin ^ mixed(seed)) % room;
        BurstPlace {
            begin,
            measured: begin + filling,
            end: begin + filling + measured,
        }
    }

    /// The first number after it.
    pub const fn end(&self) -> u64 {
        self.begin.saturating_add(self.accesses)
    }
}

/// Spreads the bits of a number (the finaliser of SplitMix64: Steele, Lea & Flood, OOPSLA 2014).
const fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strata_tile_the_numbers_and_hold_their_bursts() {
        assert_eq!(Stratum::of(Stratum::BEGINNING - 1), None);
        let (mut at, mut count) = (Stratum::BEGINNING, 0);
        while at < 1 << 40 {
            let stratum = Stratum::of(at).unwrap();
            let burst = stratum.burst(7);
            assert_eq!(stratum.begin, at);
            assert!(stratum.begin <= burst.begin && burst.end <= stratum.end());
            assert_eq!(Stratum::of(stratum.end() - 1), Some(stratum));
            let measured = burst.end - burst.measured;
            assert_eq!(measured * Stratum::STANDS_FOR, stratum.accesses);
            at = stratum.end();
            count += 1;
        }
        // 56 before 2^24, and then 64 in each of 16 octaves.
        assert_eq!(count, 56 + 64 * 16);
    }

    #[test]
    fn seeds_move_bursts_and_nothing_else() {
        let strata = || (0..50).map(|n| Stratum::of((16 + n) << 18).unwrap());
        let moved = strata().filter(|it| it.burst(1).begin != it.burst(2).begin);
        assert_eq!(moved.count(), 50);
        let length = |it: &Stratum, seed| it.burst(seed).end - it.burst(seed).begin;
        assert!(strata().all(|it| length(&it, 1) == length(&it, 2)));
        // As many begin in the first half of what they may as in the second, about.
        let early = strata().filter(|it| it.burst(1).begin - it.begin < it.accesses / 2);
        assert!((15..36).contains(&early.count()));
    }

    #[test]
    fn the_last_numbers_have_a_stratum() {
        let last = Stratum::of(u64::MAX).unwrap();
        let burst = last.burst(1);
        assert!(burst.begin >= last.begin && burst.end <= last.end());
    }
}
