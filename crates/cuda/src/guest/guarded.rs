//! [`Guarded`]: a value that several threads use, and a forked child too. The locks of the standard
//! library may be held by a thread that a forked child does not have; these are taken before a fork
//! and given back after it.

use std::cell::UnsafeCell;

use super::shared::lock::Lock;

/// A value behind a lock that is held for short times only.
pub struct Guarded<T> {
    lock: Lock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only used while the lock is held.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    pub const fn new(value: T) -> Guarded<T> {
        Guarded {
            lock: Lock::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// Uses the value. `work` must not call functions of the program or wait for other threads.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let _held = self.lock.hold();
        // SAFETY: the lock is held, and `work` cannot keep the reference.
        work(unsafe { &mut *self.value.get() })
    }

    /// The lock, to be taken before a fork and released after it.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }
}
