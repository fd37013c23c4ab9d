//! [`Warp`]: the registers of 32 threads, and which of its lanes run where. [`run_warp`] interprets
//! a kernel's operations for it until it pauses.
//!
//! One path runs at a time. The others are on a stack, and lanes that parted run together again at
//! the place that the branch names.

use crate::decode::kernel::{Barrier, BranchTable, Code, Kernel, NONE, ProbeKind};
use crate::lanes::{Registers, WARP};
use crate::sink::BlockSink;

use super::block::BlockRun;
use super::call::{self, CallFrame};
use super::copy::{self, AsyncCopies};
use super::fault::{Fault, FaultKind};
use super::strands::Strand;
use super::{
    access, assertion, atomic, collective, flow, heap, matrix, mbarrier, observe, print, stack,
    texture, video,
};

/// Paths that lanes of a warp may be on at once, and meetings that are waited for, without those
/// that wait for the end of a call: the stack bounds them.
pub const MOST_ENTRIES: usize = 1 << 14;

/// Lanes that go on at `pc` until they come to `meet`.
#[derive(Clone, Copy, Debug)]
pub struct LanePath {
    pub pc: u32,
    pub mask: u32,
    pub meet: u32,
}

/// Why a warp pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// It has come to that barrier.
    Barrier(u32),
    /// All its threads have ended.
    Done,
    /// Others shall have their turn.
    Turn,
}

/// A warp that was stopped, at that operation.
#[derive(Debug)]
pub struct StoppedWarp {
    pub fault: Box<Fault>,
    pub pc: u32,
}

/// Thirty-two threads that go in step.
#[derive(Clone, Debug)]
pub struct Warp {
    pub id: u32,
    pub registers: Registers,
    /// The lanes that are running.
    pub now: LanePath,
    /// Others, which run or wait later.
    pub later: Vec<LanePath>,
    /// Lanes that wait for others at `bar.warp.sync`.
    pub strands: Vec<Strand>,
    /// Lanes of threads that exist.
    pub present: u32,
    /// Lanes that have not ended.
    pub alive: u32,
    /// Memory instructions so far.
    pub position: u64,
    /// See [`WarpAccess::phase`](crate::WarpAccess::phase).
    pub phase: u32,
    /// Of the memory instructions so far, those before the phase.
    pub before_phase: u64,
    /// Which grid barrier it waits at, by the number of those that were complete before.
    pub waits_for_grid: Option<u32>,
    /// Instructions so far.
    pub executed: u64,
    /// Instructions of threads so far.
    pub threads: u64,
    /// Memory of its threads, one after the other, `local_bytes` each.
    pub local: Vec<u8>,
    pub local_bytes: u64,
    /// How much of that the kernel and its calls have had until now, from the beginning, and from
    /// where on `alloca` has had what is at the end: what is between is out of bounds, and zero.
    pub local_end: u64,
    pub local_low: u64,
    /// Calls of routines that lanes are in, the innermost last.
    pub frames: Vec<CallFrame>,
    /// Of each routine, the lanes that are in it.
    pub active: Vec<u32>,
    pub addresses: Box<[u64; WARP]>,
    /// How often lanes of this warp have waited for each other.
    pub syncs: u32,
    /// Copies that its lanes have not waited for.
    pub copies: AsyncCopies,
}

impl Warp {
    /// A warp with `local_bytes` of local memory for each thread.
    pub fn new(kernel: &Kernel, id: u32, local_bytes: u64) -> Warp {
        let count = |number: u32| number as usize;
        Warp {
            id,
            registers: Registers::new(
                count(kernel.narrow),
                count(kernel.wide),
                count(kernel.predicates),
            ),
            now: LanePath {
                pc: 0,
                mask: 0,
                meet: NONE,
            },
            later: Vec::new(),
            strands: Vec::new(),
            present: 0,
            alive: 0,
            position: 0,
            phase: 0,
            before_phase: 0,
            waits_for_grid: None,
            executed: 0,
            threads: 0,
            local: vec![0; WARP * local_bytes as usize],
            local_bytes,
            local_end: kernel.local_bytes,
            local_low: local_bytes,
            frames: Vec::new(),
            active: vec![0; kernel.routines.len()],
            addresses: Box::new([0; WARP]),
            syncs: 0,
            copies: AsyncCopies::default(),
        }
    }

