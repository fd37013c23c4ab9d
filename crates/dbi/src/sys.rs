//! System calls of our own, made directly: their numbers, errors, and a function for each that is
//! needed. There is no libc in the image. Reads and writes of the program's memory go through
//! [`peek`] and [`poke`], which fail where an access would fault.

use core::arch::asm;
use core::sync::atomic::AtomicU32;

use reuselens_wire::THREAD_NAME_BYTES;

use super::space;

pub const READ: u64 = 0;
pub const WRITE: u64 = 1;
pub const OPEN: u64 = 2;
pub const CLOSE: u64 = 3;
pub const LSEEK: u64 = 8;
pub const MMAP: u64 = 9;
pub const MPROTECT: u64 = 10;
pub const MUNMAP: u64 = 11;
pub const RT_SIGACTION: u64 = 13;
pub const RT_SIGPROCMASK: u64 = 14;
pub const RT_SIGRETURN: u64 = 15;
pub const PREAD: u64 = 17;
pub const PWRITE: u64 = 18;
pub const READV: u64 = 19;
pub const WRITEV: u64 = 20;
pub const SCHED_YIELD: u64 = 24;
pub const MREMAP: u64 = 25;
pub const MADVISE: u64 = 28;
pub const SHMAT: u64 = 30;
pub const SHMCTL: u64 = 31;
pub const GETPID: u64 = 39;
pub const RECVFROM: u64 = 45;
pub const RECVMSG: u64 = 47;
pub const CLONE: u64 = 56;
pub const FORK: u64 = 57;
pub const VFORK: u64 = 58;
pub const EXECVE: u64 = 59;
pub const EXIT: u64 = 60;
pub const KILL: u64 = 62;
pub const SHMDT: u64 = 67;
pub const CREAT: u64 = 85;
pub const READLINK: u64 = 89;
pub const GETRLIMIT: u64 = 97;
pub const CAPGET: u64 = 125;
pub const RT_SIGPENDING: u64 = 127;
pub const RT_SIGTIMEDWAIT: u64 = 128;
pub const RT_SIGSUSPEND: u64 = 130;
pub const SIGALTSTACK: u64 = 131;
pub const MLOCKALL: u64 = 151;
pub const PRCTL: u64 = 157;
pub const ARCH_PRCTL: u64 = 158;
pub const SETRLIMIT: u64 = 160;
pub const GETTID: u64 = 186;
pub const FUTEX: u64 = 202;
pub const GETDENTS64: u64 = 217;
pub const EXIT_GROUP: u64 = 231;
pub const TGKILL: u64 = 234;
pub const OPENAT: u64 = 257;
pub const PSELECT6: u64 = 270;
pub const PPOLL: u64 = 271;
pub const EPOLL_PWAIT: u64 = 281;
pub const PREADV: u64 = 295;
pub const PWRITEV: u64 = 296;
pub const RT_TGSIGQUEUEINFO: u64 = 297;
pub const RECVMMSG: u64 = 299;
pub const PRLIMIT64: u64 = 302;
pub const PROCESS_VM_READV: u64 = 310;
pub const PROCESS_VM_WRITEV: u64 = 311;
pub const SECCOMP: u64 = 317;
pub const GETRANDOM: u64 = 318;
pub const EXECVEAT: u64 = 322;
pub const MLOCK2: u64 = 325;
pub const PREADV2: u64 = 327;
pub const PWRITEV2: u64 = 328;
pub const PKEY_MPROTECT: u64 = 329;
pub const RSEQ: u64 = 334;
pub const CLONE3: u64 = 435;
pub const OPENAT2: u64 = 437;
pub const EPOLL_PWAIT2: u64 = 441;

pub const EPERM: i64 = -1;
pub const EINTR: i64 = -4;
pub const ENOMEM: i64 = -12;
pub const EFAULT: i64 = -14;
pub const EINVAL: i64 = -22;
pub const ENOSYS: i64 = -38;

/// Whether the result of a call is an error.
pub fn failed(result: i64) -> bool {
    (-4095..0).contains(&result)
}

/// One system call with up to six arguments; negative results are `-errno`.
///
/// # Safety
/// As the system call asks.
#[inline]
pub unsafe fn call(number: u64, a: [u64; 6]) -> i64 {
    let result: i64;
    // SAFETY: the kernel preserves all registers but rax, rcx and r11.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2],
            in("r10") a[3], in("r8") a[4], in("r9") a[5],
            out("rcx") _, out("r11") _,
            options(nostack)
        );
    }
    result
}

