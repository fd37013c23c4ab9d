//! [`Gaps`]: the times of which a sample of the items has no access at all.

use reuselens_units::Bytes;

use super::slices::MeasuredTime;

/// A gap between sampled accesses counts if it is so many times as long as the mean gap of items
/// that are accessed once each. Of those, chance puts (1 + 16) · e⁻¹⁶ of the time, two millionths,
/// into such gaps.
const MEANS: f64 = 16.0;
/// Standard deviations by which the bursts may have met less or more of the gaps by chance.
const CHANCE: f64 = 2.0;
/// Gaps at most: then those below twice the length are no longer kept.
const MOST: usize = 4096;

/// Long times without a sampled access. All accesses of such a time are to a few items, of which
/// the sample happens to have none: it says nothing of them, neither their number nor whether they
/// hit.
pub(super) struct Gaps {
    /// Where they begin and end, ascending.
    gaps: Vec<(u64, u64)>,
    shortest: u64,
    /// The first time after the last sampled access.
    next: u64,
}

impl Gaps {
    pub(super) fn new() -> Self {
        Gaps {
            gaps: Vec::new(),
            shortest: 0,
            next: 0,
        }
    }

    pub(super) fn memory(&self) -> Bytes {
        Bytes((self.gaps.capacity() * size_of::<(u64, u64)>()) as u64)
    }

    /// The shortest gap that counts at a rate.
    pub(super) fn shortest(&self, rate: f64) -> u64 {
        self.shortest.max((MEANS / rate) as u64)
    }

    /// Takes the time of a sampled access, where `shortest` is the length of gaps that count.
    #[inline]
    pub(super) fn add(&mut self, time: u64, shortest: u64) {
        if time - self.next >= shortest {
            self.push(time);
        }
        self.next = time + 1;
    }

    #[cold]
    fn push(&mut self, end: u64) {
        self.gaps.push((self.next, end));
        while self.gaps.len() >= MOST {
            let lengths = self.gaps.iter().map(|(begin, end)| end - begin);
            self.shortest = 2 * lengths.min().unwrap_or(1).max(self.shortest);
            let shortest = self.shortest;
            self.gaps.retain(|(begin, end)| end - begin >= shortest);
        }
    }

    /// How much larger or smaller the share of gaps is in all `accesses` than in the bursts, beyond
    /// chance. Where some bursts are in gaps and others are not, as with few items that take turns,
    /// chance is large here, and part of the bound of the bursts anyway. Where no burst is in a
    /// gap, nothing is known of what happens there.
    pub(super) fn unmet(&self, accesses: u64, rate: f64, bursts: &[MeasuredTime]) -> f64 {
        let last = Some((self.next, accesses));
        let last = last.filter(|(begin, end)| end.saturating_sub(*begin) >= self.shortest(rate));
        let gaps = || self.gaps.iter().copied().chain(last);
        let all: u64 = gaps().map(|(begin, end)| end - begin).sum();
        let (mut weights, mut weight_squares) = (0.0, 0.0);
        let (mut sum, mut squares) = (0.0, 0.0);
        for burst in bursts {
            let share = self.overlap(last, burst) as f64 / (burst.end - burst.begin).max(1) as f64;
            weights += burst.weight;
            weight_squares += burst.weight * burst.weight;
            sum += burst.weight * share;
            squares += burst.weight * share * share;
        }
        if weights <= 0.0 {
            return 1.0;
        }
        let mean = sum / weights;
        let replicates = weights * weights / weight_squares;
        let variance = (squares / weights - mean * mean).max(0.0) / (replicates - 1.0).max(1.0);
        let unmet = (all as f64 / accesses.max(1) as f64 - mean).abs();
        (unmet - CHANCE * variance.sqrt()).max(0.0)
    }

    /// The accesses of a burst that are in gaps.
    fn overlap(&self, last: Option<(u64, u64)>, burst: &MeasuredTime) -> u64 {
        let first = self.gaps.partition_point(|(_, end)| *end <= burst.begin);
        let near = self.gaps[first..].iter().copied().chain(last);
        let near = near.take_while(|(begin, _)| *begin < burst.end);
        near.map(|(begin, end)| end.min(burst.end).saturating_sub(begin.max(burst.begin)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(begin: u64) -> MeasuredTime {
        MeasuredTime {
            begin,
            end: begin + 1000,
            weight: 1.0,
        }
    }

    /// Gaps of a stream with a sampled access in every 100, but for those times.
    fn gaps_at(without: &[std::ops::Range<u64>]) -> Gaps {
        let mut gaps = Gaps::new();
        let shortest = gaps.shortest(0.01);
        let sampled = (50..100_000).step_by(100);
        for time in sampled.filter(|time| without.iter().all(|gap| !gap.contains(time))) {
            gaps.add(time, shortest);
        }
        gaps
    }

    #[test]
    fn gaps_that_no_burst_met_count_by_their_time() {
        for from in [0, 40_000, 90_000] {
            let gaps = gaps_at(std::slice::from_ref(&(from..from + 10_000)));
            let outside = gaps.unmet(100_000, 0.01, &[20_000, 60_000].map(burst));
            assert!((outside - 0.1).abs() < 0.002, "{outside}");
            let everywhere: Vec<_> = (0..100).map(|at| burst(at * 1000)).collect();
            let everywhere = gaps.unmet(100_000, 0.01, &everywhere);
            assert!(everywhere < 0.002, "{everywhere}");
        }
        assert_eq!(gaps_at(&[]).unmet(100_000, 0.01, &[burst(0)]), 0.0);
    }

    /// Of gaps that are half of all time, four of ten bursts met one.
    #[test]
    fn what_bursts_meet_by_chance_does_not_count() {
        let without: Vec<_> = (0..10).map(|at| at * 10_000..at * 10_000 + 5000).collect();
        let gaps = gaps_at(&without);
        let bursts: Vec<_> = (0..10)
            .map(|at| burst(at * 10_000 + if at < 4 { 2000 } else { 7000 }))
            .collect();
        assert_eq!(gaps.unmet(100_000, 0.01, &bursts), 0.0);
        assert!(gaps.unmet(100_000, 0.01, &bursts[4..]) > 0.49);
    }

    #[test]
    fn the_longest_of_too_many_gaps_are_kept() {
        let mut gaps = Gaps::new();
        let mut time = 0;
        for number in 0..3 * MOST as u64 {
            time += if number == 5000 { 1_000_000 } else { 1000 };
            gaps.add(time, gaps.shortest(0.1));
        }
        assert!(gaps.gaps.len() < MOST && gaps.memory() < Bytes(1 << 17));
        let longest = gaps.gaps.iter().map(|(begin, end)| end - begin).max();
        assert_eq!(longest, Some(999_999));
        assert!(gaps.unmet(time, 0.1, &[burst(0)]) >= 1e6 / time as f64 - 1e-3);
    }
}
