//! [`Guarded`]: a value that several threads use, and a forked child too. The locks of the standard
//! library may be held by a thread that a forked child does not have; these are taken before a fork
//! and released after it. In between, the program's own fork handlers may allocate, which needs the
//! values: the thread that forks uses them without taking the locks again.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use reuselens_guest::lock::Lock;

unsafe extern "C" {
    safe fn pthread_self() -> usize;
}

/// The thread that forks, as long as it holds all locks; 0 otherwise.
static FORKING: AtomicUsize = AtomicUsize::new(0);

/// Whether this thread forks, and holds all locks. In a child it has the same number.
pub fn is_forking() -> bool {
    FORKING.load(Ordering::Relaxed) == pthread_self()
}

/// Called by a thread that has taken all locks because it forks.
pub fn begin_fork() {
    FORKING.store(pthread_self(), Ordering::Relaxed);
}

/// Called by that thread, in parent and child, before it releases the locks.
pub fn end_fork() {
    FORKING.store(0, Ordering::Relaxed);
}

/// A value that a lock protects, which is held for short times only.
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
        let _held = (!is_forking()).then(|| self.lock.hold());
        // SAFETY: this thread holds the lock, now or since it began to fork, and `work` cannot
        // keep the reference.
        work(unsafe { &mut *self.value.get() })
    }

    /// The lock, to be taken before a fork and released after it.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }
}
