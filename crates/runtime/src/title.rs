//! Announces threads and their names. A thread's name is announced when it attaches itself, when it
//! changes its own name, and when it ends, because other threads may have changed it.

use reuselens_wire::{Record, Slot, THREAD_NAME_BYTES, WireKind};

use crate::sys;
use crate::thread::{announce, announce_quietly};

/// A name as the system has it.
struct Name([u8; THREAD_NAME_BYTES]);

impl Name {
    fn own() -> Name {
        Name(sys::thread_name())
    }

    /// Up to the first zero byte.
    fn text(&self) -> &[u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        &self.0[..end.unwrap_or(self.0.len())]
    }
}

/// Announces the calling thread through its slot.
///
/// # Safety
/// The slot must be this thread's.
pub unsafe fn announce_thread(slot: &Slot, stack_low: u64, stack_high: u64) {
    let name = Name::own();
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
    if sys::is_quiet() {
        return;
    }
    let name = Name::own();
    let event = Record::new(WireKind::ThreadName, 0, 0, 0);
    // SAFETY: by the caller.
    unsafe { announce(slot, event, &[name.text().len() as u64], name.text()) };
}

/// The calling thread has changed its name: announces the new one.
pub fn changed() {
    if sys::is_quiet() {
        return;
    }
    let name = Name::own();
    let operands = [name.text().len() as u64];
    announce_quietly(WireKind::ThreadName, 0, 0, &operands, name.text());
}
