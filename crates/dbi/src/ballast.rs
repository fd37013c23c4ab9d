//! Ballast: mappings that nobody needs. The system limits the mappings of a process
//! (`vm.max_map_count`). A program that uses them all up goes on natively, but the rewriter needs
//! some mappings later: a protected page of code, the guard of a new thread's buffer. It gives up a
//! part of the ballast for each ([`drop_some`]).
//!
//! Most programs have a few hundred mappings, so the ballast is laid only once a program has made
//! many calls that may add one ([`note_call`]). Each page of it with rights is a mapping, and so is
//! each page between two of these.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use reuselens_guest::sys;

use super::memory;

/// How many calls a program makes before the ballast is laid. Each adds two mappings at most.
const CALLS: u32 = 8 << 10;
/// Pages of ballast: half of them have rights.
const PAGES: u64 = 128;
/// Pages that are given up at a time.
const PART: u64 = 16;

/// Calls that may have added a mapping, up to [`CALLS`].
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Where the ballast begins.
static BEGIN: AtomicU64 = AtomicU64::new(0);
/// Pages that are left.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// The program is about to make a system call: counts it if it may add a mapping.
pub fn note_call(number: u64) {
    if !matches!(
        number,
        sys::MMAP | sys::MPROTECT | sys::MUNMAP | sys::MREMAP | sys::MADVISE | sys::PKEY_MPROTECT
    ) {
        return;
    }
    // Threads that count at the same time may miss a call.
    let count = COUNT.load(Ordering::Relaxed);
    if count < CALLS {
        COUNT.store(count + 1, Ordering::Relaxed);
        if count + 1 == CALLS {
            lay();
        }
    }
}

fn lay() {
    let begin = memory::reserve(PAGES * 4096, 4096);
    for page in (0..PAGES).step_by(2) {
        let at = begin + page * 4096;
        // SAFETY: our own address space, which nobody uses.
        unsafe { sys::call(sys::MPROTECT, [at, 4096, sys::PROT_READ, 0, 0, 0]) };
    }
    BEGIN.store(begin, Ordering::Relaxed);
    LEFT.store(PAGES, Ordering::Release);
}

/// Gives up a part of the ballast, so that a few mappings can be added; false if none is left.
pub fn drop_some() -> bool {
    let order = Ordering::AcqRel;
    let taken = LEFT.fetch_update(order, Ordering::Acquire, |left| left.checked_sub(PART));
    let Ok(left) = taken else {
        return false;
    };
    let at = BEGIN.load(Ordering::Relaxed) + (left - PART) * 4096;
    // SAFETY: as above. The part begins and ends where mappings do, so that no mapping is added.
    unsafe { sys::call(sys::MPROTECT, [at, PART * 4096, 0, 0, 0, 0]) == 0 }
}
