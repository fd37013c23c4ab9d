//! System calls, made directly, so that they neither change `errno` nor run code of the program.
//!
//! Once the program has restricted itself the run time is *quiet* ([`is_quiet`], see `restrict`):
//! calls that are not on behalf of the program must not be made. Waiting and waking are replaced
//! here then; callers of all other functions check it themselves.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use reuselens_wire::THREAD_NAME_BYTES;

const MMAP: usize = 9;
const MUNMAP: usize = 11;
const GETPID: usize = 39;
const KILL: usize = 62;
const READLINK: usize = 89;
const GETRLIMIT: usize = 97;
const PRCTL: usize = 157;
const GETTID: usize = 186;
const FUTEX: usize = 202;
const SCHED_YIELD: usize = 24;
const OPENAT: usize = 257;
const READ: usize = 0;
const CLOSE: usize = 3;
const STAT: usize = 4;

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

/// One system call with up to six arguments; negative results are `-errno`.
///
/// # Safety
/// As the system call asks.
#[inline]
pub unsafe fn call(number: usize, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel preserves all registers but rax, rcx and r11.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2],
            in("r10") a[3], in("r8") a[4], in("r9") a[5],
            out("rcx") _, out("r11") _,
            options(nostack)
        );
    }
    result
}

/// Maps memory.
///
/// # Safety
/// As `mmap(2)`.
pub unsafe fn mmap(address: usize, bytes: usize, prot: i32, flags: i32, fd: i32, at: i64) -> isize {
    // SAFETY: passed on.
    unsafe {
        call(
            MMAP,
            [
                address,
                bytes,
                prot as usize,
                flags as usize,
                fd as usize,
                at as usize,
            ],
        )
    }
}

/// Unmaps memory.
///
/// # Safety
/// As `munmap(2)`.
pub unsafe fn munmap(address: usize, bytes: usize) -> isize {
    // SAFETY: passed on.
    unsafe { call(MUNMAP, [address, bytes, 0, 0, 0, 0]) }
}

/// Opens a file for reading and writing, closed on exec. `path` ends with a zero byte.
pub fn open_read_write(path: *const u8) -> isize {
    const O_RDWR: usize = 2;
    open(path, O_RDWR)
}

/// Opens a file by `openat`, as the loader does: a filter that is there from before the program
/// began allows that call.
fn open(path: *const u8, flags: usize) -> isize {
    const HERE: usize = -100_isize as usize;
    const O_CLOEXEC: usize = 0o2000000;
    // SAFETY: the kernel checks the pointer.
    unsafe { call(OPENAT, [HERE, path as usize, flags | O_CLOEXEC, 0, 0, 0]) }
}

/// How many filters of system calls the calling thread is under.
pub fn filters() -> u32 {
    let fd = open(c"/proc/thread-self/status".as_ptr().cast(), 0);
    if fd < 0 {
        return 0;
    }
    let mut status = [0_u8; 4096];
    let into = status.as_mut_ptr() as usize;
    // SAFETY: the kernel writes into the array.
    let read = unsafe { call(READ, [fd as usize, into, status.len(), 0, 0, 0]) };
    close(fd);
    let bytes = usize::try_from(read).unwrap_or(0);
    reuselens_wire::filters(&status[..bytes])
}

/// Closes a file descriptor.
pub fn close(fd: isize) {
    // SAFETY: only called with descriptors that this module opened.
    unsafe { call(CLOSE, [fd as usize, 0, 0, 0, 0, 0]) };
}

/// Device and number of the file at a path, which ends with a zero byte.
pub fn identity(path: &[u8]) -> Option<(u64, u64)> {
    // `struct stat`: the device comes first, then the number.
    let mut about = [0_u64; 18];
    let a = [
        path.as_ptr() as usize,
        about.as_mut_ptr() as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel reads the path and writes 144 bytes.
    (unsafe { call(STAT, a) } == 0).then_some((about[0], about[1]))
}

/// This process's id.
pub fn pid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(GETPID, [0; 6]) as u32 }
}

