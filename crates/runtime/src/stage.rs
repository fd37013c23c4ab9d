//! Control: a thread whose records are not all wanted writes them into a block of its own first,
//! its stage. When that is full, or something else is to be said, they are sorted: what is wanted
//! goes to the thread's slot, the rest is counted.
//!
//! The hooks know nothing of it: they write through whatever slot the thread's state names. So what
//! is not wanted costs a hook and a part of a sort, and no other process.

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use reuselens_wire::{
    BLOCK_BYTES, BLOCK_HEADER_BYTES, BLOCKS, Control, FUNCTIONS, Function, Gate, MappedSegment,
    NO_BLOCK, Range, Record, SlotState,
};

use crate::publish::{open_slot, publish};
use crate::segment;
use crate::tls::{Tls, tls};
use crate::{modules, thread};

/// Where the functions lie that count, as far as their files are mapped.
static mut RANGES: [Range; FUNCTIONS] = [Range { low: 0, high: 0 }; FUNCTIONS];
static RANGES_KNOWN: AtomicU32 = AtomicU32::new(0);

/// Gives a thread its stage, if there is anything to control.
///
/// # Safety
/// The calling thread's own state, with its slot, and silent.
pub unsafe fn open(t: *mut Tls) {
    let Some(segment) = segment::get() else {
        return;
    };
    if segment.header().control.active.load(Ordering::Relaxed) != 0 {
        // SAFETY: by the caller.
        unsafe {
            if make(t, segment) {
                choose(t);
            }
        }
    }
}

/// Nobody records any more: the thread writes into the same room again and again, which costs the
/// hooks less than having none. False if there is none.
///
/// # Safety
/// As for [`open`].
pub unsafe fn idle(t: *mut Tls) -> bool {
    // SAFETY: by the caller.
    unsafe {
        if (*t).stage.is_null()
            && let Some(segment) = segment::get()
        {
            make(t, segment);
        }
        segment::abandon();
        settle(t);
        !(*t).stage.is_null()
    }
}

/// Makes a thread's stage. False if there is no block for it.
unsafe fn make(t: *mut Tls, segment: MappedSegment) -> bool {
    // SAFETY: by the caller; a slot's stage is its thread's.
    unsafe {
        let index = (*t).slot_index as usize;
        let (stage, own) = (segment.stage(index).as_ptr(), segment.slot(index));
        (&raw mut (*stage).gate).write(Gate::new((*t).place));
        (*stage).sorting.store(0, Ordering::Relaxed);
        let slot = &(*stage).slot;
        if !open_slot(segment, slot, &own.owner()) {
            return false;
        }
        (*t).stage_address = slot.block_address.load(Ordering::Relaxed);
        (*t).stage = stage;
    }
    true
}

/// Ends a thread's stage: it is silent from here on.
///
/// # Safety
/// The calling thread's own state.
pub unsafe fn close(t: *mut Tls) {
    // SAFETY: by the caller.
    unsafe {
        let stage = (*t).stage;
        let Some(segment) = segment::get().filter(|_| !stage.is_null()) else {
            return;
        };
        settle(t);
        (*t).slot = thread::own_slot(t);
        (*t).stage = ptr::null_mut();
        let slot = &(*stage).slot;
        let block = slot.block.swap(NO_BLOCK, Ordering::Relaxed);
        slot.state.store(SlotState::Free as u32, Ordering::Release);
        if (block as usize) < BLOCKS {
            let pool = &segment.header().pool;
            pool.give(block, |block| &segment.block(block).next_free);
        }
    }
}

/// Whether the thread's records wait to be sorted.
///
/// # Safety
/// The calling thread's own state.
#[inline]
pub unsafe fn is_staged(t: *const Tls) -> bool {
    // SAFETY: by the caller; an address is taken, nothing is read.
    unsafe { !(*t).stage.is_null() && ptr::eq((*t).slot, &raw const (*(*t).stage).slot) }
}

/// Lets the thread write where it is to by now: everything is wanted, or not.
unsafe fn choose(t: *mut Tls) {
    let Some(segment) = segment::get() else {
        return;
    };
    // SAFETY: by the caller.
    unsafe {
        let (stage, own) = ((*t).stage, thread::own_slot(t));
        let gate = &mut (*stage).gate;
        (*t).slot = if gate.is_direct(&segment.header().control) {
            gate.flush(&mut |records| hand_on(t, records));
            own
        } else {
            &raw const (*stage).slot
        };
    }
}

/// Writes into the thread's own slot.
unsafe fn hand_on(t: *const Tls, records: &[Record]) {
    // SAFETY: by the caller.
    unsafe {
        let own = &*thread::own_slot(t);
        let mut rest = records;
        while !rest.is_empty() {
            let room = thread::room(own) / size_of::<Record>();
            // What belongs together is at most a few records: it goes into the next block as one.
            let fits = if room >= rest.len() {
                rest.len()
            } else {
                whole(rest, room)
            };
            if fits == 0 {
                if !publish(own, (*t).slot_index, true) {
                    return;
                }
                continue;
            }
            thread::put(own, &rest[..fits]);
            rest = &rest[fits..];
        }
    }
}

