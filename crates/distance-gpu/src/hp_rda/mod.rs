//! [`HpRdaGpu`]: HP-RDA by CUDA kernels, as it was published.
//!
//! # What it is
//! The steps are those of [`HpRda`](reuselens_baselines::HpRda), which has their rules: a thread of
//! the device analyses a chunk, with a hash table and arrays of its own; a block of threads merges
//! its chunks; then blocks are merged one after the other into a table of all items, each by all
//! threads of the device, since the items of a block are distinct. Distances and the adjustment are
//! those of `HpRda` with equal settings, number for number.
//!
//! # Cost
//! Per reference one look-up in a table of its chunk, and a pass over the flags between it and the
//! one before to its item, 32 at a time; per item of a chunk one in a table of the block; per item
//! of a block one in a table of all items. Memory of the device: 40 to 49 bytes per reference of a
//! transfer, and 48 to 96 per distinct item, half as much again while the table grows. Of the
//! processor: 24 bytes per reference of a transfer.
//!
//! Source: Cui, Yi, Xue, Wang, Yang & Feng, *A Highly Parallel Reuse Distance Analysis Algorithm on
//! GPUs*, IPDPS 2012.

mod all_items;
mod transfer;

use std::time::Instant;

use reuselens_baselines::{Adjustment, HpRdaSettings, ImmediateRepeats};
use reuselens_cuda::Device;
use reuselens_locality::ExactHistogram;
use reuselens_units::{Bytes, Distance, Items};

use crate::error::GpuDistanceError;
use crate::kernels::KernelCode;
use crate::times::{HpRdaGpuTimes, timed};
use transfer::TransferArrays;

/// The name that `--engine` takes.
pub const NAME: &str = "hp-rda-gpu";

/// Bytes of the processor's memory that a reference of a transfer takes: its item, and its distance
/// as it comes and as it is returned.
const HOST_BYTES: usize = 24;

/// HP-RDA by CUDA kernels: see [`HpRda`](reuselens_baselines::HpRda) for its rules.
///
/// ```
/// use reuselens_baselines::HpRdaSettings;
/// use reuselens_distance_gpu::{HpRdaGpu, interpreter};
///
/// let settings = HpRdaSettings { blocks: 1, ..HpRdaSettings::default() };
/// let mut rda = HpRdaGpu::new(interpreter(1 << 26, 1), settings)?;
/// let mut kept = Vec::new();
/// rda.feed(&[7, 7, 8, 9, 7], &mut kept);
/// assert_eq!(kept, [0, 2, 3, 4]); // the second 7 has distance 0
/// let finished = rda.finish()?;
/// assert_eq!(finished.distances[3].items(), Some(2));
/// # Ok::<(), reuselens_distance_gpu::GpuDistanceError>(())
/// ```
pub struct HpRdaGpu<D> {
    transfer: TransferArrays<D>,
    /// What was kept of the stream and is not analysed yet.
    buffer: Vec<u64>,
    repeats: ImmediateRepeats,
    /// The distances of what was analysed last.
    distances: Vec<Distance>,
    fault: Option<GpuDistanceError>,
}

/// What is known when the stream is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HpRdaGpuFinished {
    /// The distances of the references that were kept and not yet analysed, in order, as merged.
    pub distances: Vec<Distance>,
    /// The correction of all merged distances.
    pub adjustment: Adjustment,
    /// Where the time went.
    pub times: HpRdaGpuTimes,
}

impl HpRdaGpuFinished {
    /// The histogram of the adjusted distances, of that of merged ones. The time counts as that of
    /// the last step.
    pub fn adjust(&mut self, merged: &ExactHistogram) -> ExactHistogram {
        let adjustment = self.adjustment;
        timed(&mut self.times.steps.adjust, || {
            merged.map(|distance| adjustment.adjust(distance))
        })
    }
}

