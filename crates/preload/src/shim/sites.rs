//! Which object an allocation belongs to, by the calls that it comes from.
//!
//! Most allocations belong to none, and must cost nothing: the return address of the allocator's
//! call is looked up in a small table of those that planned paths begin with. Only where it is
//! there are the other calls of the thread compared with the paths.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use reuselens_guest::lock::{Lock, LockHeld};
use reuselens_guest::modules;
use reuselens_guest::sys;
use reuselens_guest::unwind::{self, CallCursor};

use super::plan::{self, Match};
use super::start;
use super::wrappers::{self, Wrappers};
use crate::layout::{module, table};

/// Calls of a thread that are looked at, at most.
const DEPTH: usize = 256;
const NONE: u64 = u64::MAX;
/// As [`NONE`], of a module of which another build is mapped.
const OTHER: u64 = u64::MAX - 1;
/// In an entry of the table: no path begins with this call.
const NO_PATH: u32 = u32::MAX;
/// Calls of the allocator after `dlopen` that look whether there is a new module.
const PATIENCE: usize = 4096;

/// The table: a mask, then as many return addresses as it allows, then an entry for each. The low
/// half of an entry is the first path that begins with this call, or [`NO_PATH`]. The high half is
/// 0, but for calls that `operator new` makes: there it is where the frame of `operator new` ends,
/// from the stack pointer after the return, where the frame information gives it. Null while no
/// planned module is mapped.
static SITES: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());
/// By module: what to add to its addresses, [`NONE`] where it is not mapped. After those, by path:
/// the next path that begins with the same call. Last, by module: what a scan finds.
static BIASES: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());
/// How many more allocations look for new modules.
static LOOKS: AtomicUsize = AtomicUsize::new(0);
pub static SCANNING: Lock = Lock::new();

/// Whether an allocation belongs to no object, by the return address of its call and the stack
/// pointer after the return: what almost all calls come to. False where it has to be looked into.
#[inline]
pub fn is_ordinary(return_address: u64, sp: u64) -> bool {
    let sites = SITES.load(Ordering::Acquire);
    if sites.is_null() {
        return true;
    }
    match entry(sites, return_address) {
        None => true,
        Some(found) => calls_for_none(sites, found, sp),
    }
}

/// Whether `operator new` made the call of this entry, for a caller that no path begins with.
/// Inlined: as a call of its own it cost 4 ns for each `new`, of 36 that `new` and `delete` take.
#[inline]
fn calls_for_none(sites: *mut AtomicU64, found: u64, sp: u64) -> bool {
    let frame = found >> 32;
    if found as u32 != NO_PATH || frame == 0 {
        return false;
    }
    // SAFETY: the frame information of the running code says that the return address is there.
    let caller = unsafe { *((sp + frame - 8) as *const u64) };
    entry(sites, caller).is_none()
}

/// Whether there are calls to compare allocations with.
pub fn has_table() -> bool {
    !SITES.load(Ordering::Acquire).is_null()
}

/// Whether an allocation may belong to an object, by the return address of its call.
#[inline]
pub fn is_candidate(return_address: u64) -> bool {
    let sites = SITES.load(Ordering::Acquire);
    !sites.is_null() && entry(sites, return_address).is_some()
}

/// The entry of a call.
#[inline]
fn entry(sites: *mut AtomicU64, return_address: u64) -> Option<u64> {
    // SAFETY: the table has a mask, and twice as many words as that says; it is never unmapped.
    unsafe {
        let mask = (*sites).load(Ordering::Relaxed);
        let (keys, entries) = (sites.add(1), sites.add(2 + mask as usize));
        let mut at = hash(return_address) & mask;
        loop {
            match (*keys.add(at as usize)).load(Ordering::Acquire) {
                0 => return None,
                key if key == return_address => {
                    return Some((*entries.add(at as usize)).load(Ordering::Acquire));
                }
                _ => at = (at + 1) & mask,
            }
        }
    }
}

