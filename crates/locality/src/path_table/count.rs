//! Counts of one instruction in a block on a path: half a cache line.

use reuselens_units::Distance;

use super::elsewhere::Elsewhere;
use crate::pattern_bins::BinCount;
use crate::{PatternBin, PatternBins};

/// An instruction in a block that was reached on a path, and what was counted in one of its bins:
/// the one that its distances fell into lately. All other bins are [`Elsewhere`].
///
/// Two of them share a cache line, and the instructions of a block lie behind each other: most
/// accesses touch nothing else.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(super) struct Count {
    pub site: u32,
    /// The number that its bins are known by elsewhere.
    pub owner: u32,
    /// The bin that is here; larger numbers never are.
    number: u32,
    /// Accesses in it; 0 before the first.
    accesses: u32,
    sum: u64,
    min: u16,
    max: u16,
    /// The access before was in another bin.
    missed: bool,
}

impl Count {
    pub fn new(site: u32, owner: u32) -> Self {
        Count {
            site,
            owner,
            number: 0,
            accesses: 0,
            sum: 0,
            min: u16::MAX,
            max: 0,
            missed: false,
        }
    }

    /// Counts an access. Cost: a look at its own half of a cache line, if the distance is in the
    /// same bin as lately.
    #[inline(always)]
    pub fn add(&mut self, distance: Distance, elsewhere: &mut Elsewhere) {
        // The number of a cold access is larger than any that is here.
        let items = distance.items().unwrap_or(u64::MAX);
        let full = self.accesses.wrapping_sub(1) >= u32::MAX - 1;
        if PatternBin::number(items) != u64::from(self.number) || full {
            return self.add_other(distance, elsewhere);
        }
        self.missed = false;
        self.add_here(items);
    }

    #[inline(always)]
    fn add_here(&mut self, items: u64) {
        let above = items - PatternBin::range(u64::from(self.number)).0;
        self.accesses += 1;
        self.sum += above;
        self.min = self.min.min(above as u16);
        self.max = self.max.max(above as u16);
    }

    /// In another bin, or there is no room for more in this one. Who comes twice takes the place.
    #[inline(never)]
    fn add_other(&mut self, distance: Distance, elsewhere: &mut Elsewhere) {
        let number = distance
            .items()
            .and_then(|items| u32::try_from(PatternBin::number(items)).ok())
            // The last one is the number of cold accesses elsewhere.
            .filter(|number| *number < u32::MAX);
        let (Some(number), Some(items)) = (number, distance.items()) else {
            return elsewhere.add(self.owner, distance);
        };
        if self.accesses > 0 {
            if !self.missed && self.number != number {
                self.missed = true;
                return elsewhere.add(self.owner, distance);
            }
            elsewhere.put(self.owner, &self.tally());
            *self = Count::new(self.site, self.owner);
        }
        self.number = number;
        self.missed = false;
        self.add_here(items);
    }

    /// Accesses in the bin that is here.
    pub fn accesses(&self) -> u64 {
        u64::from(self.accesses)
    }

    fn tally(&self) -> BinCount {
        BinCount {
            number: u64::from(self.number),
            count: u64::from(self.accesses),
            sum: self.sum,
            min: self.min,
            max: self.max,
        }
    }

    /// Adds what is counted here in another one.
    pub fn merge(&mut self, other: &Count, elsewhere: &mut Elsewhere) {
        if other.accesses == 0 {
            return;
        }
        let sum = self.accesses.checked_add(other.accesses);
        match sum.filter(|_| self.accesses == 0 || self.number == other.number) {
            Some(accesses) => {
                (self.number, self.accesses) = (other.number, accesses);
                self.sum += other.sum;
                self.min = self.min.min(other.min);
                self.max = self.max.max(other.max);
            }
            None => elsewhere.put(self.owner, &other.tally()),
        }
    }

    /// Adds what is counted here to its other bins.
    pub fn add_to(&self, bins: &mut PatternBins) {
        if self.accesses > 0 {
            bins.put(&self.tally());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bins(count: &Count, mut elsewhere: Elsewhere) -> PatternBins {
        elsewhere.flush();
        let mut bins = PatternBins::new();
        elsewhere.by_owner(9).add_to(count.owner, &mut bins);
        count.add_to(&mut bins);
        bins
    }

    #[test]
    fn two_share_a_cache_line() {
        assert_eq!(size_of::<Count>(), 32);
    }

    #[test]
    fn a_full_bin_makes_room() {
        let (mut full, mut elsewhere) = (Count::new(1, 1), Elsewhere::new());
        full.add(Distance::new(70), &mut elsewhere);
        full.accesses = u32::MAX;
        let mut sum = Count { owner: 2, ..full };
        sum.merge(&full, &mut elsewhere);
        full.add(Distance::new(71), &mut elsewhere);
        let most = u64::from(u32::MAX);
        let mut theirs = Elsewhere::new();
        elsewhere.flush();
        elsewhere.move_to(&mut theirs, |owner| if owner == 1 { 1 } else { 3 });
        sum.owner = 3;
        for (count, expected) in [(full, most + 1), (sum, 2 * most)] {
            let bins = bins(&count, theirs.clone());
            let accesses: Vec<u64> = bins.iter().map(|bin| bin.accesses).collect();
            assert_eq!(accesses, [expected]);
        }
    }

    proptest! {
        #[test]
        fn counts_are_those_of_pattern_bins(
            distances in prop::collection::vec(
                prop_oneof![0..3_u64, 0..3000_u64, any::<u64>(), Just(u64::MAX)], 0..200),
            split in 0..200_usize,
        ) {
            let (mut left, mut right) = (Count::new(3, 1), Count::new(3, 2));
            let mut elsewhere = Elsewhere::new();
            let mut expected = PatternBins::new();
            for (at, items) in distances.iter().enumerate() {
                let distance = Distance::new(*items);
                expected.add(distance, 1);
                if at < split { &mut left } else { &mut right }.add(distance, &mut elsewhere);
            }
            elsewhere.flush();
            let mut both = Elsewhere::new();
            elsewhere.move_to(&mut both, |_| 5);
            left.owner = 5;
            left.merge(&right, &mut both);
            prop_assert_eq!(bins(&left, both), expected);
        }
    }
}
