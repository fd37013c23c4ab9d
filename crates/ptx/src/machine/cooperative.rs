//! Cooperative launches: all blocks run at the same time, on one thread, and each has a turn after
//! the other. What one of them writes, the others see with their next turn, so that they can wait
//! for each other.
//!
//! Grid barriers of cooperative groups are ordinary code: thread 0 of each block adds to a counter
//! in a workspace whose address the driver passes, and reads it until the last one has come. A warp
//! that reads so (with `.acquire`, `.relaxed` or `.volatile`) ends its turn: see `Code::Yield`. The
//! last block changes the counter's highest bit, which is how [`GridBarrier`] knows that all are
//! there.

use crate::sink::LaunchSink;

use super::block::{BlockRun, Progress};
use super::device_memory::DeviceMemory;
use super::fault::KernelError;
use super::heap::Heap;
use super::launch::{LaunchError, Wave, WaveResult, Workspace};
use super::overlay::Overlay;
use super::warp::Warp;

/// Instructions of a warp's turn. Others wait by atomic operations, and use up their turns.
const TURN: u64 = 1 << 12;

/// Bytes of the workspace: its own size and the counter, in words of four bytes.
const WORKSPACE_BYTES: u64 = 8;

/// Where the counter is in the workspace.
const COUNTER: u64 = 4;

/// Makes room for the workspace of a launch, and returns its address.
pub(super) fn workspace(memory: &mut DeviceMemory) -> Result<u64, LaunchError> {
    let name = "workspace of a cooperative launch";
    let address = memory.allocate(name, WORKSPACE_BYTES, 1, u64::MAX);
    let address = address.ok_or_else(|| {
        LaunchError::Refused("there is no memory for the workspace of grid barriers".to_owned())
    })?;
    if let Some(range) = memory.range(address, 4) {
        memory.bytes_mut()[range].copy_from_slice(&(WORKSPACE_BYTES as u32).to_le_bytes());
    }
    Ok(address)
}

/// The phases of the grid barriers of a launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct GridBarrier {
    /// The address of the counter, or 0 if the launch has none.
    counter: u64,
    /// Barriers that are complete.
    complete: u32,
    /// The phase after the last of those.
    phase: u32,
    /// The phase after the next one, by the blocks that have arrived.
    next_phase: u32,
}

impl GridBarrier {
    /// Of a launch with its workspace at that address; 0 if it has none.
    pub fn new(workspace: u64) -> GridBarrier {
        GridBarrier {
            counter: match workspace {
                0 => 0,
                workspace => workspace + COUNTER,
            },
            ..GridBarrier::default()
        }
    }

    /// Whether an atomic operation on that address is an arrival.
    pub fn is_at(&self, address: u64) -> bool {
        self.counter == address && address != 0
    }

    /// A warp has arrived, which has changed the counter from `old` to `new`.
    pub fn arrive(&mut self, warp: &mut Warp, old: u64, new: u64) {
        self.next_phase = self.next_phase.max(warp.phase.saturating_add(1));
        warp.waits_for_grid = Some(self.complete);
        if (old ^ new) >> 31 & 1 != 0 {
            self.complete += 1;
            self.phase = self.next_phase;
            self.pass(warp);
        }
    }

    /// Begins a new phase of a warp whose grid barrier is complete.
    fn pass(&self, warp: &mut Warp) {
        if warp
            .waits_for_grid
            .is_some_and(|number| number < self.complete)
        {
            warp.waits_for_grid = None;
            warp.enter_phase(self.phase);
        }
    }
}

/// A block that runs beside others, and how far it has come.
type Running<'a, B> = (BlockRun<'a, B>, Progress);

impl Wave<'_> {
    /// Runs all blocks of the launch in turns, with a workspace for each. Once one is stopped, no
    /// other goes on. All are delivered to the sink in their order.
    pub(super) fn interleaved<S: LaunchSink>(
        &self,
        spaces: &mut [Workspace],
        sink: &mut S,
    ) -> WaveResult {
        // All blocks write to the same pages and allocate from the same heap: each has them while
        // it is its turn.
        let mut overlay = std::mem::take(&mut spaces[0].overlay);
        let mut heap = std::mem::take(&mut spaces[0].heap);
        let mut running = Vec::with_capacity(spaces.len());
        for (index, space) in spaces.iter_mut().enumerate() {
            let block = self.number(index as u32);
            let run = self.begin(block, space, sink.open(block));
            let progress = Progress::new(block, run.warps.len(), self.options);
            running.push((run, progress));
        }
        let result = self.take_turns(&mut running, (&mut overlay, &mut heap), sink);
        let mut sum = WaveResult::new(self.kernel);
        let mut patches = overlay.take(self.memory.bytes());
        for (index, (run, _)) in running.into_iter().enumerate() {
            let patches = std::mem::take(&mut patches);
            let ended = self.end(run, &mut spaces[index], patches, Ok(()));
            self.add(self.number(index as u32), ended, &mut sum, sink);
        }
        spaces[0].heap = heap;
        if let Err(error) = result {
            sum.result = Err(LaunchError::Stopped(error));
        }
        sum
    }

    /// Gives each block its turn until all have ended or one is stopped.
    fn take_turns<S: LaunchSink>(
        &self,
        running: &mut [Running<'_, S::Block>],
        (overlay, heap): (&mut Overlay, &mut Heap),
        sink: &mut S,
    ) -> Result<(), KernelError> {
        let mut left = self.options.max_instructions.saturating_sub(self.used);
        let mut grid = GridBarrier::new(self.workspace);
        while running.iter().any(|(_, progress)| !progress.is_done()) {
            for (index, (run, progress)) in running.iter_mut().enumerate() {
                if progress.is_done() {
                    continue;
                }
                let block = run.memory.block;
                let before = run.executed();
                let limit = left.saturating_add(before);
                // The first one is the next to be delivered until all have ended.
                let mut drain = |inner: &mut S::Block| {
                    if index == 0 {
                        sink.drain(block, inner);
                    }
                };
                std::mem::swap(&mut run.memory.overlay, overlay);
                std::mem::swap(&mut run.memory.heap, heap);
                run.warps.iter_mut().for_each(|warp| grid.pass(warp));
                run.memory.grid = grid;
                let done = run.round(self.options, self.launch, limit, TURN, progress, &mut drain);
                std::mem::swap(&mut run.memory.overlay, overlay);
                std::mem::swap(&mut run.memory.heap, heap);
                grid = run.memory.grid;
                done?;
                left = left.saturating_sub(run.executed() - before);
            }
        }
        Ok(())
    }
}