#[inline]
fn hash(address: u64) -> u64 {
    address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

/// The object that an allocation belongs to. Calls that `operator new` makes belong to its caller,
/// if no path begins with them.
pub fn object(from: CallCursor) -> Option<usize> {
    let sites = SITES.load(Ordering::Acquire);
    if sites.is_null() {
        return None;
    }
    let mut from = from;
    // `new` that returns null calls `new`, which calls `malloc`.
    for _ in 0..4 {
        let found = entry(sites, from.return_address());
        if let Some(object) = found.and_then(|found| object_of(from, found as u32)) {
            return Some(object);
        }
        if !wrappers::calls(from.return_address()) {
            return None;
        }
        from = from.caller()?;
    }
    None
}

/// The object of the first path that fits, of those that begin with a call.
fn object_of(from: CallCursor, first: u32) -> Option<usize> {
    let mut walk = Walk {
        calls: [0; DEPTH],
        known: 0,
        cursor: Some(from),
    };
    let mut number = first;
    while number != NO_PATH {
        let path = plan::path(number as usize);
        if walk.has(&path) {
            return Some(path.object);
        }
        number = next_path(number as usize).load(Ordering::Acquire) as u32;
    }
    None
}

/// The calls that a thread is in, as far as they were looked at.
struct Walk {
    calls: [u64; DEPTH],
    known: usize,
    cursor: Option<CallCursor>,
}

impl Walk {
    /// The return address of a call, from the innermost.
    fn call(&mut self, number: usize) -> Option<u64> {
        while self.known <= number {
            let cursor = self.cursor.filter(|_| self.known < DEPTH)?;
            self.calls[self.known] = cursor.return_address();
            self.known += 1;
            self.cursor = cursor.caller();
        }
        Some(self.calls[number])
    }

    /// Whether the path is how the thread came here. Between known calls of a path there may be
    /// any others; the first place where the next known ones are is as good as any, since what
    /// follows may be anywhere after it.
    fn has(&mut self, path: &plan::PlannedPath) -> bool {
        // The start of the known calls that are compared now, in the path and in the thread.
        let (mut from, mut start, mut is_free) = (0, 0, false);
        loop {
            while from < path.calls && path.call(from).0.is_none() {
                (from, is_free) = (from + 1, true);
            }
            if from == path.calls {
                return true;
            }
            let known = (from..path.calls).take_while(|call| path.call(*call).0.is_some());
            let end = from + known.count();
            loop {
                let same = |index: usize| {
                    let expected = address(path.call(index))?;
                    Some(self.call(start + index - from)? == expected)
                };
                let mut compared = (from..end).map(same);
                match compared.find(|same| *same != Some(true)) {
                    None => break,
                    // The thread has no more calls.
                    Some(None) => return false,
                    Some(_) if !is_free => return false,
                    Some(_) => start += 1,
                }
            }
            (start, from, is_free) = (start + end - from, end, false);
        }
    }
}

/// A call's return address in memory.
fn address((module, offset): (Option<usize>, u64)) -> Option<u64> {
    match bias(module?).load(Ordering::Relaxed) {
        NONE => None,
        bias => Some(bias.wrapping_add(offset)),
    }
}

fn bias(module: usize) -> &'static AtomicU64 {
    // SAFETY: `begin` mapped a word for each module; a plan's numbers are in range.
    unsafe { &*BIASES.load(Ordering::Acquire).add(module) }
}

fn next_path(path: usize) -> &'static AtomicU64 {
    bias(plan::count(table::MODULES) + path)
}

/// What a scan finds for a module: as its bias, or [`OTHER`].
fn found(module: usize) -> &'static AtomicU64 {
    next_path(plan::count(table::PATHS) + module)
}

/// Makes the tables, and fills them with the modules that are mapped. Called once.
pub fn begin() {
    let (modules, paths) = (plan::count(table::MODULES), plan::count(table::PATHS));
    let slots = (4 * (paths + wrappers::RETURNS)).next_power_of_two();
    let words = 2 * modules + paths + 2 * slots + 1;
    // SAFETY: a new mapping, at a place that the system chooses.
    let Ok(at) = (unsafe { sys::map(0, 8 * words, sys::PROT_READ_WRITE, 0) }) else {
        return;
    };
    let at = at as *mut AtomicU64;
    BIASES.store(at, Ordering::Release);
    for module in 0..modules {
        bias(module).store(NONE, Ordering::Relaxed);
    }
    // SAFETY: the mapping has room for the table after the other words.
    let sites = unsafe { at.add(2 * modules + paths) };
    // SAFETY: as above.
    unsafe { (*sites).store(slots as u64 - 1, Ordering::Relaxed) };
    SPARE.store(sites, Ordering::Release);
    scan(&SCANNING.hold());
}

