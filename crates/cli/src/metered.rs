//! [`MeteredSink`]: shows how far a kernel's launch is.

use reuselens_cuda::KernelWatch;
use reuselens_gpu_advisor::LaunchContext;
use reuselens_ptx::{
    FlowCounts, Kernel, LaunchConfig, LaunchSink, SkippedAccess, Stats, without_parameters,
};

use crate::progress::Meter;

/// A sink, and the meter of the launch that it looks at. Costs nothing per access: a block's sink
/// is the inner one's.
pub struct MeteredSink<S> {
    pub inner: S,
    meter: Option<(String, Meter)>,
    done: u64,
    /// Of all launches so far.
    all: u64,
    /// Launches so far, if there are several: how many more come is not known.
    launches: u32,
    quiet: bool,
}

impl<S> MeteredSink<S> {
    /// `quiet` shows nothing.
    pub fn new(inner: S, quiet: bool) -> Self {
        MeteredSink {
            inner,
            meter: None,
            done: 0,
            all: 0,
            launches: 0,
            quiet,
        }
    }

    /// Begins a launch. Those of one kernel, one after the other, share a line.
    pub fn show(&mut self, kernel: &str, launch: &LaunchConfig) {
        if self.meter.as_ref().is_none_or(|(of, _)| of != kernel) {
            self.hide();
            let meter = Meter::new(format!("running {kernel}"), self.quiet);
            self.meter = Some((kernel.to_owned(), meter));
            (self.done, self.all, self.launches) = (0, 0, 0);
        }
        self.all += u64::from(launch.blocks());
        self.launches += 1;
    }

    /// Removes the line.
    pub fn hide(&mut self) {
        if let Some((_, meter)) = self.meter.take() {
            meter.finish();
        }
    }

    fn tick(&mut self) {
        let all = (self.launches == 1).then_some(self.all);
        if let Some((_, meter)) = &mut self.meter {
            meter.blocks(self.done, all);
        }
    }
}

impl<S: LaunchSink> LaunchSink for MeteredSink<S> {
    type Block = S::Block;

    fn open(&mut self, block: u32) -> S::Block {
        self.inner.open(block)
    }

    fn drain(&mut self, block: u32, sink: &mut S::Block) {
        self.inner.drain(block, sink);
        self.tick();
    }

    fn close(&mut self, block: u32, sink: S::Block) {
        self.inner.close(block, sink);
        self.done += 1;
        self.tick();
    }
}

/// Shows each launch of a program by itself, for the program may print between launches.
impl<W: KernelWatch> KernelWatch for MeteredSink<W> {
    fn begin(
        &mut self,
        kernel: &Kernel,
        launch: &LaunchConfig,
        context: &LaunchContext,
    ) -> Result<(), String> {
        self.hide();
        self.inner.begin(kernel, launch, context)?;
        self.show(&without_parameters(kernel.name()), launch);
        Ok(())
    }

    fn skip(&mut self, skipped: &[SkippedAccess]) {
        self.inner.skip(skipped);
    }

    fn end(
        &mut self,
        kernel: &Kernel,
        launch: &LaunchConfig,
        stats: Stats,
        flow: Option<&FlowCounts>,
    ) {
        self.hide();
        self.inner.end(kernel, launch, stats, flow);
    }

    fn stop(&mut self, kernel: &Kernel, launch: &LaunchConfig, flow: Option<&FlowCounts>) {
        self.hide();
        self.inner.stop(kernel, launch, flow);
    }

    fn refuse(&mut self, kernel: &Kernel, launch: &LaunchConfig) {
        self.hide();
        self.inner.refuse(kernel, launch);
    }
}
