//! The scheduler of segments: its threads, the segments that wait for a thread, and the splitting
//! of segments for idle threads.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use reuselens_distance::Expected;
use reuselens_locality::ExactHistogram;
use reuselens_units::{Accesses, Bytes};
use reuselens_workers::{OnPanic, lock, together, wait_timeout};

use super::counter::firsts_channel;
use super::worker::SegmentWorker;
use crate::budget::LOOK_AT_MEMORY_EVERY;

/// How often a thread that waits reports the progress of the others.
pub(super) const REPORT_EVERY: Duration = Duration::from_millis(100);

/// A piece of a trace that yields items in order and can be cut in two.
pub(super) trait Divisible: Send + Sized {
    /// Reads on, and passes the next items to `count`. Up to some ten thousand items a call stay in
    /// a processor's own cache until they are counted.
    fn read(&mut self, count: &mut dyn FnMut(&[u64])) -> Reading;

    /// Takes off the later half of what is not read yet. `None`, and nothing changes, if one of the
    /// halves would have fewer than `shortest` accesses, or if the half cannot be read.
    fn split_off(&mut self, shortest: Accesses) -> Option<Self>;

    /// How far the trace is read, in bytes: of a segment, it only grows.
    fn position(&self) -> u64;

    /// The memory held, beside what counts the items.
    fn memory(&self) -> Bytes;
}

/// What [`Divisible::read`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// There may be more.
    More,
    /// All of the segment was read.
    End,
    /// Somebody asked for an end before all was read. The segments after this one do not count.
    Stopped,
    /// The trace cannot be counted in segments.
    Failed,
}

/// A segment that was counted.
pub(super) struct CountedSegment<S> {
    pub segment: S,
    /// Its accesses, without those that were passed on to the segment before it.
    pub histogram: ExactHistogram,
    pub accesses: u64,
    /// Its place: the smaller, the earlier.
    pub order: u128,
}

/// Progress of all threads together: accesses counted, and bytes of the trace read.
pub(super) type OnProgress<'a> = &'a mut dyn FnMut(Accesses, u64);

/// What all threads share.
pub(super) struct Scheduler<S> {
    /// The fewest accesses of a segment that is split off.
    shortest: Accesses,
    /// The most memory that all segments together may hold.
    limit: Bytes,
    /// Accesses counted, bytes of the trace read, and bytes held, by all.
    accesses: AtomicU64,
    bytes: AtomicU64,
    memory: AtomicU64,
    /// Whether the trace cannot be counted in segments: then all threads end.
    given_up: AtomicBool,
    /// Whether more threads are idle than segments wait. A copy of what `queue` says, which the
    /// threads at work read without a lock.
    wanted: AtomicBool,
    queue: Mutex<WaitingSegments<S>>,
    /// Notified when `queue` changes in a way that an idle thread waits for.
    changed: Condvar,
}

/// The segments that no thread has, and who waits for one.
struct WaitingSegments<S> {
    waiting: VecDeque<SegmentWorker<S>>,
    /// How many segments, these and those at work, may be split again.
    divisible: usize,
    /// Threads that wait.
    idle: usize,
}

