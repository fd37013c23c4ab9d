//! Finds changes of translated code: pages that the program may write to are write-protected while
//! blocks come from them. A write faults, the handler calls [`unwatch`], which discards the blocks
//! and gives the page its rights back. Code in shared memory can be written through other mappings:
//! their pages are protected, too.
//!
//! System calls that change mappings or that write to memory go through this module ([`changes`],
//! [`moves`], [`goes`], [`release`]), because the kernel would fail at protected pages, or change
//! them without a fault. The state is locked only while the codes are locked, so that no thread
//! translates from a page between what is done to the page and to its blocks.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::DerefMut;
use core::sync::atomic::{AtomicBool, Ordering};

use reuselens_guest::sys::{self, PROT_EXEC, PROT_READ, PROT_WRITE};

use super::codes::{CODES, Codes};
use super::lock::Lock;
use super::maps::{self, Mapping};
use super::{memory, segment};

/// The pages that are protected.
static WATCHED: Lock<Watched> = Lock::new(Watched {
    pages: BTreeMap::new(),
    shared: BTreeSet::new(),
});

/// Whether any page was ever protected.
static USED: AtomicBool = AtomicBool::new(false);

struct Watched {
    /// Protected pages by their number.
    pages: BTreeMap<u64, Page>,
    /// Pages of code in shared memory whose writable mappings are all protected.
    shared: BTreeSet<u64>,
}

/// A protected page.
struct Page {
    /// The rights that it had, and gets back.
    rights: u64,
    /// Pages of code in the same memory: their blocks are discarded when this page is written to.
    code: Vec<u64>,
}

impl Watched {
    /// Protects a page with these rights against writes, which would change code on page `code`.
    /// False if the system has no mapping left for it.
    fn protect(&mut self, page: u64, rights: u64, code: u64) -> bool {
        let known = self.pages.contains_key(&page);
        let entry = self.pages.entry(page).or_insert(Page {
            rights,
            code: Vec::new(),
        });
        if !entry.code.contains(&code) {
            entry.code.push(code);
        }
        if known {
            return true;
        }
        USED.store(true, Ordering::SeqCst);
        let protected = set_rights(page, rights & !PROT_WRITE);
        if !protected {
            self.pages.remove(&page);
        }
        protected
    }

    /// Protects all other mappings through which a page of code may be written; false if the system
    /// has no mapping left for that.
    fn watch_others(&mut self, code: u64) -> bool {
        if self.shared.contains(&code) {
            return true;
        }
        if let Some(segment) = segment::get() {
            segment.header().shared_code.store(1, Ordering::Relaxed);
        }
        let Some(all) = maps::all() else {
            return true;
        };
        let address = code << 12;
        let Some(own) = all
            .iter()
            .find(|own| own.low <= address && address < own.high)
        else {
            return true;
        };
        let mut is_complete = true;
        let offset = own.offset + (address - own.low);
        for other in all
            .iter()
            .filter(|other| other.shared && other.file == own.file)
        {
            let place = offset.wrapping_sub(other.offset);
            let page = other.low.wrapping_add(place) >> 12;
            let writable = other.writable || self.pages.contains_key(&page);
            if place < other.high - other.low && page != code && writable {
                is_complete &= self.protect(page, rights(other) | PROT_WRITE, code);
            }
        }
        self.shared.insert(code);
        is_complete
    }

    /// The protected pages in a range of memory.
    fn within(&self, low: u64, high: u64) -> Vec<u64> {
        if high <= low {
            return Vec::new();
        }
        let pages = self.pages.range(low >> 12..high.div_ceil(4096));
        pages.map(|page| *page.0).collect()
    }

    /// Whether a range of memory has protected pages, or code whose other mappings are protected.
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

    /// Removes the memory from `low` to `high` from this state without changing rights, and
    /// discards code elsewhere that could be changed there.
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
        // So that their other mappings are looked for again when they are translated again.
        discard(codes, gone);
    }

    /// Discards all code in shared memory.
    fn renew(&mut self, codes: &mut Codes) {
        discard(codes, core::mem::take(&mut self.shared));
    }

    /// Unprotects the pages of a range. Returns whether any was protected.
    fn let_go(&mut self, codes: &mut Codes, low: u64, high: u64) -> bool {
        let pages = self.within(low, high);
        let any = !pages.is_empty();
        if any {
            self.give_back(codes, pages);
        }
        any
    }

    /// Unprotects pages, after discarding the blocks that come from them. The codes are locked, so
    /// that nothing is translated from them in between.
    fn give_back(&mut self, codes: &mut Codes, pages: impl IntoIterator<Item = u64>) {
        for page in pages {
            if let Some(watched) = self.remove(page) {
                discard(codes, watched.code);
                set_rights(page, watched.rights);
            }
        }
        // Mappings that were remembered meanwhile have these pages as not writable.
        maps::forget();
    }
}

