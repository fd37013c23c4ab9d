//! Chunks of the trace, each through an engine of its own on a thread of its own, put together in order.
//!
//! # What it is
//! This thread reads and attributes, and gathers the touches into chunks. Workers analyse chunks as they
//! come; the first accesses of a chunk wait until the chunks before it are known, and are then looked up
//! here, in the one engine that knows the order of everything before (Niu et al., PARDA, IPDPS 2012; see
//! [`Shard`](reuselens_distance::Shard)). All distances are exact, whatever the number of threads.
//!
//! # Cost
//! To put a chunk together costs two accesses for each of its distinct items, so chunks are as long as
//! some million accesses, and as sixteen accesses to each distinct item if there is room. Memory: for each
//! worker two chunks of 12 to 20 bytes an access, at most a quarter of the limit in all, and an engine.
//! Where that quarter is too little for as many workers as are asked for, there are fewer.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use reuselens_attribute::Columns;
use reuselens_units::{Bytes, Distance};

use super::gather::{append, bytes, reserve};
use super::{Counted, Counts};
use crate::shard::{Known, Stretch, Waiting};

/// The name that `--engine` takes.
pub(super) const NAME: &str = "parallel";

/// The shortest chunk, in touches.
const SHORTEST: usize = 4 << 20;
/// Accesses per distinct item from which on chunks need not be longer.
const PER_ITEM: u64 = 16;
/// The most bytes of a touch in a chunk: its item and its cell, and twice its element, whose column grows.
const TOUCH: u64 = 20;
/// The most workers, however many are asked for: no machine has more use for them.
const MOST_WORKERS: usize = 512;
/// Touches that a worker takes through its engine at once.
const BLOCK: usize = 1 << 14;

/// A chunk that was analysed.
struct Done {
    number: u64,
    waiting: Waiting,
    /// To use again.
    columns: Columns,
}

/// What a worker says: a chunk is analysed, or there is no more to be had from it, because it panicked.
type Said = Option<Done>;

/// A worker's chunks come from here; who is idle takes the next.
type Chunks = Arc<Mutex<Receiver<(u64, Columns)>>>;

/// The way of counting by chunks.
pub(super) struct Parallel {
    /// The trace up to the last chunk that was put together; without workers, all of it.
    stretch: Stretch,
    known: Known,
    chunk: Columns,
    /// Chunks handed over so far, and put together.
    begun: u64,
    together: u64,
    /// Chunks that are analysed and not yet put together.
    early: BTreeMap<u64, Waiting>,
    empty: Vec<Columns>,
    jobs: Option<SyncSender<(u64, Columns)>>,
    done: Receiver<Said>,
    workers: Vec<JoinHandle<Known>>,
    limits: Limits,
    accesses: u64,
}

/// How long chunks are.
struct Limits {
    shortest: usize,
    /// By the memory that there is.
    longest: usize,
}

impl Parallel {
    pub(super) fn new(threads: NonZeroUsize, memory: Bytes) -> Self {
        let (workers, longest) = room(threads.get() - 1, memory);
        let shortest = SHORTEST.min(longest);
        Self::with_limits(workers, Limits { shortest, longest })
    }

    /// With that many workers, or as many as the system gives.
    fn with_limits(workers: usize, limits: Limits) -> Self {
        let (jobs, chunks) = sync_channel(workers.max(1));
        let (say, done) = channel();
        let chunks: Chunks = Arc::new(Mutex::new(chunks));
        let worker = |_| {
            let (chunks, say) = (Arc::clone(&chunks), say.clone());
            let thread = Builder::new().name("count".to_owned());
            thread.spawn(move || work(&chunks, &say)).ok()
        };
        Parallel {
            stretch: Stretch::default(),
            known: Known::default(),
            chunk: Columns::new(),
            begun: 0,
            together: 0,
            early: BTreeMap::new(),
            empty: Vec::new(),
            jobs: Some(jobs),
            done,
            workers: (0..workers).map_while(worker).collect(),
            limits,
            accesses: 0,
        }
    }

    /// The length at which the chunk is handed over.
    fn length(&self) -> usize {
        let wanted = PER_ITEM.saturating_mul(self.stretch.distinct().get());
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        wanted.clamp(self.limits.shortest, self.limits.longest)
    }

