//! [`BlockRun`]: a block while it runs. It decides which of its warps runs next, and lets them go
//! on at a barrier once all threads that it waits for have come.

use std::sync::atomic::Ordering;

use crate::decode::kernel::{Barrier, Kernel, LaneMask, NONE, ReductionKind, Special};
use crate::lanes::{WARP, run_warp};
use crate::sink::BlockSink;

use super::fault::{Fault, FaultKind, KernelError, KernelStop};
use super::grid::LaunchConfig;
use super::launch::Options;
use super::memory::BlockMemory;
use super::random::SplitMix64;
use super::skipped::{SkippedAccess, SkippedByOp};
use super::warp::{LanePath, Pause, StoppedWarp, Warp};

/// Instructions that a warp executes before others have their turn, for warps that wait for each
/// other by looking at memory again and again.
const TURN: u64 = 1 << 16;
/// The same with a random order, at most.
const RANDOM_TURN: u64 = 64;

/// Numbers of barriers.
const BARRIERS: u32 = 16;

/// A block that is running.
pub struct BlockRun<'a, B> {
    pub kernel: &'a Kernel,
    pub warps: Vec<Warp>,
    pub memory: BlockMemory<'a>,
    pub sink: B,
}

/// How far a block has come.
#[derive(Debug)]
pub struct Progress {
    doing: Vec<Doing>,
    /// By the barrier's number.
    arrived: [Arrivals; BARRIERS as usize],
    /// In which order warps run, if not in that of their numbers.
    random: Option<SplitMix64>,
}

impl Progress {
    /// Of a block that is about to begin.
    pub fn new(block: u32, warps: usize, options: &Options) -> Progress {
        let seed = |seed| seed ^ u64::from(block).wrapping_mul(0x9e37_79b9);
        Progress {
            doing: vec![Doing::Going; warps],
            arrived: [Arrivals::default(); BARRIERS as usize],
            random: options.seed.map(|given| SplitMix64::new(seed(given))),
        }
    }

    /// Whether all warps have ended.
    pub fn is_done(&self) -> bool {
        self.doing.iter().all(|doing| *doing == Doing::Done)
    }
}

/// Warps that arrived at a barrier and did not wait for it.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    warps: u32,
    /// The latest phase that one of them was in.
    phase: u32,
}

/// What a warp is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Going,
    /// Waiting at a barrier: which instruction, and with which number.
    Waiting(u32, u32),
    Done,
}

/// Makes the warps of a block ready to begin.
/// `workspace` is the address of what the blocks of a cooperative launch have in common.
pub fn prepare(
    warps: &mut [Warp],
    kernel: &Kernel,
    launch: &LaunchConfig,
    block: u32,
    workspace: u64,
) {
    let threads = launch.threads_of_block();
    let place = launch.place(block);
    for warp in warps {
        let left = threads - warp.id * WARP as u32;
        let mask = if left >= 32 {
            u32::MAX
        } else {
            (1 << left) - 1
        };
        warp.now = LanePath {
            pc: 0,
            mask,
            meet: NONE,
        };
        warp.later.clear();
        warp.strands.clear();
        (warp.present, warp.alive) = (mask, mask);
        (warp.position, warp.executed, warp.threads, warp.syncs) = (0, 0, 0, 0);
        (warp.phase, warp.before_phase, warp.waits_for_grid) = (0, 0, None);
        warp.copies.clear();
        warp.clear_local(kernel);
        warp.addresses.fill(0);
        let registers = &mut warp.registers;
        registers
            .narrow
            .iter_mut()
            .for_each(|register| register.0 = [0; WARP]);
        registers
            .wide
            .iter_mut()
            .for_each(|register| register.0 = [0; WARP]);
        registers.predicates.fill(0);
        for &(slot, bits) in &kernel.constants {
            registers.narrow[slot as usize].0 = [bits; WARP];
        }
        for &(slot, bits) in &kernel.wide_constants {
            registers.wide[slot as usize].0 = [bits; WARP];
        }
        if kernel.stack_top != NONE {
            registers.wide[kernel.stack_top as usize].0 = [warp.local_bytes; WARP];
        }
        for &(slot, special) in &kernel.specials {
            let row = &mut registers.narrow[slot as usize].0;
            if let Special::Workspace(half) = special {
                row.fill((workspace >> (32 * half)) as u32);
                continue;
            }
            for (lane, value) in row.iter_mut().enumerate() {
                *value = value_of(special, kernel, launch, place, warp.id, lane as u32);
            }
        }
    }
}

