//! Locks and waits that ignore poisoning.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Locks `mutex`, also after a thread panicked while it held the lock.
///
/// The caller must keep what the mutex protects valid between statements. The panic itself is not
/// lost: whoever joins the thread gets it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `condvar` is notified, as [`Condvar::wait`] does; may wake without a notice.
pub fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `condvar` is notified or `time` has passed; may wake earlier.
pub fn wait_timeout<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    time: Duration,
) -> MutexGuard<'a, T> {
    let woken = condvar.wait_timeout(guard, time);
    woken.unwrap_or_else(PoisonError::into_inner).0
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A mutex that a thread left locked when it panicked.
    fn poisoned(value: u32) -> Arc<Mutex<u32>> {
        let mutex = Arc::new(Mutex::new(value));
        let theirs = Arc::clone(&mutex);
        let thread = std::thread::spawn(move || {
            let _guard = lock(&theirs);
            panic!("with the lock held");
        });
        assert!(thread.join().is_err() && mutex.is_poisoned());
        mutex
    }

    #[test]
    fn a_poisoned_mutex_can_be_locked() {
        let mutex = poisoned(7);
        *lock(&mutex) += 1;
        assert_eq!(*lock(&mutex), 8);
    }

    #[test]
    fn waits_end_with_a_poisoned_mutex() {
        let (mutex, condvar) = (poisoned(0), Condvar::new());
        let guard = wait_timeout(&condvar, lock(&mutex), Duration::from_millis(1));
        drop(guard);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                *lock(&mutex) = 1;
                condvar.notify_all();
            });
            let mut guard = lock(&mutex);
            while *guard == 0 {
                guard = wait(&condvar, guard);
            }
            assert_eq!(*guard, 1);
        });
    }
}
