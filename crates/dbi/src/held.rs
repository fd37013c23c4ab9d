//! [`Held`]: a thread's signals that have arrived and are not delivered yet, because another one is
//! delivered first, or because the program blocks them. As in the kernel, a signal number waits at
//! most once, with the `siginfo` of its first arrival.
//!
//! The handler of signals adds to it at any time, also while the thread takes from it.

use core::sync::atomic::{AtomicU64, Ordering};

use super::SIGNALS;

/// The signals that wait.
pub struct Held {
    /// A bit for each signal that waits.
    waiting: AtomicU64,
    /// Those of them that are delivered even if the program's mask has them: the kernel has found
    /// that they are not blocked, by a mask that only it knows.
    open: AtomicU64,
    /// Their `siginfo`, by signal number.
    infos: [[u64; 16]; SIGNALS],
}

impl Held {
    /// No signal waits.
    pub const fn new() -> Held {
        Held {
            waiting: AtomicU64::new(0),
            open: AtomicU64::new(0),
            infos: [[0; 16]; SIGNALS],
        }
    }

    /// Adds a signal with its `siginfo`. `open`: whether it is delivered whatever the program's
    /// mask is.
    pub fn add(&mut self, signal: u32, info: &[u64; 16], open: bool) {
        let bit = 1 << (signal - 1);
        if self.waiting.load(Ordering::Relaxed) & bit == 0 {
            self.infos[signal as usize] = *info;
        }
        if open {
            self.open.fetch_or(bit, Ordering::Relaxed);
        }
        self.waiting.fetch_or(bit, Ordering::Release);
    }

    /// The signals that wait, a bit each.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The signals that are to be delivered to a program with this mask, a bit each.
    pub fn ready(&self, mask: u64) -> u64 {
        let waiting = self.waiting.load(Ordering::Acquire);
        waiting & (!mask | self.open.load(Ordering::Relaxed))
    }

    /// Makes these signals be delivered whatever the program's mask is.
    pub fn open(&self, signals: u64) {
        self.open.fetch_or(signals, Ordering::Relaxed);
    }

    /// Takes the signal that the kernel would deliver first, with its `siginfo`: the lowest, but
    /// those of `first` before all others.
    pub fn take(&mut self, mask: u64, first: u64) -> Option<(u32, [u64; 16])> {
        let ready = self.ready(mask);
        let found = self.first(ready & first).or_else(|| self.first(ready))?;
        self.forget(1 << (found.0 - 1));
        Some(found)
    }

    /// The lowest of the signals `among` that waits, with its `siginfo`.
    pub fn first(&self, among: u64) -> Option<(u32, [u64; 16])> {
        let waiting = self.waiting.load(Ordering::Acquire) & among;
        // While a signal waits, the handler does not change its `siginfo`.
        let signal = waiting.trailing_zeros() + 1;
        (waiting != 0).then(|| (signal, self.infos[signal as usize]))
    }

    /// Removes these signals.
    pub fn forget(&self, signals: u64) {
        self.open.fetch_and(!signals, Ordering::Relaxed);
        self.waiting.fetch_and(!signals, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: u64 = 1 << 7 | 1 << 10;

    /// The number of the next signal, and the first word of its `siginfo`.
    fn next(held: &mut Held, mask: u64) -> Option<(u32, u64)> {
        held.take(mask, FIRST)
            .map(|(signal, info)| (signal, info[0]))
    }

    #[test]
    fn take_prefers_faults_and_then_the_lowest() {
        let mut held = Held::new();
        for signal in [14, 10, 11, 8, 64] {
            held.add(signal, &[u64::from(signal); 16], false);
        }
        for signal in [8, 11, 10, 14, 64] {
            assert_eq!(next(&mut held, 0), Some((signal, u64::from(signal))));
        }
        assert_eq!(next(&mut held, 0), None);
    }

    #[test]
    fn second_signal_of_a_number_is_dropped() {
        let mut held = Held::new();
        held.add(11, &[1; 16], false);
        held.add(11, &[2; 16], false);
        assert_eq!(next(&mut held, 0), Some((11, 1)));
        assert_eq!(next(&mut held, 0), None);
    }

    #[test]
    fn blocked_signal_waits_until_it_is_open() {
        let mut held = Held::new();
        held.add(11, &[1; 16], false);
        held.add(10, &[2; 16], true);
        assert_eq!(next(&mut held, !0), Some((10, 2)));
        assert_eq!(next(&mut held, !0), None);
        held.open(1 << 10);
        assert_eq!(next(&mut held, !0), Some((11, 1)));
        held.add(11, &[1; 16], false);
        assert_eq!(next(&mut held, !0), None, "open once");
    }
}
