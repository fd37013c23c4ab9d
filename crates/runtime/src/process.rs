//! The state of the process: when recording may begin ([`is_ready`]), the process's number, its
//! announcement by its first thread, forks, and how the end of threads is noticed.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use reuselens_guest::sys;
use reuselens_wire::{Header, Record, Slot, WireKind};

use crate::quiet;
use crate::tls::{DUMMY, ThreadState, Tls, tls};
use crate::{modules, publish, segment, stacks, thread};

/// Set once the program's own constructors run. What libraries do before is not recorded.
static READY: AtomicU32 = AtomicU32::new(0);
/// Whether the compiler's hooks are in the program.
static INSTRUMENTED: AtomicU32 = AtomicU32::new(0);
/// 1 + the number of this process; 0 before it has one.
static NUMBER: AtomicU32 = AtomicU32::new(0);
/// How many forks there were between the first process and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// Set once the process has been announced.
static ANNOUNCED: AtomicU32 = AtomicU32::new(0);
/// 1 + the number of the process that this one was forked from, or 0.
static PARENT: AtomicU32 = AtomicU32::new(0);
/// 1 + our key of thread-specific data, or 0; the key's destructor runs when a thread ends.
static KEY: AtomicU64 = AtomicU64::new(0);

type Handler = unsafe extern "C" fn();

unsafe extern "C" {
    fn pthread_key_create(key: *mut u32, end: unsafe extern "C" fn(*mut c_void)) -> c_int;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    fn __register_atfork(
        prepare: Option<Handler>,
        parent: Option<Handler>,
        child: Option<Handler>,
        object: *const c_void,
    ) -> c_int;
}

/// Whether recording may begin.
#[inline]
pub fn is_ready() -> bool {
    READY.load(Ordering::Relaxed) != 0
}

/// Called by every instrumented object's constructor, first before anything of the program runs,
/// and again when a library with hooks is loaded.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_init() {
    INSTRUMENTED.store(1, Ordering::Relaxed);
    if !begin() {
        modules::rescan();
    }
}

/// A constructor of the program, which begins the recording of programs that do not call
/// `__tsan_init`. It runs after the constructors of libraries.
extern "C" fn constructor() {
    // By this name the analysing side knows that a program has the run time in it: the linker must
    // not drop it.
    core::hint::black_box(reuselens_wire::ENVIRONMENT.as_ptr());
    if were_hooks_linked() {
        INSTRUMENTED.store(1, Ordering::Relaxed);
    }
    begin();
}

/// Whether the symbol `__reuselens_hooks` is defined. The linker is given it for programs with the
/// hooks of rustc, which do not call `__tsan_init`.
fn were_hooks_linked() -> bool {
    let symbol: u64;
    // SAFETY: reads an entry of the table of addresses: a symbol that the linker may have been
    // given.
    unsafe {
        core::arch::asm!(
            ".weak __reuselens_hooks",
            "mov {0}, qword ptr [rip + __reuselens_hooks@GOTPCREL]",
            out(reg) symbol,
            options(nostack, pure, readonly, preserves_flags)
        );
    }
    symbol != 0
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;

/// Lets recording begin, and announces the process even if it never accesses anything. False if
/// recording had begun before, or cannot begin yet.
fn begin() -> bool {
    if !segment::environment_is_ready() || READY.swap(1, Ordering::Relaxed) != 0 {
        return false;
    }
    let t = tls();
    // SAFETY: this thread's own state; the libc functions below may allocate, hence the guard.
    unsafe {
        (*t).busy += 1;
        let mut key = 0;
        if pthread_key_create(&raw mut key, thread_ends) == 0 {
            KEY.store(u64::from(key) + 1, Ordering::Release);
        }
        __register_atfork(Some(before_fork), None, Some(in_child), core::ptr::null());
        (*t).busy -= 1;
    }
    stacks::find_function();
    thread::prepare();
    true
}

/// This process's number, and whether this call has assigned it.
pub fn number(header: &Header) -> (u32, bool) {
    let known = NUMBER.load(Ordering::Acquire);
    if known != 0 {
        return (known - 1, false);
    }
    let new = header.next_process.fetch_add(1, Ordering::Relaxed);
    match NUMBER.compare_exchange(0, new + 1, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => (new, true),
        Err(other) => (other - 1, false),
    }
}

/// Announces the process and its modules through its first thread.
///
/// # Safety
/// The slot must be the calling thread's.
pub unsafe fn announce(slot: &Slot) {
    let mut path = [0_u8; 1024];
    let length = sys::executable(&mut path);
    let operands = [
        u64::from(PARENT.load(Ordering::Relaxed)),
        u64::from(INSTRUMENTED.load(Ordering::Relaxed)),
        length as u64,
    ];
    let pid = u64::from(sys::pid());
    // SAFETY: by the caller.
    unsafe {
        let event = Record::new(WireKind::Process, 0, 0, pid);
        thread::announce(slot, event, &operands, &path[..length]);
        modules::announce_all(slot);
    }
}

/// Publishes the announcement of the process and its first thread; other threads wait for that.
pub fn announced(slot: &Slot, slot_index: u64) {
    publish::publish(slot, slot_index, true);
    ANNOUNCED.store(1, Ordering::Release);
}

/// Waits until the process's first thread has announced it.
pub fn wait_until_announced() {
    while ANNOUNCED.load(Ordering::Acquire) == 0 && !segment::is_absent() {
        quiet::yield_now();
    }
}

/// Has `thread_ends` called when the thread ends.
pub fn watch_thread_end(t: *mut Tls) {
    let key = KEY.load(Ordering::Acquire);
    if key != 0 {
        // SAFETY: the key exists; the value is only handed back to us.
        unsafe { pthread_setspecific((key - 1) as u32, t.cast()) };
    }
}

/// Destructors run up to four rounds; ours lets the program's own go first.
unsafe extern "C" fn thread_ends(value: *mut c_void) {
    const ROUNDS: u64 = 3;
    let t: *mut Tls = value.cast();
    // SAFETY: the value is the calling thread's state, set by `watch_thread_end`.
    unsafe {
        (*t).destructor_rounds += 1;
        if (*t).destructor_rounds < ROUNDS {
            (*t).busy += 1;
            watch_thread_end(t);
            (*t).busy -= 1;
        } else {
            thread::end(t);
        }
    }
}

/// A number that differs between a process and its children.
pub fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Before a fork: publishes the thread's block, so that what the parent did before is read before
/// what the child does.
unsafe extern "C" fn before_fork() {
    publish::start_others();
    thread::flush();
}

/// In the child of a fork: a new process with one thread, which attaches itself and is announced.
unsafe extern "C" fn in_child() {
    PARENT.store(NUMBER.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    ANNOUNCED.store(0, Ordering::Relaxed);
    FORKS.fetch_add(1, Ordering::Relaxed);
    let t = tls();
    // SAFETY: this thread's own state; the parent keeps the slots.
    unsafe {
        (*t).slot = &DUMMY;
        (*t).signal_slot = core::ptr::null();
        (*t).stage = core::ptr::null_mut();
        (*t).busy = 0;
        (*t).destructor_rounds = 0;
        (*t).signal_depth = 0;
        (*t).state = ThreadState::New;
    }
    // At once: the child's inherited state begins here.
    thread::prepare();
}