/// Maps fresh memory of ours at exactly this address. Protection as for `mmap(2)`.
pub fn map_at(address: u64, bytes: u64, protection: u64) -> bool {
    const PRIVATE_ANONYMOUS_NORESERVE_FIXED_NOREPLACE: u64 = 0x10_4022;
    let flags = PRIVATE_ANONYMOUS_NORESERVE_FIXED_NOREPLACE;
    space::grow(bytes);
    space::grow_data(bytes);
    let a = [address, bytes, protection, flags, u64::MAX, 0];
    // SAFETY: takes only addresses that nobody uses.
    let mapped = unsafe { call(MMAP, a) == address as i64 };
    if !mapped {
        space::shrink(bytes);
        space::shrink_data(bytes);
    }
    mapped
}

/// Opens a file; `flags` as for `open(2)`. `path` ends with a zero byte.
pub fn open(path: &[u8], flags: u64) -> i64 {
    const O_CLOEXEC: u64 = 0o2_000_000;
    debug_assert!(path.last() == Some(&0));
    // SAFETY: the path is ended.
    unsafe { call(OPEN, [path.as_ptr() as u64, flags | O_CLOEXEC, 0, 0, 0, 0]) }
}

/// Closes a file that was opened by `open`.
pub fn close(fd: i64) {
    // SAFETY: only our own files.
    unsafe { call(CLOSE, [fd as u64, 0, 0, 0, 0, 0]) };
}

