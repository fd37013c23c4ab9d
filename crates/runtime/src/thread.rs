//! A recording thread: it attaches itself at its first event ([`make_room`] calls `attach`), writes
//! records ([`emit`], [`put`]), publishes full blocks, and ends ([`end`]).
//!
//! The hooks in `hooks` write records themselves, and call [`slow`] when the current block has no
//! room. While `Tls::busy` is not 0 the thread is silent: nothing is recorded, so that code here
//! may call functions that are hooked.

use core::sync::atomic::{AtomicU32, Ordering};

use reuselens_guest::sys;
use reuselens_wire::{BLOCK_BYTES, RECORD_BYTES, Record, Slot, SlotOwner, SlotState, WireKind};

use crate::publish::{open_slot, publish};
use crate::quiet;
use crate::segment;
use crate::tls::{DUMMY, ThreadState, Tls, tls};
use crate::{block_records, process, stacks, stage, title};

/// The slow path of the hooks: writes a record for which the hook found no room.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn slow(word0: u64, word1: u64) {
    emit(&[Record { word0, word1 }]);
}

/// Writes records that belong together, all into one block. Drops them if the thread does not
/// record.
#[inline]
pub fn emit(records: &[Record]) {
    let t = tls();
    // SAFETY: `t` is this thread's own state; the slot it names is live or the dummy.
    unsafe {
        if (*t).busy != 0 {
            return;
        }
        if stage::is_staged(t) && !reuselens_wire::is_gated(records[0].kind()) {
            return ungated(t, records);
        }
        if room(&*(*t).slot) < records.len() * RECORD_BYTES && !make_room(t) {
            // If the program is not measured, the next records go to a page of the thread, so that
            // the hooks need not come here for each of them.
            block_records::use_own_page(t);
            return;
        }
        put(&*(*t).slot, records);
    }
}

/// Writes records that are always wanted, from a thread that writes into its stage.
#[cold]
unsafe fn ungated(t: *mut Tls, records: &[Record]) {
    // SAFETY: this thread's own state.
    unsafe {
        (*t).busy = 1;
        let slot = &*stage::drained_slot(t);
        let fits = room(slot) >= records.len() * RECORD_BYTES;
        if fits || publish(slot, (*t).slot_index, true) {
            put(slot, records);
        }
        (*t).busy = 0;
    }
}

/// Writes an event with operands and a text, with this thread's hooks silent: copying a text may
/// call `memcpy`, which may be wrapped.
pub fn announce_quietly(kind: WireKind, pc: u64, number: u64, operands: &[u64], text: &[u8]) {
    if !prepare() {
        return;
    }
    let t = tls();
    // SAFETY: this thread's own state and slot.
    unsafe {
        (*t).busy += 1;
        let slot = stage::drained_slot(t);
        announce(&*slot, Record::new(kind, 0, pc, number), operands, text);
        (*t).busy -= 1;
    }
}

/// Runs `work` with this thread's hooks silent: copying and clearing structures may call `memcpy`
/// and `memset`, which may be wrapped, and libc's functions may allocate.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let t = tls();
    // SAFETY: this thread's own state.
    unsafe {
        (*t).busy += 1;
        let result = work();
        (*t).busy -= 1;
        result
    }
}

/// Makes sure that this thread has a slot with room; false if it does not record.
pub fn prepare() -> bool {
    let t = tls();
    // SAFETY: this thread's own state.
    unsafe { (*t).busy == 0 && !segment::is_absent() && (room(&*(*t).slot) > 0 || make_room(t)) }
}

/// Like [`prepare`], but also true if the thread writes into its stage.
pub fn prepare_even_if_silent() -> bool {
    let t = tls();
    // SAFETY: this thread's own state.
    unsafe { (*t).busy == 0 && (stage::is_staged(t) || room(&*(*t).slot) > 0 || make_room(t)) }
}

/// First address above this thread's stack as its slot knows it.
pub fn stack_high() -> u64 {
    // SAFETY: this thread's own state.
    unsafe { (*(*tls()).slot).stack_high.load(Ordering::Relaxed) }
}

/// Bytes left in the slot's block.
#[inline]
pub fn room(slot: &Slot) -> usize {
    let cursor = slot.cursor.load(Ordering::Relaxed) as usize;
    cursor.wrapping_neg() & (BLOCK_BYTES - 1)
}

