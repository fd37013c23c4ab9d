//! Writes of the program to its own memory by way of the file `/proc/self/mem`, which change code
//! without a fault, even on pages that may not be written to. Generators of code write so: Julia's,
//! for one.
//!
//! Once the program has opened such a file, each call that writes to a file asks which file it is.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};

use reuselens_guest::digits::decimal;
use reuselens_guest::sys;

use super::{watch, writes};

/// Whether the program has ever opened such a file for writing.
static OPENED: AtomicBool = AtomicBool::new(false);

/// The position from which the next call reads or writes is the file's own.
const CURRENT: u64 = u64::MAX;

/// The program has opened file `fd` by the call `number` with these arguments.
pub fn opened(number: u64, [_, two, three]: [u64; 3], fd: u64) {
    const ACCESS: u64 = 3;
    let may_write = match number {
        sys::OPEN => two & ACCESS != 0,
        sys::OPENAT => three & ACCESS != 0,
        // The flags are in memory.
        _ => true,
    };
    if may_write && is_memory(fd) {
        OPENED.store(true, Ordering::SeqCst);
    }
}

/// Whether a file is the memory of a process: this one, perhaps.
fn is_memory(fd: u64) -> bool {
    let mut path = *b"/proc/thread-self/fd/          \0";
    const NUMBER: usize = 21;
    let digits = decimal(fd as u32, &mut path[NUMBER..]);
    path[NUMBER + digits] = 0;
    let Ok(path) = CStr::from_bytes_until_nul(&path) else {
        return false;
    };
    let mut target = [0; 64];
    let length = sys::read_link(path, &mut target);
    target[..length].ends_with(b"/mem")
}

/// System call `number` of the program: makes it, and returns its result, if it writes to such a
/// file. The code that it may overwrite is discarded.
pub fn before(number: u64, arguments: [u64; 6]) -> Option<i64> {
    if !OPENED.load(Ordering::Relaxed) {
        return None;
    }
    let [fd, from, count, offset, ..] = arguments;
    let (bytes, offset) = match number {
        sys::WRITE => (count, CURRENT),
        sys::PWRITE => (count, offset),
        sys::WRITEV => (writes::length(from, count), CURRENT),
        sys::PWRITEV | sys::PWRITEV2 => (writes::length(from, count), offset),
        _ => return None,
    };
    if !is_memory(fd) {
        return None;
    }
    let low = if offset == CURRENT {
        position(fd)
    } else {
        offset
    };
    // SAFETY: the program's own call.
    let call = || unsafe { sys::call(number, arguments) };
    let high = low.saturating_add(bytes);
    Some(watch::changes((low, high), call, |codes| {
        codes.discard(low, high);
    }))
}

/// The position of a file.
fn position(fd: u64) -> u64 {
    const FROM_CURRENT: u64 = 1;
    // SAFETY: moves nothing.
    unsafe { sys::call(sys::LSEEK, [fd, 0, FROM_CURRENT, 0, 0, 0]) as u64 }
}
