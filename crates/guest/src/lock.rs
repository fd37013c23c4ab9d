//! A lock that needs nothing from the C library.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::sys;

/// A lock over some state that is elsewhere. It is held for short times only.
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
