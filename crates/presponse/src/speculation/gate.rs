//! [`NetBenefitGate`]: turns a kind of work ahead off where it loses.

use std::time::Duration;

/// Batches after which the choice that looks worse is tried again, at first. Each try that changes
/// nothing doubles them, as a try may be costly.
const FIRST_PAUSE: u64 = 16;
/// The most batches between two tries.
const LONGEST_PAUSE: u64 = 256;
/// Batches of a try; both choices have as many before one is preferred.
const TRY: u64 = 8;
/// The weight of a new value in an average: about the last 32 batches count, and in a try, which
/// has few, the last 8.
const NEW: f64 = 1.0 / 32.0;
const NEW_IN_TRY: f64 = 1.0 / TRY as f64;

/// Measures the net benefit of a kind of work ahead, and decides for each batch whether it is done.
///
/// The net benefit of a batch is the mean latency of batches without the work, less that of batches
/// with it, less the processor time that was wasted for it. Both choices are tried at first, and
/// the worse one again from time to time, since streams change.
#[derive(Clone, Debug)]
pub struct NetBenefitGate {
    /// The batch at which this gate begins to try, so that several gates do not try together.
    phase: u64,
    batches: u64,
    /// The batch at which the worse choice is tried again, and how long to wait after it.
    next_try: u64,
    pause: u64,
    /// Whether the work gained at the last batch.
    gained: bool,
    /// Mean latencies without and with the work, in nanoseconds; `None` before the first.
    latency: [Option<f64>; 2],
    /// Mean processor time that was wasted, in nanoseconds a batch.
    wasted: f64,
    is_on: bool,
    counts: GateCounts,
}

/// What a gate did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateCounts {
    /// Batches with the work.
    pub on: u64,
    /// Batches without it.
    pub off: u64,
}

impl NetBenefitGate {
    /// A gate that tries at other batches than those of another `phase`.
    pub fn new(phase: u64) -> Self {
        Self {
            phase,
            batches: 0,
            next_try: 2 * TRY + FIRST_PAUSE + phase,
            pause: FIRST_PAUSE,
            gained: false,
            latency: [None; 2],
            wasted: 0.0,
            is_on: false,
            counts: GateCounts::default(),
        }
    }

    /// Decides whether the work is done before the next batch.
    pub fn decide(&mut self) -> bool {
        self.is_on = if self.batches < 2 * TRY {
            (self.batches + self.phase).is_multiple_of(2)
        } else {
            self.gains() != (self.batches >= self.next_try)
        };
        self.is_on
    }

    /// Learns what the batch took, and how much processor time was wasted for it.
    pub fn learn(&mut self, latency: Duration, wasted: Duration) {
        let is_try = self.batches < 2 * TRY || self.batches >= self.next_try;
        let weight = if is_try { NEW_IN_TRY } else { NEW };
        self.batches += 1;
        let mean = &mut self.latency[usize::from(self.is_on)];
        let new = latency.as_nanos() as f64;
        *mean = Some(mean.map_or(new, |mean| mean + weight * (new - mean)));
        if self.is_on {
            self.counts.on += 1;
            self.wasted += weight * (wasted.as_nanos() as f64 - self.wasted);
        } else {
            self.counts.off += 1;
        }
        self.plan_try();
    }

    /// After a try, or where the better choice has changed: when the next try is.
    fn plan_try(&mut self) {
        let gains = self.gains();
        let has_changed = gains != self.gained;
        self.gained = gains;
        if has_changed {
            self.pause = FIRST_PAUSE;
            self.next_try = self.batches + self.pause;
        } else if self.batches == self.next_try + TRY {
            self.pause = (2 * self.pause).min(LONGEST_PAUSE);
            self.next_try = self.batches + self.pause;
        }
    }

    /// Whether the work gains more than it wastes; false before both choices were tried.
    pub fn gains(&self) -> bool {
        let [Some(without), Some(with)] = self.latency else {
            return false;
        };
        without - with > self.wasted
    }

    /// What it did so far.
    pub fn counts(&self) -> GateCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of 1000 batches with the work, where it makes a batch of 100 µs take `with`, and
    /// wastes `wasted`.
    fn share_on(with: u64, wasted: u64) -> f64 {
        let mut gate = NetBenefitGate::new(0);
        for _ in 0..1000 {
            let latency = if gate.decide() { with } else { 100 };
            gate.learn(
                Duration::from_micros(latency),
                Duration::from_micros(wasted),
            );
        }
        let GateCounts { on, off } = gate.counts();
        assert_eq!(on + off, 1000);
        on as f64 / 1000.0
    }

    #[test]
    fn work_that_gains_is_done() {
        assert!(share_on(50, 0) > 0.9);
    }

    #[test]
    fn work_that_costs_latency_or_more_than_it_gains_is_not_done() {
        assert!(share_on(120, 0) < 0.1);
        assert!(share_on(50, 80) < 0.1);
    }

    #[test]
    fn a_gate_changes_with_the_stream() {
        let mut gate = NetBenefitGate::new(3);
        let mut opened = [0; 2];
        for batch in 0..4000 {
            let is_late = batch >= 2000;
            let is_on = gate.decide();
            opened[usize::from(is_late)] += u32::from(is_on);
            let latency = if !is_on {
                100
            } else if is_late {
                50
            } else {
                200
            };
            gate.learn(Duration::from_micros(latency), Duration::ZERO);
        }
        assert!(opened[0] < 200 && opened[1] > 1000, "{opened:?}");
    }
}
