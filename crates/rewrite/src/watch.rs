//! Writable pages of the program that code was translated from: they are protected until they are
//! written to, so that no change of code goes unseen.

use alloc::collections::BTreeSet;

use super::codes::CODES;
use super::lock::Lock;
use super::{maps, sys};

/// Rights of a page that may be written and run.
const ALL: u64 = 7;
/// Writable pages of the program that code was translated from: protected until they are written to.
static WATCHED: Lock<BTreeSet<u64>> = Lock::new(BTreeSet::new());

/// Protects the page of an address, which code is translated from, against writes that go unseen, and the next page, into which
/// that code may go on; each if it may be written.
pub fn watch(address: u64) {
    const READ_EXECUTE: u64 = 5;
    let page = address >> 12;
    let written =
        [page, page + 1].map(|page| maps::code_around(page << 12).is_some_and(|found| found.2));
    let mut watched = WATCHED.lock();
    for (page, written) in (page..).zip(written) {
        if written && watched.insert(page) {
            // SAFETY: a page of the program's that it may write; it gets that back when it does.
            unsafe { sys::call(sys::MPROTECT, [page << 12, 4096, READ_EXECUTE, 0, 0, 0]) };
        }
    }
}

/// Whether a fault was the program's write to a page that is watched; it may write there from now on.
pub fn unwatch(address: u64) -> bool {
    let page = address >> 12;
    if !WATCHED.lock().remove(&page) {
        return false;
    }
    CODES.lock().discard(page << 12, (page + 1) << 12);
    // SAFETY: what the page had before it was watched.
    unsafe { sys::call(sys::MPROTECT, [page << 12, 4096, ALL, 0, 0, 0]) };
    // What was read of the mappings meanwhile says that the page is not writable.
    maps::forget();
    true
}

/// The kernel could not write for the program: perhaps only because of us. Whether pages were watched;
/// none is from now on.
pub fn unwatch_all() -> bool {
    let pages = core::mem::take(&mut *WATCHED.lock());
    for page in &pages {
        CODES.lock().discard(page << 12, (page + 1) << 12);
        // SAFETY: as in `unwatch`.
        unsafe { sys::call(sys::MPROTECT, [page << 12, 4096, ALL, 0, 0, 0]) };
    }
    maps::forget();
    !pages.is_empty()
}

/// Memory from `low` to `high` has got new rights or is gone: it is not watched.
pub fn forget(low: u64, high: u64) {
    WATCHED
        .lock()
        .retain(|page| !(low >> 12..high.div_ceil(4096)).contains(page));
}

/// Holds the lock of this module, for a fork.
pub fn hold() -> impl Sized {
    WATCHED.lock()
}
