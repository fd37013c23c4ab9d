//! Engines that run kernels on a device: which device, and what it refuses.

use std::sync::{Arc, OnceLock};

use reuselens_attribute::Columns;
use reuselens_cuda::Device;
use reuselens_cuda_driver::DriverDevice;
use reuselens_distance_gpu::{ExactSettings, GpuDistanceError, GpuExact, HpRdaGpu, interpreter};
use reuselens_locality::ExactHistogram;
use reuselens_units::{Bytes, Distance};

use super::chunks::hp_rda_settings;
use super::late::{EngineSteps, Late, LateEngine, LateFinished, engine_steps};
use super::{CountMethod, Counted, RunEvent};
use crate::{AnalysisOptions, DeviceChoice, Error};

/// The name that `--engine` takes for exact distances.
pub(crate) const GPU: &str = "gpu";
/// The name that `--engine` takes for HP-RDA.
pub(crate) const HP_RDA_GPU: &str = "hp-rda-gpu";

/// References that the interpreter takes at a time at most: larger chunks would only wait longer.
pub(crate) const INTERPRETED: u64 = 1 << 20;
/// Blocks of a transfer of HP-RDA on a GPU, as published: 64 Mi references. A GPU needs many.
const BLOCKS: usize = 512;
/// The same on the interpreter.
const INTERPRETED_BLOCKS: usize = 16;

/// Whether an engine runs on a device.
pub(super) fn is_on_device(engine: &str) -> bool {
    [GPU, HP_RDA_GPU].contains(&engine)
}

/// What a device has refused an analysis, as soon as it has; no access is counted then any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceFault(Arc<OnceLock<GpuDistanceError>>);

impl DeviceFault {
    /// The first that was refused.
    pub fn get(&self) -> Option<&GpuDistanceError> {
        self.0.get()
    }

    /// Something was refused. Only the first counts.
    pub fn set(&self, fault: GpuDistanceError) {
        let _ = self.0.set(fault);
    }
}

/// A way of counting with an engine on a device.
///
/// # Errors
/// If there is no such device, or it has too little memory.
pub(super) fn begin(
    options: &AnalysisOptions,
    fault: &DeviceFault,
) -> Result<Box<dyn CountMethod>, Error> {
    match options.device {
        DeviceChoice::Interpreter => {
            // Its memory is the processor's.
            let device = interpreter(quarter(options).get(), options.threads().get());
            let room = DeviceRoom {
                device: quarter(options),
                most_references: INTERPRETED,
                is_processor: true,
            };
            begin_on(device, room, options, fault)
        }
        DeviceChoice::Auto | DeviceChoice::Cuda => {
            let device = DriverDevice::open(0).map_err(|why| Error::NoGpu {
                engine: options.engine.clone(),
                why,
                processor: match options.engine.as_str() {
                    HP_RDA_GPU => "hp-rda",
                    _ => "counting",
                },
            })?;
            let free = device.memory().0;
            let room = DeviceRoom {
                device: Bytes(free - free / 8),
                most_references: u64::MAX,
                is_processor: false,
            };
            begin_on(device, room, options, fault)
        }
    }
}

/// What a device has for an engine.
struct DeviceRoom {
    /// Memory of the device.
    device: Bytes,
    /// References to analyse at a time at most.
    most_references: u64,
    /// Whether its memory is the processor's, and held against the limit.
    is_processor: bool,
}

/// A fourth of the memory of the analysis.
fn quarter(options: &AnalysisOptions) -> Bytes {
    Bytes(options.memory_limit().get() / 4)
}

fn begin_on<D: Device + 'static>(
    device: D,
    room: DeviceRoom,
    options: &AnalysisOptions,
    fault: &DeviceFault,
) -> Result<Box<dyn CountMethod>, Error> {
    let is_processor = room.is_processor;
    let fault = fault.clone();
    if options.engine == HP_RDA_GPU {
        let settings = hp_rda_settings(options.chunks, device_blocks(is_processor));
        let settings = settings.with_transfer_of(quarter(options).get());
        let engine = HpRdaGpu::new(device, settings)?;
        let engine = OnDevice {
            engine,
            is_processor,
        };
        return Ok(Box::new(Late::new(Box::new(engine), options, fault)));
    }
    let within = ExactSettings::within(quarter(options), room.device);
    let most = options.chunks.accesses.unwrap_or(room.most_references);
    let settings = ExactSettings {
        chunk: within.chunk.map(|chunk| chunk.min(most)),
    };
    let engine = OnDevice {
        engine: GpuExact::new(device, settings)?,
        is_processor,
    };
    if !options.is_totals_only() || options.elements {
        return Ok(Box::new(Late::new(Box::new(engine), options, fault)));
    }
    Ok(Box::new(DeviceTotals {
        engine: Some(engine),
        fault,
        keeps_times: options.engine_times,
        histogram: ExactHistogram::new(),
        accesses: 0,
    }))
}

