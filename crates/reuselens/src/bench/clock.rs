//! The time that work takes, less the time that it waits for a processor.

use std::fs;
use std::time::{Duration, Instant};

/// Runs from its making. Where the system says how long this thread stood in line for a processor (Linux:
/// `/proc/thread-self/schedstat`), that is taken off, so that what else the machine runs disturbs less; its
/// use of caches and memory still does.
pub(super) struct Clock {
    start: Instant,
    waited: Duration,
}

impl Clock {
    pub(super) fn start() -> Self {
        Clock {
            waited: waited(),
            start: Instant::now(),
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        let elapsed = self.start.elapsed();
        elapsed.saturating_sub(waited().saturating_sub(self.waited))
    }
}

/// How long this thread has waited so far: the second number, in nanoseconds.
fn waited() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let number = text.split_whitespace().nth(1);
    Duration::from_nanos(number.and_then(|text| text.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_never_ahead_of_the_time() {
        let before = Instant::now();
        let clock = Clock::start();
        let sum = (0..1_000_000_u64).fold(0, |sum: u64, n| sum.wrapping_mul(31) ^ n);
        std::hint::black_box(sum);
        assert!(clock.elapsed() <= before.elapsed());
        assert!(waited() >= clock.waited);
    }
}
