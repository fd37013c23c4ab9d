//! A cache with the sets that it has: each line falls into the set that its address says.

/// Lines of a set, at most.
const WAYS: usize = 16;

/// A cache of sets that throws out the line of the set that was unused for longest: true LRU, with the lowest bits of a
/// line's number as the number of its set.
///
/// An access to the line that was last used in its set costs a look at one word, and others a search of the set. By the
/// stack property of LRU the former change nothing, in this cache and in each of more sets, which is why traces can be stripped
/// of them. Source: Puzak 1985; Wang & Baer 1991. Memory: 8 bytes a line.
#[derive(Clone, Debug)]
pub struct RealSets {
    mask: u64,
    ways: usize,
    /// By set, its lines, that last used first.
    lines: Vec<[u64; WAYS]>,
    /// By set, how many there are.
    filled: Vec<u8>,
}

impl RealSets {
    /// An empty cache. `None` if the number of sets is no power of two, or there are no ways, or more than 16.
    pub fn new(sets: u64, ways: u64) -> Option<Self> {
        let ways = usize::try_from(ways).ok()?;
        let fits = sets.is_power_of_two() && sets <= 1 << 20 && (1..=WAYS).contains(&ways);
        fits.then(|| RealSets {
            mask: sets - 1,
            ways,
            lines: vec![[0; WAYS]; sets as usize],
            filled: vec![0; sets as usize],
        })
    }

    /// The set that a line falls into.
    #[inline]
    pub fn set(&self, line: u64) -> usize {
        (line & self.mask) as usize
    }

    /// Accesses a line. True if it is there.
    #[inline(always)]
    pub fn access(&mut self, line: u64) -> bool {
        let set = self.set(line);
        if self.lines[set][0] == line && self.filled[set] > 0 {
            return true;
        }
        self.search(set, line)
    }

    /// Accesses a line that is not the last of its set.
    fn search(&mut self, set: usize, line: u64) -> bool {
        let filled = usize::from(self.filled[set]);
        let lines = &mut self.lines[set];
        let found = lines[..filled].iter().position(|other| *other == line);
        if found.is_none() && filled < self.ways {
            self.filled[set] += 1;
        }
        lines.copy_within(..found.unwrap_or(filled.min(self.ways - 1)), 1);
        lines[0] = line;
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, OlkenTree};
    use reuselens_units::Distance;

    /// The lines of a walk that comes back to some.
    fn lines(seed: u64) -> Vec<u64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            state >> 40
        };
        (0..20_000).map(|_| next() % (1 + next() % 900)).collect()
    }

    /// In each set, an access hits if its distance within the set is less than the ways.
    #[test]
    fn it_is_a_small_fully_associative_cache_in_each_set() {
        for (sets, ways) in [(1, 16), (8, 3), (64, 12), (16, 1)] {
            let mut cache = RealSets::new(sets, ways).unwrap();
            let lines = lines(sets + ways);
            let mut expected = vec![false; lines.len()];
            for set in 0..sets {
                let of_set = (0..lines.len()).filter(|at| lines[*at] % sets == set);
                let at: Vec<usize> = of_set.collect();
                let items: Vec<u64> = at.iter().map(|at| lines[*at]).collect();
                let mut distances = vec![Distance::COLD; items.len()];
                OlkenTree::new().process(&items, &mut distances);
                for (at, distance) in at.iter().zip(distances) {
                    if distance.items().is_some_and(|items| items < ways) {
                        expected[*at] = true;
                    }
                }
            }
            let found: Vec<bool> = lines.iter().map(|line| cache.access(*line)).collect();
            assert!(found == expected, "{sets} sets of {ways}");
        }
    }

    #[test]
    fn odd_caches_are_refused() {
        for (sets, ways) in [(0, 4), (48, 4), (64, 0), (64, 17), (1 << 40, 4)] {
            assert!(RealSets::new(sets, ways).is_none(), "{sets} {ways}");
        }
    }
}