    fn hand_over(&mut self) {
        if self.chunk.is_empty() {
            return;
        }
        // One chunk per worker in work, and one each that waits: more would only take memory.
        while self.begun - self.together >= 2 * self.workers.len() as u64 && self.put_together() {}
        while let Ok(said) = self.done.try_recv() {
            self.hear(said);
        }
        let next = self.empty.pop().unwrap_or_default();
        let chunk = std::mem::replace(&mut self.chunk, next);
        if let Some(jobs) = &self.jobs {
            let sent = jobs.send((self.begun, chunk));
            self.begun += 1;
            if sent.is_err() {
                // All workers panicked.
                self.give_up();
            }
        }
    }

    /// Waits for a chunk; `false` if there will be none.
    fn put_together(&mut self) -> bool {
        let said = self.done.recv();
        said.map(|said| self.hear(said)).is_ok()
    }

    fn hear(&mut self, said: Said) {
        match said {
            Some(done) => self.take(done),
            None => self.give_up(),
        }
    }

    /// Passes the panic of a worker on: its chunk will never come.
    fn give_up(&mut self) {
        self.jobs = None;
        for worker in self.workers.drain(..) {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }

    /// Takes a chunk, and puts together what is in order.
    fn take(&mut self, done: Done) {
        self.empty.push(done.columns);
        self.early.insert(done.number, done.waiting);
        while let Some(waiting) = self.early.remove(&self.together) {
            self.stretch.absorb(waiting, &mut self.known);
            self.together += 1;
        }
    }
}

/// How many of so many workers there are, and how long their chunks can be: two each and two here take at
/// most a quarter of the memory, if a block fits at all.
fn room(workers: usize, memory: Bytes) -> (usize, usize) {
    let touches = memory.get() / 4 / TOUCH;
    let blocks = usize::try_from(touches / BLOCK as u64).unwrap_or(usize::MAX);
    let workers = workers
        .min(MOST_WORKERS)
        .min((blocks / 2).saturating_sub(1));
    let longest = touches / (2 * workers as u64 + 2);
    let longest = usize::try_from(longest).unwrap_or(usize::MAX);
    (workers, longest.max(BLOCK))
}

/// Says so if a worker panics.
struct Alarm<'a>(&'a Sender<Said>);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Nobody listens any more where the analysis was given up.
            let _ = self.0.send(None);
        }
    }
}

/// What a worker does: all chunks that it gets, counted together.
fn work(chunks: &Chunks, say: &Sender<Said>) -> Known {
    let _alarm = Alarm(say);
    let mut known = Known::default();
    let next = || {
        let chunks = chunks.lock().unwrap_or_else(PoisonError::into_inner);
        chunks.recv().ok()
    };
    while let Some((number, mut columns)) = next() {
        let mut stretch = Stretch::default();
        for start in (0..columns.len()).step_by(BLOCK) {
            stretch.add_range(
                &columns,
                start..(start + BLOCK).min(columns.len()),
                &mut known,
            );
        }
        columns.clear();
        let done = Done {
            number,
            waiting: stretch.into_waiting(),
            columns,
        };
        // Nobody listens any more where the analysis was given up.
        if say.send(Some(done)).is_err() {
            break;
        }
    }
    known
}

impl Counts for Parallel {
    fn add(&mut self, columns: &Columns) {
        self.accesses += columns.len() as u64;
        if self.workers.is_empty() {
            return self.stretch.add(columns, &mut self.known);
        }
        if self.chunk.is_empty() {
            let length = self.length();
            reserve(&mut self.chunk, length);
        }
        append(&mut self.chunk, columns);
        if self.chunk.len() >= self.length() {
            self.hand_over();
        }
    }

    fn accesses(&self) -> u64 {
        self.accesses
    }

    /// An estimate: an engine for each worker, as large as the one here, and the chunks.
    fn memory(&self) -> Bytes {
        let here = self.stretch.memory() + self.known.memory();
        let early: u64 = self.early.values().map(|one| one.memory().get()).sum();
        let chunks = (self.begun - self.together) * self.length() as u64 * TOUCH;
        let empty: u64 = self.empty.iter().map(bytes).sum();
        let threads = 1 + self.workers.len() as u64;
        Bytes(here.get() * threads + early + chunks + empty + bytes(&self.chunk))
    }

