//! [`KernelCounts`]: what is counted of the kernels of a run. Beside a [`CollectorSink`], all their
//! memory instructions are kept too.

use std::collections::BTreeMap;

use reuselens_gpu_advisor::LaunchContext;
use reuselens_ptx::{
    CollectorSink, Count, FlowCounts, Ignore, Kernel, LaunchConfig, LaunchSink, SkippedAccess,
    SkippedSum, Stats,
};
use reuselens_warp::Collector;

use crate::interpreter::KernelWatch;

/// The launches of one kernel, together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelCount {
    /// Its name, mangled.
    pub name: String,
    /// How often it was launched and ended well.
    pub launches: u64,
    /// How often it was launched and did not.
    pub failed: u64,
    /// Blocks and instructions of the launches that ended well.
    pub stats: Stats,
    /// Accesses to memory of the launches that ended well.
    pub memory: Count,
}

/// Counts what each kernel does.
#[derive(Clone, Debug, Default)]
pub struct KernelCounts {
    kernels: Vec<KernelCount>,
    /// Index in `kernels`, by name.
    numbers: BTreeMap<String, usize>,
    /// Of the launch that is running.
    running: Count,
    skipped: SkippedSum,
}

impl KernelCounts {
    /// The kernels, in the order of their first launches.
    pub fn kernels(&self) -> &[KernelCount] {
        &self.kernels
    }

    /// The accesses that kernels left out, in the order in which they were found.
    pub fn skipped(&self) -> &[SkippedAccess] {
        self.skipped.accesses()
    }

    fn kernel(&mut self, name: &str) -> &mut KernelCount {
        let number = *self
            .numbers
            .entry(name.to_owned())
            .or_insert(self.kernels.len());
        if number == self.kernels.len() {
            self.kernels.push(KernelCount {
                name: name.to_owned(),
                ..KernelCount::default()
            });
        }
        &mut self.kernels[number]
    }
}

impl LaunchSink for KernelCounts {
    type Block = <Count as LaunchSink>::Block;

    fn open(&mut self, block: u32) -> Self::Block {
        self.running.open(block)
    }

    fn drain(&mut self, block: u32, sink: &mut Self::Block) {
        self.running.drain(block, sink);
    }

    fn close(&mut self, block: u32, sink: Self::Block) {
        self.running.close(block, sink);
    }
}

impl KernelWatch for KernelCounts {
    fn begin(&mut self, _: &Kernel, _: &LaunchConfig, _: &LaunchContext) -> Result<(), String> {
        self.running = Count::default();
        Ok(())
    }

    fn skip(&mut self, skipped: &[SkippedAccess]) {
        self.skipped.add(skipped.to_vec());
    }

    fn end(&mut self, kernel: &Kernel, _: &LaunchConfig, stats: Stats, _: Option<&FlowCounts>) {
        let running = self.running;
        let count = self.kernel(kernel.name());
        count.launches += 1;
        count.stats += stats;
        count.memory += running;
    }

    fn stop(&mut self, kernel: &Kernel, _: &LaunchConfig, _: Option<&FlowCounts>) {
        self.kernel(kernel.name()).failed += 1;
    }

    fn refuse(&mut self, kernel: &Kernel, _: &LaunchConfig) {
        self.kernel(kernel.name()).failed += 1;
    }
}

/// Looks at nothing: kernels run as fast as they can.
impl KernelWatch for Ignore {
    fn begin(&mut self, _: &Kernel, _: &LaunchConfig, _: &LaunchContext) -> Result<(), String> {
        Ok(())
    }

    fn skip(&mut self, _: &[SkippedAccess]) {}

    fn end(&mut self, _: &Kernel, _: &LaunchConfig, _: Stats, _: Option<&FlowCounts>) {}

    fn stop(&mut self, _: &Kernel, _: &LaunchConfig, _: Option<&FlowCounts>) {}

    fn refuse(&mut self, _: &Kernel, _: &LaunchConfig) {}
}

/// Keeps all memory instructions, and counts them.
impl<W: Collector + Send> KernelWatch for (CollectorSink<W>, KernelCounts)
where
    W::Piece: Send,
{
    fn begin(
        &mut self,
        kernel: &Kernel,
        launch: &LaunchConfig,
        context: &LaunchContext,
    ) -> Result<(), String> {
        let (records, counts) = self;
        // The program does not notice that its records cannot be kept.
        records.launch_or_stop(kernel, launch);
        counts.begin(kernel, launch, context)
    }

    fn skip(&mut self, skipped: &[SkippedAccess]) {
        self.1.skip(skipped);
    }

    fn end(
        &mut self,
        kernel: &Kernel,
        launch: &LaunchConfig,
        stats: Stats,
        flow: Option<&FlowCounts>,
    ) {
        self.1.end(kernel, launch, stats, flow);
    }

    fn stop(&mut self, kernel: &Kernel, launch: &LaunchConfig, flow: Option<&FlowCounts>) {
        self.1.stop(kernel, launch, flow);
    }

    fn refuse(&mut self, kernel: &Kernel, launch: &LaunchConfig) {
        self.1.refuse(kernel, launch);
    }
}
