//! Writable pages that code was translated from: they are protected until they are written to, so
//! that no change of code goes unseen. Code in shared memory may be written through other mappings
//! of it: their pages are protected too.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::DerefMut;
use core::sync::atomic::{AtomicBool, Ordering};

use super::codes::{CODES, Codes};
use super::lock::Lock;
use super::maps::{self, Mapping};
use super::segment;
use super::sys;

const READ: u64 = 1;
const WRITE: u64 = 2;
const EXECUTE: u64 = 4;

/// Pages that are protected.
static WATCHED: Lock<Watched> = Lock::new(Watched {
    pages: BTreeMap::new(),
    shared: BTreeSet::new(),
});

static USED: AtomicBool = AtomicBool::new(false);

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
            USED.store(true, Ordering::SeqCst);
            set_rights(page, rights & !WRITE);
        }
    }

    /// Protects all other mappings through which a page of code may be written.
    fn watch_others(&mut self, code: u64) {
        if self.shared.contains(&code) {
            return;
        }
        if let Some(segment) = segment::get() {
            segment.header().shared_code.store(1, Ordering::Relaxed);
        }
        let Some(all) = maps::all() else {
            return;
        };
        let address = code << 12;
        let Some(own) = all
            .iter()
            .find(|own| own.low <= address && address < own.high)
        else {
            return;
        };
        let offset = own.offset + (address - own.low);
        for other in all
            .iter()
            .filter(|other| other.shared && other.file == own.file)
        {
            let place = offset.wrapping_sub(other.offset);
            let page = other.low.wrapping_add(place) >> 12;
            let writable = other.writable || self.pages.contains_key(&page);
            if place < other.high - other.low && page != code && writable {
                self.protect(page, rights(other) | WRITE, code);
            }
        }
        self.shared.insert(code);
    }

    /// The pages that are watched in a range of memory.
    fn within(&self, low: u64, high: u64) -> Vec<u64> {
        if high <= low {
            return Vec::new();
        }
        let pages = self.pages.range(low >> 12..high.div_ceil(4096));
        pages.map(|page| *page.0).collect()
    }

    /// Whether anything is watched in a range of memory, or code there elsewhere.
    fn knows(&self, low: u64, high: u64) -> bool {
        let range = low >> 12..high.div_ceil(4096);
        if range.is_empty() {
            return false;
        }
        self.pages.range(range.clone()).next().is_some()
            || self.shared.range(range).next().is_some()
    }

    fn remove(&mut self, page: u64) -> Option<Page> {
        let removed = self.pages.remove(&page)?;
        for code in &removed.code {
            self.shared.remove(code);
        }
        Some(removed)
    }

    /// Memory from `low` to `high` is not watched any more, nor code elsewhere that could be
    /// changed there.
    fn forget(&mut self, codes: &mut Codes, low: u64, high: u64) {
        let range = low >> 12..high.div_ceil(4096);
        for page in self.within(low, high) {
            let code = self.remove(page).map_or(Vec::new(), |page| page.code);
            let elsewhere = code.into_iter().filter(|code| !range.contains(code));
            discard(codes, elsewhere);
        }
        let (gone, left): (BTreeSet<u64>, _) = core::mem::take(&mut self.shared)
            .into_iter()
            .partition(|code| range.contains(code));
        self.shared = left;
        // Nobody would translate it anew where another mapping of it appears.
        discard(codes, gone);
    }

    /// Code in shared memory is translated anew.
    fn renew(&mut self, codes: &mut Codes) {
        discard(codes, core::mem::take(&mut self.shared));
    }

    /// Lets the pages of a range be written; whether any was watched.
    fn let_go(&mut self, codes: &mut Codes, low: u64, high: u64) -> bool {
        let pages = self.within(low, high);
        let any = !pages.is_empty();
        if any {
            self.give_back(codes, pages);
        }
        any
    }

    /// Lets pages be written. The code that was translated from them is gone before anything can be
    /// written there and translated again: all of it happens with the codes locked.
    fn give_back(&mut self, codes: &mut Codes, pages: impl IntoIterator<Item = u64>) {
        for page in pages {
            if let Some(watched) = self.remove(page) {
                discard(codes, watched.code);
                set_rights(page, watched.rights);
            }
        }
        // What was read of the mappings meanwhile says that the pages are not writable.
        maps::forget();
    }
}