    fn finish(mut self: Box<Self>) -> Counted {
        self.hand_over();
        self.jobs = None;
        while self.together < self.begun && self.put_together() {}
        let mut known = self.known;
        for worker in self.workers {
            match worker.join() {
                Ok(more) => known.merge(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        // Nothing comes before: what still waits is cold.
        let waiting = self.stretch.into_keys();
        let cold = vec![Distance::COLD; waiting.cells.len()];
        known.add(&cold, &waiting.cells, &waiting.elements);
        Counted {
            more: super::More::default(),
            error_bounds: None,
            engine: NAME.to_owned(),
            exact: true,
            error_bound: None,
            histogram: known.histogram.finish(),
            keyed: known.keyed,
            elements: known.elements,
            warnings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::exact::Exact;
    use reuselens_distance::generate::Random;

    /// Touches with cells, and here and there elements.
    fn columns(random: &mut Random) -> Columns {
        let length = random.below(400);
        let mut columns = Columns::new();
        for _ in 0..length {
            columns.items.push(random.below(1000) * random.below(3));
            columns.cells.push(random.below(20) as u32);
        }
        if random.below(2) == 0 {
            let element = |_| random.below(9) as u32;
            columns.elements = (0..length).map(element).collect();
        }
        columns
    }

    #[test]
    fn chunks_of_any_length_count_as_one_engine_does() {
        for seed in 0..150 {
            let mut random = Random::new(seed);
            let trace: Vec<Columns> = (0..40).map(|_| columns(&mut random)).collect();
            let mut one = Exact::new(Box::new(reuselens_distance::CountingTree::new()), false);
            let shortest = 1 + random.below(3000) as usize;
            let longest = shortest + random.below(3000) as usize;
            let workers = [0, 1, 2, 6, 15][random.below(5) as usize];
            let mut many = Parallel::with_limits(workers, Limits { shortest, longest });
            for piece in &trace {
                one.add(piece);
                many.add(piece);
            }
            assert_eq!(one.accesses(), many.accesses());
            let (mut one, mut many) = (Box::new(one).finish(), Box::new(many).finish());
            assert_eq!(one.histogram, many.histogram, "seed {seed}");
            for group in 0..21 {
                assert_eq!(one.keyed.get(group), many.keyed.get(group), "seed {seed}");
            }
            for element in 0..9 {
                let (one, many) = (one.elements.take(element), many.elements.take(element));
                assert_eq!(one, many, "seed {seed}, element {element}");
            }
        }
    }

    /// A column that is too short: whoever counts it panics.
    #[test]
    fn a_panic_of_a_worker_is_passed_on() {
        for workers in [1, 2, 5] {
            let counted = std::panic::catch_unwind(|| {
                let limits = Limits {
                    shortest: 10,
                    longest: 10,
                };
                let mut many = Parallel::with_limits(workers, limits);
                for at in 0..100 {
                    let cells = if at == 50 { 3 } else { 10 };
                    many.add(&Columns {
                        items: vec![at; 10],
                        cells: vec![0; cells],
                        ..Columns::default()
                    });
                }
                Box::new(many).finish().histogram.accesses()
            });
            assert!(counted.is_err(), "{workers} workers: {counted:?}");
        }
    }

    #[test]
    fn any_number_of_threads_stays_in_a_quarter_of_the_memory() {
        for memory in [0, 1 << 20, 20 << 20, 1 << 30, u64::MAX] {
            for workers in [0, 1, 7, 99_999, usize::MAX] {
                let (some, longest) = room(workers, Bytes(memory));
                assert!(some <= workers.min(MOST_WORKERS));
                let chunks = (2 * some as u64 + 2) * TOUCH;
                let taken = chunks.saturating_mul(longest as u64);
                assert!(some == 0 || taken <= memory / 4, "{workers} in {memory}");
            }
        }
        assert_eq!(room(usize::MAX, Bytes(1 << 40)).0, MOST_WORKERS);
        let all = Parallel::new(NonZeroUsize::MAX, Bytes(64 << 20));
        assert!((1..64).contains(&all.workers.len()));
    }
}