impl<D: Device> HpRdaGpu<D> {
    /// An analysis that has seen nothing. `settings` are those of the analysis on a processor, but
    /// for its threads. A transfer has fewer blocks where more do not fit half of the device's free
    /// memory.
    ///
    /// # Errors
    /// If the device refuses the kernels, or has too little memory for a block.
    pub fn new(device: D, settings: HpRdaSettings) -> Result<Self, GpuDistanceError> {
        Self::with_code(device, settings, &KernelCode::CLANG)
    }

    /// The same with other code for the device.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn with_code(
        device: D,
        settings: HpRdaSettings,
        code: &KernelCode,
    ) -> Result<Self, GpuDistanceError> {
        Ok(HpRdaGpu {
            transfer: TransferArrays::new(device, settings.within_limits(), code)?,
            buffer: Vec::new(),
            repeats: ImmediateRepeats::default(),
            distances: Vec::new(),
            fault: None,
        })
    }

    /// The name that `--engine` takes.
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// Takes in the next items of the stream. `kept` becomes the indices of those that are no
    /// immediate repeat, ascending; the others have distance 0 and are done with.
    pub fn feed(&mut self, items: &[u64], kept: &mut Vec<usize>) {
        let start = Instant::now();
        self.repeats.drop_from(items, kept);
        self.buffer.extend(kept.iter().map(|&index| items[index]));
        self.transfer.times.steps.preprocess += start.elapsed();
    }

    /// Whether a transfer is full: time to [`analyse`](Self::analyse), or the buffer grows.
    pub fn is_full(&self) -> bool {
        self.buffer.len() >= self.transfer.settings().transfer()
    }

    /// Analyses all complete blocks in the buffer. Returns the distances, as merged, of the kept
    /// references that they hold: those that follow what was returned before.
    ///
    /// # Errors
    /// If the device refuses, now or before.
    pub fn analyse(&mut self) -> Result<&[Distance], GpuDistanceError> {
        let block = self.transfer.settings().block();
        self.analyse_first(self.buffer.len() / block * block)?;
        Ok(&self.distances)
    }

    /// Analyses what is left.
    ///
    /// # Errors
    /// If the device refuses, now or before.
    pub fn finish(mut self) -> Result<HpRdaGpuFinished, GpuDistanceError> {
        self.analyse_first(self.buffer.len())?;
        Ok(HpRdaGpuFinished {
            adjustment: Adjustment::new(self.distinct(), self.transfer.counts()),
            distances: self.distances,
            times: self.transfer.times,
        })
    }

    /// The number of distinct items in what was analysed.
    pub fn distinct(&self) -> Items {
        self.transfer.distinct()
    }

    /// How the stream is cut: the settings that were asked for, within their limits and with the
    /// blocks of a transfer that fit the device.
    pub fn settings(&self) -> &HpRdaSettings {
        self.transfer.settings()
    }

    /// Where the time of what was analysed went.
    pub fn times(&self) -> HpRdaGpuTimes {
        self.transfer.times
    }

    /// The memory held, without the device's.
    pub fn memory(&self) -> Bytes {
        Bytes(8 * (self.buffer.capacity() + self.distances.capacity()) as u64)
    }

    /// The most memory that is held until the next transfer is analysed, without the device's.
    pub fn memory_ahead(&self) -> Bytes {
        let transfer = self.transfer.settings().transfer();
        Bytes((transfer.max(self.buffer.capacity()) * HOST_BYTES) as u64)
    }

    /// The device's memory that is in use.
    pub fn device_memory(&self) -> Bytes {
        Bytes(self.transfer.used())
    }

    /// The device, without what was analysed.
    pub fn into_device(self) -> D {
        self.transfer.into_device()
    }

    /// Analyses the first `length` references of the buffer, transfer by transfer.
    fn analyse_first(&mut self, length: usize) -> Result<(), GpuDistanceError> {
        self.distances.clear();
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let references = self.transfer.settings().transfer();
        for items in self.buffer[..length].chunks(references) {
            if let Err(fault) = self.transfer.analyse(items, &mut self.distances) {
                self.distances.clear();
                self.fault = Some(fault.clone());
                return Err(fault);
            }
        }
        self.buffer.drain(..length);
        Ok(())
    }
}
