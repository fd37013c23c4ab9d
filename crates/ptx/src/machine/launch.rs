//! [`run`]: a launch from its first block to its last, on one thread or several, with its
//! [`Options`] and [`Stats`].
//!
//! Blocks run in waves. All blocks of a wave find memory as the wave found it, and what they have
//! written is put together in their order when the last one has ended. How many blocks are in a
//! wave does not depend on the threads that run them, so neither do the results. Kernels whose
//! blocks talk to each other (`Kernel::is_ordered`) run with one block in a wave: each sees all
//! that those before it did.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use reuselens_workers::{OnPanic, lock, together};

use crate::decode::kernel::Kernel;
use crate::lanes::Isa;
use crate::sink::{BlockSink, LaunchSink};

use super::block::{self, BlockRun};
use super::block_queue::{BlockQueue, QueueState};
use super::call;
use super::cooperative::{self, GridBarrier};
use super::device_memory::{DeviceMemory, MAX_PRINTED};
use super::fault::{FaultKind, KernelError, KernelStop};
use super::flow::{self, FlowCell, FlowCounts};
use super::grid::{LaunchConfig, MOST_LOCAL};
use super::heap::Heap;

use super::mbarrier::ArrivalClocks;
use super::memory::BlockMemory;
use super::overlay::{self, Overlay, Patch};
use super::races::Races;
use super::random::SplitMix64;
use super::skipped::{OnFault, SkippedAccess};
use super::warp::Warp;

/// Blocks of a wave.
const WAVE: u32 = 256;
/// Blocks that may have ended and wait for one before them, for each thread.
const AHEAD: u32 = 16;

/// How a kernel is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads that run blocks. Results do not depend on it.
    pub threads: usize,
    /// Blocks and warps in a random order, the same for the same seed; without it, in the order of
    /// their numbers, each warp up to its next barrier.
    pub seed: Option<u64>,
    /// Instructions that the warps of a launch may execute together.
    pub max_instructions: u64,
    /// Look for races between the threads of each block. Takes several times as long.
    pub check_races: bool,
    /// What happens when a lane accesses memory that is not there.
    pub on_fault: OnFault,
    /// Count basic blocks and branches: see [`Device::take_flow`](crate::Device::take_flow).
    /// Kernels are decoded for it, so [`Device::kernel`](crate::Device::kernel) looks at it, and a
    /// launch does not. Kernels that are decoded without it cost nothing more.
    pub flow: bool,
    /// Show arithmetic operations with their operands to sinks
    /// ([`BlockSink::calculate`](crate::BlockSink::calculate)); as for `flow`, kernels are decoded
    /// for it.
    pub arithmetic: bool,
    /// The instructions of this processor that are used.
    pub isa: Isa,
    /// Set by whoever wants launches to end soon, with an error.
    pub stop: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            threads: reuselens_workers::processors().get(),
            seed: None,
            max_instructions: u64::MAX,
            check_races: false,
            on_fault: OnFault::Stop,
            flow: false,
            arithmetic: false,
            isa: Isa::best(),
            stop: Arc::default(),
        }
    }
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Blocks.
    pub blocks: u64,
    /// Instructions of warps.
    pub warp_instructions: u64,
    /// Instructions of threads.
    pub thread_instructions: u64,
}

impl std::ops::AddAssign for Stats {
    fn add_assign(&mut self, other: Stats) {
        self.blocks += other.blocks;
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
    }
}

/// A launch that does not fit.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LaunchError {
    /// It never began.
    #[error("{0}")]
    Refused(String),
    /// It was stopped.
    #[error(transparent)]
    Stopped(#[from] KernelError),
}

/// What a block leaves.
pub(super) struct Ended<B> {
    sink: B,
    patches: Vec<Patch>,
    printed: Vec<u8>,
    flow: Vec<FlowCell>,
    skipped: Vec<SkippedAccess>,
    stats: Stats,
    result: Result<(), KernelError>,
}

