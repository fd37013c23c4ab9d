//! Calls of routines: functions that are called through pointers, or call themselves.
//!
//! Lanes that call different functions part, and go through them one function after the other; all
//! meet again after the call. The registers of a routine are the same in all calls of it: a lane
//! that is in the routine already has its values kept until the inner call returns.

use crate::decode::kernel::{CallOp, Callee, FramePlace, Kernel, NONE, Routine};
use crate::lanes::WARP;
use crate::names;

use super::fault::{Fault, FaultKind};
use super::grid::{LaunchConfig, MOST_RESIDENT_BYTES};
use super::stack;
use super::warp::{LanePath, Warp};

/// A call that some lanes are in.
#[derive(Clone, Debug)]
pub struct CallFrame {
    /// Which routine, and which call of the kernel's.
    routine: u32,
    call: u32,
    /// The paths of `Warp::later` from this one on belong to the call.
    pub depth: usize,
    /// Addresses of the frames in local memory: of the caller, and of the routine.
    caller: u64,
    base: u64,
    /// Lanes that were in the routine before, and their registers.
    outer: u32,
    kept: Option<Box<KeptRegisters>>,
    /// Where the lanes' stacks ended, if the kernel takes memory from them.
    tops: Option<Box<[u64; WARP]>>,
    /// Bytes that the call takes from [`BlockMemory::call_room`](super::memory::BlockMemory).
    pub room: u64,
}

/// The registers of a routine, of all lanes.
#[derive(Clone, Debug)]
struct KeptRegisters {
    narrow: Vec<[u32; WARP]>,
    wide: Vec<[u64; WARP]>,
    predicates: Vec<u32>,
}

/// Bytes of local memory of each thread: the kernel's own, and its stack if it has one.
pub fn local_bytes(kernel: &Kernel, stack: u64) -> u64 {
    if kernel.has_stack() {
        let own = kernel.local_bytes.next_multiple_of(16);
        own.saturating_add(stack)
    } else {
        kernel.local_bytes
    }
}

/// Bytes that the calls of a block may keep until they return. The stack bounds how deep calls go,
/// and not how many registers each of them keeps.
const MOST_KEPT: u64 = 256 << 20;

/// Bytes that the calls of each block may keep. Blocks of a cooperative launch run at the same
/// time, and share what one launch may take.
pub fn room(launch: &LaunchConfig) -> u64 {
    if launch.cooperative {
        MOST_KEPT.min(MOST_RESIDENT_BYTES / u64::from(launch.blocks()).max(1))
    } else {
        MOST_KEPT
    }
}

/// Begins a call by the lanes of the mask, or by those of them that call the same function as the
/// first of them: the others come here again. `pc` is the call's. Gives whether there are such
/// others.
#[cold]
pub fn enter(
    kernel: &Kernel,
    warp: &mut Warp,
    call_room: &mut u64,
    index: u32,
    pc: u32,
    mask: u32,
) -> Result<bool, Box<Fault>> {
    let op = &kernel.calls[index as usize];
    let (number, group) = chosen(kernel, warp, op, mask)?;
    let routine = &kernel.routines[number as usize];
    let lane = group.trailing_zeros() as usize & 31;
    let caller = match op.caller {
        NONE => 0,
        _ => warp.registers.wide[kernel.frame as usize].0[lane],
    };
    let base = frame_address(kernel, warp, op, routine, caller, group)?;
    let outer = warp.active[number as usize] & group;
    let tops = tops(kernel, warp);
    let room = take_room(warp, call_room, routine, outer, tops.is_some(), lane)?;
    push_waiting(kernel, warp, pc, mask & !group)?;
    warp.active[number as usize] |= group;
    let frame = CallFrame {
        routine: number,
        call: index,
        depth: warp.later.len(),
        caller,
        base,
        outer,
        kept: (outer != 0).then(|| Box::new(keep(warp, routine))),
        tops,
        room,
    };
    warp.frames.push(frame);
    for lane in lanes(group) {
        for (argument, param) in op.arguments.iter().zip(&routine.params) {
            copy(warp, lane, (caller, argument), (base, param));
        }
        warp.registers.wide[kernel.frame as usize].0[lane] = base;
    }
    warp.now = LanePath {
        pc: routine.entry,
        mask: group,
        meet: NONE,
    };
    Ok(mask != group)
}

