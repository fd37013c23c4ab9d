//! [`GpuExact`]: exact distances by CUDA kernels.
//!
//! # What it is
//! A stream is cut into chunks. The device finds the distances within a chunk: it sorts references
//! by item, which gives each its previous one, and counts distances by dominance
//! (`kernels/distance/dominance.cu` has the method and its sources). References whose previous one
//! is in an earlier chunk are the first of their item in the chunk. They are resolved by the state
//! that [`Shard`] has, as segments on the processor are (Niu, Dinan, Lu & Sadayappan, *PARDA*,
//! IPDPS 2012): it gets the first references of the chunk, which gives their distances, and then
//! its items in the order of their last references.
//!
//! # Cost
//! Per reference: the device reads and writes 20 or 32 bytes (items of 32 or 64 bits) in each pass
//! of the sort, one per 8 bits in which items differ, and 24 in each pass that counts, of which
//! there are three for 64 Mi references. Per
//! distinct item of a chunk: two accesses of the counting tree on the processor. Memory: 29 bytes
//! of the device per reference of a chunk; 48 bytes at most of the processor per reference of a
//! chunk, and those of the counting tree per distinct item.

use reuselens_cuda::Device;
use reuselens_distance::{Recency, Shard};
use reuselens_locality::ExactHistogram;
use reuselens_units::{Bytes, Distance, Items};

use crate::chunk::{ChunkArrays, Ends, fitting};
use crate::error::GpuDistanceError;
use crate::kernels::KernelCode;
use crate::table::TILE;
use crate::times::{ExactTimes, timed};

/// The name that `--engine` takes.
pub const NAME: &str = "gpu";

/// References of a chunk where nothing else is said, as Cui et al. 2012 have it.
const CHUNK: u64 = 64 << 20;
/// Bytes of the processor's memory that a reference of a chunk takes at most: its item, its
/// distance as it comes and as it is returned; and if it is the first and the last of its item,
/// its number and its item twice, and its distance.
const HOST_BYTES: u64 = 8 + 4 + 8 + 2 * 4 + 2 * 8 + 8;

/// How [`GpuExact`] cuts a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExactSettings {
    /// References of a chunk, 1 to 2³¹; `None` for 64 Mi, or as many as seven eighths of the
    /// device's free memory have room for. No distance depends on it.
    pub chunk: Option<u64>,
}

impl ExactSettings {
    /// Settings whose chunks take at most `host` bytes of the processor's memory and `device` bytes
    /// of the device's; one tile of the kernels, 2048 references, at least.
    pub fn within(host: Bytes, device: Bytes) -> ExactSettings {
        let of_host = host.get() / HOST_BYTES;
        let most = of_host.clamp(TILE.into(), CHUNK);
        ExactSettings {
            chunk: Some(fitting(device.get(), most).max(TILE.into())),
        }
    }
}

/// Exact distances by CUDA kernels: see the head of this file's module for the method and its cost.
///
/// [`analyse`](Self::analyse) and [`finish`](Self::finish) give distances;
/// [`tally`](Self::tally) and [`finish_tally`](Self::finish_tally) a histogram, which is counted
/// on the device.
pub struct GpuExact<D> {
    chunk: ChunkArrays<D>,
    /// What was fed and is not analysed yet.
    buffer: Vec<u64>,
    earlier: Shard,
    /// The distances of what was analysed last.
    distances: Vec<Distance>,
    /// Those of the first references of the last chunk.
    firsts: Vec<Distance>,
    resolve: std::time::Duration,
    fault: Option<GpuDistanceError>,
}

/// What is known when the stream is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactFinished {
    /// The distances of what was not analysed before, in order.
    pub distances: Vec<Distance>,
    /// The distinct items of the stream.
    pub distinct: Items,
    /// Where the time went.
    pub times: ExactTimes,
}

impl<D: Device> GpuExact<D> {
    /// An engine that has seen nothing.
    ///
    /// # Errors
    /// If the device refuses the kernels or has too little memory, or chunks are too long.
    pub fn new(device: D, settings: ExactSettings) -> Result<Self, GpuDistanceError> {
        Self::with_code(device, settings, &KernelCode::CLANG)
    }