/// The table before a module of the plan is mapped.
static SPARE: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());

/// The program is about to map or unmap modules.
pub fn modules_change() {
    if !BIASES.load(Ordering::Acquire).is_null() {
        LOOKS.store(PATIENCE, Ordering::SeqCst);
        start::set_unrest(true);
    }
}

/// Looks for new modules, where the program may have mapped some. Cheap where it has not.
#[inline]
pub fn look() {
    if LOOKS.load(Ordering::Relaxed) > 0 {
        look_now();
    }
}

/// The looks do not end with the first module that is found: `dlclose` allocates before it unmaps
/// anything, so that early looks find all modules as they were.
#[cold]
fn look_now() {
    // A thread that scans may wait for the loader's lock, and this one may hold that
    // (`dl_iterate_phdr`): waiting here could last for ever.
    let Some(held) = SCANNING.try_hold() else {
        return;
    };
    let less = |looks: usize| looks.checked_sub(1);
    let was_last = LOOKS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) == Ok(1);
    scan(&held);
    if was_last {
        start::set_unrest(false);
        // Another thread may have begun to change modules before the line above.
        if LOOKS.load(Ordering::SeqCst) > 0 {
            start::set_unrest(true);
        }
    }
}

/// Modules that were mapped and unmapped until the last scan. Changed under [`SCANNING`].
static ADDS: AtomicU64 = AtomicU64::new(NONE);
static SUBS: AtomicU64 = AtomicU64::new(0);

/// Whether a fork came into the midst of a scan: then nothing that the scan found is known.
static IS_CUT: AtomicBool = AtomicBool::new(false);

/// Finds the modules of the plan among those that are mapped, and C++'s functions that allocate.
/// Cheap where the loader says that none was mapped or unmapped since the last time.
fn scan(_: &LockHeld<'_>) {
    let mut changed = IS_CUT.swap(false, Ordering::Relaxed);
    if let Some((adds, subs)) = modules::changes() {
        let adds_before = ADDS.swap(adds, Ordering::Relaxed);
        let subs_before = SUBS.swap(subs, Ordering::Relaxed);
        if (adds, subs) == (adds_before, subs_before) && !changed {
            return;
        }
        // Other code may be where unmapped code was, be it of the plan or not.
        if subs != subs_before {
            unwind::forget();
        }
    }
    let wrappers = find_modules();
    for number in 0..plan::count(table::MODULES) {
        let now = found(number).load(Ordering::Relaxed);
        let at = plan::record(table::MODULES, number);
        if now == OTHER && plan::get(at + module::OTHER_BUILD) == 0 {
            plan::add(at + module::OTHER_BUILD, 1);
        }
        let now = if now == OTHER { NONE } else { now };
        let before = bias(number).swap(now, Ordering::AcqRel);
        if before == NONE && now != NONE {
            plan::add(at + module::SEEN, 1);
        }
        changed |= before != now;
    }
    changed |= wrappers.publish();
    if changed {
        fill();
        unwind::forget();
        place_symbols();
    }
}

/// Compares each mapped module, once, with all of the plan.
fn find_modules() -> Wrappers {
    let modules = 0..plan::count(table::MODULES);
    modules
        .clone()
        .for_each(|number| found(number).store(NONE, Ordering::Relaxed));
    let mut wrappers = Wrappers::new();
    modules::for_each(|mapped| {
        let mut buffer = [0_u8; 512];
        let (name, build) = (file_name(mapped.path, &mut buffer), mapped.build_id());
        wrappers.add_exported(mapped);
        for number in modules.clone() {
            let found = found(number);
            let known = found.load(Ordering::Relaxed);
            if known != NONE && known != OTHER {
                continue;
            }
            match plan::matches(number, name, build) {
                Match::Same => {
                    found.store(mapped.bias, Ordering::Relaxed);
                    wrappers.add_planned(number, mapped);
                }
                Match::OtherBuild => found.store(OTHER, Ordering::Relaxed),
                Match::No => {}
            }
        }
        false
    });
    wrappers
}