/// Locks this module's state. Who does holds the codes, so that no other thread translates from a
/// page between what is done to the page and to its code.
fn lock(_: &mut Codes) -> impl DerefMut<Target = Watched> + use<> {
    WATCHED.lock()
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
fn discard(codes: &mut Codes, pages: impl IntoIterator<Item = u64>) {
    for page in pages {
        codes.discard(page << 12, (page + 1) << 12);
    }
}

/// Whether any page has ever been protected. Most programs have no code that could be written.
pub fn is_used() -> bool {
    USED.load(Ordering::SeqCst)
}

/// Protects the page of an address, which code is about to be translated from, against writes that
/// go unseen, and the next page, into which that code may go on; each if it may be written, here or
/// through another mapping.
pub fn watch(codes: &mut Codes, address: u64) {
    let mut watched = lock(codes);
    let page = address >> 12;
    for page in [page, page + 1] {
        let found = maps::with_code(page << 12, |mapping| {
            (mapping.writable, mapping.changes, rights(mapping))
        });
        let Some((writable, changes, rights)) = found else {
            continue;
        };
        // What is watched already, as other code's, is not writable, as the kernel sees it.
        if writable || watched.pages.contains_key(&page) {
            watched.protect(page, rights, page);
        }
        if changes {
            watched.watch_others(page);
        }
    }
}

/// Whether a fault was the program's write to a page that is watched, or was until now; it may
/// write there from now on. `denied`: whether the page is there and lacks a right.
pub fn unwatch(address: u64, denied: bool) -> bool {
    if !is_used() {
        return false;
    }
    let mut codes = CODES.lock();
    let mut watched = lock(&mut codes);
    let page = address >> 12;
    if watched.pages.contains_key(&page) {
        watched.give_back(&mut codes, [page]);
        return true;
    }
    // Two threads that write at once: the other one's fault came first.
    denied && maps::is_writable(address)
}

/// The kernel could not write for the program: perhaps only because of us. Whether pages were
/// watched; none is from now on.
pub fn unwatch_all() -> bool {
    release(0, u64::MAX)
}

/// Memory from `low` to `high` is about to be written by the kernel: its pages get back the rights
/// that they had. Whether any was watched.
pub fn release(low: u64, high: u64) -> bool {
    if !is_used() || high <= low {
        return false;
    }
    let mut codes = CODES.lock();
    let mut watched = lock(&mut codes);
    watched.let_go(&mut codes, low, high)
}

/// Memory from `low` to `high` has been mapped with these rights, where the kernel liked it to be.
/// Another thread may have protected a page there already, into which the code before it could have
/// gone on.
pub fn appeared(low: u64, high: u64, rights: u64) {
    let mut codes = CODES.lock();
    let mut watched = lock(&mut codes);
    let pages = watched.within(low, high);
    maps::forget();
    watched.forget(&mut codes, low, high);
    codes.discard(low, high);
    for page in pages {
        set_rights(page, rights);
    }
}

/// Shared memory may be written in another place from now on: code in such memory is translated
/// anew, and then that place is found.
pub fn renew() {
    let mut codes = CODES.lock();
    lock(&mut codes).renew(&mut codes);
}

/// Memory at these places, from low to high, is moved by `call`, or overwritten, to where its
/// result says and with so many bytes. Pages move with the rights that they have: they get back
/// what they had, and no other thread may protect them before they are there.
pub fn moves(places: &[(u64, u64)], bytes: u64, call: impl FnOnce() -> i64) -> i64 {
    let mut codes = CODES.lock();
    let mut watched = lock(&mut codes);
    for (low, high) in places {
        watched.let_go(&mut codes, *low, *high);
    }
    let result = call();
    maps::forget();
    let to = result as u64;
    let there = (to, to.saturating_add(bytes));
    // A call that fails may have unmapped what it was to overwrite.
    let there = (!sys::failed(result)).then_some(there);
    for (low, high) in places.iter().copied().chain(there) {
        watched.forget(&mut codes, low, high);
        codes.discard(low, high);
    }
    watched.renew(&mut codes);
    result
}

/// Memory from `low` to `high` gets other rights by `call`, is mapped anew, or goes: no other
/// thread may protect it in between, which would be forgotten. `then` is told the codes. What is
/// watched gets back the rights that it had *before*: a call that fails may have done half of its
/// work, and nobody can tell which half.
pub fn changes(
    (low, high): (u64, u64),
    call: impl FnOnce() -> i64,
    then: impl FnOnce(&mut Codes),
) -> i64 {
    let mut codes = CODES.lock();
    let mut watched = lock(&mut codes);
    watched.let_go(&mut codes, low, high);
    let result = call();
    maps::forget();
    watched.forget(&mut codes, low, high);
    then(&mut codes);
    result
}

/// Memory from `low` to `high` goes by `call`, which can take long where it is large: nobody is
/// held up for data. Where nothing was translated from and nothing is watched there is nothing to
/// be forgotten afterwards, when it may be another thread's.
pub fn goes((low, high): (u64, u64), call: impl FnOnce() -> i64) -> i64 {
    let mut codes = CODES.lock();
    let known = codes.has(low, high) || lock(&mut codes).knows(low, high);
    drop(codes);
    if known {
        return changes((low, high), call, |codes| codes.discard(low, high));
    }
    let result = call();
    maps::forget();
    result
}

/// Holds the lock of this module, for a fork.
pub fn hold() -> impl Sized {
    WATCHED.lock()
}
