//! [`Advisor`]: takes launches, and reports on kernels.

use std::collections::HashMap;
use std::sync::Arc;

use reuselens_trace::TraceError;
use reuselens_warp::{Collector, Launch, WarpBatch, WarpSink};

use crate::block::{BlockAdvisor, LaunchSetup};
use crate::caches::CacheSimulator;
use crate::kernel::KernelTotals;
use crate::neighbours::{KeptBlocks, is_chosen};
use crate::tally::Tally;
use crate::{
    AdvisorOptions, BranchReport, InstructionCounts, KernelReport, LaunchConfiguration,
    LaunchContext, LeftOutAccesses,
};

/// Analyses launches, one after the other, and sums them by kernel and call path.
///
/// Results are the same for any number of threads, as long as blocks are closed in the same order.
///
/// Memory: for each kernel and call path, some kilobytes, 0.3 KB for each site and 0.8 KB for each
/// object; for blocks that are open, see [`BlockAdvisor`]; for the cache model, see
/// [`CacheReport`](crate::CacheReport)'s module.
#[derive(Debug)]
pub struct Advisor {
    options: AdvisorOptions,
    caches: Option<CacheSimulator>,
    kernels: Vec<KernelTotals>,
    /// Indices in `kernels`, by name and call path. Kernels of several modules can share a name.
    numbers: HashMap<(String, u32), Vec<usize>>,
    running: Option<Running>,
    spare: Vec<BlockAdvisor>,
    /// For the next launch of a stream.
    context: LaunchContext,
}

/// The launch that is running.
#[derive(Debug)]
struct Running {
    kernel: usize,
    setup: Arc<LaunchSetup>,
    configuration: LaunchConfiguration,
    warps: u64,
    /// The launch, its number, and accesses of its first blocks, if threads are to be mapped.
    mapped: Option<(Launch, u64, KeptBlocks)>,
    tally: Tally,
    branches: BranchReport,
    /// The block of a stream whose records come now.
    open: Option<(u32, BlockAdvisor)>,
}

impl Advisor {
    /// No launches.
    pub fn new(options: AdvisorOptions) -> Advisor {
        Advisor {
            options,
            caches: options.caches.then(|| CacheSimulator::new(&options)),
            kernels: Vec::new(),
            numbers: HashMap::new(),
            running: None,
            spare: Vec::new(),
            context: LaunchContext::default(),
        }
    }

    /// A kernel is about to run. A launch before it that was not ended ends now. What its blocks
    /// use is in the launch; where it is not known, they have no shared memory and exchange
    /// nothing.
    pub fn begin(&mut self, launch: &Launch, context: LaunchContext) {
        let used = launch.used.unwrap_or_default();
        let (shared_bytes, has_exchange) = (used.shared(), used.has_exchange);
        self.end_running();
        let kernel = self.kernel(launch, context.call_path);
        if let Some(caches) = &mut self.caches {
            let bypassing = Arc::clone(&self.kernels[kernel].bypassing);
            caches.begin(launch.warps(), shared_bytes, launch.grid.count(), bypassing);
        }
        let number = self.kernels[kernel].begin(shared_bytes);
        let may_map = self.options.mapped_accesses > 0 && !has_exchange && shared_bytes == 0;
        let is_mapped = may_map && is_chosen(number);
        self.running = Some(Running {
            kernel,
            mapped: is_mapped.then(|| (launch.clone(), number, KeptBlocks::default())),
            setup: Arc::new(LaunchSetup::new(
                self.options,
                context,
                Arc::clone(&launch.arrays),
            )),
            configuration: LaunchConfiguration::of(launch),
            warps: launch.warps(),
            tally: Tally::default(),
            branches: BranchReport::default(),
            open: None,
        });
    }

    /// What looks at the next block. None if no launch has begun.
    pub fn open(&mut self) -> Option<BlockAdvisor> {
        let running = self.running.as_ref()?;
        let mut block = match self.spare.pop() {
            Some(mut block) => {
                block.reuse(&running.setup);
                block
            }
            None => BlockAdvisor::new(Arc::clone(&running.setup)),
        };
        let mapped = running.mapped.as_ref();
        if mapped.is_some_and(|(_, _, kept)| kept.is_open()) {
            block.keep_accesses();
        }
        Some(block)
    }

    /// Takes back what has looked at a block. Blocks must be closed in one order, whatever the
    /// threads: the cache model has them in this order.
    pub fn close(&mut self, mut block: BlockAdvisor) {
        block.finish();
        let Some(running) = &mut self.running else {
            return;
        };
        running.tally.merge(&block.tally);
        if let Some((_, _, kept)) = &mut running.mapped {
            let most = self.options.mapped_accesses as usize;
            match block.accesses.take() {
                Some(block) => kept.add(block, most),
                // Opened when there were enough blocks.
                None => kept.close(),
            }
        }
        if let Some(caches) = &mut self.caches {
            caches.push(&mut block.requests);
        }
        block.clear();
        self.spare.push(block);
    }

