//! Threads, and the stretches that wait for one.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use reuselens_locality::Machine;
use reuselens_trace::{AnySegment, Source};
use reuselens_units::{Accesses, Bytes};
use reuselens_workers::{OnPanic, lock, together, wait_timeout};

use super::counter::way;
use super::worker::{Ended, SegmentWorker};
use crate::attribution::Attribution;
use crate::budget::LOOK_AT_MEMORY_EVERY;
use crate::{AnalysisOptions, Progress};

/// How often progress is told while others work.
pub(super) const TELL_EVERY: Duration = Duration::from_millis(100);

/// What all threads know.
pub(super) struct SegmentPool<'a> {
    machine: &'a Machine,
    options: &'a AnalysisOptions,
    limit: Bytes,
    /// The accesses of the shortest stretch.
    shortest: Accesses,
    /// Accesses counted and bytes of the source read, by all.
    accesses: AtomicU64,
    bytes: AtomicU64,
    /// Bytes held by all.
    memory: AtomicU64,
    /// Whether it cannot be done so: all end then.
    given_up: AtomicBool,
    /// Whether a thread waits for which there is no stretch.
    wanted: AtomicBool,
    stretches: Mutex<Stretches>,
    changed: Condvar,
}

/// The stretches that are not read to their end.
#[derive(Default)]
struct Stretches {
    /// Those that no thread has.
    waiting: Vec<SegmentWorker>,
    /// How many there are, with those.
    unread: usize,
    /// Threads that have none.
    idle: usize,
}

impl<'a> SegmentPool<'a> {
    pub(super) fn new(
        machine: &'a Machine,
        options: &'a AnalysisOptions,
        limit: Bytes,
        shortest: Accesses,
    ) -> SegmentPool<'a> {
        SegmentPool {
            machine,
            options,
            limit,
            shortest,
            accesses: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
            stretches: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// As if so many more threads had nothing to do.
    #[cfg(test)]
    pub(super) fn with_idle(self, threads: usize) -> Self {
        lock(&self.stretches).idle = threads;
        self
    }

    /// What stretches, and those split off them, come to, in their order, with so many threads if
    /// the system gives them, this one among them; `None` if it is given up.
    pub(super) fn count(
        &self,
        stretches: Vec<AnySegment>,
        threads: usize,
        progress: &mut dyn FnMut(Progress),
    ) -> Option<Vec<Ended>> {
        let all = stretches.first().and_then(|first| first.progress());
        let tell = &mut || progress(self.progress(all.map(|(_, all)| all)));
        self.add_all(stretches);
        let mut ended = self.work_on(threads, tell);
        // All may have been done by others.
        tell();
        ended.sort_by_key(|ended| ended.order);
        (!self.is_given_up()).then_some(ended)
    }

    /// Adds stretches, each with a way to the one before.
    fn add_all(&self, stretches: Vec<AnySegment>) {
        let mut before = None;
        for (number, stretch) in (0_u128..).zip(stretches) {
            let (next, behind) = way();
            let attribution = self.attribution(&stretch);
            let order = number << 64..(number + 1) << 64;
            let ways = (before.replace(next), behind);
            self.add(SegmentWorker::new(stretch, attribution, ways, order));
        }
        // Nobody comes behind the last.
    }

    /// Works with so many threads on all that waits; what there is no thread for the others do.
    fn work_on(&self, threads: usize, tell: &mut dyn FnMut()) -> Vec<Ended> {
        let done = together(
            "stretch",
            threads,
            || self.work(tell),
            || self.work(&mut || {}),
        );
        done.into_iter().flatten().collect()
    }

    /// What a thread does: reads stretches as long as there are any, then counts what those behind
    /// them do not know.
    fn work(&self, tell: &mut dyn FnMut()) -> Vec<Ended> {
        let _alarm = OnPanic(|| self.give_up());
        let mut read: Vec<SegmentWorker> = Vec::new();
        while let Some(mut worker) = self.next(tell) {
            worker.read(self, tell);
            self.is_read();
            read.push(worker);
            for worker in &mut read {
                worker.count_what_is_there(self, tell);
            }
        }
        // The last first: whatever it waits for is behind it, and so on to the very last, for which
        // nobody waits in vain.
        read.sort_by_key(|worker| Reverse(worker.order()));
        let workers = read.into_iter();
        workers.map(|worker| worker.finish(self, tell)).collect()
    }

    /// A stretch to read; `None` if all are read.
    fn next(&self, tell: &mut dyn FnMut()) -> Option<SegmentWorker> {
        let mut stretches = lock(&self.stretches);
        stretches.idle += 1;
        while stretches.unread > 0 && !self.is_given_up() {
            if let Some(worker) = stretches.waiting.pop() {
                stretches.idle -= 1;
                self.note_wanted(&stretches);
                return Some(worker);
            }
            self.note_wanted(&stretches);
            drop(wait_timeout(&self.changed, stretches, TELL_EVERY));
            tell();
            stretches = lock(&self.stretches);
        }
        None
    }

    /// A stretch for whoever is idle.
    fn add(&self, worker: SegmentWorker) {
        let mut stretches = lock(&self.stretches);
        stretches.unread += 1;
        // The first is taken first.
        stretches.waiting.insert(0, worker);
        self.note_wanted(&stretches);
        self.changed.notify_one();
    }

    /// A stretch was read to its end.
    fn is_read(&self) {
        lock(&self.stretches).unread -= 1;
        self.changed.notify_all();
    }

    fn note_wanted(&self, stretches: &Stretches) {
        let wanted = stretches.idle > stretches.waiting.len();
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    /// Has a stretch split, if somebody waits for one; whether it can be split again.
    pub(super) fn split(&self, worker: &mut SegmentWorker) -> bool {
        if !self.wanted.load(Ordering::Relaxed) {
            return true;
        }
        let half = worker.split_off(self.shortest, |half| self.attribution(half));
        let Some(half) = half else {
            return false;
        };
        self.add(half);
        true
    }

    fn attribution(&self, source: &dyn Source) -> Attribution {
        Attribution::new(source, self.machine, self.options)
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// After how many accesses a stretch says how far it is, and is split if somebody waits.
    pub(super) fn look_every(&self) -> u64 {
        LOOK_AT_MEMORY_EVERY.min(self.shortest.get())
    }

    /// Notes that so much more was counted and read.
    pub(super) fn counted(&self, accesses: u64, bytes: u64) {
        self.accesses.fetch_add(accesses, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes that somebody holds `now` where it was `before`; gives up if all hold too much.
    pub(super) fn holds(&self, now: Bytes, before: Bytes) {
        let change = now.get().wrapping_sub(before.get());
        let held = self.memory.fetch_add(change, Ordering::Relaxed);
        if held.wrapping_add(change) > self.limit.get() {
            self.give_up();
        }
    }

    fn progress(&self, all: Option<u64>) -> Progress {
        let bytes = self.bytes.load(Ordering::Relaxed);
        Progress {
            accesses: Accesses(self.accesses.load(Ordering::Relaxed)),
            source_bytes: all.map(|all| (bytes.min(all), all)),
        }
    }
}
