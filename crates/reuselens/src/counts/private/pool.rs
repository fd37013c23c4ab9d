//! Threads that work on shards: each shard in order, different ones at the same time.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use reuselens_attribute::Columns;
use reuselens_hugepages::{OutOfMemory, catch};
use reuselens_units::Bytes;
use reuselens_workers::{OnPanic, Worker, lock, spawn, wait};

use super::shard::{EngineConfig, Named, Sums, ThreadBatch, ThreadShard, may_become};

/// Shards: more than any machine has use for workers, and few enough that what each holds per cell
/// of the program is no matter.
pub(super) const SHARDS: usize = 32;
/// Batches that may wait, for each worker. The threads of a program take turns on its processors,
/// some hundred thousand accesses at a time: with fewer, all that waits would often be of one
/// thread.
const QUEUE: usize = 24;
/// Batches that may wait in all: some tens of megabytes.
const LONGEST_QUEUE: usize = 96;
/// Batches after which a shard says what it holds: asking costs a look at every cell.
const SAY_EVERY: u32 = 8;

/// A shard and the batches that wait for it.
struct QueuedShard {
    /// `None` while a worker has it.
    shard: Option<Box<ThreadShard>>,
    to_do: Vec<ThreadBatch>,
    /// What it held when it last said so.
    held: u64,
    /// Bytes that may have been added since, by batches done and waiting.
    growth: u64,
    /// What all batches so far name, and what those that `held` knows of do.
    named: Named,
    known: Named,
    /// Batches since it last said so.
    unsaid: u32,
}

/// What all threads look at.
struct State {
    places: Vec<QueuedShard>,
    /// Shards that are there and have something to do.
    ready: VecDeque<usize>,
    /// Batches that nobody has taken yet.
    waiting: usize,
    /// Shards that somebody works on.
    away: usize,
    /// To use again.
    empty: Vec<ThreadBatch>,
    /// Nothing more comes.
    closed: bool,
    /// A worker panicked: its shard will never come back.
    broken: bool,
    /// The memory that the system refused a worker.
    refused: Option<OutOfMemory>,
}

struct Shared {
    state: Mutex<State>,
    /// There is something to do, or never will be.
    more: Condvar,
    /// A shard came back, or never will.
    back: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// A shard that somebody took, with all that waits for it.
struct ShardJob {
    place: usize,
    shard: Box<ThreadShard>,
    batches: Vec<ThreadBatch>,
    /// Batches since the shard last said what it holds.
    unsaid: u32,
    /// What all of its batches so far name.
    named: Named,
    /// What it holds when the work is done, if it is to say so.
    held: Option<u64>,
    /// The memory that the system refused meanwhile.
    refused: Option<OutOfMemory>,
}

impl ShardJob {
    fn work(&mut self) {
        let (shard, batches) = (&mut self.shard, &self.batches);
        let work = || batches.iter().for_each(|batch| shard.work(batch));
        if let Err(refused) = catch(work) {
            self.refused = Some(refused);
            return;
        }
        self.unsaid += self.batches.len() as u32;
        let says = self.unsaid >= SAY_EVERY;
        self.held = says.then(|| self.shard.memory().get());
    }
}

impl State {
    fn take(&mut self) -> Option<ShardJob> {
        let number = self.ready.pop_front()?;
        let place = &mut self.places[number];
        let shard = place.shard.take()?;
        let batches = std::mem::take(&mut place.to_do);
        self.waiting -= batches.len();
        self.away += 1;
        Some(ShardJob {
            place: number,
            shard,
            batches,
            unsaid: place.unsaid,
            // None waits any more.
            named: place.named,
            held: None,
            refused: None,
        })
    }

    /// Takes a shard back; whether there is more to do on it.
    fn put_back(&mut self, job: ShardJob) -> bool {
        if job.refused.is_some() {
            // Nothing more is counted, and nobody may wait for what was to be.
            self.refused = job.refused;
            self.ready.clear();
            self.waiting = 0;
            self.places.iter_mut().for_each(|place| place.to_do.clear());
        }
        let place = &mut self.places[job.place];
        place.shard = Some(job.shard);
        place.unsaid = job.unsaid;
        if let Some(held) = job.held {
            place.said(held, job.named);
        }
        let more = !place.to_do.is_empty();
        if more {
            self.ready.push_back(job.place);
        }
        self.away -= 1;
        for mut batch in job.batches {
            batch.clear();
            self.empty.push(batch);
        }
        more
    }
}

impl QueuedShard {
    /// Notes what the shard holds, and what it has room for.
    fn said(&mut self, held: u64, known: Named) {
        (self.held, self.known) = (held, known);
        self.growth = self.to_do.iter().map(ThreadBatch::growth).sum();
        self.unsaid = 0;
    }

