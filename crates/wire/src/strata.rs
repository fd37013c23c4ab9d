//! [`Stratum`]: a run in stretches, of each of which a burst of accesses is recorded: stratified
//! sampling of time, one burst to a stratum, at a place chosen by chance.
//!
//! A run's length is not known before its end, so strata grow with it: an octave of access numbers
//! has 64 of them. A short run has short ones, and a long one has bursts as long as it needs to
//! tell the distances of large caches. Of a burst the first fifth fills the cache; the others are
//! measured, and each of them stands for [`Stratum::SHARE`] accesses. So a twenty-fifth of a long
//! run is recorded.
//!
//! ```text
//! numbers  0        BEGINNING          2^22             2^23
//!          ├────────────┼──┬──┬──┬──┬──┼──┬──┬──┬──┬──┬──┼───── …
//! recorded ████████████   ▌ ▌   ▌   ▌▌    ▌  ▌    ▌▌  ▌
//! ```

/// log2 of the strata in an octave of access numbers.
const STRATA_IN_OCTAVE: u32 = 6;
/// log2 of the accesses of the shortest strata. Their bursts are longer than what a thread claims
/// at once.
const SHORTEST: u32 = 18;

/// Accesses of a run, with consecutive numbers, and the burst of them that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stratum {
    /// Number of its first access.
    pub begin: u64,
    /// How many accesses it has.
    pub accesses: u64,
    /// Number of the first access of its burst.
    pub burst: u64,
}

impl Stratum {
    /// So many accesses at the beginning are all recorded: a short run is measured exactly.
    pub const BEGINNING: u64 = 1 << 21;
    /// Accesses of a stratum for each that is measured in its burst.
    pub const SHARE: u64 = 32;

    /// The stratum of access number `at`, where `seed` is what chance comes from; `None` in the
    /// beginning, which is recorded as a whole.
    pub const fn of(at: u64, seed: u64) -> Option<Stratum> {
        if at < Self::BEGINNING {
            return None;
        }
        let octave = at.ilog2();
        let bits = octave.saturating_sub(STRATA_IN_OCTAVE);
        let bits = if bits < SHORTEST { SHORTEST } else { bits };
        let mut stratum = Stratum {
            begin: at >> bits << bits,
            accesses: 1 << bits,
            burst: 0,
        };
        let room = stratum.accesses - stratum.filling() - stratum.measured() + 1;
        // The remainder of so large a number is as good as even.
        stratum.burst = stratum.begin + mixed(stratum.begin ^ mixed(seed)) % room;
        Some(stratum)
    }

    /// Accesses of its burst that only fill the cache: the first ones.
    pub const fn filling(&self) -> u64 {
        self.measured() / 4
    }

    /// Accesses of its burst that are measured: the others.
    pub const fn measured(&self) -> u64 {
        self.accesses / Self::SHARE
    }

    /// The first number after its burst.
    pub const fn burst_end(&self) -> u64 {
        self.burst.saturating_add(self.filling() + self.measured())
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
        assert_eq!(Stratum::of(Stratum::BEGINNING - 1, 7), None);
        let (mut at, mut count) = (Stratum::BEGINNING, 0);
        while at < 1 << 40 {
            let stratum = Stratum::of(at, 7).unwrap();
            assert_eq!((stratum.begin, at), (at, stratum.begin));
            assert!(stratum.begin <= stratum.burst && stratum.burst_end() <= stratum.end());
            assert_eq!(Stratum::of(stratum.end() - 1, 7), Some(stratum));
            assert_eq!(stratum.measured() * Stratum::SHARE, stratum.accesses);
            at = stratum.end();
            count += 1;
        }
        // 56 before 2^24, and then 64 in each of 16 octaves.
        assert_eq!(count, 56 + 64 * 16);
    }

    #[test]
    fn seeds_move_bursts_and_nothing_else() {
        let bursts = |seed| (0..50).map(move |n| Stratum::of((16 + n) << 18, seed).unwrap());
        let moved = bursts(1).zip(bursts(2)).filter(|(a, b)| a.burst != b.burst);
        assert_eq!(moved.count(), 50);
        let lengths = bursts(1).zip(bursts(2));
        assert!(lengths.into_iter().all(|(a, b)| a.accesses == b.accesses));
        // As many begin in the first half of what they may as in the second, about.
        let early = bursts(1).filter(|s| s.burst - s.begin < s.accesses / 2);
        assert!((15..36).contains(&early.count()));
    }

    #[test]
    fn the_last_numbers_have_a_stratum() {
        let last = Stratum::of(u64::MAX, 1).unwrap();
        assert!(last.burst >= last.begin && last.burst_end() <= last.end());
    }
}
