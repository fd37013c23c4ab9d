//! Announces the files with code that are mapped in the process (the program and its libraries),
//! with the addresses that the dynamic loader reports. The analysing side needs them to find the
//! names of functions; the stage also learns from here where wanted functions are.

use core::ffi::{CStr, c_char, c_int, c_void};

use reuselens_guest::sys;
use reuselens_wire::{Record, Slot, WireKind};

use crate::quiet;
use crate::segment;
use crate::tls::{DUMMY, tls};
use crate::{stage, thread};

#[repr(C)]
struct ProgramHeader {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    file_bytes: u64,
    memory_bytes: u64,
    align: u64,
}

#[repr(C)]
struct Info {
    bias: u64,
    name: *const c_char,
    headers: *const ProgramHeader,
    header_count: u16,
    adds: u64,
    subs: u64,
}

unsafe extern "C" {
    fn dl_iterate_phdr(
        each: unsafe extern "C" fn(*const Info, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// Announces all modules through a slot.
pub fn announce_all(slot: &Slot) {
    // SAFETY: the callback only reads what it is given and writes to this thread's slot.
    unsafe { dl_iterate_phdr(each, core::ptr::from_ref(slot).cast_mut().cast()) };
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

unsafe extern "C" fn each(info: *const Info, _: usize, slot: *mut c_void) -> c_int {
    const LOAD: u32 = 1;
    // SAFETY: the loader passes a valid description; the slot is the one given above.
    unsafe {
        let info = &*info;
        let headers = core::slice::from_raw_parts(info.headers, usize::from(info.header_count));
        let loads = headers.iter().filter(|header| header.kind == LOAD);
        let low = loads
            .clone()
            .map(|header| header.address)
            .min()
            .unwrap_or(0);
        let high = loads
            .map(|header| header.address + header.memory_bytes)
            .max()
            .unwrap_or(0);
        let mut path = [0_u8; 1024];
        let name = CStr::from_ptr(info.name).to_bytes();
        // No name: the program itself. It was announced before system calls were forbidden.
        if name.is_empty() && quiet::is_quiet() {
            return 0;
        }
        let length = if name.is_empty() {
            sys::executable(&mut path)
        } else {
            let length = name.len().min(path.len());
            path[..length].copy_from_slice(&name[..length]);
            length
        };
        let operands = [info.bias + low, info.bias + high, length as u64];
        let slot = &*slot.cast::<Slot>();
        if let Some(segment) = segment::get() {
            stage::module_mapped(&segment.header().control, &path[..length], info.bias);
        }
        let event = Record::new(WireKind::Module, 0, 0, info.bias);
        thread::announce(slot, event, &operands, &path[..length]);
    }
    0
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
