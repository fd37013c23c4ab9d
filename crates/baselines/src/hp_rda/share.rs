//! Tasks for several workers.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Lets each worker, on a thread of its own, take tasks until there are none. One that gets no
/// thread from the system does nothing; the first works on the caller's. Which worker does what is
/// left to chance, so tasks must not depend on it.
pub(super) fn share<W: Send, T: Send>(
    workers: &mut [W],
    tasks: impl Iterator<Item = T> + Send,
    work: impl Fn(&mut W, T) + Sync,
) {
    let tasks = Mutex::new(tasks);
    let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = |worker: &mut W| {
        while let Some(task) = next() {
            work(worker, task);
        }
    };
    let Some((own, others)) = workers.split_first_mut() else {
        return;
    };
    thread::scope(|scope| {
        for other in others {
            let spawned = thread::Builder::new().spawn_scoped(scope, || run(other));
            if spawned.is_err() {
                break;
            }
        }
        run(own);
    });
}