/// Locks this module's state. The caller has locked the codes, which its argument proves.
fn lock(_: &mut Codes) -> impl DerefMut<Target = Watched> + use<> {
    WATCHED.lock()
}

/// Sets the rights of a page of the program's that it may write; it gets that back when it does.
fn set_rights(page: u64, rights: u64) -> bool {
    memory::set_rights(page << 12, 4096, rights)
}

fn rights(mapping: &Mapping) -> u64 {
    let right = |has: bool, right: u64| if has { right } else { 0 };
    right(mapping.readable, PROT_READ)
        | right(mapping.writable, PROT_WRITE)
        | right(mapping.executable, PROT_EXEC)
}

/// Discards the blocks that come from these pages.
fn discard(codes: &mut Codes, pages: impl IntoIterator<Item = u64>) {
    for page in pages {
        codes.discard(page << 12, (page + 1) << 12);
    }
}

/// Whether any page was ever protected. Most programs have no writable code.
pub fn is_used() -> bool {
    USED.load(Ordering::SeqCst)
}

/// Protects the page of an address from which code is about to be translated, and the next page,
/// into which that code may extend; each only if it may be written to, there or through another
/// mapping. False if a page there cannot be protected: the system has no mapping left for it.
pub fn watch(codes: &mut Codes, address: u64) -> bool {
    let mut watched = lock(codes);
    let mut is_complete = true;
    let page = address >> 12;
    for page in [page, page + 1] {
        let found = maps::with_code(page << 12, |mapping| {
            (mapping.writable, mapping.changes, rights(mapping))
        });
        let Some((writable, changes, rights)) = found else {
            continue;
        };
        // A page that is protected already, because of other code, is not writable for the kernel.
        if writable || watched.pages.contains_key(&page) {
            is_complete &= watched.protect(page, rights, page);
        }
        if changes {
            is_complete &= watched.watch_others(page);
        }
    }
    is_complete
}

/// Handles a fault at an address. Returns true if it was a write to a page that is protected, or
/// was until just now; the page is writable then. `denied`: whether the page is mapped and lacks a
/// right.
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
    // Another thread that wrote at the same time may have unprotected the page before.
    denied && maps::is_writable(address)
}

/// Unprotects all pages: the kernel could not write for the program, perhaps because of them.
/// Returns whether any was protected.
pub fn unwatch_all() -> bool {
    release(0, u64::MAX)
}

/// Unprotects the memory from `low` to `high`, to which the kernel is about to write. Returns
/// whether any of its pages was protected.
pub fn release(low: u64, high: u64) -> bool {
    if !is_used() || high <= low {
        return false;
    }
    let mut codes = CODES.lock();
    let mut watched = lock(&mut codes);
    watched.let_go(&mut codes, low, high)
}

/// Memory from `low` to `high` was mapped with these rights, at an address of the kernel's choice.
/// Another thread may have protected a page there since, as the page after its code: it gets these
/// rights back.
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

/// A new writable mapping of shared memory may exist: discards code in shared memory, so that the
/// mapping is found and protected when the code is translated again.
pub fn renew() {
    let mut codes = CODES.lock();
    lock(&mut codes).renew(&mut codes);
}

/// `call` moves or overwrites the memory at `places`, each from low to high; its result is the new
/// address, with `bytes` bytes. Pages move with their current rights, so they are unprotected
/// before, and no other thread can protect them before they have moved.
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

/// `call` changes the rights of the memory from `low` to `high`, or maps or unmaps it. No other
/// thread can protect pages there meanwhile. After that `then` is called with the codes. Protected
/// pages get back their rights *before* the call: a call that fails may have changed some of the
/// pages, and it is unknown which.
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

/// `call` unmaps the memory from `low` to `high`, which takes long if it is large. If no blocks
/// come from it and nothing there is protected, no lock is held during the call, so that freeing
/// data delays no other thread; and nothing is forgotten after the call, when the memory may be
/// another thread's.
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

/// Holds the lock of this module until the result is dropped, for a fork.
pub fn hold() -> impl Sized {
    WATCHED.lock()
}