/// This thread's id.
pub fn tid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(GETTID, [0; 6]) as u32 }
}

/// The name of this thread, which a zero byte ends.
pub fn thread_name() -> [u8; THREAD_NAME_BYTES] {
    const GET_NAME: usize = 16;
    let mut name = [0; THREAD_NAME_BYTES];
    // SAFETY: the kernel writes sixteen bytes.
    unsafe { call(PRCTL, [GET_NAME, name.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    name
}

/// Whether a process lives.
pub fn process_exists(pid: u32) -> bool {
    const ESRCH: isize = -3;
    // SAFETY: signal 0 only asks.
    let exists = |pid: u32| unsafe { call(KILL, [pid as usize, 0, 0, 0, 0, 0]) != ESRCH };
    reuselens_wire::is_alive(pid, exists, |path| {
        let mut target = [0_u8; 8];
        let a = [
            path.as_ptr() as usize,
            target.as_mut_ptr() as usize,
            8,
            0,
            0,
            0,
        ];
        // SAFETY: the path is ended; the kernel writes at most eight bytes.
        unsafe { call(READLINK, a) as i64 }
    })
}

/// Lets another thread run.
pub fn yield_now() {
    if is_quiet() {
        return spin();
    }
    // SAFETY: no arguments.
    unsafe { call(SCHED_YIELD, [0; 6]) };
}

/// Reads the target of a symbolic link into `target`; the length, or 0.
pub fn read_link(path: &core::ffi::CStr, target: &mut [u8]) -> usize {
    let a = [
        path.as_ptr() as usize,
        target.as_mut_ptr() as usize,
        target.len(),
        0,
        0,
        0,
    ];
    // SAFETY: the kernel writes at most `target.len()` bytes.
    let length = unsafe { call(READLINK, a) };
    usize::try_from(length).unwrap_or(0)
}

/// The soft limit of the stack in bytes, or 8 MiB if there is none.
pub fn stack_limit() -> u64 {
    const RLIMIT_STACK: usize = 3;
    const DEFAULT: u64 = 8 << 20;
    let mut limits = [0_u64; 2];
    // SAFETY: the kernel writes two words.
    unsafe {
        call(
            GETRLIMIT,
            [RLIMIT_STACK, limits.as_mut_ptr() as usize, 0, 0, 0, 0],
        )
    };
    if limits[0] == 0 || limits[0] > 1 << 40 {
        DEFAULT
    } else {
        limits[0]
    }
}

/// Sleeps until `word` is woken or no longer `seen`, or for a tenth of a second; spins for a moment
/// instead if quiet.
pub fn futex_wait(word: &AtomicU32, seen: u32) {
    if is_quiet() {
        return spin();
    }
    let timeout = [0_u64, 100_000_000];
    let a = [
        word.as_ptr() as usize,
        0,
        seen as usize,
        timeout.as_ptr() as usize,
        0,
        0,
    ];
    // SAFETY: the word lives in shared memory for the whole run; FUTEX_WAIT only reads it.
    unsafe { call(FUTEX, a) };
}

/// Wakes one sleeper; nothing if quiet: the consumer wakes by itself, a little later.
pub fn futex_wake(word: &AtomicU32) {
    if is_quiet() {
        return;
    }
    // SAFETY: as above.
    unsafe { call(FUTEX, [word.as_ptr() as usize, 1, 1, 0, 0, 0]) };
}

/// As [`stamp`], read after all earlier instructions are done.
#[inline]
pub fn ordered_stamp() -> u64 {
    // SAFETY: the instruction exists on every x86-64 processor.
    unsafe { core::arch::x86_64::_mm_lfence() };
    stamp()
}

/// The time-stamp counter, one clock for all cores on every x86-64 machine of this decade. A count
/// from the last time read if the counter must not be read any more.
#[inline]
pub fn stamp() -> u64 {
    if TIME.load(Ordering::Relaxed) != 0 {
        return TIME.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the instruction exists on every x86-64 processor.
    unsafe { core::arch::x86_64::_rdtsc() }
}