fn value_of(
    special: Special,
    kernel: &Kernel,
    launch: &LaunchConfig,
    place: [u32; 3],
    warp: u32,
    lane: u32,
) -> u32 {
    let thread = launch.thread(warp * WARP as u32 + lane);
    match special {
        Special::Thread(axis) => thread[usize::from(axis)],
        Special::Threads(axis) => launch.block[usize::from(axis)],
        Special::Block(axis) => place[usize::from(axis)],
        Special::Blocks(axis) => launch.grid[usize::from(axis)],
        Special::Lane => lane,
        Special::Warp => warp,
        Special::Warps => launch.threads_of_block().div_ceil(WARP as u32),
        Special::LaneMask(LaneMask::Eq) => 1 << lane,
        Special::LaneMask(LaneMask::Lt) => (1 << lane) - 1,
        Special::LaneMask(LaneMask::Le) => u32::MAX >> (31 - lane),
        Special::LaneMask(LaneMask::Gt) => !(u32::MAX >> (31 - lane)),
        Special::LaneMask(LaneMask::Ge) => !((1 << lane) - 1),
        Special::DynamicShared => launch.shared as u32,
        Special::TotalShared => (kernel.shared_bytes + launch.shared) as u32,
        Special::Zero => 0,
        Special::WarpSize => WARP as u32,
        Special::Workspace(_) => 0,
    }
}

