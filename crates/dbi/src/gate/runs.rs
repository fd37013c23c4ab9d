//! Runs of block records about which the gate decides at once: they are left out or sent without
//! a look at each of their accesses.
//!
//! A run ends before the block record in which what is recorded may change: because the accesses
//! of the phase end in it, because it marks a region or begins or ends a wanted function. That one
//! is expanded ([`super::put`]), so that it is known which of its accesses are recorded. What both
//! ways leave out and pass on is the same; a test compares them.

use core::sync::atomic::Ordering;

use reuselens_wire::{
    Control, DictionaryEntry, ENTER_DEPTH_UNKNOWN, Phase, RECORD_BYTES, Record, SPECIAL,
    enter_words, unpack_enter, unpack_head,
};

use crate::image::codes;
use crate::image::descriptor::EventSummary;
use crate::image::expand;
use crate::image::thread::Thread;

/// What is to be done where a run has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Decide about the next one.
    Decide,
    /// Expand the block record there.
    Expand,
}

impl Next {
    /// What is to be done at a block record that does not belong to the run, with `remaining`
    /// accesses of the phase. If there is none, the next phase may be like this one.
    fn after(remaining: u64) -> Next {
        if remaining == 0 {
            Next::Decide
        } else {
            Next::Expand
        }
    }
}

/// Leaves out block records from `at` on, whose accesses are not recorded. Counts the accesses;
/// calls, returns and allocations are followed. Leaves `at` where it ends.
pub fn leave_out(
    thread: &mut Thread,
    control: &Control,
    phase: Phase,
    at: &mut u64,
    end: u64,
) -> Next {
    let mut remaining = phase.accesses;
    let mut next = Next::Decide;
    loop {
        if thread.gate.is_outside() {
            *at = skip(thread, *at, end, &mut remaining);
        }
        if *at >= end {
            break;
        }
        let head = expand::head(*at);
        let entry = codes::entry(head);
        if let Some(call) = thread.waiting.entered
            && entry.pc != 0
        {
            thread.waiting.entered = None;
            if enter(thread, control, entry.pc, call) {
                break;
            }
        }
        let summary = EventSummary::from_bits(entry.summary);
        let accesses = accesses(thread, head, summary, *at);
        // The phase ends in this block record, or what is recorded may change in it. Either
        // something was left out before it, or `Next` has it expanded: `drain` always advances.
        if accesses > remaining || summary.has(EventSummary::DECIDES) {
            next = Next::after(remaining);
            break;
        }
        remaining -= accesses;
        let from = *at;
        *at += bytes(head);
        // What is around later accesses is known only if calls, returns and allocations are
        // followed. A return may end a wanted function, so the phase is asked for anew.
        if summary.has(EventSummary::CALLS | EventSummary::RESULT | EventSummary::KEPT)
            && follow(thread, summary, head, from)
        {
            break;
        }
    }
    thread.gate.spend(phase, phase.accesses - remaining);
    next
}

/// Does what [`leave_out`] does for the most frequent block records of a thread that is in no
/// wanted function: those that have only accesses, and calls and returns that match. Returns where
/// it ends.
///
/// Where the next block record begins is in the head, so that the processor need not wait for a
/// look-up to know it.
fn skip(thread: &mut Thread, mut at: u64, end: u64, remaining: &mut u64) -> u64 {
    let high = thread.channel.stack_high();
    let within = thread.waiting.calls.is_within();
    let others =
        EventSummary::KEPT | EventSummary::DECIDES | if within { EventSummary::RESULT } else { 0 };
    let mut waiting = thread.waiting.entered;
    while at < end {
        let head = expand::head(at);
        let entry = codes::entry(head);
        if let Some(call) = waiting
            && entry.pc != 0
        {
            let record = entry_record(entry.pc, call, high);
            let (_, depth) = unpack_enter(record);
            if depth == ENTER_DEPTH_UNKNOWN || !thread.gate.wait(record, high - depth * 8) {
                break;
            }
            waiting = None;
        }
        let summary = EventSummary::from_bits(entry.summary);
        let accesses = accesses(thread, head, summary, at);
        let records = unpack_head(head).1;
        if accesses > *remaining || records == 0 || summary.has(others) {
            break;
        }
        if summary.has(EventSummary::CALLS) {
            match movement(head, entry, at) {
                Some(Movement::Call(call)) => waiting = Some(call),
                Some(Movement::Return(pointer)) if thread.gate.cancel_last(pointer) => {}
                _ => break,
            }
        }
        *remaining -= accesses;
        at += (records * RECORD_BYTES) as u64;
    }
    thread.waiting.entered = waiting;
    at
}

/// A call or a return in a block record.
enum Movement {
    /// A function is called: its return address and its stack pointer.
    Call((u64, u64)),
    /// A function with this stack pointer is left.
    Return(u64),
}

