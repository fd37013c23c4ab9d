//! System calls on processes and threads.

use core::sync::atomic::AtomicU32;

use super::{
    ESRCH, EXIT_GROUP, FUTEX, GETPID, GETRLIMIT, GETTID, KILL, READLINK, SCHED_YIELD, call,
};

/// This process's id.
#[inline]
pub fn pid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(GETPID, [0; 6]) as u32 }
}

/// This thread's id.
#[inline]
pub fn tid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(GETTID, [0; 6]) as u32 }
}

/// Whether a process lives.
pub fn process_exists(pid: u32) -> bool {
    // SAFETY: signal 0 only asks.
    let exists = |pid: u32| unsafe { call(KILL, [u64::from(pid), 0, 0, 0, 0, 0]) != ESRCH };
    reuselens_wire::is_alive(pid, exists, |path| {
        let mut target = [0_u8; 8];
        let a = [path.as_ptr() as u64, target.as_mut_ptr() as u64, 8, 0, 0, 0];
        // SAFETY: the path is ended; the kernel writes at most eight bytes.
        unsafe { call(READLINK, a) }
    })
}

/// The soft limit of the stack in bytes, or 8 MiB if there is none.
pub fn stack_limit() -> u64 {
    const RLIMIT_STACK: u64 = 3;
    const DEFAULT: u64 = 8 << 20;
    let mut limits = [0_u64; 2];
    let a = [RLIMIT_STACK, limits.as_mut_ptr() as u64, 0, 0, 0, 0];
    // SAFETY: the kernel writes two words.
    unsafe { call(GETRLIMIT, a) };
    if limits[0] == 0 || limits[0] > 1 << 40 {
        DEFAULT
    } else {
        limits[0]
    }
}

/// Lets another thread run.
pub fn yield_now() {
    // SAFETY: no arguments.
    unsafe { call(SCHED_YIELD, [0; 6]) };
}

/// Sleeps until `word` is woken or no longer `seen`, or for a tenth of a second.
pub fn futex_wait(word: &AtomicU32, seen: u32) {
    wait_for(word, seen, 100_000_000);
}

/// Rests for a millisecond.
pub fn nap() {
    wait_for(&AtomicU32::new(0), 0, 1_000_000);
}

fn wait_for(word: &AtomicU32, seen: u32, nanoseconds: u64) {
    let timeout = [0_u64, nanoseconds];
    let a = [
        word.as_ptr() as u64,
        0,
        u64::from(seen),
        timeout.as_ptr() as u64,
        0,
        0,
    ];
    // SAFETY: FUTEX_WAIT only reads the word, which outlives the call.
    unsafe { call(FUTEX, a) };
}

/// Wakes one sleeper.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: FUTEX_WAKE only takes the word's address.
    unsafe { call(FUTEX, [word.as_ptr() as u64, 1, 1, 0, 0, 0]) };
}

/// Ends the process at once.
pub fn die(status: u64) -> ! {
    // SAFETY: does not return.
    unsafe { call(EXIT_GROUP, [status, 0, 0, 0, 0, 0]) };
    // SAFETY: never reached.
    unsafe { core::arch::asm!("ud2", options(noreturn)) }
}
