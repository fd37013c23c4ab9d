//! Writable pages that code was translated from: they are protected until they are written to, so that no change of code
//! goes unseen. Code in shared memory may be written through other mappings of it: their pages are protected too.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::sync::atomic::Ordering;

use super::codes::CODES;
use super::lock::Lock;
use super::maps::{self, Mapping};
use super::segment::Segment;
use super::sys;

const READ: u64 = 1;
const WRITE: u64 = 2;
const EXECUTE: u64 = 4;

/// Pages that are protected.
static WATCHED: Lock<Watched> = Lock::new(Watched {
    pages: BTreeMap::new(),
    shared: BTreeSet::new(),
});

struct Watched {
    pages: BTreeMap<u64, Page>,
    /// Pages of code in shared memory all of whose writable mappings are protected.
    shared: BTreeSet<u64>,
}

/// A page that was writable.
struct Page {
    /// What it may have again once it is written to.
    rights: u64,
    /// Pages of code that lie in the same memory.
    code: Vec<u64>,
}

impl Watched {
    /// Protects a page against writes, which would change code on page `code`.
    fn protect(&mut self, page: u64, rights: u64, code: u64) {
        let known = self.pages.contains_key(&page);
        let entry = self.pages.entry(page).or_insert(Page {
            rights,
            code: Vec::new(),
        });
        if !entry.code.contains(&code) {
            entry.code.push(code);
        }
        if !known {
            set_rights(page, rights & !WRITE);
        }
    }
}

fn set_rights(page: u64, rights: u64) {
    // SAFETY: a page of the program's that it may write; it gets that back when it does.
    unsafe { sys::call(sys::MPROTECT, [page << 12, 4096, rights, 0, 0, 0]) };
}

fn rights(mapping: &Mapping) -> u64 {
    let right = |has: bool, right: u64| if has { right } else { 0 };
    right(mapping.readable, READ)
        | right(mapping.writable, WRITE)
        | right(mapping.executable, EXECUTE)
}

/// What is thrown away where pages of code have changed.
fn discard(pages: impl IntoIterator<Item = u64>) {
    for page in pages {
        CODES.lock().discard(page << 12, (page + 1) << 12);
    }
}

/// Protects the page of an address, which code is translated from, against writes that go unseen, and the next page, into which
/// that code may go on; each if it may be written, here or through another mapping.
pub fn watch(address: u64) {
    let page = address >> 12;
    for page in [page, page + 1] {
        let found = maps::with_code(page << 12, |mapping| {
            (mapping.writable, mapping.shared, rights(mapping))
        });
        let Some((writable, shared, rights)) = found else {
            continue;
        };
        {
            let mut watched = WATCHED.lock();
            // What is watched already, as other code's, is not writable, as the kernel sees it.
            if writable || watched.pages.contains_key(&page) {
                watched.protect(page, rights, page);
            }
        }
        if shared {
            watch_others(page);
        }
    }
}

/// Protects all other mappings through which a page of code in shared memory may be written.
fn watch_others(code: u64) {
    if WATCHED.lock().shared.contains(&code) {
        return;
    }
    if let Some(segment) = Segment::get() {
        segment.header().shared_code.store(1, Ordering::Relaxed);
    }
    let all = maps::all();
    let address = code << 12;
    let Some(own) = all
        .iter()
        .find(|own| own.low <= address && address < own.high)
    else {
        return;
    };
    let offset = own.offset + (address - own.low);
    let mut watched = WATCHED.lock();
    for other in all
        .iter()
        .filter(|other| other.shared && other.file == own.file)
    {
        let place = offset.wrapping_sub(other.offset);
        let page = (other.low + place) >> 12;
        let writable = other.writable || watched.pages.contains_key(&page);
        if place < other.high - other.low && page != code && writable {
            watched.protect(page, rights(other) | WRITE, code);
        }
    }
    watched.shared.insert(code);
}

/// Whether a fault was the program's write to a page that is watched; it may write there from now on.
pub fn unwatch(address: u64) -> bool {
    let page = address >> 12;
    let Some(watched) = WATCHED.lock().remove(page) else {
        return false;
    };
    discard(watched.code);
    set_rights(page, watched.rights);
    // What was read of the mappings meanwhile says that the page is not writable.
    maps::forget();
    true
}

impl Watched {
    fn remove(&mut self, page: u64) -> Option<Page> {
        let removed = self.pages.remove(&page)?;
        for code in &removed.code {
            self.shared.remove(code);
        }
        Some(removed)
    }
}

/// The kernel could not write for the program: perhaps only because of us. Whether pages were watched;
/// none is from now on.
pub fn unwatch_all() -> bool {
    let pages = {
        let mut watched = WATCHED.lock();
        watched.shared.clear();
        core::mem::take(&mut watched.pages)
    };
    let any = !pages.is_empty();
    for (page, watched) in pages {
        discard(watched.code);
        set_rights(page, watched.rights);
    }
    maps::forget();
    any
}

/// Memory from `low` to `high` is about to be moved, with the rights that its pages have: they get back what they had.
pub fn release(low: u64, high: u64) {
    let pages: Vec<u64> = {
        let watched = WATCHED.lock();
        let pages = watched.pages.range(low >> 12..high.div_ceil(4096));
        pages.map(|page| *page.0).collect()
    };
    for page in pages {
        unwatch(page << 12);
    }
}

/// Memory from `low` to `high` has got new rights or is gone: it is not watched. Code elsewhere that could be changed there
/// is translated anew, and then it is seen who can change it.
pub fn forget(low: u64, high: u64) {
    let range = low >> 12..high.div_ceil(4096);
    let mut elsewhere = Vec::new();
    {
        let mut watched = WATCHED.lock();
        let gone: Vec<u64> = watched
            .pages
            .range(range.clone())
            .map(|page| *page.0)
            .collect();
        for page in gone {
            let codes = watched.remove(page).map_or(Vec::new(), |page| page.code);
            elsewhere.extend(codes.into_iter().filter(|code| !range.contains(code)));
        }
        watched.shared.retain(|code| !range.contains(code));
    }
    discard(elsewhere);
}

/// Shared memory may be written in another place from now on: code in such memory is translated anew, and then that place is
/// found.
pub fn renew() {
    let shared = core::mem::take(&mut WATCHED.lock().shared);
    discard(shared);
}

/// Holds the lock of this module, for a fork.
pub fn hold() -> impl Sized {
    WATCHED.lock()
}
