//! A thread that works off a queue of jobs.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::{Worker, spawn};

/// A thread that takes jobs from a bounded queue, in order, and ends with a `T`.
#[derive(Debug)]
pub struct Background<J, T> {
    jobs: SyncSender<J>,
    worker: Worker<T>,
}

impl<J: Send + 'static, T: Send + 'static> Background<J, T> {
    /// Runs `work` with `state` on a thread called `name`. Its receiver yields the jobs until the
    /// sender has [finished](Self::finish) or is dropped; `queue` jobs may wait.
    ///
    /// # Errors
    /// The `state`, if the system gives no thread.
    ///
    /// ```
    /// use reuselens_workers::Background;
    ///
    /// let adder = Background::begin("add", 4, 0, |sum: u64, jobs| {
    ///     jobs.into_iter().fold(sum, |sum, job: u64| sum + job)
    /// });
    /// let adder = adder.expect("a thread");
    /// (1..=10).for_each(|job| adder.send(job));
    /// assert_eq!(adder.finish(), 55);
    /// ```
    pub fn begin<S: Send + 'static>(
        name: &str,
        queue: usize,
        state: S,
        work: impl FnOnce(S, Receiver<J>) -> T + Send + 'static,
    ) -> Result<Self, S> {
        let (jobs, to_do) = sync_channel(queue);
        let worker = spawn(name, state, move |state| work(state, to_do))?;
        Ok(Background { jobs, worker })
    }

    /// Hands a job over; waits while the queue is full. If the worker has panicked the job is
    /// dropped, and [`finish`](Self::finish) passes the panic on.
    pub fn send(&self, job: J) {
        let _ = self.jobs.send(job);
    }

    /// Closes the queue and waits until all jobs are done.
    ///
    /// # Panics
    /// If the worker did, with what it panicked with.
    pub fn finish(self) -> T {
        drop(self.jobs);
        self.worker.join()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn jobs_are_done_in_order() {
        let list = |mut list: Vec<u32>, jobs: Receiver<u32>| {
            list.extend(jobs);
            list
        };
        let worker = Background::begin("test", 2, vec![0], list).expect("a thread");
        (1..1000).for_each(|job| worker.send(job));
        assert_eq!(worker.finish(), (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn no_more_jobs_wait_than_the_queue_has_room_for() {
        let done = Arc::new(AtomicUsize::new(0));
        let count = |done: Arc<AtomicUsize>, jobs: Receiver<()>| {
            for () in jobs {
                done.fetch_add(1, Ordering::SeqCst);
            }
        };
        let worker = Background::begin("test", 3, Arc::clone(&done), count).expect("a thread");
        for sent in 1..500 {
            worker.send(());
            // Three may wait, and the worker may have taken one that it has not counted.
            assert!(done.load(Ordering::SeqCst) + 4 >= sent);
        }
        worker.finish();
        assert_eq!(done.load(Ordering::SeqCst), 499);
    }

    #[test]
    fn sends_to_a_worker_that_panicked_return_and_finish_panics() {
        let fail = |(), jobs: Receiver<u32>| -> u32 {
            let job = jobs.recv().expect("a job");
            std::panic::panic_any(job);
        };
        let worker = Background::begin("test", 1, (), fail).expect("a thread");
        (7..100).for_each(|job| worker.send(job));
        let panic = catch_unwind(AssertUnwindSafe(|| worker.finish())).expect_err("a panic");
        assert_eq!(panic.downcast_ref(), Some(&7_u32));
    }
}