impl<S: Divisible> Scheduler<S> {
    /// A scheduler that splits off segments of at least `shortest` accesses, and gives up if all
    /// segments together hold more than `limit`.
    pub(super) fn new(shortest: Accesses, limit: Bytes) -> Self {
        Scheduler {
            shortest,
            limit,
            accesses: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
            queue: Mutex::new(WaitingSegments {
                waiting: VecDeque::new(),
                divisible: 0,
                idle: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Behaves as if so many more threads were idle.
    #[cfg(test)]
    pub(super) fn with_idle(self, threads: usize) -> Self {
        lock(&self.queue).idle = threads;
        self
    }

    /// Counts neighbouring segments, and those split off them, and returns them in their order.
    /// `None` if it was given up. `expected` is known of each segment.
    ///
    /// Up to `threads` threads work, this one among them; fewer if the system gives fewer.
    /// `progress` is called on this thread.
    ///
    /// # Panics
    /// If a thread did, with what it panicked with, once all have ended.
    pub(super) fn run(
        &self,
        segments: Vec<S>,
        threads: usize,
        expected: Expected,
        progress: OnProgress<'_>,
    ) -> Option<Vec<CountedSegment<S>>> {
        let mut earlier = None;
        for (number, segment) in (0_u128..).zip(segments) {
            let (sender, later) = firsts_channel();
            let order = number << 64..(number + 1) << 64;
            let channels = (earlier.replace(sender), later);
            self.add(SegmentWorker::new(segment, expected, channels, order));
        }
        // Nothing comes after the last segment: its channel closes here.
        drop(earlier);
        let report = &mut || {
            let bytes = self.bytes.load(Ordering::Relaxed);
            progress(Accesses(self.accesses.load(Ordering::Relaxed)), bytes);
        };
        let done = together(
            "segment",
            threads,
            || self.work(report),
            || self.work(&mut || {}),
        );
        // The last accesses may have been counted by others.
        report();
        let mut finished: Vec<_> = done.into_iter().flatten().collect();
        finished.sort_by_key(|segment| segment.order);
        (!self.is_given_up()).then_some(finished)
    }

    /// What a thread does: it reads segments as long as there are any, and then counts what the
    /// segments after them pass on.
    fn work(&self, report: &mut dyn FnMut()) -> Vec<CountedSegment<S>> {
        let _alarm = OnPanic(|| self.give_up());
        let mut read: Vec<SegmentWorker<S>> = Vec::new();
        while let Some(mut worker) = self.take(report) {
            worker.read(self, report);
            self.leave_whole(&mut worker);
            read.push(worker);
            for worker in &mut read {
                worker.count_arrived(self, report);
            }
        }
        // The last first. So a thread waits only for segments after all that it has left, and the
        // very last segment waits for none: no two threads wait for each other.
        read.sort_by_key(|worker| Reverse(worker.order()));
        let workers = read.into_iter();
        workers.map(|worker| worker.finish(self, report)).collect()
    }

    /// A segment to read. `None` if none waits and none can be split any more.
    fn take(&self, report: &mut dyn FnMut()) -> Option<SegmentWorker<S>> {
        let mut queue = lock(&self.queue);
        queue.idle += 1;
        let taken = loop {
            let next = queue.waiting.pop_front();
            if next.is_some() || queue.divisible == 0 || self.is_given_up() {
                break next;
            }
            self.note_wanted(&queue);
            drop(wait_timeout(&self.changed, queue, REPORT_EVERY));
            report();
            queue = lock(&self.queue);
        };
        queue.idle -= 1;
        self.note_wanted(&queue);
        taken
    }

    /// Adds a segment for the next idle thread.
    fn add(&self, worker: SegmentWorker<S>) {
        let mut queue = lock(&self.queue);
        queue.divisible += 1;
        queue.waiting.push_back(worker);
        self.note_wanted(&queue);
        self.changed.notify_one();
    }

    fn note_wanted(&self, queue: &WaitingSegments<S>) {
        let wanted = queue.idle > queue.waiting.len();
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    /// Splits a segment if a thread is idle. To be called now and then by the thread that reads it.
    pub(super) fn split(&self, worker: &mut SegmentWorker<S>) {
        if !worker.is_divisible || !self.wanted.load(Ordering::Relaxed) {
            return;
        }
        match worker.split_off(self.shortest) {
            Some(half) => self.add(half),
            None => self.leave_whole(worker),
        }
    }

    /// Notes that a segment is not split any more: it was read, or the rest is too short.
    fn leave_whole(&self, worker: &mut SegmentWorker<S>) {
        if std::mem::take(&mut worker.is_divisible) {
            lock(&self.queue).divisible -= 1;
            self.changed.notify_all();
        }
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Has all threads end. What they counted is of no use.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// After how many accesses a thread reports, looks at its memory, and splits its segment if a
    /// thread is idle.
    pub(super) fn look_every(&self) -> u64 {
        LOOK_AT_MEMORY_EVERY.min(self.shortest.get())
    }

    /// Notes that so many more accesses were counted and bytes read.
    pub(super) fn advanced(&self, accesses: u64, bytes: u64) {
        self.accesses.fetch_add(accesses, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes that a segment holds `now` where it held `before`. Gives up if all of them hold more
    /// than they may.
    pub(super) fn holds(&self, now: Bytes, before: Bytes) {
        let change = now.get().wrapping_sub(before.get());
        let held = self.memory.fetch_add(change, Ordering::Relaxed);
        if held.wrapping_add(change) > self.limit.get() {
            self.give_up();
        }
    }
}