    /// What the shard holds, if it is there.
    fn ask(&self) -> u64 {
        let held = self.shard.as_ref().map(|shard| shard.memory().get());
        held.unwrap_or(self.held)
    }
}

/// Shards, and threads that work on them. Where it has to wait, the thread that has the pool works
/// too.
pub(super) struct ShardPool {
    shared: Arc<Shared>,
    workers: Vec<Worker<()>>,
}

impl ShardPool {
    /// With that many workers, or as many as the system gives and as there are shards.
    pub(super) fn new(workers: usize, config: &EngineConfig) -> Self {
        let place = |_| QueuedShard {
            shard: Some(Box::new(ThreadShard::new(config.clone()))),
            to_do: Vec::new(),
            held: 0,
            growth: 0,
            named: Named::default(),
            known: Named::default(),
            unsaid: 0,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                places: (0..SHARDS).map(place).collect(),
                ready: VecDeque::new(),
                waiting: 0,
                away: 0,
                empty: Vec::new(),
                closed: false,
                broken: false,
                refused: None,
            }),
            more: Condvar::new(),
            back: Condvar::new(),
        });
        let worker = |_| spawn("count", Arc::clone(&shared), |shared| work(&shared)).ok();
        let workers = (0..workers.min(SHARDS)).map_while(worker).collect();
        ShardPool { shared, workers }
    }

    /// Whether there is nobody but the thread that has the pool.
    pub(super) fn is_alone(&self) -> bool {
        self.workers.is_empty()
    }

    /// Counts touches at once. Only for a pool without workers.
    pub(super) fn touch(&self, place: usize, lane: u32, touches: &Columns) {
        let mut state = self.shared.lock();
        if state.refused.is_some() {
            return;
        }
        if let Some(shard) = &mut state.places[place].shard {
            let touched = catch(|| shard.touch(lane, touches, 0..touches.len()));
            state.refused = touched.err();
        }
    }

    /// Gives a batch to a shard, and takes an empty one for it.
    pub(super) fn send(&mut self, place: usize, batch: &mut ThreadBatch) {
        let mut state = self.shared.lock();
        if state.refused.is_some() {
            return batch.clear();
        }
        let next = state.empty.pop().unwrap_or_default();
        let batch = std::mem::replace(batch, next);
        state.waiting += 1;
        let there = &mut state.places[place];
        there.growth += batch.growth();
        there.named = there.named.with(batch.named());
        there.to_do.push(batch);
        if there.to_do.len() == 1 && there.shard.is_some() {
            state.ready.push_back(place);
            self.shared.more.notify_one();
        }
        drop(state);
        let most = LONGEST_QUEUE.min(QUEUE * self.workers.len());
        self.wait_until(|state| state.waiting <= most);
    }

    /// Works, and waits for the others, until it is so.
    fn wait_until(&mut self, so: impl Fn(&State) -> bool) {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        while !so(&state) && !state.broken {
            if let Some(mut job) = state.take() {
                drop(state);
                job.work();
                state = shared.lock();
                if state.put_back(job) {
                    shared.more.notify_one();
                }
            } else {
                state = wait(&shared.back, state);
            }
        }
        let broken = state.broken;
        drop(state);
        if broken {
            self.close();
        }
    }

    /// The memory that the system refused, if it did.
    pub(super) fn refused(&self) -> Option<OutOfMemory> {
        self.shared.lock().refused
    }

    /// Waits until all that was handed over is done, and asks all shards what they hold.
    pub(super) fn drain(&mut self) {
        self.wait_until(|state| state.waiting + state.away == 0);
        for place in &mut self.shared.lock().places {
            place.said(place.ask(), place.named);
        }
    }

    /// What the shards hold at the most when they have done what is `gathered` for each too. Once
    /// drained, and without workers, what they hold.
    pub(super) fn memory(&self, gathered: &[ThreadBatch]) -> Bytes {
        let state = self.shared.lock();
        let most = |(place, batch): (&QueuedShard, &ThreadBatch)| {
            let named = place.named.with(batch.named());
            match place.growth + batch.growth() {
                _ if self.is_alone() => place.ask(),
                0 => place.held,
                growth => may_become(place.held, growth) + named.beyond(place.known),
            }
        };
        Bytes(state.places.iter().zip(gathered).map(most).sum())
    }

    /// Waits for the workers to end.
    ///
    /// # Panics
    /// If one of them did.
    fn close(&mut self) {
        self.shared.lock().closed = true;
        self.shared.more.notify_all();
        self.workers.drain(..).for_each(Worker::join);
    }

    /// What was counted on all shards.
    pub(super) fn finish(mut self) -> Sums {
        self.wait_until(|state| state.waiting + state.away == 0);
        self.close();
        let mut sums = Sums::default();
        for place in std::mem::take(&mut self.shared.lock().places) {
            if let Some(shard) = place.shard {
                sums.merge(shard.finish());
            }
        }
        sums
    }
}

impl Drop for ShardPool {
    /// Nothing more comes: the workers end by themselves.
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.more.notify_all();
    }
}

/// What a worker does: whatever there is to do.
fn work(shared: &Shared) {
    let _alarm = OnPanic(|| {
        shared.lock().broken = true;
        shared.back.notify_all();
    });
    let mut state = shared.lock();
    loop {
        if let Some(mut job) = state.take() {
            drop(state);
            job.work();
            state = shared.lock();
            // Whether there is more: the next round looks.
            state.put_back(job);
            shared.back.notify_one();
        } else if state.closed {
            return;
        } else {
            state = wait(&shared.more, state);
        }
    }
}

#[cfg(test)]
mod tests;