/// Leaves what waits for a call at `pc`, the next path last: the code after the call for all lanes,
/// unless they meet there anyway, then the call itself for the lanes that call something else.
fn push_waiting(kernel: &Kernel, warp: &mut Warp, pc: u32, rest: u32) -> Result<(), Box<Fault>> {
    let (here, next) = (warp.now, pc + 1);
    if here.meet != next {
        warp.push(LanePath { pc: next, ..here })?;
    }
    if rest != 0 {
        if kernel.ops[pc as usize].counts {
            // They are counted when it is their turn.
            warp.threads -= u64::from(rest.count_ones());
        }
        warp.push(LanePath {
            pc,
            mask: rest,
            meet: next,
        })?;
    }
    Ok(())
}

/// Ends the innermost call for the lanes of the mask. Once it has ended for all, the path that
/// waits for it goes on.
#[cold]
pub fn leave(kernel: &Kernel, warp: &mut Warp, mask: u32) {
    let Some(mut frame) = warp.frames.pop() else {
        return;
    };
    let op = &kernel.calls[frame.call as usize];
    let routine = &kernel.routines[frame.routine as usize];
    for lane in lanes(mask) {
        for (result, value) in op.results.iter().zip(&routine.returns) {
            copy(warp, lane, (frame.base, value), (frame.caller, result));
        }
        warp.registers.wide[kernel.frame as usize].0[lane] = frame.caller;
    }
    // These lanes were in the routine already: they go on there with the registers of that call.
    if let Some(kept) = &mut frame.kept {
        restore(warp, routine, kept, mask & frame.outer);
    }
    if let Some(tops) = &frame.tops {
        let now = &mut warp.registers.wide[kernel.stack_top as usize].0;
        lanes(mask).for_each(|lane| now[lane] = tops[lane]);
    }
    warp.active[frame.routine as usize] &= !mask | frame.outer;
    // Lanes that return where others wait for them: see `decode::cfg` on early returns.
    for path in &mut warp.later[frame.depth..] {
        path.mask &= !mask;
    }
    warp.now.mask &= !mask;
    warp.frames.push(frame);
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..WARP).filter(move |lane| mask >> lane & 1 != 0)
}

/// The routine that the first of the lanes calls, and which of the lanes call the same one.
fn chosen(kernel: &Kernel, warp: &Warp, op: &CallOp, mask: u32) -> Result<(u32, u32), Box<Fault>> {
    let slot = match op.callee {
        Callee::Routine(number) => return Ok((number, mask)),
        Callee::Register(slot) => slot,
    };
    let addresses = &warp.registers.wide[slot as usize].0;
    let first = mask.trailing_zeros() as usize & 31;
    let address = addresses[first];
    let fault = |what: String| Err(Fault::new(FaultKind::Callee, Some(first as u32), what));
    let known = &kernel.functions;
    let Ok(found) = known.binary_search_by_key(&address, |function| function.address) else {
        return fault(match address {
            0 => "a call through a null pointer".to_owned(),
            _ => format!("a call through the pointer {address:#x}, which is no function's address"),
        });
    };
    let name = || names::readable(&known[found].name);
    let Some(number) = known[found].routine else {
        return fault(format!(
            "a call through a pointer leads to {}, which has no body, or takes or returns something else",
            name()
        ));
    };
    let routine = &kernel.routines[number as usize];
    if !have_equal_sizes(&op.arguments, &routine.params)
        || !have_equal_sizes(&op.results, &routine.returns)
    {
        return fault(format!(
            "a call through a pointer with {} and {} leads to {}, which takes {} and returns {}",
            sizes(&op.arguments, "argument"),
            sizes(&op.results, "result"),
            name(),
            sizes(&routine.params, "argument"),
            sizes(&routine.returns, "result"),
        ));
    }
    let same = lanes(mask).filter(|&lane| addresses[lane] == address);
    Ok((number, same.fold(0, |group, lane| group | 1 << lane)))
}

fn have_equal_sizes(some: &[FramePlace], others: &[FramePlace]) -> bool {
    let bytes = |place: &FramePlace| place.bytes;
    some.iter().map(bytes).eq(others.iter().map(bytes))
}

/// How many arguments or results there are, and how many bytes each has.
fn sizes(places: &[FramePlace], what: &str) -> String {
    let bytes: Vec<String> = places.iter().map(|place| place.bytes.to_string()).collect();
    match bytes.len() {
        0 => format!("no {what}s"),
        1 => format!("1 {what} ({} bytes)", bytes[0]),
        count => format!("{count} {what}s ({} bytes)", bytes.join(", ")),
    }
}

/// Where the lanes' stacks end, if the kernel takes memory from them.
fn tops(kernel: &Kernel, warp: &Warp) -> Option<Box<[u64; WARP]>> {
    let takes = kernel.stack_top != NONE;
    takes.then(|| Box::new(warp.registers.wide[kernel.stack_top as usize].0))
}

