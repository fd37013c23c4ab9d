//! [`AdvisedKernels`]: the analyses of the crate `gpu-advisor`, on the kernels of a run.

use reuselens_gpu_advisor::{
    Advisor, AdvisorOptions, BlockAdvisor, BlockExecutions, BranchExecutions, InstructionCounts,
    KernelReport, LaunchContext,
};
use reuselens_ptx::{
    BlockSink, FlowCounts, Kernel, KernelPlace, LaunchConfig, LaunchSink, Stats, WarpAccess,
    launch_record, with_row,
};

use crate::interpreter::KernelWatch;

/// Analyses what the kernels of a run do.
#[derive(Debug)]
pub struct AdvisedKernels {
    advisor: Advisor,
}

impl AdvisedKernels {
    /// No launches.
    pub fn new(options: AdvisorOptions) -> AdvisedKernels {
        AdvisedKernels {
            advisor: Advisor::new(options),
        }
    }

    /// The reports, by kernel and call path, in the order of the first launches. Kernels have their
    /// mangled names.
    pub fn finish(self) -> Vec<KernelReport> {
        self.advisor.finish()
    }

    fn add_flow(&mut self, flow: Option<&FlowCounts>) {
        if let Some(flow) = flow {
            self.advisor.branches(&blocks(flow), &branches(flow));
        }
    }
}

/// Looks at one block.
#[derive(Debug)]
pub struct AdvisedBlock(Option<BlockAdvisor>);

impl BlockSink for AdvisedBlock {
    #[inline(always)]
    fn accept(&mut self, access: &WarpAccess<'_>) {
        if let Some(block) = &mut self.0 {
            with_row(access, |row| block.record(row));
        }
    }

    /// The reuse of the block is analysed on the thread that ran it.
    fn finish(&mut self) {
        if let Some(block) = &mut self.0 {
            block.finish();
        }
    }
}

impl LaunchSink for AdvisedKernels {
    type Block = AdvisedBlock;

    fn open(&mut self, _: u32) -> AdvisedBlock {
        AdvisedBlock(self.advisor.open())
    }

    /// A block is analysed as one.
    fn drain(&mut self, _: u32, _: &mut AdvisedBlock) {}

    fn close(&mut self, _: u32, block: AdvisedBlock) {
        if let Some(block) = block.0 {
            self.advisor.close(block);
        }
    }
}

impl KernelWatch for AdvisedKernels {
    fn begin(
        &mut self,
        kernel: &Kernel,
        launch: &LaunchConfig,
        context: &LaunchContext,
    ) -> Result<(), String> {
        let record = launch_record(kernel, launch);
        self.advisor.begin(&record, context.clone());
        Ok(())
    }

    fn end(&mut self, _: &Kernel, _: &LaunchConfig, stats: Stats, flow: Option<&FlowCounts>) {
        self.add_flow(flow);
        self.advisor.end(InstructionCounts {
            warps: stats.warp_instructions,
            threads: stats.thread_instructions,
        });
    }

    /// What the kernel did until it was stopped stays counted.
    fn stop(&mut self, _: &Kernel, _: &LaunchConfig, flow: Option<&FlowCounts>) {
        self.add_flow(flow);
        self.advisor.stop();
    }

    fn refuse(&mut self, _: &Kernel, _: &LaunchConfig) {
        self.advisor.abandon();
    }
}

fn blocks(flow: &FlowCounts) -> Vec<BlockExecutions> {
    let rows = (0..).zip(&flow.blocks).map(|(block, it)| BlockExecutions {
        block,
        place: place(&it.place),
        executions: it.warps,
        divergent: it.divergent,
    });
    rows.collect()
}

fn branches(flow: &FlowCounts) -> Vec<BranchExecutions> {
    let rows = (0..)
        .zip(&flow.branches)
        .map(|(branch, it)| BranchExecutions {
            branch,
            place: place(&it.place),
            executions: it.warps,
            splits: it.splits,
            lanes: it.threads,
        });
    rows.collect()
}

/// The source line; empty if it is not known.
fn place(place: &KernelPlace) -> String {
    let source = place.source.as_ref();
    source.map_or_else(String::new, |line| format!("{}:{}", line.file, line.line))
}
