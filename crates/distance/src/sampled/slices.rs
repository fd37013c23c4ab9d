//! [`Slices`]: the sample of the items by time, which says how far bursts are off because of the
//! times at which they were.

use reuselens_units::Bytes;

use super::bins::{BINS, low};
use super::regression::corrected;

/// Slices of time at most: then pairs of them become one.
const MOST: usize = 128;
/// log2 of the accesses of the shortest slices.
const SHORTEST: u32 = 9;
/// Parts of the items that vary independently.
const GROUPS: usize = 16;
/// Bins: two to an octave, then the cold accesses.
const COARSE: usize = 80;
/// The quantile of a normal deviation in one direction, by that in both.
const ONE_SIDED: f64 = 1.645 / 1.96;

/// Sampled accesses in slices of time, by group of their items and bin of their distance.
pub(super) struct Slices {
    /// log2 of the accesses of a slice.
    shift: u32,
    counts: Vec<[[f32; COARSE + 1]; GROUPS]>,
}

/// The measured part of a burst, and how much it weighs.
#[derive(Clone, Copy)]
pub(super) struct MeasuredTime {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) weight: f64,
}

impl Slices {
    pub(super) fn new() -> Self {
        Slices {
            shift: SHORTEST,
            counts: Vec::new(),
        }
    }

    pub(super) fn memory(&self) -> Bytes {
        Bytes((self.counts.capacity() * size_of::<[[f32; COARSE + 1]; GROUPS]>()) as u64)
    }

    /// Counts a sampled access that weighs `weight`, at this time, with a number of its item's
    /// hash.
    #[inline]
    pub(super) fn add(&mut self, time: u64, hash: usize, distance: Option<u64>, weight: f64) {
        let mut slice = (time >> self.shift) as usize;
        if slice >= self.counts.len() {
            while slice >= MOST {
                self.merge();
                slice = (time >> self.shift) as usize;
            }
            let none = [[0.0; COARSE + 1]; GROUPS];
            self.counts.resize(self.counts.len().max(slice + 1), none);
        }
        self.counts[slice][hash % GROUPS][distance.map_or(COARSE, coarse)] += weight as f32;
    }

    /// Makes each pair of slices one.
    fn merge(&mut self) {
        let pairs = self.counts.chunks(2).map(|pair| {
            let mut sum = pair[0];
            for (sum, more) in sum
                .iter_mut()
                .zip(pair.get(1).iter().flat_map(|it| it.iter()))
            {
                for (sum, more) in sum.iter_mut().zip(more) {
                    *sum += more;
                }
            }
            sum
        });
        self.counts = pairs.collect();
        self.shift += 1;
    }

    /// The share of all accesses by which bursts may be off, for each cache size, because of when
    /// they were: how many more or fewer misses the sampled items have at all times than in the
    /// slices with bursts, each as often as it has bursts, and the error of that. What hot items do
    /// to the sample they do in all slices, so it does not count. `left` is the share of the items
    /// that is not sampled, and `gaps` the share of the accesses that no burst met and of which the
    /// sample has none.
    pub(super) fn off(
        &self,
        accesses: u64,
        bursts: &[MeasuredTime],
        left: f64,
        gaps: f64,
    ) -> Vec<f64> {
        let factors = self.factors(accesses, bursts);
        let differences = |bin: usize| -> Vec<f64> {
            let of_group = |group: usize| {
                let slices = self.counts.iter().zip(&factors);
                let misses = slices.map(|(slice, factor)| {
                    let misses: f64 = slice[group][bin..]
                        .iter()
                        .map(|count| f64::from(*count))
                        .sum();
                    factor * misses
                });
                misses.sum::<f64>() * GROUPS as f64 / accesses.max(1) as f64
            };
            (0..GROUPS).map(of_group).collect()
        };
        let all = differences(0);
        // Accesses that are missing from slices without bursts are of items that are not sampled.
        // They may miss or hit.
        let missing = corrected(&all, None, left);
        let missing = (missing.mean.abs() - missing.deviation).max(gaps);
        let coarse_off: Vec<f64> = (0..=COARSE)
            .map(|bin| {
                let more = corrected(&differences(bin), Some(&all), left);
                // An error larger than what was seen of it is so in one direction only.
                more.mean.abs() + ONE_SIDED * more.quantile() * more.deviation + missing
            })
            .collect();
        let between = |bin: usize| match bin {
            BINS => coarse_off[COARSE],
            bin => {
                let below = coarse(low(bin));
                coarse_off[below].max(coarse_off[below + 1])
            }
        };
        (0..=BINS).map(between).collect()
    }

    /// One less how many times as much as its share of the time each slice counts in the bursts.
    fn factors(&self, accesses: u64, bursts: &[MeasuredTime]) -> Vec<f64> {
        let mut inside = vec![0.0; self.counts.len()];
        let mut all = 0.0;
        for burst in bursts {
            let density = burst.weight / (burst.end - burst.begin).max(1) as f64;
            all += burst.weight;
            for slice in burst.begin >> self.shift..=burst.end.saturating_sub(1) >> self.shift {
                let begin = burst.begin.max(slice << self.shift);
                let end = burst.end.min((slice + 1) << self.shift);
                if let Some(inside) = inside.get_mut(slice as usize) {
                    *inside += density * (end - begin) as f64;
                }
            }
        }
        let factor = |(slice, inside): (usize, &f64)| {
            let begin = (slice as u64) << self.shift;
            let length = (accesses.saturating_sub(begin)).min(1 << self.shift).max(1);
            1.0 - inside / all.max(1.0) * accesses as f64 / length as f64
        };
        inside.iter().enumerate().map(factor).collect()
    }
}

/// The coarse bin of a distance: two to an octave.
fn coarse(distance: u64) -> usize {
    if distance < 2 {
        return distance as usize;
    }
    let octave = distance.ilog2();
    (2 * octave as usize + (distance >> (octave - 1) & 1) as usize).min(COARSE - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_bins_are_two_to_an_octave() {
        let bins: Vec<usize> = [0, 1, 2, 3, 4, 5, 6, 8, 12, 16, u64::MAX]
            .map(coarse)
            .to_vec();
        assert_eq!(bins, [0, 1, 2, 3, 4, 4, 5, 6, 7, 8, COARSE - 1]);
    }

    /// Hits for a tenth of the time, in which there was no burst.
    #[test]
    fn what_no_burst_met_is_seen() {
        let accesses = 200_000;
        let mut slices = Slices::new();
        for time in (0..accesses).step_by(10) {
            let hits = (90_000..110_000).contains(&time);
            slices.add(time, time as usize / 10, hits.then_some(3), 10.0);
        }
        let burst = |begin| MeasuredTime {
            begin,
            end: begin + 5000,
            weight: 1.0,
        };
        let outside = slices.off(accesses, &[10_000, 50_000, 150_000].map(burst), 0.9, 0.0);
        assert!((outside[8] - 0.1).abs() < 0.03, "{}", outside[8]);
        let everywhere: Vec<_> = (0..40).map(|at| burst(at * 5000)).collect();
        let everywhere = slices.off(accesses, &everywhere, 0.9, 0.0);
        assert!(everywhere[8] < 0.01, "{}", everywhere[8]);
    }
}
