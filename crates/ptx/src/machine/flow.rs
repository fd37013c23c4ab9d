//! [`FlowCounts`]: how warps went through a kernel: how often each basic block was executed, and by
//! how few of a warp's lanes; which branches split warps.

use std::collections::HashMap;
use std::sync::Arc;

use crate::decode::KernelPlace;
use crate::decode::kernel::{Code, CountedInstruction, Kernel, NONE, Op, ProbeKind};
use crate::error::Position;
use crate::lanes::WARP;

use reuselens_warp::InstructionClass;

use super::warp::Warp;

/// The control flow of a launch. Counts are equal with any number of threads and any order of
/// blocks.
///
/// A function that a kernel calls in several places is part of the kernel in each of them, and its
/// blocks and branches are listed for each; those at equal places of the PTX belong together. A
/// function that is called through pointers, or that calls itself, is listed once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Basic blocks, in the order of the PTX. Those that no branch leads to are not listed.
    pub blocks: Vec<BlockFlow>,
    /// Instructions that end a basic block and that lanes may leave differently: branches, returns
    /// and exits under a guard, and branches by a table.
    pub branches: Vec<BranchFlow>,
    /// Other instructions under a guard (`@%p st.global`): what compilers often make of a short
    /// `if`. Lanes stay together, and those whose guard does not hold do nothing.
    pub predicated: Vec<BranchFlow>,
    /// All instructions of those blocks, but those for which there is nothing to do here: fences,
    /// prefetches, hints, and waits for bulk copies. In a launch that was stopped, the basic blocks
    /// that warps were in count to their ends.
    pub instructions: Vec<InstructionFlow>,
}

/// An instruction of a kernel, as PTX has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFlow {
    /// Where it is.
    pub place: KernelPlace,
    /// What it is.
    pub class: InstructionClass,
    /// The instruction as PTX writes it: `@%p1 add.u32 %r1, %r2, 4;`.
    pub text: Arc<str>,
    /// Executions by warps.
    pub warps: u64,
    /// Executions by threads whose guard held: those that had an effect.
    pub threads: u64,
    /// Operations on floats of those: 1 for each addition, multiplication, division, root and the
    /// like, 2 for a fused multiplication and addition.
    pub float_operations: u64,
}

/// A basic block of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockFlow {
    /// Its first instruction.
    pub place: KernelPlace,
    /// Instructions that are in it.
    pub instructions: u32,
    /// Executions by warps.
    pub warps: u64,
    /// Those of them in which not all threads of the warp took part: some were on another path, or
    /// had ended. Lanes that have no thread, in the last warp of a block, are not missed.
    pub divergent: u64,
    /// Executions by threads.
    pub threads: u64,
}

/// A branch of a kernel, or another instruction under a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchFlow {
    /// The instruction.
    pub place: KernelPlace,
    /// Its basic block: index into [`FlowCounts::blocks`].
    pub block: u32,
    /// Executions by warps.
    pub warps: u64,
    /// Those of them in which the warp's lanes did not all go the same way.
    pub splits: u64,
    /// Executions by threads.
    pub threads: u64,
    /// Threads that took the branch, or did the instruction: the guard held.
    pub taken: u64,
}

/// What is counted at a probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowCell {
    /// Executions by warps.
    warps: u64,
    /// Those in which lanes are missing, or disagree.
    mixed: u64,
    /// Lanes that came.
    threads: u64,
    /// Those whose guard held.
    taken: u64,
    /// Further executions of the instruction after the probe by the same lanes: a warp executes a
    /// call once for each function that its lanes call.
    repeats: u64,
}

/// A place of a kernel at which control flow is counted, for [`FlowCounts::counted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowProbe {
    /// The instruction: the first of a basic block, a branch, or another one under a guard.
    pub position: Position,
    /// How many probes of the same sort are at this instruction before this one: a function that is
    /// put in the place of several calls has one for each.
    pub copy: usize,
    /// Whether it is the beginning of a basic block.
    pub is_block: bool,
}

/// What was counted at a [`FlowProbe`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeCounts {
    /// Executions by warps.
    pub warps: u64,
    /// Of a basic block those in which threads of the warp are missing, else those in which its
    /// lanes go different ways.
    pub mixed: u64,
    /// Executions by threads.
    pub threads: u64,
    /// Of those the ones for which the guard holds.
    pub taken: u64,
    /// Further executions of a call by the same warps: one for each function that their lanes call
    /// beside the first.
    pub repeats: u64,
}

/// Counts that a warp comes once more to the call at `pc`, if calls are counted.
#[cold]
pub fn repeat(kernel: &Kernel, pc: u32, cells: &mut [FlowCell]) {
    let before = pc.checked_sub(1).map(|before| &kernel.ops[before as usize]);
    if let Some(Code::Probe(probe, ProbeKind::Call)) = before.map(|op| op.code) {
        cells[probe as usize].repeats += 1;
    }
}

