//! Control: leaves out what the analysing side does not want, where it does not want everything
//! (see `gate` and `control` of the crate `wire`).
//!
//! Blocks write block records whether they are wanted or not: that is cheap, and no code needs to
//! be translated again when recording begins. Unwanted accesses are counted and dropped when the
//! buffer is emptied: runs of block records at once ([`drain`]), and those in which something
//! changes record by record ([`put`]).

use core::sync::atomic::Ordering;

use reuselens_guest::sys;
use reuselens_wire::{Control, Gate, REGION_BYTES, Record, RecordingScope};

use super::segment;
use super::thread::Thread;
use runs::Next;

#[path = "gate/runs.rs"]
mod runs;

/// What is to be recorded; `None` once recording has ended.
pub fn control() -> Option<&'static Control> {
    segment::get().map(|segment| &segment.header().control)
}

/// The gate of a thread that starts within `scope`.
pub const fn new(scope: RecordingScope) -> Gate {
    Gate::new(scope).with_own_exits()
}

/// A thread begins: sets whether its records have to be checked against the control.
pub fn begin(thread: &mut Thread) {
    thread.gated = control().is_some_and(|control| control.active.load(Ordering::Relaxed) != 0);
}

/// In the child of a fork: it is in the same regions as its parent, and has claimed no numbers.
pub fn fork(thread: &mut Thread) {
    thread.gate = new(thread.gate.scope());
}

/// Whether everything is wanted for now. If so, sends the waiting function entries.
fn is_direct(thread: &mut Thread, control: &Control) -> bool {
    let direct = thread.gate.is_direct(control);
    if direct {
        flush(thread);
    }
    direct
}

/// Sends the waiting function entries.
pub fn flush(thread: &mut Thread) {
    let Thread { gate, channel, .. } = thread;
    gate.flush(&mut |records| channel.put(records));
}

/// Writes those of these records that are wanted.
pub fn put(thread: &mut Thread, records: &[Record]) {
    let Some(control) = control() else {
        return;
    };
    if is_direct(thread, control) {
        return thread.channel.put(records);
    }
    let high = thread.channel.stack_high();
    let Thread { gate, channel, .. } = thread;
    gate.sort(control, high, records, &mut |run| channel.put(run));
}

/// Sends or drops the block records from `at` on, up to the first in which what is recorded may
/// change. Returns the address of that, which has to be expanded, or `end`; that of the first from
/// which everything is wanted, if so.
pub fn drain(thread: &mut Thread, mut at: u64, end: u64) -> u64 {
    let Some(control) = control() else {
        return at;
    };
    while at < end && !is_direct(thread, control) {
        let phase = thread.gate.phase(control);
        let changes = phase.recorded != thread.gate.was_recorded();
        if changes || thread.gate.begins_part(phase) {
            return at;
        }
        let expected = if phase.recorded {
            runs::send(thread, control, phase, &mut at, end)
        } else {
            runs::leave_out(thread, control, phase, &mut at, end)
        };
        if expected == Next::Expand {
            return at;
        }
    }
    at
}

/// Adds what was left out to the count of all threads.
pub fn report(thread: &mut Thread) {
    if let Some(control) = control() {
        thread.gate.report(control);
    }
}

/// Whether recording has stopped for good.
pub fn is_stopped() -> bool {
    segment::ever().is_some_and(|segment| segment.header().control.is_stopped())
}

/// A region begins. Its name is at address `name`: `length` bytes, or, if that is 0, up to a zero
/// byte.
pub fn begin_region(thread: &mut Thread, name: u64, length: u64) {
    let Some(control) = control() else {
        return;
    };
    let mut bytes = [0; REGION_BYTES];
    let found = text(name, length, &mut bytes);
    thread
        .gate
        .begin_region(control, bytes[..found].trim_ascii_end());
}

/// The region begun last ends.
pub fn end_region(thread: &mut Thread) {
    thread.gate.end_region();
}

/// A wanted function begins, with this stack pointer.
pub fn enter_function(thread: &mut Thread, pointer: u64) {
    if let Some(control) = control() {
        thread.gate.enter_function(control, pointer);
    }
}

/// Whether only accesses within regions are recorded.
pub fn wants_regions() -> bool {
    control().is_some_and(|control| control.regions.load(Ordering::Relaxed) != 0)
}

/// Copies a name from the program's memory and returns its length.
fn text(at: u64, length: u64, into: &mut [u8; REGION_BYTES]) -> usize {
    if at == 0 {
        return 0;
    }
    let most = match length as usize {
        0 => into.len(),
        length => length.min(into.len()),
    };
    // The next page may not be mapped.
    let page = (4096 - at % 4096).min(most as u64) as usize;
    if !sys::peek(at, &mut into[..page]) {
        return 0;
    }
    let ends = |bytes: &[u8]| bytes.iter().position(|byte| *byte == 0);
    if length == 0
        && let Some(end) = ends(&into[..page])
    {
        return end;
    }
    let all = page == most || sys::peek(at + page as u64, &mut into[page..most]);
    let found = if all { most } else { page };
    if length == 0 {
        ends(&into[..found]).unwrap_or(found)
    } else {
        found
    }
}

#[cfg(test)]
#[path = "gate/tests.rs"]
mod tests;
