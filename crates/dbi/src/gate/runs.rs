//! Runs of block records about which the gate decides at once: they are left out or sent without
//! a look at each of their accesses.
//!
//! A run ends before the block record in which what is recorded may change: because the accesses
//! of the phase end in it, because it marks a region or begins or ends a wanted function. That one
//! is expanded ([`super::put`]), so that it is known which of its accesses are recorded. What both
//! ways leave out and pass on is the same; a test compares them.

use core::sync::atomic::Ordering;

use reuselens_wire::{Control, Phase, RECORD_BYTES, Record, SPECIAL, enter_words, unpack_head};

use crate::image::codes;
use crate::image::descriptor::{Counting, Summary};
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
    /// What is to be done at a block record that does not belong to the run, with `left` accesses
    /// of the phase left. If there is none, the next phase may be like this one.
    fn after(left: u64) -> Next {
        if left == 0 {
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
    let mut left = phase.accesses;
    let mut next = Next::Decide;
    loop {
        if thread.waiting.entered.is_none() {
            *at = skip_known(*at, end, &mut left);
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
        let summary = Summary::from_bits(entry.summary);
        let accesses = accesses(thread, head, summary, *at);
        if accesses > left || summary.is(Counting::Each) {
            next = Next::after(left);
            break;
        }
        left -= accesses;
        let from = *at;
        *at += bytes(head);
        let is_simple = !summary.is(Counting::Words)
            && !(summary.is(Counting::Results) && thread.waiting.calls.is_within());
        let is_over = if is_simple {
            call_or_return(thread, head, from)
        } else {
            let descriptor = codes::descriptor(head);
            expand::follow(thread, descriptor, from);
            // It may have left the wanted function.
            descriptor.exit.is_some()
        };
        if is_over {
            break;
        }
    }
    thread.gate.spend(phase, phase.accesses - left);
    next
}

/// Skips block records from `at` on that have nothing but accesses whose number is known, as long
/// as `left` covers these. Returns where it ends.
///
/// Where the next block record begins is in the head, so that the processor need not wait for a
/// look-up to know it.
#[inline(always)]
fn skip_known(mut at: u64, end: u64, left: &mut u64) -> u64 {
    while at < end {
        let head = expand::head(at);
        if head & SPECIAL != 0 {
            break;
        }
        let summary = Summary::from_bits(codes::entry(head).summary);
        if !summary.is(Counting::Known) || summary.hits() > *left {
            break;
        }
        *left -= summary.hits();
        at += (unpack_head(head).1 * RECORD_BYTES) as u64;
    }
    at
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
fn accesses(thread: &Thread, head: u32, summary: Summary, at: u64) -> u64 {
    if summary.is(Counting::Words) {
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

/// A block that is left out calls a function, returns from one, or neither. Whether the thread has
/// left its wanted function.
#[inline(always)]
fn call_or_return(thread: &mut Thread, head: u32, at: u64) -> bool {
    if let Some(call) = call(head, at) {
        thread.waiting.entered = Some(call);
        return false;
    }
    let Some(exit) = codes::descriptor(head).exit else {
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
    let mut left = phase.accesses;
    let mut next = Next::Decide;
    let start = *at;
    while *at < end {
        let head = expand::head(*at);
        let entry = codes::entry(head);
        let accesses = accesses(thread, head, Summary::from_bits(entry.summary), *at);
        let must_be_expanded =
            head & SPECIAL != 0 && expand::must_be_expanded(codes::special(head), within);
        if must_be_expanded || accesses > left {
            next = Next::after(left);
            break;
        }
        let begun = waiting.filter(|_| entry.pc != 0);
        if wants_functions {
            let record = begun.map(|call| entry_record(entry.pc, call, high));
            let exit = codes::descriptor(head).exit;
            let exit = exit.map(|exit| expand::record(thread, exit, *at).word0);
            if !thread.gate.goes_on(high, record, exit) {
                next = Next::Expand;
                break;
            }
        }
        if begun.is_some() {
            waiting = None;
        }
        waiting = call(head, *at).or(waiting);
        left -= accesses;
        *at += bytes(head);
    }
    thread.gate.spend(phase, phase.accesses - left);
    expand::send_block_records(thread, start, *at);
    next
}

#[cfg(test)]
#[path = "runs/tests.rs"]
mod tests;
