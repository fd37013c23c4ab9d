//! Announces threads and their names. A thread's name is announced when it attaches itself, when it
//! changes its own name, and when it ends, because other threads may have changed it.

use reuselens_guest::sys;
use reuselens_guest::thread_name::ThreadName;
use reuselens_wire::{Record, Slot, WireKind};

use crate::quiet;
use crate::thread::{announce, announce_quietly};

/// Announces the calling thread through its slot.
///
/// # Safety
/// The slot must be this thread's.
pub unsafe fn announce_thread(slot: &Slot, stack_low: u64, stack_high: u64) {
    let name = ThreadName::own();
    let event = Record::new(WireKind::Thread, 0, 0, u64::from(sys::tid()));
    let operands = [stack_low, stack_high, name.text().len() as u64];
    // SAFETY: by the caller.
    unsafe { announce(slot, event, &operands, name.text()) };
}

/// Announces the calling thread's current name through its slot, if system calls may be made.
///
/// # Safety
/// The slot must be this thread's.
pub unsafe fn announce_name(slot: &Slot) {
    if quiet::is_quiet() {
        return;
    }
    let name = ThreadName::own();
    let event = Record::new(WireKind::ThreadName, 0, 0, 0);
    // SAFETY: by the caller.
    unsafe { announce(slot, event, &[name.text().len() as u64], name.text()) };
}

/// The calling thread has changed its name: announces the new one.
pub fn changed() {
    if quiet::is_quiet() {
        return;
    }
    let name = ThreadName::own();
    let operands = [name.text().len() as u64];
    announce_quietly(WireKind::ThreadName, 0, 0, &operands, name.text());
}