/// Reads from a file. Returns the number of bytes; 0 at the end or on errors.
pub fn read(fd: i64, into: &mut [u8]) -> usize {
    let a = [
        fd as u64,
        into.as_mut_ptr() as u64,
        into.len() as u64,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel writes into the slice.
    usize::try_from(unsafe { call(READ, a) }).unwrap_or(0)
}

/// Reads from a file at an offset. Returns the number of bytes; 0 at the end or on errors.
pub fn read_at(fd: i64, into: &mut [u8], offset: u64) -> usize {
    let (to, bytes) = (into.as_mut_ptr() as u64, into.len() as u64);
    // SAFETY: the kernel writes into the slice.
    usize::try_from(unsafe { call(PREAD, [fd as u64, to, bytes, offset, 0, 0]) }).unwrap_or(0)
}

/// Device and number of the file at a path, which ends with a zero byte.
pub fn identity(path: &[u8]) -> Option<(u64, u64)> {
    const STAT: u64 = 4;
    // `struct stat`: the device comes first, then the number.
    let mut about = [0_u64; 18];
    let a = [path.as_ptr() as u64, about.as_mut_ptr() as u64, 0, 0, 0, 0];
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

/// The name of a thread of this process, and its length. `None` if it is another thread's and
/// cannot be read from `/proc`.
pub fn thread_name(tid: u32) -> Option<([u8; THREAD_NAME_BYTES], usize)> {
    const GET_NAME: u64 = 16;
    let mut name = [0; THREAD_NAME_BYTES];
    if tid == self::tid() {
        // SAFETY: the kernel writes sixteen bytes.
        unsafe { call(PRCTL, [GET_NAME, name.as_mut_ptr() as u64, 0, 0, 0, 0]) };
        let length = name.iter().position(|byte| *byte == 0);
        return Some((name, length.unwrap_or(name.len())));
    }
    let mut path = *b"/proc/self/task/          /comm\0";
    const TASK: usize = 16;
    let end = TASK + decimal(tid, &mut path[TASK..]);
    path[end..end + 6].copy_from_slice(b"/comm\0");
    let fd = open(&path[..end + 6], 0);
    if fd < 0 {
        return None;
    }
    let length = read(fd, &mut name);
    close(fd);
    // The file has one line; its end is cut off.
    Some((name, name[..length].trim_ascii_end().len()))
}

/// Writes a number in decimal, and returns how many digits it has: ten at most.
pub fn decimal(number: u32, into: &mut [u8]) -> usize {
    // From the right.
    let mut digits = [0; 10];
    let (mut rest, mut first) = (number, digits.len());
    while rest > 0 || first == digits.len() {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let count = digits.len() - first;
    into[..count].copy_from_slice(&digits[first..]);
    count
}

/// Whether a process lives.
pub fn process_exists(pid: u32) -> bool {
    const ESRCH: i64 = -3;
    // SAFETY: signal 0 only asks.
    let exists = |pid: u32| unsafe { call(KILL, [u64::from(pid), 0, 0, 0, 0, 0]) != ESRCH };
    reuselens_wire::is_alive(pid, exists, |path| {
        let mut target = [0_u8; 8];
        let a = [path.as_ptr() as u64, target.as_mut_ptr() as u64, 8, 0, 0, 0];
        // SAFETY: the path is ended; the kernel writes at most eight bytes.
        unsafe { call(READLINK, a) }
    })
}

/// Lets another thread run.
pub fn yield_now() {
    // SAFETY: no arguments.
    unsafe { call(SCHED_YIELD, [0; 6]) };
}

/// Reads the target of a symbolic link (its path ended by a zero byte); the length, or 0.
pub fn read_link(path: &[u8], target: &mut [u8]) -> usize {
    let a = [
        path.as_ptr() as u64,
        target.as_mut_ptr() as u64,
        target.len() as u64,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel writes at most `target.len()` bytes.
    usize::try_from(unsafe { call(READLINK, a) }).unwrap_or(0)
}

/// The soft limit of the stack in bytes, or 8 MiB if there is none.
pub fn stack_limit() -> u64 {
    const RLIMIT_STACK: u64 = 3;
    const DEFAULT: u64 = 8 << 20;
    let mut limits = [0_u64; 2];
    // SAFETY: the kernel writes two words.
    unsafe {
        call(
            GETRLIMIT,
            [RLIMIT_STACK, limits.as_mut_ptr() as u64, 0, 0, 0, 0],
        )
    };
    if limits[0] == 0 || limits[0] > 1 << 40 {
        DEFAULT
    } else {
        limits[0]
    }
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
    // SAFETY: as above.
    unsafe { call(FUTEX, [word.as_ptr() as u64, 1, 1, 0, 0, 0]) };
}

/// Copies from the program's memory; false if it is not all readable.
pub fn peek(address: u64, into: &mut [u8]) -> bool {
    let local = [into.as_mut_ptr() as u64, into.len() as u64];
    let remote = [address, into.len() as u64];
    transfer(PROCESS_VM_READV, &local, &remote)
}

/// Whether the program may write to the page at `page`. Its contents do not change, but the page
/// gets memory of its own (`MADV_POPULATE_WRITE`). False on kernels before 5.14.
pub fn may_write(page: u64) -> bool {
    const POPULATE_WRITE: u64 = 23;
    // SAFETY: writes nothing.
    unsafe { call(MADVISE, [page, 4096, POPULATE_WRITE, 0, 0, 0]) == 0 }
}

/// Copies into the program's memory; false if it is not all writable. A stack grows for it.
pub fn poke(address: u64, from: &[u8]) -> bool {
    let local = [from.as_ptr() as u64, from.len() as u64];
    let remote = [address, from.len() as u64];
    let write = || transfer(PROCESS_VM_WRITEV, &local, &remote);
    write() || (from.len() >= 8 && grow_stack(address) && write())
}

/// Lets the kernel write a word at `address`, which is about to be overwritten anyway, so that a
/// stack grows down to there, as it does by the program's own accesses. `process_vm_writev` makes
/// no stack grow since Linux 6.5.
fn grow_stack(address: u64) -> bool {
    // SAFETY: changes no mask; the kernel finds out whether it may write there.
    unsafe { call(RT_SIGPROCMASK, [0, 0, address, 8, 0, 0]) == 0 }
}

fn transfer(number: u64, local: &[u64; 2], remote: &[u64; 2]) -> bool {
    let a = [
        // Not the process's number: that is its first thread, which has no memory any more once it
        // has ended.
        u64::from(tid()),
        local.as_ptr() as u64,
        1,
        remote.as_ptr() as u64,
        1,
        0,
    ];
    // SAFETY: our side is a slice; the kernel checks the other.
    unsafe { call(number, a) == local[1] as i64 }
}

/// The time-stamp counter, read after all earlier instructions are done. It is one clock for all
/// cores on every x86-64 machine of this decade.
#[inline]
pub fn stamp() -> u64 {
    // SAFETY: the instructions exist on every x86-64 processor.
    unsafe {
        core::arch::x86_64::_mm_lfence();
        core::arch::x86_64::_rdtsc()
    }
}

/// Ends the process at once.
pub fn die(status: u64) -> ! {
    // SAFETY: does not return.
    unsafe { call(EXIT_GROUP, [status, 0, 0, 0, 0, 0]) };
    // SAFETY: never reached.
    unsafe { asm!("ud2", options(noreturn)) }
}

/// Prints a text on standard error: only for failures after which the program cannot go on.
pub fn complain(words: &str) {
    // SAFETY: the kernel reads the string.
    unsafe { call(1, [2, words.as_ptr() as u64, words.len() as u64, 0, 0, 0]) };
}
