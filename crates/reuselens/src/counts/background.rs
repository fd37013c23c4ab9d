//! Counting on a thread of its own, behind the one that reads and attributes.
//!
//! The columns go through a queue of a few batches, in order, so whatever counts sees exactly what
//! it would see without the queue: the results are the same. Memory: the batches of the queue,
//! about ten megabytes; where paths are followed also 32 bytes for each basic block in them, and
//! the instructions of all cells.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

use reuselens_attribute::Columns;
use reuselens_hugepages::OutOfMemory;
use reuselens_trace::{ProcessId, ThreadId};
use reuselens_units::Bytes;
use reuselens_workers::Background;

use super::gather::append;
use super::lanes::Lanes;
use super::{Counted, Counts, DeviceFault, RunEvent, THREAD_STEPS};

/// Item accesses in a batch: enough that handing over costs nothing, few enough to stay in the
/// cache.
const BATCH: usize = 1 << 15;
/// Item accesses in a batch that comes from a native trace, at most and about.
const LARGE: usize = 1 << 17;
/// Batches that may wait: some milliseconds of work, for as long as a processor may be taken from
/// who reads, by those who decode for it.
const QUEUE: usize = 8;

/// What counts, once it is over there.
type Inner = Box<dyn Counts>;

/// What is handed over.
enum Job {
    Count(Box<Columns>),
    /// What happens in the run, and whether that is the first block of a program thread.
    Event(RunEvent, bool),
    /// Say when everything before this is counted.
    Drain(Sender<()>),
    /// Do with less memory, and say whether that is possible.
    Shrink(Bytes, Bytes, Sender<bool>),
}

/// Full batches after which the worker says what it holds: asking costs a look at every cell.
const SAY_EVERY: u64 = 8;
/// New program threads after which the worker says what it holds, at least. Tables of this many
/// threads are small beside the batches of the queue.
const SAY_AFTER_THREADS: u64 = 64;
/// Bytes that a touch can add to what is held, in small structures; large ones at most double.
const GROWTH: u64 = 128;

/// Decides when the worker says what it holds. Asking costs time that grows with the number of
/// cells and of program threads, so a batch does not count as one step: where program threads
/// alternate, a batch has a few accesses. What is counted between two answers grows with what an
/// answer costs.
#[derive(Default)]
struct AnswerTimer {
    /// Item accesses and basic blocks since the last answer.
    steps: u64,
    /// Program threads that began before the last answer, and since.
    threads: u64,
    new_threads: u64,
}

impl AnswerTimer {
    /// Notes a batch.
    fn counted(&mut self, columns: &Columns) {
        self.steps += (columns.len() + columns.basic_blocks.len()) as u64;
    }

    /// Notes that a program thread began.
    fn began(&mut self) {
        self.new_threads += 1;
    }

    /// Whether an answer is due: after some full batches, or when there are twice the threads.
    /// [`BackgroundCounts::memory`] takes it that what was held may double in between, twice
    /// in a way: a table is held beside its successor.
    fn is_due(&mut self) -> bool {
        let due = self.steps >= SAY_EVERY * BATCH as u64
            || self.new_threads >= self.threads.max(SAY_AFTER_THREADS);
        if due {
            *self = AnswerTimer {
                steps: 0,
                threads: self.threads + self.new_threads,
                new_threads: 0,
            };
        }
        due
    }
}

/// Another way of counting, on its own thread.
pub(super) struct BackgroundCounts {
    worker: Background<Job, Inner>,
    /// Columns to use again.
    empty: Receiver<Columns>,
    gathered: Columns,
    accesses: u64,
    /// The most touches of a batch so far.
    largest: usize,
    /// What the worker held when it last said so.
    held: Arc<AtomicU64>,
    /// What the system refused the worker.
    refused: Arc<OnceLock<OutOfMemory>>,
    drained: bool,
    /// The program thread that the touches are of, where that must be known.
    thread: Option<(ProcessId, ThreadId)>,
    by_thread: bool,
    /// Those that get tables of their own; none where they do not.
    lanes: Lanes,
}

impl BackgroundCounts {
    /// `inner` on a thread of its own, or as it is if the system gives none.
    pub(super) fn begin(inner: Inner) -> Inner {
        let (used, empty) = channel();
        let held = Arc::new(AtomicU64::new(inner.memory().get()));
        let refused = Arc::new(OnceLock::new());
        let say = (Arc::clone(&held), Arc::clone(&refused));
        let by_thread = inner.by_thread();
        let worker = Background::begin("count", QUEUE, inner, move |inner, to_do| {
            work(inner, to_do, &used, &say.0, &say.1)
        });
        let worker = match worker {
            Ok(worker) => worker,
            Err(inner) => return inner,
        };
        Box::new(BackgroundCounts {
            worker,
            empty,
            gathered: Columns::new(),
            accesses: 0,
            largest: 0,
            held,
            refused,
            drained: true,
            thread: None,
            by_thread,
            lanes: Lanes::default(),
        })
    }

    /// Hands over what was gathered.
    fn send(&mut self) {
        if !self.gathered.has_nothing() {
            let next = self.empty.try_recv().unwrap_or_default();
            let columns = std::mem::replace(&mut self.gathered, next);
            self.worker.send(Job::Count(Box::new(columns)));
        }
    }
}