/// Runs a kernel to its end.
///
/// # Errors
/// A launch that does not fit, and whatever the kernel does that it must not.
pub fn run<S: LaunchSink + Send>(
    kernel: &Kernel,
    launch: &LaunchConfig,
    memory: &mut DeviceMemory,
    options: &Options,
    sink: &mut S,
) -> Result<Stats, LaunchError> {
    let local = call::local_bytes(kernel, memory.stack_bytes());
    launch.check(kernel, local)?;
    if !kernel.heap.is_empty() {
        memory.make_heap()?;
    }
    let mut common = Common {
        // Nothing below fails before this is freed.
        workspace: if launch.cooperative {
            cooperative::workspace(memory)?
        } else {
            0
        },
        heap: if kernel.heap.is_empty() {
            Heap::default()
        } else {
            std::mem::take(&mut memory.heap)
        },
        flow: vec![FlowCell::default(); kernel.probes.len()],
    };
    let result = run_waves(kernel, launch, memory, options, sink, &mut common);
    if launch.cooperative {
        memory.free(common.workspace);
    }
    if !kernel.heap.is_empty() {
        memory.heap = common.heap;
    }
    if !common.flow.is_empty() {
        memory.keep_flow(FlowCounts::new(kernel, &common.flow));
    }
    result
}

/// What all blocks of a launch have in common, beside memory.
struct Common {
    heap: Heap,
    /// Address of the workspace of a cooperative launch; else 0.
    workspace: u64,
    flow: Vec<FlowCell>,
}

fn run_waves<S: LaunchSink + Send>(
    kernel: &Kernel,
    launch: &LaunchConfig,
    memory: &mut DeviceMemory,
    options: &Options,
    sink: &mut S,
    common: &mut Common,
) -> Result<Stats, LaunchError> {
    let order = order(launch.blocks(), options.seed);
    let wave = wave_size(kernel, launch);
    let mut total = Stats::default();
    let local = call::local_bytes(kernel, memory.stack_bytes());
    let workers = workers(kernel, launch, options, local);
    let mut spaces: Vec<Workspace> = (0..workers)
        .map(|_| Workspace::new(kernel, launch, options, local))
        .collect();
    // Blocks of a cooperative launch have one overlay in common.
    let overlays = if launch.cooperative { 1 } else { workers };
    for space in &mut spaces[..overlays] {
        space.overlay.fit(memory.bytes().len());
    }
    std::mem::swap(&mut spaces[0].heap, &mut common.heap);
    let blocks = launch.blocks();
    let mut first = 0;
    let mut result = Ok(());
    while result.is_ok() && first < blocks {
        let numbers = first..blocks.min(first + wave);
        let wave = Wave {
            kernel,
            launch,
            options,
            memory,
            order: &order,
            used: total.warp_instructions,
            workspace: common.workspace,
        };
        let ended = if launch.cooperative {
            wave.interleaved(&mut spaces, sink)
        } else if workers == 1 || numbers.len() == 1 {
            wave.on_this_thread(numbers.clone(), &mut spaces[0], sink)
        } else {
            wave.on_threads(numbers.clone(), &mut spaces, sink)
        };
        total += ended.stats;
        for patches in ended.patches {
            overlay::apply(&patches, memory.bytes_mut());
        }
        memory.print(ended.printed);
        flow::add(&mut common.flow, &ended.flow);
        memory.keep_skipped(ended.skipped);
        result = ended.result;
        first = numbers.end;
    }
    std::mem::swap(&mut spaces[0].heap, &mut common.heap);
    result.map(|()| total)
}

/// How many blocks see each other's stores: all of a cooperative launch, and none but itself where
/// the order of blocks shows.
fn wave_size(kernel: &Kernel, launch: &LaunchConfig) -> u32 {
    if launch.cooperative {
        launch.blocks()
    } else if kernel.is_ordered {
        1
    } else {
        WAVE
    }
}

/// How many blocks are running at one time: all of a cooperative launch; else as many as there are
/// threads, as far as their local memory allows it. Results do not depend on it.
fn workers(kernel: &Kernel, launch: &LaunchConfig, options: &Options, local: u64) -> usize {
    if launch.cooperative {
        return launch.blocks() as usize;
    }
    if kernel.is_ordered {
        return 1;
    }
    let most = MOST_LOCAL / launch.local_bytes(local).max(1);
    options.threads.clamp(1, 256).min(most.max(1) as usize)
}

/// In which order blocks run: none is in the order of their numbers.
fn order(blocks: u32, seed: Option<u64>) -> Option<Vec<u32>> {
    let mut random = SplitMix64::new(seed?);
    let mut order: Vec<u32> = (0..blocks).collect();
    for index in (1..order.len()).rev() {
        order.swap(index, random.below(index as u64 + 1) as usize);
    }
    Some(order)
}

