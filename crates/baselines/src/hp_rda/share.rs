//! [`share`]: lets several workers take tasks until none is left.

use std::sync::Mutex;

use reuselens_workers::{lock, together};

/// Lets each worker, on a thread of its own, take tasks until there are none. One that gets no
/// thread from the system does nothing; the first works on the caller's. Which worker does what is
/// left to chance, so tasks must not depend on it.
pub(super) fn share<W: Send, T: Send>(
    workers: &mut [W],
    tasks: impl Iterator<Item = T> + Send,
    work: impl Fn(&mut W, T) + Sync,
) {
    let tasks = Mutex::new(tasks);
    let next = || lock(&tasks).next();
    let run = |worker: &mut W| {
        while let Some(task) = next() {
            work(worker, task);
        }
    };
    let threads = workers.len();
    let Some((own, others)) = workers.split_first_mut() else {
        return;
    };
    let others = Mutex::new(others.iter_mut());
    let other = || {
        let worker = lock(&others).next();
        worker.into_iter().for_each(&run);
    };
    together("count", threads, || run(own), other);
}
