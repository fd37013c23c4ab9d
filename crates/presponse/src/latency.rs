//! [`Latencies`]: how long something took, many times.

use std::time::Duration;

/// Values below this have a counter of their own; above it, each power of two has half as many
/// counters.
const EXACT: u64 = 128;
/// Counters per power of two.
const STEPS: usize = EXACT as usize / 2;
/// log2 of [`EXACT`].
const EXACT_BITS: u32 = EXACT.ilog2();
/// All of 64 bits.
const COUNTERS: usize = EXACT as usize + STEPS * (64 - EXACT_BITS as usize);

/// A histogram of durations in nanoseconds. Memory is fixed (15 KiB), and percentiles are at most
/// 1.6 % above the value that they stand for.
#[derive(Clone, Debug)]
pub struct Latencies {
    counts: Vec<u32>,
    count: u64,
    sum: u128,
    most: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            counts: vec![0; COUNTERS],
            count: 0,
            sum: 0,
            most: 0,
        }
    }
}

impl Latencies {
    /// Counts one.
    pub fn add(&mut self, latency: Duration) {
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        let counter = &mut self.counts[counter(nanoseconds)];
        *counter = counter.saturating_add(1);
        self.count += 1;
        self.sum += u128::from(nanoseconds);
        self.most = self.most.max(nanoseconds);
    }

    /// Counts all that another one has.
    pub fn merge(&mut self, other: &Self) {
        for (one, more) in self.counts.iter_mut().zip(&other.counts) {
            *one = one.saturating_add(*more);
        }
        self.count += other.count;
        self.sum += other.sum;
        self.most = self.most.max(other.most);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest, in nanoseconds.
    pub fn max(&self) -> u64 {
        self.most
    }

    /// The average in nanoseconds; 0 if there were none.
    pub fn mean(&self) -> u64 {
        (self.sum / u128::from(self.count.max(1))) as u64
    }

    /// The value in nanoseconds that a share of them (0.5 for the median) does not exceed; 0 if
    /// there were none.
    pub fn percentile(&self, share: f64) -> u64 {
        let wanted = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        let mut passed = 0;
        for (at, count) in self.counts.iter().enumerate() {
            passed += u64::from(*count);
            if passed >= wanted {
                return highest(at).min(self.most);
            }
        }
        self.most
    }
}

/// The counter of a value.
fn counter(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let power = value.ilog2();
    let step = (value >> (power + 1 - EXACT_BITS)) as usize - STEPS;
    EXACT as usize + (power - EXACT_BITS) as usize * STEPS + step
}

/// The highest value of a counter.
fn highest(counter: usize) -> u64 {
    let Some(above) = counter.checked_sub(EXACT as usize) else {
        return counter as u64;
    };
    let (power, step) = ((above / STEPS) as u32 + EXACT_BITS, above % STEPS);
    let width = 1_u64 << (power + 1 - EXACT_BITS);
    ((STEPS + step) as u64 * width).saturating_add(width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_in_order_and_narrow() {
        let mut values: Vec<u64> = (0..63)
            .flat_map(|bit| [1 << bit, (1 << bit) + 1, 3 << bit >> 1])
            .collect();
        values.extend([0, 5, 127, 128, 129, 1000, u64::MAX]);
        values.sort_unstable();
        for pair in values.windows(2) {
            assert!(counter(pair[0]) <= counter(pair[1]));
        }
        for value in values {
            let high = highest(counter(value));
            assert!(
                high >= value && high as f64 <= value as f64 * 1.016,
                "{value} {high}"
            );
            assert!(counter(value) < COUNTERS);
        }
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_values() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.percentile(0.5), 0);
        for value in (1..=100).rev() {
            latencies.add(Duration::from_nanos(value));
        }
        let found = [0.0, 0.5, 0.99, 0.999, 1.0].map(|share| latencies.percentile(share));
        assert_eq!(found, [1, 50, 99, 100, 100]);
        assert_eq!(
            (latencies.max(), latencies.mean(), latencies.count()),
            (100, 50, 100)
        );
    }
}