    /// Begins a phase: a barrier was passed. A phase that is not later than the present one changes
    /// nothing.
    pub fn enter_phase(&mut self, phase: u32) {
        if phase > self.phase {
            (self.phase, self.before_phase) = (phase, self.position);
        }
    }

    /// Whether a thread has these bytes of local memory.
    #[inline(always)]
    pub fn has_local(&self, start: u64, end: u64) -> bool {
        end <= self.local_end || start >= self.local_low && end <= self.local_bytes
    }

    /// Leaves all calls, and makes local memory zero: no more of it than was used.
    pub fn clear_local(&mut self, kernel: &Kernel) {
        let (used, taken) = (self.local_end as usize, self.local_low as usize);
        let bytes = self.local_bytes as usize;
        for lane in 0..WARP {
            let own = &mut self.local[lane * bytes..][..bytes];
            own[..used].fill(0);
            own[taken..].fill(0);
        }
        (self.local_end, self.local_low) = (kernel.local_bytes, self.local_bytes);
        self.frames.clear();
        self.active.fill(0);
    }

    /// Goes on with other lanes. Whether there are any. Calls that have ended for all their lanes
    /// give back what they took of `call_room`.
    fn next_path(&mut self, call_room: &mut u64) -> bool {
        while let Some(path) = self.later.pop() {
            let left = self.later.len();
            while let Some(frame) = self.frames.pop_if(|frame| frame.depth > left) {
                *call_room += frame.room;
            }
            let mask = path.mask & self.alive;
            if mask != 0 {
                self.now = LanePath { mask, ..path };
                return true;
            }
        }
        false
    }

    fn exit(&mut self, lanes: u32) {
        self.alive &= !lanes;
        self.now.mask &= !lanes;
    }

    /// Lanes part: `taken` go to `target`, the others go on.
    fn part(
        &mut self,
        kernel: &Kernel,
        taken: u32,
        target: u32,
        meet: u32,
    ) -> Result<(), Box<Fault>> {
        let other = self.now.mask & !taken;
        self.wait_at(kernel, meet)?;
        let meet = self.now.meet;
        let mut paths = [
            LanePath {
                pc: target,
                mask: taken,
                meet,
            },
            LanePath {
                pc: self.now.pc,
                mask: other,
                meet,
            },
        ];
        if target != meet && is_return(kernel, target) {
            // Threads have ended when the others have met, and are missed at barriers before.
            paths.reverse();
        }
        self.go(&paths)
    }

    /// From now on, paths end at `meet`, where all lanes that run now go on together. If others
    /// wait before the last return, they are not passed by on the way to it.
    fn wait_at(&mut self, kernel: &Kernel, meet: u32) -> Result<(), Box<Fault>> {
        if self.now.meet != NONE && meet != NONE && is_return(kernel, meet) {
            return Ok(());
        }
        if meet != NONE && meet != self.now.meet {
            self.push(LanePath {
                pc: meet,
                ..self.now
            })?;
            self.now.meet = meet;
        }
        Ok(())
    }

    /// Goes on with the first of the paths that is not where they meet; the others come later.
    fn go(&mut self, paths: &[LanePath]) -> Result<(), Box<Fault>> {
        let mut first = None;
        for path in paths
            .iter()
            .rev()
            .filter(|path| path.mask != 0 && path.pc != path.meet)
        {
            if let Some(first) = first.replace(*path) {
                self.push(first)?;
            }
        }
        match first {
            Some(first) => self.now = first,
            // All are there already.
            None => self.now.pc = self.now.meet,
        }
        Ok(())
    }

    /// Keeps a path for later.
    pub fn push(&mut self, path: LanePath) -> Result<(), Box<Fault>> {
        let of_calls = self.frames.last().map_or(0, |frame| frame.depth);
        if self.later.len() - of_calls >= MOST_ENTRIES {
            let what = format!("its lanes have parted {MOST_ENTRIES} times without meeting again");
            return Err(Fault::new(FaultKind::Convergence, None, what));
        }
        self.later.push(path);
        Ok(())
    }

