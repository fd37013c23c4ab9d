//! [`Lock`]: a spin lock for the state that all threads of a process share. It is held for a short
//! time, and never while code of the program runs.
//!
//! It is not the crate `guest`'s: the child of a `vfork` uses the memory of its parent, locks
//! included. If the parent is killed while it holds one, nobody gives that back, so who waits here
//! looks now and then whether the process that the lock belongs to is still there.
//!
//! A lock is also held during system calls in one case. The lock of `CODES` is held across `mmap`
//! with `MAP_FIXED`, `mprotect`, `mremap`, `shmat` with `SHM_REMAP`, and `munmap` and `shmdt` of
//! memory with code in it, so that no thread translates from memory that the kernel is changing.
//! These calls return soon; pages are filled after them (`MAP_POPULATE`). But with `MAP_LOCKED` or
//! `mlockall` the kernel fills the pages at once. If such a call has to wait for another program (a
//! file system in user space, `userfaultfd` with events, a `seccomp` supervisor), all threads that
//! need a block that is not translated wait, too. If it waits for a thread of the same process, it
//! waits forever.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};

use reuselens_guest::sys;

use super::process;

/// A value that is guarded by a lock.
pub struct Lock<T> {
    held: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one thread at a time.
unsafe impl<T> Sync for Lock<T> {}

/// The right to use the value.
pub struct Guard<'a, T>(&'a Lock<T>);

impl<T> Lock<T> {
    /// A lock around `value`.
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
            if rounds.is_multiple_of(1 << 16) {
                process::end_if_abandoned();
            } else if rounds.is_multiple_of(64) {
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