/// What a thread needs to run blocks, used again for each.
pub(super) struct Workspace {
    warps: Vec<Warp>,
    pub(super) overlay: Overlay,
    /// The device's, in the workspace that runs the only block at a time.
    pub(super) heap: Heap,
    shared: Vec<u8>,
    races: Option<Box<Races>>,
}

impl Workspace {
    /// `local` is the bytes of local memory of each thread.
    fn new(kernel: &Kernel, launch: &LaunchConfig, options: &Options, local: u64) -> Workspace {
        let warps = launch.threads_of_block().div_ceil(32);
        let shared = kernel.shared_bytes.next_multiple_of(16) + launch.shared;
        Workspace {
            warps: (0..warps).map(|id| Warp::new(kernel, id, local)).collect(),
            overlay: Overlay::default(),
            heap: Heap::default(),
            shared: vec![0; shared as usize],
            races: options.check_races.then(Box::default),
        }
    }
}

/// Blocks that find memory in the same state.
pub(super) struct Wave<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) launch: &'a LaunchConfig,
    pub(super) options: &'a Options,
    pub(super) memory: &'a DeviceMemory,
    pub(super) order: &'a Option<Vec<u32>>,
    /// Instructions of the waves before.
    pub(super) used: u64,
    /// Address of what the blocks of a cooperative launch have in common; else 0.
    pub(super) workspace: u64,
}

/// What the blocks of a wave leave, in their order.
pub(super) struct WaveResult {
    pub(super) stats: Stats,
    pub(super) patches: Vec<Vec<Patch>>,
    pub(super) printed: Vec<u8>,
    pub(super) flow: Vec<FlowCell>,
    pub(super) skipped: Vec<SkippedAccess>,
    pub(super) result: Result<(), LaunchError>,
}

impl WaveResult {
    pub(super) fn new(kernel: &Kernel) -> WaveResult {
        WaveResult {
            stats: Stats::default(),
            patches: Vec::new(),
            printed: Vec::new(),
            flow: vec![FlowCell::default(); kernel.probes.len()],
            skipped: Vec::new(),
            result: Ok(()),
        }
    }
}

