//! [`ChunkedEngine`]: engines whose distances come by the chunk, as contenders: HP-RDA, and those
//! that run kernels.

use std::num::NonZeroUsize;
use std::time::Instant;

use reuselens_baselines::{Adjustment, HpRda, HpRdaSettings};
use reuselens_cuda::Device;
use reuselens_cuda_driver::DriverDevice;
use reuselens_distance_gpu::{ExactSettings, GpuDistanceError, GpuExact, HpRdaGpu, interpreter};
use reuselens_locality::ExactHistogram;
use reuselens_units::{Bytes, Distance};

use super::BenchError;
use super::clock::{Clock, Elapsed};
use super::contender::{Merged, Run};
use crate::counts::{
    BLOCKS, EngineTime, GPU, HP_RDA, HP_RDA_GPU, INTERPRETED, INTERPRETED_BLOCKS, engine_steps,
    hp_rda_settings,
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
            let counted = self.on_processor(items);
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
        let blocks = if is_interpreter {
            INTERPRETED_BLOCKS
        } else {
            BLOCKS
        };
        let engine = HpRdaGpu::new(device, hp_rda_settings(self.chunks, blocks))?;
        let start = Instant::now();
        let counted = hp_rda_on_device(engine, items)?;
        Ok(finished(counted, || wall(start)))
    }

    fn on_processor(&self, items: &[u64]) -> ChunkedCounts {
        let mut rda = HpRda::new(HpRdaSettings {
            threads: self.threads,
            ..hp_rda_settings(self.chunks, INTERPRETED_BLOCKS)
        });
        let (mut histogram, mut kept) = (ExactHistogram::new(), Vec::new());
        for items in items.chunks(PIECE) {
            rda.feed(items, &mut kept);
            histogram.add(Distance::ZERO, (items.len() - kept.len()) as u64);
            if rda.is_full() {
                histogram.add_column(rda.analyse());
            }
        }
        let memory = rda.memory();
        let finished = rda.finish();
        histogram.add_column(&finished.distances);
        ChunkedCounts {
            histogram,
            adjustment: Some(finished.adjustment),
            steps: finished.times.steps().to_vec(),
            memory,
        }
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

fn hp_rda_on_device<D: Device>(
    mut rda: HpRdaGpu<D>,
    items: &[u64],
) -> Result<ChunkedCounts, GpuDistanceError> {
    let (mut histogram, mut kept) = (ExactHistogram::new(), Vec::new());
    for items in items.chunks(PIECE) {
        rda.feed(items, &mut kept);
        histogram.add(Distance::ZERO, (items.len() - kept.len()) as u64);
        if rda.is_full() {
            histogram.add_column(rda.analyse()?);
        }
    }
    let memory = rda.device_memory();
    let finished = rda.finish()?;
    histogram.add_column(&finished.distances);
    Ok(ChunkedCounts {
        histogram,
        adjustment: Some(finished.adjustment),
        steps: finished.times.steps().collect(),
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