/// As many records as fit into `room` without parting one from its operands.
fn whole(records: &[Record], room: usize) -> usize {
    const OPERAND: u8 = reuselens_wire::WireKind::Operand as u8;
    let mut end = room;
    while end > 0 && records[end].kind() == OPERAND {
        end -= 1;
    }
    end
}

/// Sorts what waits. The thread must be silent.
///
/// # Safety
/// The calling thread's own state.
pub unsafe fn settle(t: *mut Tls) {
    // SAFETY: by the caller; the stage's block holds records from its header up to the cursor.
    unsafe {
        let stage = (*t).stage;
        if stage.is_null() {
            return;
        }
        let slot = &(*stage).slot;
        let start = (*t).stage_address + BLOCK_HEADER_BYTES as u64;
        let cursor = slot.cursor.load(Ordering::Relaxed);
        let control = segment::get().map(|segment| &segment.header().control);
        if let Some(control) = control.filter(|control| !control.is_stopped()) {
            (*stage).sorting.store(1, Ordering::Release);
            sort(t, control, start, cursor);
            slot.cursor.store(start, Ordering::Release);
            (*stage).sorting.store(0, Ordering::Release);
            (*t).place = (*stage).gate.place();
            choose(t);
        } else {
            // Nobody wants any of it: the same room again.
            slot.cursor.store(start, Ordering::Release);
            (*t).slot = slot;
        }
    }
}

/// What comes before the first note of code that the LLVM pass has seen, which cannot be told apart
/// here. Such programs are rewritten if there is something to control; this is about a library of
/// such code in another.
fn readable(records: &[Record]) -> &[Record] {
    let is_note = |record: &Record| record.kind() == reuselens_wire::NOTE;
    match records.iter().position(is_note) {
        Some(first) => {
            thread::count_lost();
            &records[..first]
        }
        None => records,
    }
}

unsafe fn sort(t: *mut Tls, control: &Control, start: u64, cursor: u64) {
    // SAFETY: by the caller.
    unsafe {
        let stage = (*t).stage;
        let most = BLOCK_BYTES - BLOCK_HEADER_BYTES;
        let count = (cursor.saturating_sub(start) as usize).min(most) / size_of::<Record>();
        let records = readable(core::slice::from_raw_parts(start as *const Record, count));
        let known = RANGES_KNOWN.load(Ordering::Acquire) as usize;
        let gate = &mut (*stage).gate;
        let ranges = (&raw const RANGES).cast::<Range>();
        // As many as are known are never written again.
        gate.set_ranges(core::slice::from_raw_parts(ranges, known.min(FUNCTIONS)));
        let high = (*stage).slot.stack_high.load(Ordering::Relaxed);
        gate.sort(control, high, records, &mut |run| hand_on(t, run));
        gate.report(control);
    }
}

/// The thread's own slot, with all before it said that waits: for records that are never left out.
///
/// # Safety
/// The calling thread's own state, silent.
pub unsafe fn settled_slot(t: *mut Tls) -> *const reuselens_wire::Slot {
    // SAFETY: by the caller.
    unsafe {
        if !is_staged(t) {
            return (*t).slot;
        }
        settle(t);
        (*(*t).stage).gate.flush(&mut |records| hand_on(t, records));
        thread::own_slot(t)
    }
}

/// A module is mapped with this bias; its functions that count are known from here on.
///
/// # Safety
/// One thread at a time (the loader's lock is held).
pub unsafe fn module_mapped(control: &Control, path: &[u8], bias: u64) {
    let functions = control.functions.load(Ordering::Relaxed) as usize;
    if functions == 0 {
        return;
    }
    let Some((device, inode)) = modules::identity(path) else {
        return;
    };
    for function in control.function.iter().take(functions) {
        let number = |field: fn(&Function) -> &core::sync::atomic::AtomicU64| {
            field(function).load(Ordering::Relaxed)
        };
        if (number(|f| &f.device), number(|f| &f.inode)) != (device, inode) {
            continue;
        }
        let range = Range {
            low: bias.wrapping_add(number(|f| &f.low)),
            high: bias.wrapping_add(number(|f| &f.high)),
        };
        // SAFETY: by the caller; readers take only as many as are known.
        unsafe {
            let ranges = (&raw mut RANGES).cast::<Range>();
            let known = RANGES_KNOWN.load(Ordering::Relaxed) as usize;
            let is_known = core::slice::from_raw_parts(ranges, known).contains(&range);
            if known < FUNCTIONS && !is_known {
                ranges.add(known).write(range);
                RANGES_KNOWN.store(known as u32 + 1, Ordering::Release);
            }
        }
    }
}

/// Calls `change` with the thread's gate, between what it did before and what it does after.
pub fn at_gate(change: impl FnOnce(&mut Gate, &Control)) {
    if segment::is_absent() || !thread::prepare_even_if_silent() {
        return;
    }
    let t = tls();
    // SAFETY: this thread's own state.
    unsafe {
        if (*t).stage.is_null() || (*t).signal_depth > 0 {
            return;
        }
        (*t).busy += 1;
        let control = segment::get().map(|segment| &segment.header().control);
        if let Some(control) = control.filter(|c| c.regions.load(Ordering::Relaxed) != 0) {
            settle(t);
            change(&mut (*(*t).stage).gate, control);
            (*t).place = (*(*t).stage).gate.place();
            choose(t);
        }
        (*t).busy -= 1;
    }
}
