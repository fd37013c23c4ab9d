//! Announces the files with code that are mapped in the process (the program and its libraries),
//! with the addresses that the dynamic loader reports. The analysing side needs them to find the
//! names of functions; the stage also learns from here where wanted functions are.

use core::ffi::CStr;

use reuselens_guest::modules::{self, MappedModule};
use reuselens_guest::sys;
use reuselens_wire::{Record, Slot, WireKind};

use crate::quiet;
use crate::segment;
use crate::tls::{DUMMY, tls};
use crate::{stage, thread};

/// Announces all modules through a slot.
///
/// # Safety
/// The slot must be the calling thread's.
pub unsafe fn announce_all(slot: &Slot) {
    modules::for_each(|module| {
        // SAFETY: by the caller; the loader calls this in the same thread.
        unsafe { announce(slot, module) };
        false
    });
}

/// Announces all modules again, after some may have been loaded. The reader ignores those that it
/// knows.
pub fn rescan() {
    let t = tls();
    // SAFETY: this thread's own state.
    unsafe {
        if (*t).busy != 0 || core::ptr::eq((*t).slot, &DUMMY) || segment::is_absent() {
            return;
        }
        (*t).busy = 1;
        let slot = stage::drained_slot(t);
        announce_all(&*slot);
        (*t).busy = 0;
    }
    // At once: other threads may run code that was loaded, and their block records can only be
    // read with the descriptors in the module.
    thread::flush();
}

/// # Safety
/// As for [`announce_all`], with the loader's lock held.
unsafe fn announce(slot: &Slot, module: &MappedModule<'_>) {
    let is_program = module.path.is_empty();
    // The program itself was announced before system calls were forbidden.
    if is_program && quiet::is_quiet() {
        return;
    }
    let mut path = [0_u8; 1024];
    let length = if is_program {
        sys::executable(&mut path)
    } else {
        let length = module.path.len().min(path.len());
        path[..length].copy_from_slice(&module.path[..length]);
        length
    };
    if let Some(segment) = segment::get() {
        let control = &segment.header().control;
        // SAFETY: the loader holds its lock, so it is one thread at a time.
        unsafe { stage::module_mapped(control, &path[..length], module.bias) };
    }
    let (low, high) = module.extent();
    let event = Record::new(WireKind::Module, 0, 0, module.bias);
    // SAFETY: by the caller.
    unsafe { thread::announce(slot, event, &[low, high, length as u64], &path[..length]) };
}

/// A file's device and inode number, by its path; `None` if system calls may not be made.
pub fn identity(path: &[u8]) -> Option<(u64, u64)> {
    if quiet::is_quiet() {
        return None;
    }
    let mut ended = [0_u8; 1025];
    let length = path.len().min(1024);
    ended[..length].copy_from_slice(&path[..length]);
    sys::identity(CStr::from_bytes_until_nul(&ended).ok()?)
}