/// Writes records that belong together into a slot's block. The cursor moves once, so the reader
/// sees all or none of them.
///
/// # Safety
/// There must be room, and the slot must be this thread's.
#[inline]
pub unsafe fn put(slot: &Slot, records: &[Record]) {
    let mut cursor = slot.cursor.load(Ordering::Relaxed);
    for record in records {
        // SAFETY: the caller made room.
        unsafe { write(&mut cursor, *record) };
    }
    slot.cursor.store(cursor, Ordering::Release);
}

/// Writes one record and moves on.
///
/// # Safety
/// The cursor must be in this thread's block, with room.
#[inline]
unsafe fn write(cursor: &mut u64, record: Record) {
    // SAFETY: by the caller. Volatile, so that it never becomes a call of `memcpy`, which may be
    // wrapped and come back here.
    unsafe { (*cursor as *mut Record).write_volatile(record) };
    *cursor += RECORD_BYTES as u64;
}

/// Gets the thread a block with room; false if it does not record.
///
/// # Safety
/// `t` must be the calling thread's state.
pub unsafe fn make_room(t: *mut Tls) -> bool {
    // SAFETY: this thread's own state.
    if unsafe { stage::is_staged(t) } {
        // SAFETY: as above.
        return unsafe { sort_out(t) };
    }
    if segment::is_absent() || !process::is_ready() {
        return false;
    }
    // SAFETY: this thread's own state.
    unsafe {
        (*t).busy = 1;
        let ready = if core::ptr::eq((*t).slot, &DUMMY) {
            match (*t).state {
                ThreadState::New => attach(t),
                ThreadState::Unrecorded if quiet::is_quiet() => false,
                _ => {
                    count_lost();
                    false
                }
            }
        } else {
            publish(&*(*t).slot, slot_index(t), true) || give_up(t)
        };
        (*t).busy = 0;
        ready
    }
}

/// Makes room by sorting the records in the stage.
unsafe fn sort_out(t: *mut Tls) -> bool {
    // SAFETY: this thread's own state.
    unsafe {
        (*t).busy = 1;
        stage::drain(t);
        let there = room(&*(*t).slot) > 0 || publish(&*(*t).slot, slot_index(t), true);
        let there = there || give_up(t);
        (*t).busy = 0;
        there
    }
}

/// Number of the slot that the thread writes through now.
unsafe fn slot_index(t: *const Tls) -> u64 {
    // SAFETY: by the caller.
    unsafe {
        if core::ptr::eq((*t).slot, (*t).signal_slot) {
            (*t).signal_slot_index
        } else {
            (*t).slot_index
        }
    }
}

/// Recording has ended: the thread writes into its stage, or has no room at all. Returns whether it
/// has room.
unsafe fn give_up(t: *mut Tls) -> bool {
    // SAFETY: this thread's own state.
    unsafe {
        if (*t).signal_depth == 0 && (*t).state == ThreadState::Live && stage::idle(t) {
            return true;
        }
        segment::abandon();
        (*t).slot = &DUMMY;
        false
    }
}

/// Counts an event, or a signal handler's events, that cannot be recorded.
pub fn count_lost() {
    if let Some(segment) = segment::get() {
        segment.header().lost_events.fetch_add(1, Ordering::Relaxed);
    }
}

/// This thread's own slot, not that for signal handlers; the dummy if it has none.
///
/// # Safety
/// `t` must be the calling thread's state.
pub unsafe fn own_slot(t: *const Tls) -> *const Slot {
    // SAFETY: by the caller.
    match (unsafe { (*t).state }, segment::get()) {
        // SAFETY: by the caller.
        (ThreadState::Live, Some(segment)) => segment.slot(unsafe { (*t).slot_index } as usize),
        _ => &DUMMY,
    }
}

/// The slot through which this thread writes outside of signal handlers: its own, or that of its
/// stage.
///
/// # Safety
/// `t` must be the calling thread's state.
pub unsafe fn current_slot(t: *mut Tls) -> *const Slot {
    // SAFETY: by the caller.
    unsafe {
        (*t).slot = own_slot(t);
        if !(*t).stage.is_null() {
            (*t).slot = &raw const (*(*t).stage).slot;
        }
        (*t).slot
    }
}