    /// Each lane goes where the table says.
    fn branch_by(
        &mut self,
        kernel: &Kernel,
        table: &BranchTable,
        indices: &[u32; WARP],
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let rest = self.now.mask & !mask;
        let next = self.now.pc;
        let mut paths: Vec<LanePath> = Vec::new();
        for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
            let Some(&pc) = table.targets.get(indices[lane] as usize) else {
                let what = format!(
                    "a branch to target {} of {}",
                    indices[lane],
                    table.targets.len()
                );
                return Err(Fault::new(FaultKind::Operand, Some(lane as u32), what));
            };
            match paths.iter_mut().find(|path| path.pc == pc) {
                Some(path) => path.mask |= 1 << lane,
                None => paths.push(LanePath {
                    pc,
                    mask: 1 << lane,
                    meet: NONE,
                }),
            }
        }
        paths.push(LanePath {
            pc: next,
            mask: rest,
            meet: NONE,
        });
        paths.retain(|path| path.mask != 0);
        if let [one] = paths[..] {
            self.now.pc = one.pc;
            return Ok(());
        }
        self.wait_at(kernel, table.meet)?;
        let meet = self.now.meet;
        paths.iter_mut().for_each(|path| path.meet = meet);
        self.go(&paths)
    }

    /// Demands that all lanes of the warp are at a barrier, or, if it need not be aligned, that
    /// those which its guard leaves out have come to it too.
    fn all_here(&self, barrier: &Barrier, mask: u32) -> Result<(), Box<Fault>> {
        let missing = self.alive & !mask;
        if missing == 0 || !barrier.aligned && self.now.mask == self.alive {
            return Ok(());
        }
        let what = format!(
            "the barrier is reached by some threads of the warp only ({} of {}); put it where all of them go",
            mask.count_ones(),
            self.alive.count_ones()
        );
        Err(Fault::new(
            FaultKind::Barrier,
            Some(missing.trailing_zeros()),
            what,
        ))
    }
}

/// Whether a thread that comes to an operation returns, and does nothing else.
fn is_return(kernel: &Kernel, pc: u32) -> bool {
    let mut ops = kernel.ops[pc as usize..].iter();
    let first = ops.find(|op| !matches!(op.code, Code::Probe(_, ProbeKind::Block)));
    first.is_some_and(|op| matches!(op.code, Code::Exit) && op.guard == NONE)
}

