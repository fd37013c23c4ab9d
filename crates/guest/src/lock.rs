//! [`Lock`]: a lock that needs nothing from the C library, for state that is held for short times.
//! It can be taken by one function and given back by another, as those are that run around a fork.
//!
//! Who waits makes a system call. Programs may forbid those, so `runtime`, which goes on then, uses
//! no such lock (`cargo xtask tidy` holds it to that).
//!
//! A thread that is killed while it holds the lock never gives it back. The crate `dbi`, which must
//! survive that, has a lock of its own.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::sys;

/// A lock over some state that is elsewhere.
pub struct Lock(AtomicBool);

/// Holds a [`Lock`].
pub struct LockHeld<'a>(&'a Lock);

impl Default for Lock {
    fn default() -> Self {
        Lock::new()
    }
}

impl Lock {
    /// A lock that nobody holds.
    pub const fn new() -> Self {
        Lock(AtomicBool::new(false))
    }

    /// Waits for the lock, and holds it until the value is dropped.
    pub fn hold(&self) -> LockHeld<'_> {
        self.take();
        LockHeld(self)
    }

    /// Holds the lock if nobody else does.
    pub fn try_hold(&self) -> Option<LockHeld<'_>> {
        (!self.0.swap(true, Ordering::Acquire)).then(|| LockHeld(self))
    }

    /// Holds the lock after at most some thousands of tries: for callers that may have interrupted
    /// the thread that holds it.
    pub fn hold_soon(&self) -> Option<LockHeld<'_>> {
        for _ in 0..4096 {
            if let Some(held) = self.try_hold() {
                return Some(held);
            }
            sys::yield_now();
        }
        None
    }

    /// Waits for the lock. Who takes it gives it back with [`release`](Self::release).
    pub fn take(&self) {
        let mut spins = 0_u32;
        while self.0.swap(true, Ordering::Acquire) {
            spins += 1;
            if spins < 64 {
                core::hint::spin_loop();
            } else {
                sys::yield_now();
            }
        }
    }

    /// Gives it back.
    pub fn release(&self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Drop for LockHeld<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use core::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn one_thread_at_a_time_holds_the_lock() {
        static LOCK: Lock = Lock::new();
        static COUNT: AtomicU64 = AtomicU64::new(0);
        const STEPS: u64 = 10_000;
        let count = || {
            for _ in 0..STEPS {
                let _held = LOCK.hold();
                // Not one operation: a step is lost where two threads hold the lock.
                let before = COUNT.load(Ordering::Relaxed);
                COUNT.store(before + 1, Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(count);
            count();
        });
        assert_eq!(COUNT.load(Ordering::Relaxed), 2 * STEPS);
    }

    #[test]
    fn a_lock_that_is_held_is_refused_until_it_is_given_back() {
        let lock = Lock::new();
        let held = lock.hold();
        assert!(lock.try_hold().is_none());
        assert!(lock.hold_soon().is_none());
        drop(held);
        lock.take();
        assert!(lock.try_hold().is_none());
        lock.release();
        assert!(lock.hold_soon().is_some());
    }
}