impl<B: BlockSink> BlockRun<'_, B> {
    /// Runs the block to its end. `limit` is how many instructions its warps may execute together;
    /// `between` is called with the sink now and then.
    pub fn run(
        &mut self,
        options: &Options,
        launch: &LaunchConfig,
        limit: u64,
        between: &mut dyn FnMut(&mut B),
    ) -> Result<(), KernelError> {
        let mut progress = Progress::new(self.memory.block, self.warps.len(), options);
        while !progress.is_done() {
            self.round(options, launch, limit, TURN, &mut progress, between)?;
        }
        Ok(())
    }

    /// Lets each warp that does not wait have a turn of `quantum` instructions, or one of them in a
    /// random order, and those go on whose barrier is complete then.
    pub fn round(
        &mut self,
        options: &Options,
        launch: &LaunchConfig,
        limit: u64,
        quantum: u64,
        progress: &mut Progress,
        between: &mut dyn FnMut(&mut B),
    ) -> Result<(), KernelError> {
        let block = self.memory.block;
        let Progress {
            doing,
            arrived,
            random,
        } = progress;
        let going: Vec<usize> = (0..doing.len())
            .filter(|&warp| doing[warp] == Doing::Going)
            .collect();
        let turns = match random {
            Some(random) if !going.is_empty() => {
                vec![going[random.below(going.len() as u64) as usize]]
            }
            _ => going,
        };
        for &warp in &turns {
            let quantum = match random {
                Some(random) => 1 + random.below(RANDOM_TURN),
                None => quantum,
            };
            doing[warp] = self
                .turn(options, warp, quantum, limit, arrived)
                .map_err(|stop| self.error(launch, block, Some(warp), stop))?;
            between(&mut self.sink);
        }
        let released = self.release(doing, arrived);
        if turns.is_empty() && !released {
            return Err(self.stuck(launch, block, doing));
        }
        Ok(())
    }

    /// Instructions of its warps so far.
    pub fn executed(&self) -> u64 {
        self.warps.iter().map(|warp| warp.executed).sum()
    }

    fn turn(
        &mut self,
        options: &Options,
        warp: usize,
        quantum: u64,
        limit: u64,
        arrived: &mut [Arrivals],
    ) -> Result<Doing, StoppedWarp> {
        let pause = run_warp(options.isa.level(), self, warp, quantum)?;
        let pc = self.warps[warp].now.pc.saturating_sub(1);
        let executed = self.executed();
        let is_stopped = options.stop.load(Ordering::Relaxed);
        if is_stopped || executed > limit {
            let what = if is_stopped {
                "the run was ended".to_owned()
            } else {
                format!(
                    "more than {} instructions; if it is not endless, allow more (--max-instructions)",
                    options.max_instructions
                )
            };
            return Err(StoppedWarp {
                fault: Fault::new(FaultKind::TooLong, None, what),
                pc,
            });
        }
        Ok(match pause {
            Pause::Turn => Doing::Going,
            Pause::Done => Doing::Done,
            Pause::Barrier(index) => {
                let barrier = self.kernel.barriers[index as usize];
                let lane = self.warps[warp].now.mask.trailing_zeros() as usize & 31;
                let id = self.warps[warp].registers.narrow[barrier.id as usize].0[lane];
                if id >= BARRIERS {
                    let what = format!("barrier {id}; there are {BARRIERS}, from 0");
                    return Err(StoppedWarp {
                        fault: Fault::new(FaultKind::Barrier, None, what),
                        pc,
                    });
                }
                if barrier.arrives {
                    let arrived = &mut arrived[id as usize];
                    arrived.warps += 1;
                    arrived.phase = arrived.phase.max(self.warps[warp].phase);
                    Doing::Going
                } else {
                    Doing::Waiting(index, id)
                }
            }
        })
    }

    /// Lets warps go on whose barrier is complete. Whether there were any.
    fn release(&mut self, doing: &mut [Doing], arrived: &mut [Arrivals]) -> bool {
        let mut any = false;
        for id in 0..BARRIERS {
            let waiting: Vec<(usize, Barrier)> = doing
                .iter()
                .enumerate()
                .filter_map(|(warp, doing)| match doing {
                    Doing::Waiting(index, number) if *number == id => {
                        Some((warp, self.kernel.barriers[*index as usize]))
                    }
                    _ => None,
                })
                .collect();
            let Some(&(first, barrier)) = waiting.first() else {
                continue;
            };
            let wanted = match barrier.threads {
                Some(slot) => {
                    let lane = self.warps[first].now.mask.trailing_zeros() as usize & 31;
                    self.warps[first].registers.narrow[slot as usize].0[lane].div_ceil(WARP as u32)
                }
                None => doing.iter().filter(|doing| **doing != Doing::Done).count() as u32,
            };
            if (waiting.len() as u32) + arrived[id as usize].warps < wanted {
                continue;
            }
            let arrived = std::mem::take(&mut arrived[id as usize]);
            self.reduce(&waiting);
            let ended = doing.iter().enumerate().filter_map(|(warp, doing)| {
                (barrier.threads.is_none() && *doing == Doing::Done).then_some(warp)
            });
            let before = waiting.iter().map(|(warp, _)| *warp).chain(ended);
            let phase = self
                .phase_after(before)
                .max(arrived.phase.saturating_add(1));
            for (warp, _) in waiting {
                doing[warp] = Doing::Going;
                self.warps[warp].enter_phase(phase);
            }
            if let Some(races) = &mut self.memory.races {
                races.barrier();
            }
            any = true;
        }
        any
    }

    /// The phase after a barrier that comes after all that these warps have done: one more than
    /// the latest of theirs. So phases are a logical clock, and what barriers order is ordered by
    /// phases, too, if barriers are of some warps only.
    ///
    /// Source: L. Lamport, *Time, Clocks, and the Ordering of Events in a Distributed System*,
    /// 1978.
    fn phase_after(&self, warps: impl Iterator<Item = usize>) -> u32 {
        let phases = warps.map(|warp| self.warps[warp].phase);
        phases.max().map_or(0, |latest| latest.saturating_add(1))
    }

    /// What the barrier calculates of the predicates of all threads that waited.
    fn reduce(&mut self, waiting: &[(usize, Barrier)]) {
        let (mut set, mut threads) = (0, 0);
        for (warp, barrier) in waiting {
            if let Some(reduction) = barrier.reduction {
                let warp = &self.warps[*warp];
                set += (warp.registers.predicates[reduction.source as usize] & warp.now.mask)
                    .count_ones();
                threads += warp.now.mask.count_ones();
            }
        }
        for (warp, barrier) in waiting {
            let Some(reduction) = barrier.reduction else {
                continue;
            };
            let warp = &mut self.warps[*warp];
            let mask = warp.now.mask;
            let holds = match reduction.kind {
                ReductionKind::And => set == threads,
                ReductionKind::Or => set != 0,
                ReductionKind::Count => {
                    for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
                        warp.registers.narrow[reduction.result as usize].0[lane] = set;
                    }
                    continue;
                }
            };
            let predicate = &mut warp.registers.predicates[reduction.result as usize];
            *predicate = if holds {
                *predicate | mask
            } else {
                *predicate & !mask
            };
        }
    }

    /// Barriers that wait for each other.
    fn stuck(&self, launch: &LaunchConfig, block: u32, doing: &[Doing]) -> KernelError {
        let waits = |(warp, doing): (usize, &Doing)| match doing {
            Doing::Waiting(index, id) => Some((warp, *index, *id)),
            _ => None,
        };
        let all: Vec<(usize, u32, u32)> = doing.iter().enumerate().filter_map(waits).collect();
        let list: Vec<String> = all
            .iter()
            .take(4)
            .map(|(warp, _, id)| format!("warp {warp} at barrier {id}"))
            .collect();
        let what = format!(
            "the warps wait for each other for ever: {}",
            list.join(", ")
        );
        let warp = all.first().map_or(0, |first| first.0);
        let pc = self.warps[warp].now.pc.saturating_sub(1);
        self.error(
            launch,
            block,
            Some(warp),
            StoppedWarp {
                fault: Fault::new(FaultKind::Barrier, None, what),
                pc,
            },
        )
    }

    /// Takes what was left out, by operation.
    pub fn take_skipped(&mut self, launch: &LaunchConfig) -> Vec<SkippedAccess> {
        let block = self.memory.block;
        let Some(log) = self.memory.skipped.take() else {
            return Vec::new();
        };
        let access = |(pc, skipped): (u32, SkippedByOp)| {
            let place = self.kernel.ops[pc as usize].place as usize;
            let fault = skipped.fault;
            SkippedAccess {
                kernel: self.kernel.name.clone(),
                place: self.kernel.places[place].clone(),
                lanes: skipped.lanes,
                first: self.error(
                    launch,
                    block,
                    Some(skipped.warp as usize),
                    StoppedWarp { fault, pc },
                ),
            }
        };
        log.into_inner().into_ops().map(access).collect()
    }

    fn error(
        &self,
        launch: &LaunchConfig,
        block: u32,
        warp: Option<usize>,
        stop: StoppedWarp,
    ) -> KernelError {
        let op = &self.kernel.ops[(stop.pc as usize).min(self.kernel.ops.len() - 1)];
        let place = &self.kernel.places[op.place as usize];
        let thread = warp
            .zip(stop.fault.lane)
            .map(|(warp, lane)| launch.thread(warp as u32 * WARP as u32 + lane));
        KernelError::from(KernelStop {
            kind: stop.fault.kind,
            kernel: self.kernel.name.clone(),
            block: launch.place(block),
            thread,
            position: Some(place.position),
            file: place
                .position
                .file_in(&self.kernel.linked)
                .map(str::to_owned),
            line: place
                .source
                .as_ref()
                .map(|source| (source.file.to_string(), source.line)),
            assertion: warp.zip(stop.fault.assertion).map(|(warp, failed)| {
                let warp = self.warps[warp].id;
                failed.text(launch, block, warp)
            }),
            what: stop.fault.what,
            address: stop.fault.address,
        })
    }
}
