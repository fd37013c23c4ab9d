//! Threads that run one piece of work each.

use std::panic::resume_unwind;
use std::sync::mpsc::channel;
use std::thread::{Builder, JoinHandle};

/// A thread at work, which ends with a `T`.
#[derive(Debug)]
pub struct Worker<T> {
    thread: JoinHandle<Option<T>>,
}

/// Runs `work` with `state` on a thread called `name`.
///
/// # Errors
/// The `state`, if the system gives no thread: the caller goes on with it.
///
/// ```
/// use reuselens_workers::spawn;
///
/// let sum = |numbers: Vec<u64>| numbers.iter().sum::<u64>();
/// let total = match spawn("sum", vec![1, 2, 3], sum) {
///     Ok(worker) => worker.join(),
///     Err(numbers) => sum(numbers),
/// };
/// assert_eq!(total, 6);
/// ```
pub fn spawn<S, T>(
    name: &str,
    state: S,
    work: impl FnOnce(S) -> T + Send + 'static,
) -> Result<Worker<T>, S>
where
    S: Send + 'static,
    T: Send + 'static,
{
    spawn_from(Builder::new().name(name.to_owned()), state, work)
}

fn spawn_from<S, T>(
    builder: Builder,
    state: S,
    work: impl FnOnce(S) -> T + Send + 'static,
) -> Result<Worker<T>, S>
where
    S: Send + 'static,
    T: Send + 'static,
{
    // The state follows once the thread exists: a thread that cannot be had drops its closure.
    let (give, take) = channel();
    match builder.spawn(move || take.recv().ok().map(work)) {
        Ok(thread) => {
            // The thread waits for this.
            let _ = give.send(state);
            Ok(Worker { thread })
        }
        Err(_) => Err(state),
    }
}

impl<T> Worker<T> {
    /// Waits until the work is done.
    ///
    /// # Panics
    /// If the work did, with what it panicked with.
    pub fn join(self) -> T {
        match self.thread.join() {
            Ok(Some(done)) => done,
            Ok(None) => unreachable!("the state was sent when the thread began"),
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// Runs `own` on this thread and `other` on each of up to `threads - 1` threads called `name`, and
/// returns what they came to, that of `own` first.
///
/// The system may give fewer threads, and with `threads` at 0 or 1 there is none besides this one:
/// `own` must be able to do all of the work.
///
/// # Panics
/// If one of them did, with what it panicked with, once all have ended. What is waited for by the
/// others must be given up by whoever panics: see [`OnPanic`].
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let next = AtomicU64::new(0);
/// let work = || {
///     let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
///     numbers.take_while(|number| *number < 100).sum::<u64>()
/// };
/// let sums = reuselens_workers::together("sum", 4, work, work);
/// assert_eq!(sums.iter().sum::<u64>(), 4950);
/// ```
pub fn together<T: Send>(
    name: &str,
    threads: usize,
    own: impl FnOnce() -> T,
    other: impl Fn() -> T + Sync,
) -> Vec<T> {
    std::thread::scope(|scope| {
        let begin = |_| {
            let builder = Builder::new().name(name.to_owned());
            builder.spawn_scoped(scope, &other).ok()
        };
        let others: Vec<_> = (1..threads).map_while(begin).collect();
        let mut done = vec![own()];
        for other in others {
            match other.join() {
                Ok(more) => done.push(more),
                Err(panic) => resume_unwind(panic),
            }
        }
        done
    })
}

/// Calls a function if the thread panics while this value lives: it tells those who wait for the
/// thread that they wait in vain.
#[derive(Debug)]
#[must_use = "it calls the function when it is dropped during a panic"]
pub struct OnPanic<F: Fn()>(pub F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Condvar, Mutex};

    use super::*;
    use crate::{lock, wait};

    /// What a closure panics with.
    fn panic_of<T>(work: impl FnOnce() -> T) -> &'static str {
        let panic = catch_unwind(AssertUnwindSafe(work)).err();
        *panic.expect("a panic").downcast().expect("a text")
    }

    #[test]
    fn a_panic_reaches_the_thread_that_joins() {
        let worker = spawn("test", "why", |why| -> u32 { std::panic::panic_any(why) });
        assert_eq!(panic_of(|| worker.expect("a thread").join()), "why");
    }

    #[test]
    fn the_state_comes_back_without_a_thread() {
        // No address space has room for this stack.
        let builder = Builder::new().stack_size(1 << 60);
        let refused = spawn_from(builder, vec![1, 2], |state| state.len());
        assert_eq!(refused.err(), Some(vec![1, 2]));
    }

    #[test]
    fn together_runs_each_thread_once_and_its_own_first() {
        for threads in [0, 1, 2, 5] {
            let others = AtomicUsize::new(0);
            let other = || 1 + others.fetch_add(1, Ordering::Relaxed);
            let done = together("test", threads, || 0, other);
            let begun = others.into_inner();
            assert_eq!((done[0], done.len()), (0, 1 + begun));
            assert!(begun < threads.max(1), "{begun} of {threads}");
        }
    }

    #[test]
    fn a_panic_of_another_thread_passes_through_together() {
        let other = || -> u32 { std::panic::panic_any("other") };
        assert_eq!(panic_of(|| together("test", 2, || 1, other)), "other");
        let own = || -> u32 { std::panic::panic_any("own") };
        assert_eq!(panic_of(|| together("test", 2, own, || 1)), "own");
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        let (broken, changed) = (Mutex::new(false), Condvar::new());
        let own = || {
            let mut guard = lock(&broken);
            while !*guard {
                guard = wait(&changed, guard);
            }
        };
        let other = || {
            let _alarm = OnPanic(|| {
                *lock(&broken) = true;
                changed.notify_all();
            });
            std::panic::panic_any("broken");
        };
        assert_eq!(panic_of(|| together("test", 2, own, other)), "broken");
        drop(OnPanic(|| unreachable!("nothing panics here")));
    }
}
