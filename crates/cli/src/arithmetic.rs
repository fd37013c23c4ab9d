//! [`WithArithmetic`]: a sink beside which the arithmetic operations of kernels go to a file
//! (`--arithmetic`).

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use reuselens::io::AtomicFile;
use reuselens::trace::TraceError;
use reuselens::units::counted;
use reuselens_cuda::KernelWatch;
use reuselens_gpu_advisor::LaunchContext;
use reuselens_ptx::{
    ArithmeticSink, FlowCounts, Kernel, LaunchConfig, LaunchSink, SkippedAccess, Stats,
};

use crate::exit::Usage;
use crate::say::say;

/// The file, or none.
pub struct ArithmeticFile {
    sink: ArithmeticSink<BufWriter<AtomicFile>>,
    /// For messages; empty if there is no file.
    path: PathBuf,
}

impl ArithmeticFile {
    /// Creates the file, if there is to be one.
    pub fn create(path: Option<&Path>, force: bool) -> anyhow::Result<ArithmeticFile> {
        if path == Some(Path::new("-")) {
            let what = "--arithmetic goes to a file, and - is none; name a file";
            return Err(Usage(what.to_owned()).into());
        }
        let file = path.map(|path| AtomicFile::create(path, force));
        let sink = ArithmeticSink::new(file.transpose()?.map(BufWriter::new));
        let path = path.unwrap_or(Path::new("")).to_owned();
        let sink = sink.with_context(|| path.display().to_string())?;
        Ok(ArithmeticFile { sink, path })
    }

    /// Writes it to its end, and says what is in it, unless it is to be `quiet`.
    pub fn finish(self, quiet: bool) -> anyhow::Result<()> {
        let finished = self.sink.finish();
        let (file, lines) = finished.with_context(|| self.path.display().to_string())?;
        let Some(file) = file else {
            return Ok(());
        };
        let file = file
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        let path = file.commit()?;
        if !quiet {
            let lines = counted(lines, "arithmetic operation", "arithmetic operations");
            say!("{}: {lines} of warps", path.display())?;
        }
        Ok(())
    }
}

/// A sink and the file.
pub struct WithArithmetic<S> {
    pub inner: S,
    pub operations: ArithmeticFile,
}

impl<S> WithArithmetic<S> {
    /// A kernel is launched; to be called before each launch.
    pub fn launch(&mut self, kernel: &Kernel, launch: &LaunchConfig) -> Result<(), TraceError> {
        let ArithmeticFile { sink, path } = &mut self.operations;
        let written = sink.launch(kernel, launch);
        written.map_err(|error| TraceError::io("write", path, error))
    }
}

impl<S: LaunchSink> LaunchSink for WithArithmetic<S> {
    type Block = (
        S::Block,
        <ArithmeticSink<BufWriter<AtomicFile>> as LaunchSink>::Block,
    );

    fn open(&mut self, block: u32) -> Self::Block {
        (self.inner.open(block), self.operations.sink.open(block))
    }

    fn drain(&mut self, block: u32, sink: &mut Self::Block) {
        self.inner.drain(block, &mut sink.0);
        self.operations.sink.drain(block, &mut sink.1);
    }

    fn close(&mut self, block: u32, sink: Self::Block) {
        self.inner.close(block, sink.0);
        self.operations.sink.close(block, sink.1);
    }
}

impl<W: KernelWatch> KernelWatch for WithArithmetic<W> {
    fn begin(
        &mut self,
        kernel: &Kernel,
        launch: &LaunchConfig,
        context: &LaunchContext,
    ) -> Result<(), String> {
        self.operations.sink.launch_or_stop(kernel, launch);
        self.inner.begin(kernel, launch, context)
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
        self.inner.end(kernel, launch, stats, flow);
    }

    fn stop(&mut self, kernel: &Kernel, launch: &LaunchConfig, flow: Option<&FlowCounts>) {
        self.inner.stop(kernel, launch, flow);
    }

    fn refuse(&mut self, kernel: &Kernel, launch: &LaunchConfig) {
        self.inner.refuse(kernel, launch);
    }
}