    /// The same with other code for the device.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn with_code(
        device: D,
        settings: ExactSettings,
        code: &KernelCode,
    ) -> Result<Self, GpuDistanceError> {
        let references = settings.chunk.unwrap_or_else(|| {
            let free = device.memory().0;
            fitting(free - free / 8, CHUNK).max(TILE.into())
        });
        Ok(GpuExact {
            chunk: ChunkArrays::new(device, code, references.max(1))?,
            buffer: Vec::new(),
            earlier: Shard::new(),
            distances: Vec::new(),
            firsts: Vec::new(),
            resolve: std::time::Duration::ZERO,
            fault: None,
        })
    }

    /// The name that `--engine` takes.
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// Takes in the next items of the stream. Cost: a copy.
    pub fn feed(&mut self, items: &[u64]) {
        self.buffer.extend_from_slice(items);
    }

    /// The same for items of 32 bits, which are those of the same value with 64.
    pub fn feed_u32(&mut self, items: &[u32]) {
        self.buffer
            .extend(items.iter().map(|&item| u64::from(item)));
    }

    /// Whether a chunk is full: time to [`analyse`](Self::analyse) or to [`tally`](Self::tally), or
    /// the buffer grows.
    pub fn is_full(&self) -> bool {
        self.buffer.len() >= self.chunk.room()
    }

    /// Analyses all full chunks. Returns the distances of their references: those that follow what
    /// was analysed before.
    ///
    /// # Errors
    /// If the device refuses, now or before.
    pub fn analyse(&mut self) -> Result<&[Distance], GpuDistanceError> {
        self.analyse_first(self.full())?;
        Ok(&self.distances)
    }

    /// Analyses what is left.
    ///
    /// # Errors
    /// If the device refuses, now or before.
    pub fn finish(mut self) -> Result<ExactFinished, GpuDistanceError> {
        self.analyse_first(self.buffer.len())?;
        Ok(ExactFinished {
            distinct: self.distinct(),
            times: self.times(),
            distances: self.distances,
        })
    }

    /// Analyses all full chunks and counts the distances of their references.
    ///
    /// # Errors
    /// If the device refuses, now or before. The histogram has all chunks before that one then, and
    /// nothing of it.
    pub fn tally(&mut self, histogram: &mut ExactHistogram) -> Result<(), GpuDistanceError> {
        self.tally_first(self.full(), histogram)
    }

    /// Analyses what is left, and counts it. The distances of what is returned are none.
    ///
    /// # Errors
    /// As for [`tally`](Self::tally).
    pub fn finish_tally(
        mut self,
        histogram: &mut ExactHistogram,
    ) -> Result<ExactFinished, GpuDistanceError> {
        self.tally_first(self.buffer.len(), histogram)?;
        Ok(ExactFinished {
            distances: Vec::new(),
            distinct: self.distinct(),
            times: self.times(),
        })
    }

    /// The distinct items of what was analysed.
    pub fn distinct(&self) -> Items {
        self.earlier.distinct()
    }

    /// Where the time of what was analysed went.
    pub fn times(&self) -> ExactTimes {
        ExactTimes {
            resolve: self.resolve,
            ..self.chunk.times
        }
    }

    /// References of a chunk.
    pub fn chunk(&self) -> usize {
        self.chunk.room()
    }

    /// The memory held, without the device's.
    pub fn memory(&self) -> Bytes {
        let numbers = self.buffer.capacity() + self.distances.capacity() + self.firsts.capacity();
        Bytes(8 * numbers as u64) + self.earlier.memory()
    }

    /// The most memory that is held until the next chunk is analysed, without the device's.
    pub fn memory_ahead(&self) -> Bytes {
        let references = self.chunk.room().max(self.buffer.capacity()) as u64;
        // Twice a chunk's items at most go through the counting tree.
        Bytes(references * HOST_BYTES) + self.earlier.memory_ahead(2 * self.chunk.room() as u64)
    }

    /// The device's memory that is in use.
    pub fn device_memory(&self) -> Bytes {
        Bytes(self.chunk.used())
    }

    /// The device, without what was analysed.
    pub fn into_device(self) -> D {
        self.chunk.into_device()
    }

    /// References of full chunks in the buffer.
    fn full(&self) -> usize {
        self.buffer.len() / self.chunk.room() * self.chunk.room()
    }

    fn analyse_first(&mut self, length: usize) -> Result<(), GpuDistanceError> {
        self.distances.clear();
        self.take_chunks(length, |engine, items| {
            let ends = engine.chunk.analyse(items)?;
            let found = engine.chunk.distances(0..items.len())?;
            engine.resolve(items, &ends);
            let begin = engine.distances.len();
            engine
                .distances
                .extend(found.into_iter().map(|found| Distance::new(found.into())));
            let distances = &mut engine.distances[begin..];
            for (&first, &distance) in ends.firsts.iter().zip(&engine.firsts) {
                distances[first as usize] = distance;
            }
            Ok(())
        })
    }

    fn tally_first(
        &mut self,
        length: usize,
        histogram: &mut ExactHistogram,
    ) -> Result<(), GpuDistanceError> {
        self.take_chunks(length, |engine, items| {
            let ends = engine.chunk.analyse(items)?;
            let counts = engine.chunk.histogram(items.len(), ends.firsts.len())?;
            engine.resolve(items, &ends);
            for (distance, count) in (0..).zip(counts).filter(|(_, count)| *count > 0) {
                histogram.add(Distance::new(distance), count.into());
            }
            histogram.add_column(&engine.firsts);
            Ok(())
        })
    }

    /// Takes the first `length` references of the buffer away, by the chunk, until the first fault.
    fn take_chunks(
        &mut self,
        length: usize,
        mut take: impl FnMut(&mut Self, &[u64]) -> Result<(), GpuDistanceError>,
    ) -> Result<(), GpuDistanceError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut chunks = buffer[..length].chunks(self.chunk.room());
        let taken = chunks.try_for_each(|items| take(self, items));
        if let Err(fault) = &taken {
            self.distances.clear();
            self.fault = Some(fault.clone());
        }
        buffer.drain(..length);
        self.buffer = buffer;
        taken
    }

    /// Finds the distances of the first references of a chunk.
    fn resolve(&mut self, items: &[u64], ends: &Ends) {
        let of = |numbers: &[u32]| {
            numbers
                .iter()
                .map(|&number| items[number as usize])
                .collect()
        };
        timed(&mut self.resolve, || {
            let recency = Recency {
                firsts: of(&ends.firsts),
                lasts: of(&ends.lasts),
            };
            self.earlier.absorb(recency, &mut self.firsts);
            // Nobody joins this to an earlier segment.
            self.earlier.take_firsts();
        });
    }
}