impl Wave<'_> {
    pub(super) fn number(&self, index: u32) -> u32 {
        self.order
            .as_ref()
            .map_or(index, |order| order[index as usize])
    }

    fn block<B: BlockSink>(
        &self,
        block: u32,
        space: &mut Workspace,
        sink: B,
        between: &mut dyn FnMut(&mut B),
    ) -> Ended<B> {
        let mut run = self.begin(block, space, sink);
        let limit = self.options.max_instructions.saturating_sub(self.used);
        let result = run.run(self.options, self.launch, limit, between);
        let patches = run.memory.overlay.take(self.memory.bytes());
        self.end(run, space, patches, result)
    }

    /// A block that is about to run, with what is in the workspace.
    pub(super) fn begin<B: BlockSink>(
        &self,
        block: u32,
        space: &mut Workspace,
        sink: B,
    ) -> BlockRun<'_, B> {
        let workspace = self.workspace;
        block::prepare(&mut space.warps, self.kernel, self.launch, block, workspace);
        space.shared.fill(0);
        if let Some(races) = &mut space.races {
            races.clear();
        }
        BlockRun {
            kernel: self.kernel,
            warps: std::mem::take(&mut space.warps),
            memory: BlockMemory {
                device: self.memory,
                overlay: std::mem::take(&mut space.overlay),
                shared: std::mem::take(&mut space.shared),
                params: &self.launch.params,
                block,
                has_neighbours: self.launch.cooperative,
                grid: GridBarrier::new(self.workspace),
                races: space.races.take(),
                skipped: (self.options.on_fault == OnFault::Continue).then(RefCell::default),
                arrivals: ArrivalClocks::default(),
                heap: std::mem::take(&mut space.heap),
                call_room: call::room(self.launch),
                printed: Vec::new(),
                flow: vec![FlowCell::default(); self.kernel.probes.len()],
            },
            sink,
        }
    }

    /// What a block leaves, with its sink finished; the workspace is free again.
    pub(super) fn end<B: BlockSink>(
        &self,
        mut run: BlockRun<'_, B>,
        space: &mut Workspace,
        patches: Vec<Patch>,
        result: Result<(), KernelError>,
    ) -> Ended<B> {
        let stats = Stats {
            blocks: 1,
            warp_instructions: run.executed(),
            thread_instructions: run.warps.iter().map(|warp| warp.threads).sum(),
        };
        let skipped = run.take_skipped(self.launch);
        space.warps = run.warps;
        space.overlay = run.memory.overlay;
        space.heap = run.memory.heap;
        space.shared = run.memory.shared;
        space.races = run.memory.races;
        let mut sink = run.sink;
        sink.finish();
        Ended {
            sink,
            patches,
            printed: run.memory.printed,
            flow: run.memory.flow,
            skipped,
            stats,
            result,
        }
    }

    /// Adds a block that has ended to those before it.
    pub(super) fn add<S: LaunchSink>(
        &self,
        block: u32,
        ended: Ended<S::Block>,
        sum: &mut WaveResult,
        sink: &mut S,
    ) {
        sink.close(block, ended.sink);
        sum.stats += ended.stats;
        sum.patches.push(ended.patches);
        flow::add(&mut sum.flow, &ended.flow);
        sum.skipped.extend(ended.skipped);
        let room = MAX_PRINTED.saturating_sub(sum.printed.len());
        sum.printed.extend(ended.printed.into_iter().take(room));
        sum.result = ended.result.map_err(LaunchError::Stopped);
        let limit = self.options.max_instructions;
        if sum.result.is_ok() && self.used.saturating_add(sum.stats.warp_instructions) > limit {
            let what = format!(
                "more than {limit} instructions; if it is not endless, allow more (--max-instructions)"
            );
            let stop = KernelStop {
                kind: FaultKind::TooLong,
                kernel: self.kernel.name.clone(),
                block: self.launch.place(block),
                thread: None,
                position: None,
                file: None,
                line: None,
                what,
                address: None,
                assertion: None,
            };
            sum.result = Err(LaunchError::Stopped(stop.into()));
        }
    }

    fn on_this_thread<S: LaunchSink>(
        &self,
        numbers: std::ops::Range<u32>,
        space: &mut Workspace,
        sink: &mut S,
    ) -> WaveResult {
        let mut sum = WaveResult::new(self.kernel);
        for index in numbers {
            let block = self.number(index);
            let opened = sink.open(block);
            let ended = self.block(block, space, opened, &mut |inner| sink.drain(block, inner));
            self.add(block, ended, &mut sum, sink);
            if sum.result.is_err() {
                break;
            }
        }
        sum
    }

    fn on_threads<S: LaunchSink + Send>(
        &self,
        numbers: std::ops::Range<u32>,
        spaces: &mut [Workspace],
        sink: &mut S,
    ) -> WaveResult {
        let threads = spaces.len();
        let queue = BlockQueue {
            next: AtomicU32::new(numbers.start),
            end: numbers.end,
            state: Mutex::new(QueueState {
                sink,
                ended: Vec::new(),
                delivered: numbers.start,
                is_abandoned: false,
                sum: WaveResult::new(self.kernel),
            }),
            moved: Condvar::new(),
            ahead: AHEAD * threads as u32,
        };
        let spaces = Mutex::new(spaces.iter_mut());
        // Each worker takes a workspace of its own; there are as many as threads.
        let work = || {
            let _alarm = OnPanic(|| queue.abandon());
            let space = lock(&spaces).next();
            space.into_iter().for_each(|space| self.work(&queue, space));
        };
        together("block", threads, work, work);
        let state = queue.state.into_inner();
        state.unwrap_or_else(PoisonError::into_inner).sum
    }

    /// Takes blocks and runs them until there are none.
    fn work<S: LaunchSink>(&self, queue: &BlockQueue<'_, S>, space: &mut Workspace) {
        loop {
            let index = queue.next.fetch_add(1, Ordering::Relaxed);
            if index >= queue.end {
                return;
            }
            let block = self.number(index);
            let Some(sink) = queue.open(index, block) else {
                return;
            };
            let ended = self.block(block, space, sink, &mut |inner| {
                queue.drain(index, block, inner)
            });
            queue.put(self, index, ended);
        }
    }
}