    /// Adds what was counted of the control flow of the launch that is running.
    pub fn branches(&mut self, flow: &BranchReport) {
        if let Some(running) = &mut self.running {
            running.branches.merge(flow);
        }
    }

    /// Adds accesses that the launch that is running has left out.
    pub fn left_out(&mut self, accesses: &[LeftOutAccesses]) {
        if let Some(running) = &self.running {
            self.kernels[running.kernel].left_out(accesses);
        }
    }

    /// The launch has ended, after this many instructions; 0 if that is not known.
    pub fn end(&mut self, instructions: InstructionCounts) {
        self.add_running(Some(instructions));
    }

    /// The launch that is running was stopped. What was counted of it stays in the sums, but it is
    /// none of the [`launches`](crate::LaunchStatistics::launches).
    pub fn stop(&mut self) {
        self.add_running(None);
    }

    /// The launch that is running was refused before its first block: it leaves no trace.
    pub fn abandon(&mut self) {
        self.running = None;
    }

    /// Adds the launch that is running to its kernel; `instructions` are none if it was stopped.
    fn add_running(&mut self, instructions: Option<InstructionCounts>) {
        if let Some((_, block)) = self
            .running
            .as_mut()
            .and_then(|running| running.open.take())
        {
            self.close(block);
        }
        let Some(mut running) = self.running.take() else {
            return;
        };
        let kernel = &mut self.kernels[running.kernel];
        // A stream of an old version does not tell before it whether there is shared memory.
        let has_shared = running.tally.banks.all().requests > 0;
        if let Some((launch, number, kept)) = running.mapped.take().filter(|_| !has_shared) {
            kernel.map(&launch, number, kept);
        }
        let caches = self.caches.as_mut().map(|caches| {
            let outcome = caches.end();
            running.tally.sites.merge(&caches.sites);
            running.tally.objects.merge(&caches.objects);
            outcome
        });
        kernel.configured(running.configuration, instructions.is_some());
        kernel.add(
            running.tally,
            caches,
            running.branches,
            instructions,
            running.warps,
        );
    }

    /// Ends the launch that is running, if there is one.
    fn end_running(&mut self) {
        if self.running.is_some() {
            self.end(InstructionCounts::default());
        }
    }

    /// The reports, in the order of the first launches.
    pub fn finish(mut self) -> Vec<KernelReport> {
        self.end_running();
        let options = self.options;
        let kernels = self.kernels.into_iter().filter(KernelTotals::has_counts);
        kernels.map(|kernel| kernel.report(&options)).collect()
    }

    /// The reports of the launches that have ended, as [`finish`](Self::finish) gives them: for
    /// those that go on with launches. Costs a copy of the sums.
    pub fn reports(&self) -> Vec<KernelReport> {
        let kernels = self.kernels.iter().filter(|kernel| kernel.has_counts());
        let reports = kernels.map(|kernel| kernel.clone().report(&self.options));
        reports.collect()
    }

    /// What the host knows of the next launch of a stream.
    pub fn set_context(&mut self, context: LaunchContext) {
        self.context = context;
    }

    /// Index of a kernel in a call path.
    fn kernel(&mut self, launch: &Launch, call_path: u32) -> usize {
        let key = (launch.kernel.clone(), call_path);
        let numbers = self.numbers.entry(key).or_default();
        let same = |&&number: &&usize| self.kernels[number].has_code_of(launch);
        if let Some(&number) = numbers.iter().find(same) {
            return number;
        }
        numbers.push(self.kernels.len());
        self.kernels.push(KernelTotals::new(launch, call_path));
        self.kernels.len() - 1
    }
}

/// Takes a stream of records. A block's records must come together: those that come after another
/// block's count as a block of their own.
impl WarpSink for Advisor {
    fn launch(&mut self, launch: &Launch) -> Result<(), TraceError> {
        let context = std::mem::take(&mut self.context);
        self.begin(launch, context);
        Ok(())
    }

    /// Records before the first launch are dropped.
    fn batch(&mut self, batch: &WarpBatch) -> Result<(), TraceError> {
        let Some(open) = self.running.as_mut().map(|running| running.open.take()) else {
            return Ok(());
        };
        let mut open = open;
        for row in batch.rows() {
            if open.as_ref().is_none_or(|(block, _)| *block != row.block) {
                if let Some((_, before)) = open.take() {
                    self.close(before);
                }
                open = self.open().map(|block| (row.block, block));
            }
            if let Some((_, block)) = &mut open {
                block.record(&row);
            }
        }
        if let Some(running) = &mut self.running {
            running.open = open;
        }
        Ok(())
    }
}

impl Collector for Advisor {
    type Piece = WarpBatch;

    fn take(&mut self, piece: &WarpBatch) -> Result<(), TraceError> {
        self.batch(piece)
    }
}
