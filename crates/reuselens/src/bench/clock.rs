//! The time that work takes: that of the processor, not of the clock on the wall.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// A thread that has a processor for less of the time than one part in so many cannot be measured:
/// each time it comes back its caches are those of others.
const SHARE: u32 = 5;

/// Runs from its making, while this thread has a processor. What else the machine runs disturbs
/// less for it; its use of caches and memory still does.
pub(super) struct Clock {
    start: Instant,
    processor: Duration,
}

/// What a clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elapsed {
    /// Processor time of the thread.
    pub(crate) time: Duration,
    /// Whether it had a processor for so much of the time that this says something.
    pub(crate) measurable: bool,
}

impl Clock {
    pub(super) fn start() -> Self {
        Clock {
            start: Instant::now(),
            processor: processor_time(),
        }
    }

    pub(super) fn elapsed(&self) -> Elapsed {
        let time = processor_time().saturating_sub(self.processor);
        Elapsed::of(time, self.start.elapsed())
    }
}

impl Elapsed {
    /// Of processor time, and time on the wall.
    fn of(time: Duration, wall: Duration) -> Self {
        Elapsed {
            time,
            measurable: time.saturating_mul(SHARE) >= wall && !time.is_zero(),
        }
    }
}

/// How long this thread has had a processor so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_counts_and_sleep_does_not() {
        let (wall, clock) = (Instant::now(), Clock::start());
        let sum = (0..1_000_000_u64).fold(0, |sum: u64, n| std::hint::black_box(sum ^ n));
        std::hint::black_box(sum);
        let worked = clock.elapsed().time;
        assert!(!worked.is_zero() && worked <= wall.elapsed());
        std::thread::sleep(Duration::from_millis(60).max(20 * worked));
        let asleep = clock.elapsed();
        assert!(asleep.time >= worked && asleep.time < wall.elapsed() / 2);
        assert!(!asleep.measurable);
    }

    #[test]
    fn a_thread_that_hardly_runs_is_not_measurable() {
        let of = |time, wall| Elapsed::of(Duration::from_millis(time), Duration::from_millis(wall));
        assert!(of(20, 100).measurable && of(100, 100).measurable);
        assert!(!of(19, 100).measurable && !of(0, 0).measurable);
    }
}
