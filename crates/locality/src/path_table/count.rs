//! [`Count`]: the counts of one instruction in a block on a path, in half a cache line. It keeps
//! one bin of distances, the *bin here*. The other bins of the instruction are in [`OverflowBins`].

use reuselens_units::Distance;

use super::overflow_bins::OverflowBins;
use crate::pattern_bins::BinCount;
use crate::{PatternBin, PatternBins};

/// An instruction in a block that was reached on a path, and what was counted in one of its bins,
/// the bin here. All its other bins are in [`OverflowBins`].
///
/// A bin is here until two accesses in succession fall into other bins, or until it is full. The
/// bin of the access that cannot be counted then replaces it. Cold accesses, and accesses in bins
/// with numbers from 2^32 − 1 on, go to the overflow bins and change nothing here.
///
/// Two `Count`s share a cache line, and those of a block follow each other in memory, so most
/// accesses need no other memory.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(super) struct Count {
    pub site: u32,
    /// The number of this instruction on this path, by which [`OverflowBins`] finds its bins.
    pub owner: u32,
    /// The number of the bin here, below `u32::MAX`.
    number: u32,
    /// Accesses in the bin here. 0 if no bin is here yet.
    accesses: u32,
    /// The sum of their distances, each less the lowest distance of the bin.
    sum: u64,
    /// The smallest and the largest of these differences.
    min: u16,
    max: u16,
    /// Whether the last access that could have been counted here was in another bin.
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
    /// bin here.
    #[inline(always)]
    pub fn add(&mut self, distance: Distance, overflow_bins: &mut OverflowBins) {
        // `u64::MAX` items have a larger bin number than `number` can hold, so a cold access
        // misses.
        let items = distance.items().unwrap_or(u64::MAX);
        // One comparison for both cases: 0 − 1 wraps to `u32::MAX`.
        let is_empty_or_full = self.accesses.wrapping_sub(1) >= u32::MAX - 1;
        if PatternBin::number(items) != u64::from(self.number) || is_empty_or_full {
            return self.add_other(distance, overflow_bins);
        }
        self.missed = false;
        self.add_here(items);
    }

    /// Counts an access in the bin here, which holds its distance.
    #[inline(always)]
    fn add_here(&mut self, items: u64) {
        // Fits in 16 bits: a bin is at most 1024 items wide.
        let above = items - PatternBin::range(u64::from(self.number)).0;
        self.accesses += 1;
        self.sum += above;
        self.min = self.min.min(above as u16);
        self.max = self.max.max(above as u16);
    }

    /// Counts an access that [`Self::add`] cannot count here: it is in another bin, or the bin here
    /// is empty or full.
    ///
    /// After a first miss the bin here stays. At the second miss in succession, whichever bins the
    /// two are in, or if it is full, it moves to the overflow bins, and the bin of this access
    /// takes its place.
    #[inline(never)]
    fn add_other(&mut self, distance: Distance, overflow_bins: &mut OverflowBins) {
        let number = distance
            .items()
            .and_then(|items| u32::try_from(PatternBin::number(items)).ok())
            // In the overflow bins the number `u32::MAX` means cold accesses.
            .filter(|number| *number < u32::MAX);
        let (Some(number), Some(items)) = (number, distance.items()) else {
            return overflow_bins.add(self.owner, distance);
        };
        if self.accesses > 0 {
            if !self.missed && self.number != number {
                self.missed = true;
                return overflow_bins.add(self.owner, distance);
            }
            overflow_bins.put(self.owner, &self.tally());
            *self = Count::new(self.site, self.owner);
        }
        self.number = number;
        self.missed = false;
        self.add_here(items);
    }

    /// Accesses in the bin here alone.
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

    /// Adds the bin here of `other`: to the bin here if both are one bin and the sum fits, or if
    /// nothing is here; else to the overflow bins. The overflow bins of `other` stay where they
    /// are.
    pub fn merge(&mut self, other: &Count, overflow_bins: &mut OverflowBins) {
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
            None => overflow_bins.put(self.owner, &other.tally()),
        }
    }

    /// Adds the bin here to `bins`.
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

    fn bins(count: &Count, mut overflow_bins: OverflowBins) -> PatternBins {
        overflow_bins.flush();
        let mut bins = PatternBins::new();
        overflow_bins.by_owner(9).add_to(count.owner, &mut bins);
        count.add_to(&mut bins);
        bins
    }

    #[test]
    fn a_count_is_half_a_cache_line() {
        assert_eq!(size_of::<Count>(), 32);
    }

    #[test]
    fn a_full_bin_goes_to_the_overflow_bins() {
        let (mut full, mut overflow_bins) = (Count::new(1, 1), OverflowBins::new());
        full.add(Distance::new(70), &mut overflow_bins);
        full.accesses = u32::MAX;
        let mut sum = Count { owner: 2, ..full };
        sum.merge(&full, &mut overflow_bins);
        full.add(Distance::new(71), &mut overflow_bins);
        let most = u64::from(u32::MAX);
        let mut theirs = OverflowBins::new();
        overflow_bins.flush();
        overflow_bins.move_to(&mut theirs, |owner| if owner == 1 { 1 } else { 3 });
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
            let mut overflow_bins = OverflowBins::new();
            let mut expected = PatternBins::new();
            for (at, items) in distances.iter().enumerate() {
                let distance = Distance::new(*items);
                expected.add(distance, 1);
                if at < split { &mut left } else { &mut right }.add(distance, &mut overflow_bins);
            }
            overflow_bins.flush();
            let mut both = OverflowBins::new();
            overflow_bins.move_to(&mut both, |_| 5);
            left.owner = 5;
            left.merge(&right, &mut both);
            prop_assert_eq!(bins(&left, both), expected);
        }
    }
}
