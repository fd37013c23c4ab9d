//! [`Watch`]: analyses what kernels do, and writes their memory instructions to a file while one is
//! recorded.

use std::path::Path;

use reuselens_cuda::{AdvisedBlock, AdvisedKernels, KernelWatch};
use reuselens_gpu_advisor::{AdvisorOptions, KernelReport, LaunchContext};
use reuselens_io::AtomicFile;
use reuselens_ptx::{
    BlockSink, CollectorSink, FlowCounts, Kernel, LaunchConfig, LaunchSink, Pieces, SkippedAccess,
    Stats, WarpAccess,
};
use reuselens_warp::file::{Records, WarpWriter};

/// Looks at launches.
pub struct Watch {
    advised: AdvisedKernels,
    records: Option<CollectorSink<WarpWriter<AtomicFile>>>,
}

impl Watch {
    /// Nothing seen.
    pub fn new(options: AdvisorOptions) -> Watch {
        Watch {
            advised: AdvisedKernels::new(options),
            records: None,
        }
    }

    /// Forgets what was analysed. A recording goes on.
    pub fn reset(&mut self, options: AdvisorOptions) {
        self.advised = AdvisedKernels::new(options);
    }

    /// What was analysed so far.
    pub fn reports(&self) -> Vec<KernelReport> {
        self.advised.reports()
    }

    /// Whether memory instructions are written to a file.
    pub fn is_recording(&self) -> bool {
        self.records.is_some()
    }

    /// Writes the memory instructions of the launches from now on to a file.
    pub fn record(&mut self, path: &Path, overwrite: bool, about: &str) -> Result<(), String> {
        let file = AtomicFile::create(path, overwrite).map_err(|error| error.to_string())?;
        let writer = WarpWriter::new(file, path, about).map_err(|error| error.to_string())?;
        self.records = Some(CollectorSink::new(writer));
        Ok(())
    }

    /// Ends the recording, and gives its file its name; the number of records, or none if nothing
    /// is recorded. Without `keep` there is no file.
    pub fn stop_recording(&mut self, keep: bool) -> Result<Option<u64>, String> {
        let Some(records) = self.records.take().filter(|_| keep) else {
            return Ok(None);
        };
        let writer = records.finish().map_err(|error| error.to_string())?;
        let count = writer.records();
        let file = writer.finish().map_err(|error| error.to_string())?;
        file.commit().map_err(|error| error.to_string())?;
        Ok(Some(count))
    }
}

/// Looks at a block.
pub struct WatchedBlock {
    advised: AdvisedBlock,
    records: Option<Pieces<Records>>,
}

impl BlockSink for WatchedBlock {
    #[inline(always)]
    fn accept(&mut self, access: &WarpAccess<'_>) {
        self.advised.accept(access);
        if let Some(records) = &mut self.records {
            records.accept(access);
        }
    }

    fn calculate(&mut self, _: &reuselens_ptx::Calculation<'_>) {}

    fn finish(&mut self) {
        self.advised.finish();
        if let Some(records) = &mut self.records {
            records.finish();
        }
    }
}

impl LaunchSink for Watch {
    type Block = WatchedBlock;

    fn open(&mut self, block: u32) -> WatchedBlock {
        WatchedBlock {
            advised: self.advised.open(block),
            records: self.records.as_mut().map(|records| records.open(block)),
        }
    }

    fn drain(&mut self, number: u32, block: &mut WatchedBlock) {
        self.advised.drain(number, &mut block.advised);
        if let (Some(records), Some(pieces)) = (&mut self.records, &mut block.records) {
            records.drain(number, pieces);
        }
    }

    fn close(&mut self, number: u32, block: WatchedBlock) {
        self.advised.close(number, block.advised);
        if let (Some(records), Some(pieces)) = (&mut self.records, block.records) {
            records.close(number, pieces);
        }
    }
}

impl KernelWatch for Watch {
    fn begin(
        &mut self,
        kernel: &Kernel,
        launch: &LaunchConfig,
        context: &LaunchContext,
    ) -> Result<(), String> {
        if let Some(records) = &mut self.records {
            let begun = records.launch(kernel, launch);
            begun.map_err(|error| error.to_string())?;
        }
        self.advised.begin(kernel, launch, context)
    }

    fn skip(&mut self, skipped: &[SkippedAccess]) {
        self.advised.skip(skipped);
    }

    fn end(
        &mut self,
        kernel: &Kernel,
        launch: &LaunchConfig,
        stats: Stats,
        flow: Option<&FlowCounts>,
    ) {
        self.advised.end(kernel, launch, stats, flow);
    }

    fn stop(&mut self, kernel: &Kernel, launch: &LaunchConfig, flow: Option<&FlowCounts>) {
        self.advised.stop(kernel, launch, flow);
    }

    fn refuse(&mut self, kernel: &Kernel, launch: &LaunchConfig) {
        self.advised.refuse(kernel, launch);
    }
}
