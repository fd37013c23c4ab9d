//! [`ChunkedEngine`]: engines whose distances come by the chunk, as contenders: HP-RDA, and those
//! that run kernels.

use std::num::NonZeroUsize;
use std::time::Instant;

use reuselens_baselines::{Adjustment, HpRda};
use reuselens_cuda::Device;
use reuselens_cuda_driver::DriverDevice;
use reuselens_distance_gpu::{ExactSettings, GpuDistanceError, GpuExact, HpRdaGpu, interpreter};
use reuselens_locality::ExactHistogram;
use reuselens_units::{Bytes, Distance};

use super::BenchError;
use super::clock::{Clock, Elapsed};
use super::contender::{Merged, Run};
use crate::counts::{
    EngineTime, GPU, HP_RDA, HP_RDA_GPU, INTERPRETED, LateEngine, OnDevice, device_blocks,
    engine_steps, hp_rda_on_processor, hp_rda_settings,
};
use crate::{DeviceChoice, EngineChunks};

/// Memory of the interpreter where nobody knows how much is free.
const INTERPRETED_MEMORY: u64 = 1 << 30;
/// Items that an engine is handed at a time.
const PIECE: usize = 1 << 16;

/// An engine, how it cuts the stream, and where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkedEngine {
    /// One of [`NAMES`](Self::NAMES).
    pub engine: &'static str,
    /// How it cuts the stream.
    pub chunks: EngineChunks,
    /// Where the kernels run of those that have some.
    pub device: DeviceChoice,
    /// Threads of the processor that work on it, or interpret the kernels.
    pub threads: NonZeroUsize,
}

/// What an engine has at the end of a stream.
struct ChunkedCounts {
    /// As merged, of an engine that adjusts.
    histogram: ExactHistogram,
    adjustment: Option<Adjustment>,
    steps: Vec<EngineTime>,
    memory: Bytes,
}

impl ChunkedEngine {
    /// Their names.
    pub const NAMES: [&'static str; 3] = [HP_RDA, HP_RDA_GPU, GPU];

    /// This engine with chunks as published, on a GPU if it has kernels.
    pub(super) fn published(engine: &'static str) -> Self {
        ChunkedEngine {
            engine,
            chunks: EngineChunks::default(),
            device: DeviceChoice::Auto,
            threads: NonZeroUsize::MIN,
        }
    }

    /// The engine, its threads if they are several, and its chunks if somebody chose them.
    pub(super) fn name(&self) -> String {
        let mut name = self.engine.to_owned();
        if self.threads.get() > 1 {
            name += &format!(", {} threads", self.threads);
        }
        if let Some(accesses) = self.chunks.accesses {
            name += &format!(", chunks of {accesses}");
        }
        name
    }

    /// Runs over all items, from empty. HP-RDA on one thread is measured by processor time, as
    /// other engines are; several threads, and a device with its transfers, by the clock on the
    /// wall.
    pub(super) fn run(&self, items: &[u64]) -> Result<Run, BenchError> {
        if self.engine == HP_RDA {
            let (clock, start) = (Clock::start(), Instant::now());
            let engine = hp_rda_on_processor(self.chunks, self.threads, Bytes(u64::MAX));
            let counted = hp_rda(engine, items, HpRda::memory)?;
            return Ok(finished(counted, || match self.threads {
                NonZeroUsize::MIN => clock.elapsed(),
                _ => wall(start),
            }));
        }
        match self.device {
            DeviceChoice::Interpreter => {
                let threads = self.threads.get();
                let memory =
                    crate::available_memory().map_or(INTERPRETED_MEMORY, |free| free.get() / 4);
                self.on(interpreter(memory, threads), items)
            }
            DeviceChoice::Auto | DeviceChoice::Cuda => self.on(DriverDevice::open(0)?, items),
        }
    }

    fn on<D: Device>(&self, device: D, items: &[u64]) -> Result<Run, BenchError> {
        let is_interpreter = self.device == DeviceChoice::Interpreter;
        if self.engine == GPU {
            let chunk = self
                .chunks
                .accesses
                .or(is_interpreter.then_some(INTERPRETED));
            let engine = GpuExact::new(device, ExactSettings { chunk })?;
            let start = Instant::now();
            let counted = exact(engine, items)?;
            return Ok(finished(counted, || wall(start)));
        }
        let settings = hp_rda_settings(self.chunks, device_blocks(is_interpreter));
        let engine = OnDevice {
            engine: HpRdaGpu::new(device, settings)?,
            is_processor: is_interpreter,
        };
        let start = Instant::now();
        let counted = hp_rda(engine, items, |on| on.engine.device_memory())?;
        Ok(finished(counted, || wall(start)))
    }
}

fn wall(start: Instant) -> Elapsed {
    Elapsed {
        time: start.elapsed(),
        measurable: true,
    }
}

fn exact<D: Device>(
    mut engine: GpuExact<D>,
    items: &[u64],
) -> Result<ChunkedCounts, GpuDistanceError> {
    let mut histogram = ExactHistogram::new();
    for items in items.chunks(PIECE) {
        engine.feed(items);
        if engine.is_full() {
            engine.tally(&mut histogram)?;
        }
    }
    let memory = engine.device_memory();
    let finished = engine.finish_tally(&mut histogram)?;
    Ok(ChunkedCounts {
        histogram,
        adjustment: None,
        steps: finished.times.steps().to_vec(),
        memory,
    })
}

/// HP-RDA, wherever it runs. `memory` is what it holds at the end.
fn hp_rda<E: LateEngine>(
    mut engine: E,
    items: &[u64],
    memory: impl FnOnce(&E) -> Bytes,
) -> Result<ChunkedCounts, GpuDistanceError> {
    let (mut histogram, mut kept) = (ExactHistogram::new(), Vec::new());
    for items in items.chunks(PIECE) {
        engine.feed(items, &mut kept);
        histogram.add(Distance::ZERO, (items.len() - kept.len()) as u64);
        if engine.is_full() {
            histogram.add_column(engine.analyse()?);
        }
    }
    let memory = memory(&engine);
    let finished = Box::new(engine).finish()?;
    histogram.add_column(&finished.distances);
    Ok(ChunkedCounts {
        histogram,
        adjustment: finished.adjustment,
        steps: finished.steps,
        memory,
    })
}

/// Adjusts the histogram if the engine adjusts, and stops the clock.
fn finished(counted: ChunkedCounts, stop: impl FnOnce() -> Elapsed) -> Run {
    let ChunkedCounts {
        histogram,
        adjustment,
        mut steps,
        memory,
    } = counted;
    let start = Instant::now();
    let changed = adjustment.map(|by| (histogram.map(|distance| by.adjust(distance)), by.factor()));
    // An engine that adjusts has that as its last step, and leaves it to whoever counts.
    if let (Some(_), Some((_, adjust))) = (&changed, steps.last_mut()) {
        *adjust = start.elapsed();
    }
    let elapsed = stop();
    let (histogram, merged) = match changed {
        Some((changed, factor)) => (changed, Some(Merged { histogram, factor })),
        None => (histogram, None),
    };
    Run {
        elapsed,
        histogram: Some(histogram),
        merged,
        memory: Some(memory),
        steps: engine_steps(&steps),
    }
}