/// What the worker does.
fn work(
    mut inner: Inner,
    to_do: Receiver<Job>,
    used: &Sender<Columns>,
    held: &AtomicU64,
    refused: &OnceLock<OutOfMemory>,
) -> Inner {
    let mut timer = AnswerTimer::default();
    for job in to_do {
        if let Some(bytes) = inner.refused() {
            // It is said once.
            let _ = refused.set(bytes);
        }
        match job {
            Job::Count(mut columns) => {
                inner.add(&columns);
                timer.counted(&columns);
                if timer.is_due() {
                    held.store(inner.memory().get(), Ordering::Relaxed);
                }
                columns.clear();
                // Nobody takes them back any more when all is read.
                let _ = used.send(*columns);
            }
            Job::Event(event, is_new) => {
                inner.event(event);
                if is_new {
                    timer.began();
                }
            }
            Job::Drain(done) => {
                held.store(inner.memory().get(), Ordering::Relaxed);
                // Who asked is waiting.
                let _ = done.send(());
            }
            Job::Shrink(limit, whole, done) => {
                let can = inner.shrink(limit, whole);
                held.store(inner.memory().get(), Ordering::Relaxed);
                let _ = done.send(can);
            }
        }
    }
    inner
}

impl Counts for BackgroundCounts {
    fn event(&mut self, event: RunEvent) {
        // Each event costs a batch that is sent before it is full, so none is handed on that nobody
        // over there needs.
        let mut is_new = false;
        match event {
            RunEvent::Thread(process, thread) => {
                let now = Some((process, thread));
                if !self.by_thread || self.thread == now {
                    return;
                }
                self.thread = now;
                while self.lanes.over().is_some() {}
                (_, is_new) = self.lanes.number(process, thread);
            }
            RunEvent::ThreadEnded(_) if !self.by_thread => return,
            RunEvent::ThreadEnded(thread) => self.lanes.end(thread),
            RunEvent::Sampling(_) => {}
        }
        // What comes before it is counted before it.
        self.send();
        self.worker.send(Job::Event(event, is_new));
    }

    fn by_thread(&self) -> bool {
        self.by_thread
    }

    fn add(&mut self, columns: &Columns) {
        if !columns.merged.is_empty() {
            self.send();
        }
        append(&mut self.gathered, columns);
        self.accesses += columns.len() as u64;
        self.drained = false;
        if self.gathered.len().max(self.gathered.basic_blocks.len()) >= BATCH {
            self.send();
        }
    }

    /// Hands the columns over as they are: nothing is copied.
    fn take(&mut self, columns: &mut Columns) {
        self.send();
        self.accesses += columns.len() as u64;
        self.largest = self.largest.max(columns.len());
        self.drained = false;
        let next = self.empty.try_recv().unwrap_or_default();
        let full = std::mem::replace(columns, next);
        self.worker.send(Job::Count(Box::new(full)));
    }

    fn accesses(&self) -> u64 {
        self.accesses
    }

    fn steps(&self) -> u64 {
        self.accesses + self.lanes.begun() * THREAD_STEPS
    }

    /// Once drained, what the worker holds, so that a limit on memory is met by nearly the same
    /// access with and without a queue: what an engine holds depends on the length of batches too.
    /// Before, what that can have become.
    fn memory(&self) -> Bytes {
        let held = self.held.load(Ordering::Relaxed);
        if self.drained {
            return Bytes(held);
        }
        let unsaid = (SAY_EVERY + 2 + QUEUE as u64) * (self.largest.max(LARGE) as u64);
        let growth = if self.by_thread { 2 * GROWTH } else { GROWTH };
        // A table that doubles is held beside the one that it was.
        Bytes(3 * held + unsaid * growth)
    }

    fn refused(&self) -> Option<OutOfMemory> {
        self.refused.get().copied()
    }

    /// What runs on a device has no thread of this kind.
    fn fault(&self) -> DeviceFault {
        DeviceFault::default()
    }

    fn drain(&mut self) {
        self.send();
        let (done, wait) = channel();
        self.worker.send(Job::Drain(done));
        // It fails only if the worker panicked, and then so does `finish`.
        let _ = wait.recv();
        self.drained = true;
    }

    fn shrink(&mut self, limit: Bytes, whole: Bytes) -> bool {
        self.send();
        let (done, wait) = channel();
        self.worker.send(Job::Shrink(limit, whole, done));
        wait.recv().unwrap_or(false)
    }

    fn finish(mut self: Box<Self>) -> Counted {
        self.send();
        self.worker.finish().finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What all answers cost, each as much as there are threads.
    fn cost_of_answers(threads: u64, rounds: u64) -> u64 {
        let mut timer = AnswerTimer::default();
        let batch = Columns {
            items: vec![1],
            ..Columns::default()
        };
        let mut cost = 0;
        for round in 0..rounds {
            for thread in 0..threads {
                if round == 0 {
                    timer.began();
                }
                timer.counted(&batch);
                if timer.is_due() {
                    cost += if round == 0 { thread + 1 } else { threads };
                }
            }
        }
        cost
    }

    #[test]
    fn answers_of_many_alternating_threads_cost_less_than_their_batches() {
        for threads in [100, 1000, 30_000, 100_000] {
            for rounds in [1, 3, 10] {
                let cost = cost_of_answers(threads, rounds);
                assert!(cost <= 3 * threads * rounds, "{threads} {rounds}: {cost}");
            }
        }
    }

    #[test]
    fn answers_are_given_while_one_thread_goes_on() {
        let mut timer = AnswerTimer::default();
        let batch = Columns {
            items: vec![1; BATCH],
            ..Columns::default()
        };
        let answers = (0..80).filter(|_| {
            timer.counted(&batch);
            timer.is_due()
        });
        assert_eq!(answers.count(), 10);
    }
}
