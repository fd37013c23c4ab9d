//! Runs of block records about which the gate decides at once: they are left out or sent without
//! a look at each of their accesses.
//!
//! A run ends before the block record in which what is recorded may change: because the accesses
//! of the phase end in it, because it marks a region or begins or ends a wanted function. That one
//! is expanded ([`super::put`]), so that it is known which of its accesses are recorded. What both
//! ways leave out and pass on is the same; a test compares them.

use core::sync::atomic::Ordering;

use reuselens_wire::{Control, Phase, Record, SPECIAL, enter_words};

use crate::image::codes;
use crate::image::descriptor::{Counting, Descriptor};
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
    let high = thread.channel.stack_high();
    let mut left = phase.accesses;
    let mut next = Next::Decide;
    while *at < end {
        let head = expand::head(*at);
        let descriptor = codes::descriptor(head);
        if let Some(call) = thread.waiting.entered
            && !descriptor.stub
        {
            thread.waiting.entered = None;
            if enter(thread, control, high, entry(descriptor, call, high)) {
                break;
            }
        }
        let accesses = accesses(thread, descriptor, *at);
        if accesses > left || descriptor.counting == Counting::Each {
            next = Next::after(left);
            break;
        }
        left -= accesses;
        let bytes = 8 * u64::from(descriptor.words);
        let is_over = match descriptor.counting {
            Counting::Known => {
                *at += skip_repeated(*at + bytes, end, head, accesses, bytes, &mut left);
                false
            }
            Counting::Calls => call_or_return(thread, descriptor, head, *at),
            Counting::Results if !thread.waiting.calls.is_within() => {
                call_or_return(thread, descriptor, head, *at)
            }
            _ => {
                expand::follow(thread, descriptor, *at);
                // It may have left the wanted function.
                descriptor.exit.is_some()
            }
        };
        *at += bytes;
        if is_over {
            break;
        }
    }
    thread.gate.spend(phase, phase.accesses - left);
    next
}

/// How many accesses the block record at `at` has.
#[inline(always)]
fn accesses(thread: &Thread, descriptor: &Descriptor, at: u64) -> u64 {
    if descriptor.counting >= Counting::Words {
        expand::count(thread, descriptor, at)
    } else {
        u64::from(descriptor.hits)
    }
}

/// Skips block records with the head `head` from `at` on, as long as `left` covers their accesses.
/// Returns their bytes. Loops write many with the same head.
#[inline(always)]
fn skip_repeated(at: u64, end: u64, head: u32, accesses: u64, bytes: u64, left: &mut u64) -> u64 {
    let mut skipped = 0;
    while at + skipped < end && expand::head(at + skipped) == head && accesses <= *left {
        skipped += bytes;
        *left -= accesses;
    }
    skipped
}

/// The record of the function that was entered with `call`, and to which a block belongs.
#[inline(always)]
fn entry(descriptor: &Descriptor, (back, pointer): (u64, u64), high: u64) -> Record {
    enter_words(descriptor.pc, back, high.wrapping_sub(pointer) >> 3)
}

/// A function is entered while accesses are left out. Whether the thread has entered or left its
/// wanted function with that.
#[inline(always)]
fn enter(thread: &mut Thread, control: &Control, high: u64, entry: Record) -> bool {
    let Thread { gate, channel, .. } = thread;
    gate.enter(control, high, entry, &mut |records| channel.put(records))
}

/// A block that is left out calls a function or returns from one. Whether the thread has left its
/// wanted function.
#[inline(always)]
fn call_or_return(thread: &mut Thread, descriptor: &Descriptor, head: u32, at: u64) -> bool {
    if let Some(call) = call(head, at) {
        thread.waiting.entered = Some(call);
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
    let mut left = phase.accesses;
    let mut next = Next::Decide;
    let start = *at;
    while *at < end {
        let head = expand::head(*at);
        let descriptor = codes::descriptor(head);
        let accesses = accesses(thread, descriptor, *at);
        let must_be_expanded =
            head & SPECIAL != 0 && expand::must_be_expanded(codes::special(head), within);
        if must_be_expanded || accesses > left {
            next = Next::after(left);
            break;
        }
        let begun = waiting.filter(|_| !descriptor.stub);
        if wants_functions {
            let entry = begun.map(|call| entry(descriptor, call, high));
            let exit = descriptor
                .exit
                .map(|exit| expand::record(thread, exit, *at).word0);
            if !thread.gate.goes_on(high, entry, exit) {
                next = Next::Expand;
                break;
            }
        }
        if begun.is_some() {
            waiting = None;
        }
        waiting = call(head, *at).or(waiting);
        left -= accesses;
        *at += 8 * u64::from(descriptor.words);
    }
    thread.gate.spend(phase, phase.accesses - left);
    expand::send_block_records(thread, start, *at);
    next
}

#[cfg(test)]
#[path = "runs/tests.rs"]
mod tests;
