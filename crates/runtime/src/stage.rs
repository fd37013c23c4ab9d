//! Control: a thread whose records are not all wanted writes them into a block of its own first,
//! its *stage* ([`ControlStage`](reuselens_wire::ControlStage)). When the stage is full, or a
//! record that is always wanted follows, the records are sorted by the thread's gate ([`drain`]):
//! wanted ones go to the thread's own slot, the others are counted.
//!
//! The hooks do not know of this: they write through the slot that the thread's state names. So an
//! unwanted access costs a hook and its part of a sort, and the analysing side does not see it.

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

/// Addresses of the wanted functions, as far as their files are mapped.
static mut RANGES: [Range; FUNCTIONS] = [Range { low: 0, high: 0 }; FUNCTIONS];
static RANGES_KNOWN: AtomicU32 = AtomicU32::new(0);

/// Gives a thread its stage, if there is anything to control.
///
/// # Safety
/// `t` must be the calling thread's state, with a slot, and silent.
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

/// Recording has ended: the thread writes into its stage, from the start each time it is full. That
/// costs the hooks less than having no room. False if it has no stage and gets none.
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
        drain(t);
        !(*t).stage.is_null()
    }
}

/// Makes a thread's stage. False if there is no block for it.
unsafe fn make(t: *mut Tls, segment: MappedSegment) -> bool {
    // SAFETY: by the caller; a slot's stage is its thread's.
    unsafe {
        let index = (*t).slot_index as usize;
        let (stage, own) = (segment.stage(index).as_ptr(), segment.slot(index));
        (&raw mut (*stage).gate).write(Gate::new((*t).scope));
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

/// Ends a thread's stage, after sorting what is in it. The thread must be silent, and stay so.
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
        drain(t);
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

/// Whether the thread writes into its stage now.
///
/// # Safety
/// The calling thread's own state.
#[inline]
pub unsafe fn is_staged(t: *const Tls) -> bool {
    // SAFETY: by the caller; an address is taken, nothing is read.
    unsafe { !(*t).stage.is_null() && ptr::eq((*t).slot, &raw const (*(*t).stage).slot) }
}

/// Sets where the thread writes: into its own slot if everything is wanted for now, else into its
/// stage.
unsafe fn choose(t: *mut Tls) {
    let Some(segment) = segment::get() else {
        return;
    };
    // SAFETY: by the caller.
    unsafe {
        let (stage, own) = ((*t).stage, thread::own_slot(t));
        let gate = &mut (*stage).gate;
        (*t).slot = if gate.is_direct(&segment.header().control) {
            gate.flush(&mut |records| send(t, records));
            own
        } else {
            &raw const (*stage).slot
        };
    }
}

/// Writes records into the thread's own slot.
unsafe fn send(t: *const Tls, records: &[Record]) {
    // SAFETY: by the caller.
    unsafe {
        let own = &*thread::own_slot(t);
        let mut rest = records;
        while !rest.is_empty() {
            let room = thread::room(own) / size_of::<Record>();
            // A record stays in one block with its operands: they are few.
            let fits = if room >= rest.len() {
                rest.len()
            } else {
                complete_records(rest, room)
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

/// How many of these records fit into room for `room` without separating one from its operands.
fn complete_records(records: &[Record], room: usize) -> usize {
    const OPERAND: u8 = reuselens_wire::WireKind::Operand as u8;
    let mut end = room;
    while end > 0 && records[end].kind() == OPERAND {
        end -= 1;
    }
    end
}

/// Sorts the records in the stage. The thread must be silent.
///
/// # Safety
/// The calling thread's own state.
pub unsafe fn drain(t: *mut Tls) {
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
            (*t).scope = (*stage).gate.scope();
            choose(t);
        } else {
            // None of the records are wanted any more: from the start of the stage again.
            slot.cursor.store(start, Ordering::Release);
            (*t).slot = slot;
        }
    }
}

/// The records before the first block record of code compiled with the LLVM pass: what follows
/// cannot be read here, for the length of that block record is not known. Programs with such code
/// are rewritten if not everything is wanted; this is for a library with such code in another
/// program.
fn readable(records: &[Record]) -> &[Record] {
    let is_block_record = |record: &Record| record.kind() == reuselens_wire::COMPILED_BLOCK_RECORD;
    match records.iter().position(is_block_record) {
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
        // Ranges below that number are never changed.
        gate.set_ranges(core::slice::from_raw_parts(ranges, known.min(FUNCTIONS)));
        let high = (*stage).slot.stack_high.load(Ordering::Relaxed);
        gate.sort(control, high, records, &mut |run| send(t, run));
        gate.report(control);
    }
}

/// The slot for records that are always wanted: the thread's own, after the waiting records were
/// sorted and waiting function entries written.
///
/// # Safety
/// The calling thread's own state, silent.
pub unsafe fn drained_slot(t: *mut Tls) -> *const reuselens_wire::Slot {
    // SAFETY: by the caller.
    unsafe {
        if !is_staged(t) {
            return (*t).slot;
        }
        drain(t);
        (*(*t).stage).gate.flush(&mut |records| send(t, records));
        thread::own_slot(t)
    }
}

/// A module is mapped with this bias: adds the addresses of wanted functions in it.
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

/// Calls `change` with the thread's gate, after sorting what the thread recorded before. Nothing if
/// regions do not matter, or in a signal handler.
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
            drain(t);
            change(&mut (*(*t).stage).gate, control);
            (*t).scope = (*(*t).stage).gate.scope();
            choose(t);
        }
        (*t).busy -= 1;
    }
}
