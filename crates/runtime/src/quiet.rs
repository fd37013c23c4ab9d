//! Once the program has restricted itself (see `restrict`) the run time is *quiet* ([`is_quiet`]):
//! calls of the system that are not on behalf of the program must not be made. Waiting and waking
//! are replaced here then; callers of all other system calls check it themselves.
//!
//! The crate `guest` has functions of the same names, which make the call always, a clock, and a
//! lock that waits by them. The run time uses those through this module only: `cargo xtask tidy`
//! checks it.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use reuselens_guest::clock;
use reuselens_guest::sys::{self, File};

/// Not 0 once the run time must make no system calls of its own.
static QUIET: AtomicU32 = AtomicU32::new(0);
/// The next stamp once the time-stamp counter must not be read any more; 0 before.
static TIME: AtomicU64 = AtomicU64::new(0);

/// Makes the run time quiet: no system calls of its own from now on. With `is_timeless` it does not
/// read the time-stamp counter either; stamps then count on by 1.
pub fn be_quiet(is_timeless: bool) {
    if is_timeless && TIME.load(Ordering::Relaxed) == 0 {
        TIME.store(stamp(), Ordering::Relaxed);
    }
    QUIET.store(1, Ordering::SeqCst);
}

/// Whether the run time must make no system calls of its own.
#[inline]
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed) != 0
}

/// Waits a moment without the system.
fn spin() {
    for _ in 0..1024 {
        core::hint::spin_loop();
    }
}

/// How many filters of system calls the calling thread is under.
pub fn filters() -> u32 {
    let Some(file) = File::open(c"/proc/thread-self/status", 0) else {
        return 0;
    };
    let mut status = [0_u8; 4096];
    let bytes = file.read(&mut status);
    reuselens_wire::filters(&status[..bytes])
}

/// Lets another thread run; spins for a moment instead if quiet.
pub fn yield_now() {
    if is_quiet() {
        return spin();
    }
    sys::yield_now();
}

/// Sleeps until `word` is woken or no longer `seen`, or for a tenth of a second; spins for a moment
/// instead if quiet.
pub fn futex_wait(word: &AtomicU32, seen: u32) {
    if is_quiet() {
        return spin();
    }
    sys::futex_wait(word, seen);
}

/// Wakes one sleeper; nothing if quiet: the consumer wakes by itself, a little later.
pub fn futex_wake(word: &AtomicU32) {
    if is_quiet() {
        return;
    }
    sys::futex_wake(word);
}

/// As [`stamp`], read after all earlier instructions are done.
#[inline]
pub fn ordered_stamp() -> u64 {
    // SAFETY: the instruction exists on every x86-64 processor.
    unsafe { core::arch::x86_64::_mm_lfence() };
    stamp()
}

/// The time-stamp counter. A count from the last time read if the counter must not be read any
/// more.
#[inline]
pub fn stamp() -> u64 {
    if TIME.load(Ordering::Relaxed) != 0 {
        return TIME.fetch_add(1, Ordering::Relaxed);
    }
    clock::stamp()
}
