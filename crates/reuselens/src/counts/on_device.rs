//! Engines that run kernels on a device: which device, and what it refuses.

use std::sync::{Arc, OnceLock};

use reuselens_attribute::Columns;
use reuselens_baselines::HpRdaSettings;
use reuselens_distance_gpu::{
    ExactSettings, GpuDistanceError, GpuExact, HpRdaGpu, PlainInterpreter, interpreter,
};
use reuselens_locality::ExactHistogram;
use reuselens_units::{Bytes, Distance};

use super::late::{Late, LateEngine, LateFinished};
use super::{CountMethod, Counted, Together};
use crate::{AnalysisOptions, DeviceChoice, Error};

/// The name that `--engine` takes for exact distances.
pub(super) const GPU: &str = "gpu";
/// The name that `--engine` takes for HP-RDA.
pub(super) const HP_RDA_GPU: &str = "hp-rda-gpu";

/// References that the interpreter takes at a time at most: larger chunks would only wait longer.
const INTERPRETED: u64 = 1 << 20;

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
pub(super) fn begin(options: &AnalysisOptions, fault: &DeviceFault) -> Result<Together, Error> {
    let device = device(options)?;
    let fault = fault.clone();
    if options.engine == HP_RDA_GPU {
        let limit = options.memory_limit().get() / 4;
        let settings = HpRdaSettings::default().with_transfer_of(limit);
        let rda = OnInterpreter(HpRdaGpu::new(device, settings)?);
        let late = Late::new(Box::new(rda), options.adjusting, fault);
        return Ok(Together::Plain(Box::new(late)));
    }
    let engine = OnInterpreter(GpuExact::new(device, exact_settings(options))?);
    Ok(Together::Plain(
        if options.is_totals_only() && !options.elements {
            Box::new(DeviceTotals {
                engine: Some(engine),
                fault,
                histogram: ExactHistogram::new(),
                accesses: 0,
            })
        } else {
            Box::new(Late::new(Box::new(engine), options.adjusting, fault))
        },
    ))
}

/// The interpreter, if it is asked for.
fn device(options: &AnalysisOptions) -> Result<PlainInterpreter, Error> {
    match options.device {
        DeviceChoice::Interpreter => {
            let memory = device_memory(options);
            Ok(interpreter(memory.get(), options.threads().get()))
        }
        DeviceChoice::Auto | DeviceChoice::Cuda => Err(Error::NoDriver {
            engine: options.engine.clone(),
            device: options.device.name(),
            processor: match options.engine.as_str() {
                HP_RDA_GPU => "hp-rda",
                _ => "counting",
            },
        }),
    }
}

/// What the memory of the interpreter's device may take of the processor's.
fn device_memory(options: &AnalysisOptions) -> Bytes {
    Bytes(options.memory_limit().get() / 4)
}

/// Chunks that take a fourth of the memory on either side.
fn exact_settings(options: &AnalysisOptions) -> ExactSettings {
    let memory = device_memory(options);
    let within = ExactSettings::within(memory, memory);
    ExactSettings {
        chunk: within.chunk.map(|chunk| chunk.min(INTERPRETED)),
    }
}

/// An engine whose device has its memory in the processor's.
struct OnInterpreter<E>(E);

impl LateEngine for OnInterpreter<GpuExact<PlainInterpreter>> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn feed(&mut self, items: &[u64], kept: &mut Vec<usize>) {
        self.0.feed(items);
        kept.clear();
        kept.extend(0..items.len());
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn analyse(&mut self) -> Result<&[Distance], GpuDistanceError> {
        self.0.analyse()
    }

    fn finish(self: Box<Self>) -> Result<LateFinished, GpuDistanceError> {
        Ok(LateFinished {
            distances: self.0.finish()?.distances,
            adjustment: None,
        })
    }

    fn memory_ahead(&self) -> Bytes {
        self.0.memory_ahead() + self.0.device_memory()
    }
}

impl LateEngine for OnInterpreter<HpRdaGpu<PlainInterpreter>> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn feed(&mut self, items: &[u64], kept: &mut Vec<usize>) {
        self.0.feed(items, kept);
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn analyse(&mut self) -> Result<&[Distance], GpuDistanceError> {
        self.0.analyse()
    }

    fn finish(self: Box<Self>) -> Result<LateFinished, GpuDistanceError> {
        let finished = self.0.finish()?;
        Ok(LateFinished {
            distances: finished.distances,
            adjustment: Some(finished.adjustment),
        })
    }

    fn memory_ahead(&self) -> Bytes {
        self.0.memory_ahead() + self.0.device_memory()
    }
}

/// Exact distances of which nobody asks whose they are: the device counts them.
struct DeviceTotals {
    /// None after a fault.
    engine: Option<OnInterpreter<GpuExact<PlainInterpreter>>>,
    fault: DeviceFault,
    histogram: ExactHistogram,
    accesses: u64,
}

impl CountMethod for DeviceTotals {
    fn add(&mut self, columns: &Columns) {
        let Some(OnInterpreter(engine)) = &mut self.engine else {
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

    fn accesses(&self) -> u64 {
        self.accesses
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
        if let Some(OnInterpreter(engine)) = self.engine.take()
            && let Err(fault) = engine.finish_tally(&mut self.histogram)
        {
            self.fault.set(fault);
        }
        Counted::exactly(GPU, self.histogram)
    }
}
