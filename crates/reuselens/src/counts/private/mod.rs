//! Each program thread for itself: distances within a thread, as a cache of its own would see them.
//!
//! # What it is
//! An engine for each thread of each process, which gets the touches of that thread only. No thread
//! takes a line away from another: what a store in one thread does to the caches of the others is
//! not modelled ([`coherent`](super::coherent) does). Histograms, cells and elements are sums over
//! the threads, and so is the number of first accesses: an item that three threads touch is cold
//! three times.
//!
//! # How it goes on several threads
//! This thread reads and attributes, and gathers the touches of each shard ([`mod@shard`]), which
//! holds every 32nd program thread; workers take shards with something to do ([`pool`]). A shard
//! gets its touches in the order of the trace, and sums are sums: the results do not depend on who
//! worked when.
//!
//! # Cost
//! That of the engine, once per access; smaller tables than one for all threads. Memory: that of
//! the engines of all threads that live (a thread's is given up some time after its end), the
//! histograms for each of the shards in use (up to 32 times those of one analysis: some 200 bytes
//! for each cell, and the counts of the distances that occurred), and the batches on their way, up
//! to some tens of megabytes. The limit on memory is looked at between batches, so it is held to
//! within what a batch can add: of the exact histogram, a slot for each touch.

mod pool;
mod shard;

use std::num::NonZeroUsize;

use reuselens_attribute::Columns;
use reuselens_hugepages::OutOfMemory;
use reuselens_units::Bytes;

use super::choice::{bounded, is_late};
use super::lanes::Lanes;
use super::previous::ForwardDistances;
use super::{Counted, Counts, DeviceFault, RunEvent, THREAD_STEPS};
use crate::engines::{EngineError, by_name};
use crate::{AnalysisOptions, Error};
use pool::{SHARDS, ShardPool};
use shard::{EngineConfig, ThreadBatch};

/// Item accesses in a batch: enough that handing over costs nothing, few enough to stay in the
/// cache.
const BATCH: usize = 1 << 14;
/// Runs in a batch, for threads that touch little.
const RUNS: usize = 1 << 10;

/// The name of the engine that each thread gets; `sharing` is the one that was asked for.
///
/// # Errors
/// If there is no such engine, or it cannot do what else is asked for.
pub(super) fn engine(
    options: &AnalysisOptions,
    sharing: &'static str,
) -> Result<&'static str, Error> {
    let name = options.engine.as_str();
    if name == "sampled" || is_late(name) {
        return Err(Error::NotPrivate {
            engine: options.engine.clone(),
            sharing,
        });
    }
    let engine = bounded(options, by_name(&options.engine)?)?.name();
    match (options.engine.as_str(), options.sample) {
        (_, None) => Ok(engine),
        ("auto", Some(_)) => Err(Error::NoPrivateSample { sharing }),
        (name, Some(_)) => {
            let name = name.to_owned();
            Err(EngineError::NotSampled { name }.into())
        }
    }
}

/// A new way of counting, as the options have it.
///
/// # Errors
/// If there is no such engine, or it cannot do what else is asked for.
pub(super) fn begin(options: &AnalysisOptions, threads: NonZeroUsize) -> Result<Private, Error> {
    let engine = engine(options, "private")?;
    let config = EngineConfig {
        engine,
        max_distance: options.max_distance,
        reuse_times: options.reuse_times,
        forward: options.forward,
    };
    Ok(Private::new(config, threads.get() - 1))
}

/// An engine for each program thread.
pub(super) struct Private {
    config: EngineConfig,
    lanes: Lanes,
    /// The number of the program thread that runs.
    lane: u32,
    pool: ShardPool,
    /// What is gathered for each shard.
    gathered: Vec<ThreadBatch>,
    accesses: u64,
}

impl Private {
    /// With that many workers beside the thread that calls.
    fn new(config: EngineConfig, workers: usize) -> Self {
        Private {
            lanes: Lanes::default(),
            lane: 0,
            pool: ShardPool::new(workers, &config),
            gathered: (0..SHARDS).map(|_| ThreadBatch::default()).collect(),
            config,
            accesses: 0,
        }
    }

    /// Gives a shard what was gathered for it.
    fn send(&mut self, shard: usize) {
        let batch = &mut self.gathered[shard];
        if !batch.is_empty() {
            self.pool.send(shard, batch);
        }
    }

    fn send_all(&mut self) {
        (0..SHARDS).for_each(|shard| self.send(shard));
    }

    /// Retires the engines of threads whose numbers [`Lanes::over`] takes.
    fn retire(&mut self) {
        while let Some(lane) = self.lanes.over() {
            let shard = shard(lane);
            self.gathered[shard].end(lane);
            self.send(shard);
        }
    }
}

/// The shard of a program thread: those that begin one after the other are on different ones.
fn shard(lane: u32) -> usize {
    lane as usize % SHARDS
}

impl Counts for Private {
    fn event(&mut self, event: RunEvent) {
        match event {
            RunEvent::Thread(process, thread) => {
                self.retire();
                let (lane, is_new) = self.lanes.number(process, thread);
                self.lane = lane;
                if is_new && !self.pool.is_alone() {
                    self.gathered[shard(lane)].begin();
                }
            }
            RunEvent::ThreadEnded(thread) => self.lanes.end(thread),
            RunEvent::Sampling(_) => {}
        }
    }

    fn by_thread(&self) -> bool {
        true
    }

    fn add(&mut self, columns: &Columns) {
        self.accesses += columns.len() as u64;
        let shard = shard(self.lane);
        if self.pool.is_alone() {
            return self.pool.touch(shard, self.lane, columns);
        }
        let batch = &mut self.gathered[shard];
        batch.push(self.lane, columns);
        if batch.len() >= BATCH || batch.runs() >= RUNS {
            self.send(shard);
        }
    }

    fn take(&mut self, columns: &mut Columns) {
        self.add(columns);
        columns.clear();
    }

    fn accesses(&self) -> u64 {
        self.accesses
    }

    fn steps(&self) -> u64 {
        self.accesses + self.lanes.begun() * THREAD_STEPS
    }

    /// Once drained, what the shards hold, so that a limit on memory is met by the same access
    /// however many work. Before, what that can have become.
    fn memory(&self) -> Bytes {
        self.pool.memory(&self.gathered)
    }

    fn refused(&self) -> Option<OutOfMemory> {
        self.pool.refused()
    }

    /// No engine of a thread is on a device.
    fn fault(&self) -> DeviceFault {
        DeviceFault::default()
    }

    /// Nothing can be given up.
    fn shrink(&mut self, _limit: Bytes, _whole: Bytes) -> bool {
        false
    }

    fn drain(&mut self) {
        self.send_all();
        self.pool.drain();
    }

    fn finish(mut self: Box<Self>) -> Counted {
        self.send_all();
        let sums = self.pool.finish();
        let config = self.config;
        let mut counted = Counted {
            keyed: sums.keyed,
            elements: sums.elements,
            ..Counted::exactly(config.engine, sums.histogram)
        };
        if config.reuse_times {
            counted.add(sums.times);
        }
        if config.forward {
            counted.add(ForwardDistances(sums.forward));
        }
        counted
    }
}