/// Gives this thread a slot and a block and announces it.
unsafe fn attach(t: *mut Tls) -> bool {
    let Some(segment) = segment::get() else {
        return false;
    };
    let header = segment.header();
    let unrecorded = |count: &AtomicU32| {
        count.fetch_add(1, Ordering::Relaxed);
        // SAFETY: this thread's own state.
        unsafe { (*t).state = ThreadState::Unrecorded };
        false
    };
    if quiet::is_quiet() {
        return unrecorded(&header.detached_for_filter);
    }
    let Some(index) = segment.claim_slot() else {
        return unrecorded(&header.unrecorded_threads);
    };
    let (process, first_of_process) = process::number(header);
    if process > u32::from(u16::MAX) {
        // Items carry their process in sixteen bits.
        let state = &segment.slot(index).state;
        state.store(SlotState::Free as u32, Ordering::Release);
        return unrecorded(&header.unrecorded_threads);
    }
    let (stack_low, stack_high) = stacks::stack_bounds();
    let slot = segment.slot(index);
    let owner = SlotOwner {
        process,
        thread: header.next_thread.fetch_add(1, Ordering::Relaxed),
        pid: sys::pid(),
        stack_high,
    };
    if !open_slot(segment, slot, &owner) {
        segment::abandon();
        return false;
    }
    // SAFETY: this thread's own state; the block is empty, so there is room for the first records.
    unsafe {
        (*t).slot = slot;
        (*t).slot_index = index as u64;
        (*t).state = ThreadState::Live;
        if first_of_process {
            process::announce(slot);
        } else {
            process::wait_until_announced();
        }
        title::announce_thread(slot, stack_low, stack_high);
    }
    if first_of_process {
        process::announced(slot, index as u64);
    }
    // SAFETY: this thread's own state, with its slot.
    unsafe { stage::open(t) };
    process::watch_thread_end(t);
    true
}

/// Writes a control event and its operands into a slot; a long text may publish blocks on its way.
///
/// # Safety
/// The slot must be this thread's.
pub unsafe fn announce(slot: &Slot, event: Record, operands: &[u64], text: &[u8]) {
    let records = 1 + operands.len() + text.len().div_ceil(8);
    if room(slot) < records * RECORD_BYTES {
        // SAFETY: reads this thread's state.
        if !publish(slot, unsafe { slot_index(tls()) }, true) {
            return;
        }
    }
    let operand = |number| Record::new(WireKind::Operand, 0, 0, number);
    let mut cursor = slot.cursor.load(Ordering::Relaxed);
    // SAFETY: texts are at most a path long, far below a block, so there is room. The cursor moves
    // once, at the end: the reader never sees a part of an event.
    unsafe {
        write(&mut cursor, event);
        for &number in operands {
            write(&mut cursor, operand(number));
        }
        for piece in text.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..piece.len()].copy_from_slice(piece);
            write(&mut cursor, operand(u64::from_le_bytes(bytes)));
        }
    }
    slot.cursor.store(cursor, Ordering::Release);
}

/// Publishes what the calling thread has written so far, so that it comes before what other
/// threads do from here on.
pub fn flush() {
    let (t, heard) = (tls(), !segment::is_absent());
    // SAFETY: this thread's own state.
    unsafe {
        if heard && (*t).busy == 0 && !core::ptr::eq((*t).slot, &DUMMY) && (*t).signal_depth == 0 {
            (*t).busy = 1;
            let slot = stage::drained_slot(t);
            if !publish(&*slot, (*t).slot_index, true) {
                give_up(t);
            }
            (*t).busy = 0;
        }
    }
}

/// Ends the recording of a thread: its last block goes out, its slots become free.
///
/// # Safety
/// `t` must be the calling thread's state.
pub unsafe fn end(t: *mut Tls) {
    // SAFETY: by the caller.
    unsafe {
        (*t).busy = 1;
        stage::close(t);
        block_records::free_page(t);
        // A handler that was left by a jump may not have restored the slot.
        let slot = if core::ptr::eq((*t).slot, &DUMMY) {
            &raw const DUMMY
        } else {
            own_slot(t)
        };
        (*t).slot = slot;
        if !core::ptr::eq(slot, &DUMMY) {
            title::announce_name(&*slot);
            announce(&*slot, Record::new(WireKind::ThreadEnd, 0, 0, 0), &[], b"");
            release(&*slot, (*t).slot_index);
            (*t).slot = &DUMMY;
        }
        let signal_slot = (*t).signal_slot;
        if !signal_slot.is_null() {
            release(&*signal_slot, (*t).signal_slot_index);
            (*t).signal_slot = core::ptr::null();
        }
        (*t).state = ThreadState::Ended;
        (*t).busy = 0;
    }
}

fn release(slot: &Slot, index: u64) {
    if publish(slot, index, false) {
        slot.state.store(SlotState::Free as u32, Ordering::Release);
    }
}