/// Counts the lanes that are at a probe; `mask` are those whose guard holds.
#[inline(always)]
pub fn count(
    kernel: &Kernel,
    warp: &Warp,
    op: &Op,
    kind: ProbeKind,
    mask: u32,
    cell: &mut FlowCell,
) {
    let here = warp.now.mask;
    let is_mixed = match kind {
        ProbeKind::Block => here != warp.present,
        ProbeKind::Resume => false,
        ProbeKind::Branch | ProbeKind::Predicated => mask != 0 && mask != here,
        ProbeKind::Table => goes_apart(kernel, warp, op, mask),
        ProbeKind::Call => calls_apart(warp, op, mask),
    };
    cell.warps += 1;
    cell.mixed += u64::from(is_mixed);
    cell.threads += u64::from(here.count_ones());
    cell.taken += u64::from(mask.count_ones());
}

/// Whether lanes that branch by a table go to different places.
fn goes_apart(kernel: &Kernel, warp: &Warp, op: &Op, mask: u32) -> bool {
    let targets = &kernel.tables[op.slots.b as usize].targets;
    let indices = &warp.registers.narrow[op.slots.a as usize].0;
    let mut lanes = (0..WARP).filter(|lane| mask >> lane & 1 != 0);
    let target = |lane: usize| targets.get(indices[lane] as usize);
    let Some(first) = lanes.next() else {
        return false;
    };
    mask != warp.now.mask || lanes.any(|lane| target(lane) != target(first))
}

/// Whether lanes that call through a pointer call different functions, or some do not call.
fn calls_apart(warp: &Warp, op: &Op, mask: u32) -> bool {
    let addresses = &warp.registers.wide[op.slots.a as usize].0;
    let mut lanes = (0..WARP).filter(|lane| mask >> lane & 1 != 0);
    let Some(first) = lanes.next() else {
        return false;
    };
    mask != warp.now.mask || lanes.any(|lane| addresses[lane] != addresses[first])
}

/// Adds what was counted in one place to what was counted in another.
pub fn add(sum: &mut [FlowCell], more: &[FlowCell]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        sum.warps += more.warps;
        sum.mixed += more.mixed;
        sum.threads += more.threads;
        sum.taken += more.taken;
        sum.repeats += more.repeats;
    }
}

impl FlowCounts {
    /// The control flow of a launch of a kernel that was counted elsewhere. The kernel must have
    /// been decoded with [`Options::flow`](crate::Options::flow).
    pub fn counted(kernel: &Kernel, count: impl Fn(FlowProbe) -> ProbeCounts) -> FlowCounts {
        let mut copies = HashMap::new();
        let cells: Vec<FlowCell> = kernel
            .probes
            .iter()
            .map(|probe| {
                let position = kernel.places[probe.place as usize].position;
                let copy = copies.entry((position, probe.kind)).or_insert(0);
                let counts = count(FlowProbe {
                    position,
                    copy: *copy,
                    is_block: matches!(probe.kind, ProbeKind::Block | ProbeKind::Resume),
                });
                *copy += 1;
                FlowCell {
                    warps: counts.warps,
                    mixed: counts.mixed,
                    threads: counts.threads,
                    taken: counts.taken,
                    repeats: counts.repeats,
                }
            })
            .collect();
        FlowCounts::new(kernel, &cells)
    }

    /// From what was counted at each of the kernel's probes.
    pub(super) fn new(kernel: &Kernel, cells: &[FlowCell]) -> FlowCounts {
        let mut counts = FlowCounts {
            instructions: instructions(kernel, cells),
            ..FlowCounts::default()
        };
        for (probe, cell) in kernel.probes.iter().zip(cells) {
            let place = kernel.places[probe.place as usize].clone();
            if probe.kind == ProbeKind::Block {
                counts.blocks.push(BlockFlow {
                    place,
                    instructions: probe.instructions,
                    warps: cell.warps,
                    divergent: cell.mixed,
                    threads: cell.threads,
                });
                continue;
            }
            let list = match probe.kind {
                ProbeKind::Resume => continue,
                ProbeKind::Predicated => &mut counts.predicated,
                _ => &mut counts.branches,
            };
            list.push(BranchFlow {
                place,
                block: probe.block,
                warps: cell.warps,
                splits: cell.mixed,
                threads: cell.threads,
                taken: cell.taken,
            });
        }
        counts
    }
}

/// The executions of each instruction.
fn instructions(kernel: &Kernel, cells: &[FlowCell]) -> Vec<InstructionFlow> {
    let executed = |counted: &CountedInstruction| {
        let cell = cells[counted.probe as usize];
        let (threads, repeats) = match counted.guard {
            NONE => (cell.threads, 0),
            guard => {
                let guard = &cells[guard as usize];
                (guard.taken, guard.repeats)
            }
        };
        let place = counted.place as usize;
        let kind = kernel.kinds[place];
        InstructionFlow {
            place: kernel.places[place].clone(),
            class: kind.class,
            text: Arc::clone(&kernel.texts[place]),
            warps: cell.warps + repeats,
            threads,
            float_operations: threads * u64::from(kind.float_operations),
        }
    };
    kernel.counted.iter().map(executed).collect()
}