/// Lets a warp go on until it pauses. Compiled for several sets of instructions: see
/// [`run_warp`](crate::lanes::run_warp).
#[inline(always)]
pub fn run_warp<B: BlockSink>(
    block: &mut BlockRun<'_, B>,
    warp: usize,
    quantum: u64,
) -> Result<Pause, StoppedWarp> {
    let BlockRun {
        kernel,
        warps,
        memory,
        sink,
        ..
    } = block;
    let warp = &mut warps[warp];
    let until = warp.executed.saturating_add(quantum);
    let ops = &kernel.ops[..];
    loop {
        if (warp.now.pc == warp.now.meet || warp.now.mask == 0)
            && !warp.next_path(&mut memory.call_room)
        {
            if warp.strands.is_empty() {
                return Ok(Pause::Done);
            }
            warp.next_strand()?;
            continue;
        }
        let pc = warp.now.pc;
        let op = &ops[pc as usize];
        let mut mask = warp.now.mask;
        if op.guard != NONE {
            let predicate = warp.registers.predicates[op.guard as usize];
            mask &= if op.negated { !predicate } else { predicate };
        }
        if op.counts {
            warp.executed += 1;
            warp.threads += u64::from(mask.count_ones());
        }
        warp.now.pc = pc + 1;
        let stop = |fault| StoppedWarp { fault, pc };
        match op.code {
            Code::Lanes(form) => {
                if mask != 0 {
                    form.run(&mut warp.registers, &op.slots, mask);
                }
            }
            Code::Memory(index) => {
                if mask != 0 {
                    access::memory(memory, warp, sink, &kernel.memory[index as usize], mask)
                        .map_err(stop)?;
                }
            }
            Code::Branch { target, meet } => {
                if mask == warp.now.mask {
                    warp.now.pc = target;
                } else if mask != 0 {
                    warp.part(kernel, mask, target, meet).map_err(stop)?;
                }
                if warp.executed >= until {
                    return Ok(Pause::Turn);
                }
            }
            Code::Call(index) if mask != 0 => {
                let comes_again = call::enter(kernel, warp, &mut memory.call_room, index, pc, mask)
                    .map_err(stop)?;
                if comes_again {
                    flow::repeat(kernel, pc, &mut memory.flow);
                }
                // Functions may call each other for ever without a branch.
                if warp.executed >= until {
                    return Ok(Pause::Turn);
                }
            }
            Code::Atomic(index) => {
                if mask != 0 {
                    atomic::atomic(memory, warp, sink, &kernel.atomics[index as usize], mask)
                        .map_err(stop)?;
                }
            }
            Code::Barrier(_) if mask == 0 => {}
            Code::Barrier(_)
                if !warp.strands.is_empty() && warp.lets_others_first(pc).map_err(stop)? => {}
            Code::Barrier(index) => {
                warp.all_here(&kernel.barriers[index as usize], mask)
                    .map_err(stop)?;
                return Ok(Pause::Barrier(index));
            }
            Code::Print(index) => {
                print::print(memory, warp, &kernel.prints[index as usize], mask).map_err(stop)?;
            }
            Code::Assert(index) if mask != 0 => {
                let op = &kernel.assertions[index as usize];
                return Err(stop(assertion::fail(memory, warp, op, mask)));
            }
            Code::Heap(index) => {
                heap::call(memory, warp, &kernel.heap[index as usize], mask).map_err(stop)?;
            }
            Code::Copy(index) => {
                copy::step(memory, warp, sink, &kernel.copies[index as usize], mask)
                    .map_err(stop)?;
            }
            Code::Mbarrier(index) => {
                mbarrier::run(memory, warp, sink, &kernel.mbarriers[index as usize], mask)
                    .map_err(stop)?;
            }
            Code::TurnUnless => {
                let holds = warp.registers.predicates[op.slots.p as usize];
                if mask & !holds != 0 {
                    return Ok(Pause::Turn);
                }
            }
            Code::Matrix(index) if mask != 0 => {
                matrix::run(memory, warp, sink, &kernel.matrices[index as usize], mask)
                    .map_err(stop)?;
            }
            Code::Texture(index) => {
                texture::run(memory, warp, sink, &kernel.textures[index as usize], mask)
                    .map_err(stop)?;
            }
            Code::Exit => warp.exit(mask),
            Code::Return => call::leave(kernel, warp, mask),
            Code::Collective(index) => {
                if mask != 0 {
                    collective::run(warp, &kernel.collectives[index as usize], mask)
                        .map_err(stop)?;
                }
            }
            Code::Yield if memory.has_neighbours => return Ok(Pause::Turn),
            Code::Observe(index) => {
                observe::show(kernel, warp, sink, memory.block, index, mask);
            }
            Code::Probe(index, kind) => {
                let count = &mut memory.flow[index as usize];
                flow::count(kernel, warp, op, kind, mask, count);
            }
            _ => rare(kernel, warp, pc, mask).map_err(stop)?,
        }
    }
}

impl Warp {
    /// Goes on with lanes that wait for others, all of which have ended.
    #[cold]
    fn next_strand(&mut self) -> Result<(), StoppedWarp> {
        self.now.mask = 0;
        let released = self
            .release()
            .and_then(|any| if any { Ok(()) } else { Err(self.deadlock()) });
        let pc = self.now.pc.saturating_sub(1);
        released.map_err(|fault| StoppedWarp { fault, pc })
    }
}

#[cold]
fn rare(kernel: &Kernel, warp: &mut Warp, pc: u32, mask: u32) -> Result<(), Box<Fault>> {
    let op = &kernel.ops[pc as usize];
    match op.code {
        Code::Table(index) => {
            let indices = warp.registers.narrow[op.slots.a as usize].0;
            warp.branch_by(kernel, &kernel.tables[index as usize], &indices, mask)
        }
        Code::Video(index) => {
            video::run(warp, &kernel.videos[index as usize], mask);
            Ok(())
        }
        Code::Stack(index) => stack::run(kernel, warp, &kernel.stack_ops[index as usize], mask),
        Code::Clock { wide } => {
            let now = warp.executed;
            for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
                if wide {
                    warp.registers.wide[op.slots.d as usize].0[lane] = now;
                } else {
                    warp.registers.narrow[op.slots.d as usize].0[lane] = now as u32;
                }
            }
            Ok(())
        }
        Code::Trap(message) if mask != 0 => {
            let (kind, what) = kernel.traps[message as usize].clone();
            Err(Fault::new(kind, Some(mask.trailing_zeros()), what))
        }
        _ => Ok(()),
    }
}