/// Blocks of a transfer of HP-RDA on a device, where nobody asks for a number.
pub(crate) fn device_blocks(is_processor: bool) -> usize {
    if is_processor {
        INTERPRETED_BLOCKS
    } else {
        BLOCKS
    }
}

/// An engine on a device.
pub(crate) struct OnDevice<E> {
    pub engine: E,
    /// Whether the device's memory is the processor's.
    pub is_processor: bool,
}

impl<D: Device> LateEngine for OnDevice<GpuExact<D>> {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn feed(&mut self, items: &[u64], kept: &mut Vec<usize>) {
        self.engine.feed(items);
        kept.clear();
        kept.extend(0..items.len());
    }

    fn is_full(&self) -> bool {
        self.engine.is_full()
    }

    fn analyse(&mut self) -> Result<&[Distance], GpuDistanceError> {
        self.engine.analyse()
    }

    fn finish(self: Box<Self>) -> Result<LateFinished, GpuDistanceError> {
        let finished = self.engine.finish()?;
        Ok(LateFinished {
            distances: finished.distances,
            adjustment: None,
            steps: finished.times.steps().to_vec(),
        })
    }

    fn memory_ahead(&self) -> Bytes {
        let of_device = if self.is_processor {
            self.engine.device_memory()
        } else {
            Bytes(0)
        };
        self.engine.memory_ahead() + of_device
    }
}

impl<D: Device> LateEngine for OnDevice<HpRdaGpu<D>> {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn feed(&mut self, items: &[u64], kept: &mut Vec<usize>) {
        self.engine.feed(items, kept);
    }

    fn is_full(&self) -> bool {
        self.engine.is_full()
    }

    fn analyse(&mut self) -> Result<&[Distance], GpuDistanceError> {
        self.engine.analyse()
    }

    fn finish(self: Box<Self>) -> Result<LateFinished, GpuDistanceError> {
        let finished = self.engine.finish()?;
        Ok(LateFinished {
            distances: finished.distances,
            adjustment: Some(finished.adjustment),
            steps: finished.times.steps().collect(),
        })
    }

    fn memory_ahead(&self) -> Bytes {
        let of_device = if self.is_processor {
            self.engine.device_memory()
        } else {
            Bytes(0)
        };
        self.engine.memory_ahead() + of_device
    }
}

/// Exact distances of which nobody asks whose they are: the device counts them.
struct DeviceTotals<D> {
    /// None after a fault.
    engine: Option<OnDevice<GpuExact<D>>>,
    fault: DeviceFault,
    keeps_times: bool,
    histogram: ExactHistogram,
    accesses: u64,
}

impl<D: Device> CountMethod for DeviceTotals<D> {
    fn event(&mut self, _event: RunEvent) {}

    fn by_thread(&self) -> bool {
        false
    }

    fn add(&mut self, columns: &Columns) {
        let Some(OnDevice { engine, .. }) = &mut self.engine else {
            return;
        };
        engine.feed(&columns.items);
        self.accesses += columns.items.len() as u64;
        if engine.is_full()
            && let Err(fault) = engine.tally(&mut self.histogram)
        {
            self.fault.set(fault);
            self.engine = None;
        }
    }

    fn distances(&self) -> Option<&[Distance]> {
        None
    }

    fn accesses(&self) -> u64 {
        self.accesses
    }

    fn steps(&self) -> u64 {
        self.accesses()
    }

    fn memory(&self) -> Bytes {
        let engine = self.engine.as_ref().map(LateEngine::memory_ahead);
        engine.unwrap_or_default() + self.histogram.memory()
    }

    /// Nothing can be given up.
    fn shrink(&mut self, _limit: Bytes, _whole: Bytes) -> bool {
        false
    }

    fn finish(mut self: Box<Self>) -> Counted {
        let mut steps = None;
        if let Some(OnDevice { engine, .. }) = self.engine.take() {
            match engine.finish_tally(&mut self.histogram) {
                Ok(finished) if self.keeps_times => {
                    steps = Some(EngineSteps(engine_steps(&finished.times.steps())));
                }
                Ok(_) => {}
                Err(fault) => self.fault.set(fault),
            }
        }
        let mut counted = Counted::exactly(GPU, self.histogram);
        if let Some(steps) = steps {
            counted.add(steps);
        }
        counted
    }
}
