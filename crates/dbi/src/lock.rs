//! A lock for the state that all threads share: held shortly, never while code of the program runs.
//!
//! One exception: that of the codes is held across `mmap` with `MAP_FIXED`, `mprotect`, `mremap`,
//! `shmat` with `SHM_REMAP`, and `munmap` and `shmdt` of memory with code in it, so that no thread
//! translates from what the kernel is changing. These return soon; pages are filled after it
//! (`MAP_POPULATE`). But with `MAP_LOCKED` or `mlockall` the kernel fills them at once, and where
//! such a call waits for somebody (a file system in user space, `userfaultfd` with events, a
//! `seccomp` supervisor), all threads wait that come to code they have not been to: if it waits for
//! a thread of the same process, it waits forever.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};

use super::sys;

/// A value behind a lock.
pub struct Lock<T> {
    held: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one thread at a time.
unsafe impl<T> Sync for Lock<T> {}

/// The right to use the value.
pub struct Guard<'a, T>(&'a Lock<T>);

impl<T> Lock<T> {
    /// Puts a value behind a lock.
    pub const fn new(value: T) -> Self {
        Lock {
            held: AtomicU32::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock.
    pub fn lock(&self) -> Guard<'_, T> {
        let mut rounds = 0_u32;
        while self.held.swap(1, Ordering::Acquire) != 0 {
            rounds += 1;
            if rounds.is_multiple_of(64) {
                sys::yield_now();
            } else {
                core::hint::spin_loop();
            }
        }
        Guard(self)
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.held.store(0, Ordering::Release);
    }
}
