//! [`AdvisedKernels`]: the analyses of the crate `gpu-advisor`, on the kernels of a run.

use std::sync::Arc;

use reuselens_gpu_advisor::{
    Advisor, AdvisorOptions, BasicBlockExecutions, BlockAdvisor, BranchExecutions, BranchReport,
    ClassCounts, GuardedExecutions, InstructionCounts, InstructionExecutions, KernelReport,
    LaunchContext, LeftOutAccesses,
};
use reuselens_ptx::{
    BlockSink, FlowCounts, Kernel, LaunchConfig, LaunchSink, SkippedAccess, Stats, WarpAccess,
    launch_record, with_row,
};
use reuselens_warp::{Launch, WarpBatch, WarpSink};

use crate::interpreter::KernelWatch;
use crate::replayed::RecordWatch;

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

    /// The reports of the launches that have ended, as [`finish`](Self::finish) gives them, while
    /// more may come. Costs a copy of the sums.
    pub fn reports(&self) -> Vec<KernelReport> {
        self.advisor.reports()
    }

    fn end_launch(&mut self, stats: Stats, flow: Option<&FlowCounts>) {
        self.add_flow(flow);
        self.advisor.end(InstructionCounts {
            warps: stats.warp_instructions,
            threads: stats.thread_instructions,
        });
    }

    fn add_flow(&mut self, flow: Option<&FlowCounts>) {
        if let Some(flow) = flow {
            self.advisor.branches(&BranchReport {
                basic_blocks: basic_blocks(flow),
                branches: branches(flow),
                guarded: guarded(flow),
                instructions: instructions(flow),
            });
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

    fn calculate(&mut self, _: &reuselens_ptx::Calculation<'_>) {}

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

    fn skip(&mut self, skipped: &[SkippedAccess]) {
        let rows = skipped.iter().map(|it| LeftOutAccesses {
            place: it.place.line(),
            calls: it.place.calls(),
            lanes: it.lanes,
            first: it.first.to_string(),
        });
        self.advisor.left_out(&rows.collect::<Vec<_>>());
    }

    fn end(&mut self, _: &Kernel, _: &LaunchConfig, stats: Stats, flow: Option<&FlowCounts>) {
        self.end_launch(stats, flow);
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

impl RecordWatch for AdvisedKernels {
    fn begin(&mut self, launch: &Launch, context: &LaunchContext) {
        self.advisor.begin(launch, context.clone());
    }

    fn batch(&mut self, batch: &WarpBatch) {
        // The advisor takes all.
        let _ = self.advisor.batch(batch);
    }

    fn end(&mut self, stats: Stats, flow: &FlowCounts) {
        self.end_launch(stats, Some(flow));
    }

    fn stop(&mut self) {
        self.advisor.stop();
    }

    fn refuse(&mut self) {
        self.advisor.abandon();
    }
}

fn basic_blocks(flow: &FlowCounts) -> Vec<BasicBlockExecutions> {
    let rows = (0..)
        .zip(&flow.blocks)
        .map(|(block, it)| BasicBlockExecutions {
            block,
            place: it.place.line(),
            calls: it.place.calls(),
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
            place: it.place.line(),
            calls: it.place.calls(),
            executions: it.warps,
            splits: it.splits,
            lanes: it.threads,
        });
    rows.collect()
}

fn guarded(flow: &FlowCounts) -> Vec<GuardedExecutions> {
    let rows = (0..)
        .zip(&flow.predicated)
        .map(|(instruction, it)| GuardedExecutions {
            instruction,
            place: it.place.line(),
            calls: it.place.calls(),
            executions: it.warps,
            lanes: it.threads,
            lanes_off: it.threads - it.taken,
        });
    rows.collect()
}

fn instructions(flow: &FlowCounts) -> Vec<InstructionExecutions> {
    let rows = (0..)
        .zip(&flow.instructions)
        .map(|(instruction, it)| InstructionExecutions {
            instruction,
            place: it.place.line(),
            column: it.place.column(),
            calls: it.place.calls(),
            ptx_line: it.place.position.line,
            text: Arc::clone(&it.text),
            class: it.class,
            counts: ClassCounts {
                warps: it.warps,
                threads: it.threads,
                float_operations: it.float_operations,
            },
        });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use reuselens_ptx::Options;

    use super::*;
    use crate::device::{Device, KernelLaunch};
    use crate::interpreter::Interpreter;

    const PTX: &[u8] = b".version 7.0\n.target sm_70\n.address_size 64\n\
        .visible .entry load(.param .u64 a) {\n.reg .b64 %x<3>; .reg .b32 %r<3>;\n\
        ld.param.u64 %x1, [a];\nld.global.u32 %r1, [%x1];\nld.global.u32 %r2, [%x1+4];\nret; }\n";

    #[test]
    fn only_launches_that_ended_well_are_counted() {
        let options = Options {
            flow: true,
            ..Options::default()
        };
        let advised = AdvisedKernels::new(AdvisorOptions::default());
        let mut device = Interpreter::new(1 << 20, options, advised);
        let module = device.load(PTX).unwrap();
        let (kernel, _) = device.kernel(module, "load").unwrap();
        let (four, eight) = (
            device.allocate(4, 1).unwrap(),
            device.allocate(8, 1).unwrap(),
        );
        let mut launch = |address: u64, threads, call_path| {
            let launch = KernelLaunch {
                kernel,
                grid: [1; 3],
                block: [threads, 1, 1],
                params: address.to_le_bytes().to_vec(),
                ..KernelLaunch::default()
            };
            let context = LaunchContext {
                call_path,
                ..LaunchContext::default()
            };
            device.launch(&launch, &context).is_ok()
        };
        assert!(launch(eight, 32, 1));
        // Stopped at the second load, refused, and refused from elsewhere.
        assert!(!launch(four, 32, 2));
        assert!(!launch(eight, 5000, 1));
        assert!(!launch(eight, 5000, 3));
        let advised = device.into_watch();
        let so_far = advised.reports();
        let reports = advised.finish();
        assert_eq!(so_far, reports);
        let counts: Vec<_> = reports
            .iter()
            .map(|report| (report.call_path, report.launches.launches))
            .collect();
        assert_eq!(counts, [(1, 1), (2, 0)]);
        // What the stopped launch did is seen, its control flow too.
        let [_, stopped] = &reports[..] else { panic!() };
        assert!(stopped.global.requests > 0, "{stopped:?}");
        assert!(!stopped.branches.basic_blocks.is_empty(), "{stopped:?}");
    }
}