/// Where the frame of a routine begins, for lanes whose callers' frames are at the same address.
fn frame_address(
    kernel: &Kernel,
    warp: &mut Warp,
    op: &CallOp,
    routine: &Routine,
    caller: u64,
    group: u32,
) -> Result<u64, Box<Fault>> {
    let own = match op.caller {
        NONE => kernel.local_bytes,
        number => kernel.routines[number as usize].frame_bytes,
    };
    let base = (caller + own).next_multiple_of(routine.frame_align);
    let end = base + routine.frame_bytes;
    if end > stack::lowest_top(kernel, warp, lanes(group)) {
        let stack = stack::bytes(kernel, warp);
        let what = format!(
            "the call of {}, inside of {} others, takes more than the {stack} bytes of the thread's stack; if it is not endless, allow more (cudaDeviceSetLimit with cudaLimitStackSize)",
            names::readable(&routine.name),
            warp.frames.len()
        );
        let lane =
            lanes(group).min_by_key(|&lane| stack::lowest_top(kernel, warp, [lane].into_iter()));
        return Err(Fault::new(
            FaultKind::Stack,
            lane.map(|lane| lane as u32),
            what,
        ));
    }
    warp.local_end = warp.local_end.max(end);
    Ok(base)
}

/// Copies an argument or a result from a frame to another one, where it has the same size.
fn copy(warp: &mut Warp, lane: usize, from: (u64, &FramePlace), to: (u64, &FramePlace)) {
    debug_assert_eq!(from.1.bytes, to.1.bytes);
    let bytes = to.1.bytes as usize;
    let own = warp.local_bytes as usize * lane;
    let from = own + (from.0 + from.1.offset) as usize;
    let to = own + (to.0 + to.1.offset) as usize;
    warp.local.copy_within(from..from + bytes, to);
}

/// Takes room for a call, and the registers that it keeps if lanes are in the routine already.
/// Returns the bytes.
fn take_room(
    warp: &Warp,
    call_room: &mut u64,
    routine: &Routine,
    outer: u32,
    keeps_tops: bool,
    lane: usize,
) -> Result<u64, Box<Fault>> {
    let mut bytes = size_of::<CallFrame>() as u64;
    if keeps_tops {
        bytes += size_of::<[u64; WARP]>() as u64;
    }
    if outer != 0 {
        let rows = [
            size_of::<[u32; WARP]>(),
            size_of::<[u64; WARP]>(),
            size_of::<u32>(),
        ];
        let files = routine.registers.iter().zip(rows);
        bytes += files
            .map(|(slots, row)| slots.len() as u64 * row as u64)
            .sum::<u64>();
    }
    let Some(left) = call_room.checked_sub(bytes) else {
        let what = format!(
            "the call of {}, inside of {} others, keeps {bytes} bytes of registers, and the calls of the block have {call_room} left; if it is not endless, recurse less deeply, or launch smaller blocks",
            names::readable(&routine.name),
            warp.frames.len()
        );
        return Err(Fault::new(FaultKind::Stack, Some(lane as u32), what));
    };
    *call_room = left;
    Ok(bytes)
}

fn keep(warp: &Warp, routine: &Routine) -> KeptRegisters {
    let [narrow, wide, predicates] = routine.registers.clone().map(as_indices);
    KeptRegisters {
        narrow: warp.registers.narrow[narrow]
            .iter()
            .map(|row| row.0)
            .collect(),
        wide: warp.registers.wide[wide].iter().map(|row| row.0).collect(),
        predicates: warp.registers.predicates[predicates].to_vec(),
    }
}

fn restore(warp: &mut Warp, routine: &Routine, kept: &KeptRegisters, mask: u32) {
    let [narrow, wide, predicates] = routine.registers.clone().map(as_indices);
    let registers = &mut warp.registers;
    for (row, old) in registers.narrow[narrow].iter_mut().zip(&kept.narrow) {
        lanes(mask).for_each(|lane| row.0[lane] = old[lane]);
    }
    for (row, old) in registers.wide[wide].iter_mut().zip(&kept.wide) {
        lanes(mask).for_each(|lane| row.0[lane] = old[lane]);
    }
    for (bits, old) in registers.predicates[predicates]
        .iter_mut()
        .zip(&kept.predicates)
    {
        *bits = *bits & !mask | old & mask;
    }
}

fn as_indices(slots: std::ops::Range<u32>) -> std::ops::Range<usize> {
    slots.start as usize..slots.end as usize
}