/// Holds the scanner for a fork, or gives up: a thread that scans may wait for the loader's lock,
/// and the one that forks may hold that. Whether it is held.
pub fn hold_for_fork() -> bool {
    SCANNING.hold_soon().map(core::mem::forget).is_some()
}

/// After a fork, in the child, which has no thread that scans: forgets what another one found, if
/// that was in the midst of it.
pub fn forget_cut_scan() {
    IS_CUT.store(true, Ordering::Relaxed);
    SCANNING.release();
    modules_change();
}

/// The last part of a module's path; of the program itself, from the system.
fn file_name<'a>(path: &'a [u8], buffer: &'a mut [u8; 512]) -> &'a [u8] {
    let path = if path.is_empty() {
        let length = sys::executable(buffer);
        &buffer[..length]
    } else {
        path
    };
    let start = path.iter().rposition(|byte| *byte == b'/');
    &path[start.map_or(0, |at| at + 1)..]
}

/// Fills the table of first calls. Threads that read it meanwhile may miss an allocation.
fn fill() {
    let sites = SPARE.load(Ordering::Acquire);
    // SAFETY: `begin` made it, with a mask and room for as many keys as that says.
    unsafe {
        let mask = (*sites).load(Ordering::Relaxed);
        for at in 0..=mask as usize {
            (*sites.add(1 + at)).store(0, Ordering::Release);
        }
    }
    // Backwards, as each path comes before those that are there.
    for number in (0..plan::count(table::PATHS)).rev() {
        let path = plan::path(number);
        if super::is_static(path.object) {
            continue;
        }
        if let Some(key) = address(path.call(0)) {
            change_entry(sites, key, |before| {
                next_path(number).store((before as u32).into(), Ordering::Release);
                number as u64
            });
        }
    }
    for (key, frame) in wrappers::returns() {
        change_entry(sites, key, |before| {
            frame << 32 | before & u64::from(NO_PATH)
        });
    }
    SITES.store(sites, Ordering::Release);
}

/// Gives a key of the table another entry, by the one before; new keys have no path.
fn change_entry(sites: *mut AtomicU64, key: u64, entry: impl FnOnce(u64) -> u64) {
    // SAFETY: `begin` made the table, with a mask and twice as many words as that says.
    unsafe {
        let mask = (*sites).load(Ordering::Relaxed);
        let (keys, entries) = (sites.add(1), sites.add(2 + mask as usize));
        let mut at = hash(key) & mask;
        let before = loop {
            match (*keys.add(at as usize)).load(Ordering::Relaxed) {
                0 => break NO_PATH.into(),
                there if there == key => break (*entries.add(at as usize)).load(Ordering::Relaxed),
                _ => at = (at + 1) & mask,
            }
        };
        (*entries.add(at as usize)).store(entry(before), Ordering::Release);
        (*keys.add(at as usize)).store(key, Ordering::Release);
    }
}

/// Places the symbols that are new. The word of a symbol's path says whether it is placed.
fn place_symbols() {
    for number in 0..plan::count(table::PATHS) {
        let path = plan::path(number);
        if !super::is_static(path.object) {
            continue;
        }
        let is_placed = next_path(number);
        match address(path.call(0)) {
            None => is_placed.store(0, Ordering::Relaxed),
            Some(at) if is_placed.swap(1, Ordering::Relaxed) == 0 => {
                super::symbols::place(path.object, at);
            }
            Some(_) => {}
        }
    }
}

/// Calls `each` with the symbols of the plan that are mapped: object, address.
pub fn for_each_symbol(mut each: impl FnMut(usize, u64)) {
    for number in 0..plan::count(table::PATHS) {
        let path = plan::path(number);
        if super::is_static(path.object)
            && let Some(at) = address(path.call(0))
        {
            each(path.object, at);
        }
    }
}
