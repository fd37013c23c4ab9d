//! The start and the end of a process.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use reuselens_guest::lock::Lock;
use reuselens_guest::{modules, next, sys, unwind};

use super::{heap, mappings, plan, sites, symbols, verify};
use crate::layout::{MAX_TIERS, head, table};

const NEW: u32 = 0;
const STARTING: u32 = 1;
const READY: u32 = 2;

static STATE: AtomicU32 = AtomicU32::new(NEW);
/// The thread that starts it.
static STARTER: AtomicU32 = AtomicU32::new(0);
/// The process that asks about its pages at its end; 0 if none does.
static ASKER: AtomicU32 = AtomicU32::new(0);

/// Whether calls need more than the usual test: 1 before the start, and while there may be new
/// modules.
static UNREST: AtomicU32 = AtomicU32::new(1);

/// Whether the process has started, and maps no new modules.
#[inline(always)]
pub fn is_calm() -> bool {
    UNREST.load(Ordering::Acquire) == 0
}

/// Whether there may be new modules from now on.
pub fn set_unrest(may_be: bool) {
    if STATE.load(Ordering::Acquire) == READY {
        UNREST.store(may_be.into(), Ordering::SeqCst);
    }
}

/// Starts at the first call; whether the caller is within the start itself, where there is no next
/// allocator yet.
#[inline]
pub fn is_starting() -> bool {
    STATE.load(Ordering::Acquire) != READY && start()
}

#[cold]
fn start() -> bool {
    let thread = sys::tid();
    if STATE
        .compare_exchange(NEW, STARTING, Ordering::AcqRel, Ordering::Acquire)
        .is_err()
    {
        while STATE.load(Ordering::Acquire) != READY {
            if STARTER.load(Ordering::Acquire) == thread {
                return true;
            }
            sys::yield_now();
        }
        return false;
    }
    STARTER.store(thread, Ordering::Release);
    next::find_all();
    let is_planned = plan::open() && plan::count(table::TIERS) <= MAX_TIERS;
    // The loader may be asked now: what it allocates is served by the next allocator.
    STATE.store(READY, Ordering::Release);
    if is_planned {
        begin();
    }
    set_unrest(false);
    false
}

fn begin() {
    plan::add(head::STARTED, 1);
    if !is_used() {
        plan::add(head::OWN_ALLOCATOR, 1);
    }
    if plan::verifies() {
        verify::begin();
        ASKER.store(sys::pid(), Ordering::Relaxed);
    }
    handle_forks();
    sites::begin();
}

/// Whether the program's calls of `malloc` come to us: the first module that has such a function is
/// ours, or passes on to us. The address of `malloc` does not say it: in programs that take that
/// address, it may be that of a jump of their own.
fn is_used() -> bool {
    let own = (&raw const STATE) as u64;
    let mut is_used = true;
    modules::for_each(|module| {
        if module.holds(own) {
            return true;
        }
        let symbols = module.symbols();
        let has_own = symbols.is_some_and(|symbols| {
            symbols.function(c"malloc").is_some() && !symbols.uses(c"__libc_malloc")
        });
        is_used &= !has_own;
        has_own
    });
    is_used
}

/// Asks about all pages, once, in the process that began.
pub fn finish() {
    let pid = sys::pid();
    if ASKER
        .compare_exchange(pid, 0, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok()
    {
        verify::finish();
        symbols::check_all();
    }
}

/// A process that forks holds our locks meanwhile, so that its child finds them free and what they
/// guard sound.
fn handle_forks() {
    type Handler = unsafe extern "C" fn();
    let register = next::find(c"__register_atfork");
    let (before, parent, child): (Handler, Handler, Handler) = (before_fork, in_parent, in_child);
    if register != 0 {
        // SAFETY: the type of glibc's function.
        let register: unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int =
            unsafe { core::mem::transmute(register) };
        // SAFETY: the handlers stay as long as the process runs.
        unsafe { register(before, parent, child, core::ptr::null_mut()) };
        return;
    }
    let register = next::find(c"pthread_atfork");
    if register != 0 {
        // SAFETY: the type that POSIX gives.
        let register: unsafe extern "C" fn(Handler, Handler, Handler) -> c_int =
            unsafe { core::mem::transmute(register) };
        // SAFETY: as above.
        unsafe { register(before, parent, child) };
    }
}

/// One thread forks at a time.
static FORKING: Lock = Lock::new();
/// Whether this process scans no modules while it forks ([`sites::hold_for_fork`]). Changed under
/// [`FORKING`].
static HOLDS_SCANNING: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn before_fork() {
    FORKING.take();
    HOLDS_SCANNING.store(sites::hold_for_fork(), Ordering::Relaxed);
    mappings::LOCK.take();
    heap::LOCK.take();
    unwind::before_fork();
    verify::LOCK.take();
}

unsafe extern "C" fn in_parent() {
    verify::LOCK.release();
    unwind::after_fork();
    heap::LOCK.release();
    mappings::LOCK.release();
    if HOLDS_SCANNING.load(Ordering::Relaxed) {
        sites::SCANNING.release();
    }
    FORKING.release();
}

unsafe extern "C" fn in_child() {
    if !HOLDS_SCANNING.load(Ordering::Relaxed) {
        sites::forget_cut_scan();
    }
    // SAFETY: the locks were taken by this thread before the fork.
    unsafe { in_parent() };
    if ASKER.load(Ordering::Relaxed) != 0 {
        ASKER.store(sys::pid(), Ordering::Relaxed);
    }
    verify::forget();
}

unsafe extern "C" fn constructor() {
    is_starting();
}

unsafe extern "C" fn destructor() {
    finish();
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: unsafe extern "C" fn() = constructor;
#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: unsafe extern "C" fn() = destructor;