/// The call or the return in the block record at `at`, which has one; `None` if it is not found
/// without its descriptor.
#[inline(always)]
fn movement(head: u32, entry: &'static DictionaryEntry, at: u64) -> Option<Movement> {
    if let Some(call) = call(head, at) {
        return Some(Movement::Call(call));
    }
    let block_record = at as *const u64;
    if head & SPECIAL != 0 {
        // SAFETY: the block record has this head.
        let pointer = unsafe { codes::special(head).pointer(block_record) };
        return Some(Movement::Return(pointer));
    }
    let row = codes::last_row(entry)?;
    // SAFETY: rows name only words that their blocks write.
    let word = unsafe { *block_record.add(usize::from(row.words().0)) };
    Some(Movement::Return(word.wrapping_add(row.displacement)))
}

/// Bytes of a block record.
#[inline(always)]
fn bytes(head: u32) -> u64 {
    match unpack_head(head).1 {
        // It is too long for the number in its head.
        0 => 8 * u64::from(codes::descriptor(head).words),
        records => (records * RECORD_BYTES) as u64,
    }
}

/// How many accesses the block record at `at` has.
#[inline(always)]
fn accesses(thread: &Thread, head: u32, summary: EventSummary, at: u64) -> u64 {
    if summary.has(EventSummary::VARIES) {
        expand::count(thread, codes::descriptor(head), at)
    } else {
        summary.hits()
    }
}

/// The record of the function that was entered with this call, and which is around `pc`.
#[inline(always)]
fn entry_record(pc: u64, (back, pointer): (u64, u64), high: u64) -> Record {
    enter_words(pc, back, high.wrapping_sub(pointer) >> 3)
}

/// The function around `pc` is entered while accesses are left out. Whether the thread has entered
/// or left its wanted function with that.
#[inline(always)]
fn enter(thread: &mut Thread, control: &Control, pc: u64, call: (u64, u64)) -> bool {
    let Thread { gate, channel, .. } = thread;
    let high = channel.stack_high();
    let record = entry_record(pc, call, high);
    gate.enter(control, high, record, &mut |records| channel.put(records))
}

/// Follows the call, the return or the allocation in the block record at `at`, which is left out.
/// Whether the thread may have left its wanted function.
fn follow(thread: &mut Thread, summary: EventSummary, head: u32, at: u64) -> bool {
    if let Some(call) = call(head, at) {
        thread.waiting.entered = Some(call);
    }
    let descriptor = codes::descriptor(head);
    if summary.has(EventSummary::KEPT) || thread.waiting.calls.is_within() {
        expand::follow(thread, descriptor, at);
        return descriptor.exit.is_some();
    }
    let Some(exit) = descriptor.exit else {
        return false;
    };
    let record = expand::record(thread, exit, at);
    let Thread { gate, channel, .. } = thread;
    gate.leave(record, &mut |records| channel.put(records))
}

/// The call in the block record at `at`, if it has one.
#[inline(always)]
fn call(head: u32, at: u64) -> Option<(u64, u64)> {
    if head & SPECIAL == 0 {
        return None;
    }
    let special = codes::special(head);
    // SAFETY: the block record has this head.
    special
        .enters
        .then(|| unsafe { special.call(at as *const u64) })
}

/// Sends block records from `at` on, whose accesses are recorded. Leaves `at` where it ends.
pub fn send(thread: &mut Thread, control: &Control, phase: Phase, at: &mut u64, end: u64) -> Next {
    let wants_functions = control.functions.load(Ordering::Relaxed) != 0;
    let within = thread.waiting.calls.is_within();
    let high = thread.channel.stack_high();
    let mut waiting = thread.waiting.entered;
    let mut remaining = phase.accesses;
    let mut next = Next::Decide;
    let start = *at;
    while *at < end {
        let head = expand::head(*at);
        let entry = codes::entry(head);
        let accesses = accesses(thread, head, EventSummary::from_bits(entry.summary), *at);
        let must_be_expanded =
            head & SPECIAL != 0 && expand::must_be_expanded(codes::special(head), within);
        if must_be_expanded || accesses > remaining {
            next = Next::after(remaining);
            break;
        }
        // The call before is of the function around this block; stubs belong to none.
        let begun = waiting.filter(|_| entry.pc != 0);
        // A thread records only within its wanted function: where that ends, in this block or by
        // the call before, the gate has to see each access.
        if wants_functions {
            let record = begun.map(|call| entry_record(entry.pc, call, high));
            let exit = codes::descriptor(head).exit;
            let exit = exit.map(|exit| expand::record(thread, exit, *at).word0);
            if !thread.gate.goes_on(high, record, exit) {
                next = Next::Expand;
                break;
            }
        }
        // What waits is kept here only to know functions; `send_block_records` sends the calls.
        if begun.is_some() {
            waiting = None;
        }
        waiting = call(head, *at).or(waiting);
        remaining -= accesses;
        *at += bytes(head);
    }
    thread.gate.spend(phase, phase.accesses - remaining);
    expand::send_block_records(thread, start, *at);
    next
}

#[cfg(test)]
#[path = "runs/tests.rs"]
mod tests;
