//! System calls, made directly: they touch no `errno` and run no code of the program.

use core::arch::asm;

pub const READ: usize = 0;
pub const OPEN: usize = 2;
pub const CLOSE: usize = 3;
pub const MMAP: usize = 9;
pub const MUNMAP: usize = 11;
pub const IOCTL: usize = 16;
pub const SCHED_YIELD: usize = 24;
pub const MADVISE: usize = 28;
pub const GETPID: usize = 39;
pub const GETTID: usize = 186;
pub const MBIND: usize = 237;
pub const MOVE_PAGES: usize = 279;

pub const PROT_NONE: usize = 0;
pub const PROT_READ_WRITE: usize = 3;
pub const MAP_SHARED: usize = 1;
pub const MAP_PRIVATE: usize = 2;
pub const MAP_FIXED: usize = 0x10;
pub const MAP_ANONYMOUS: usize = 0x20;
pub const MAP_NORESERVE: usize = 0x4000;
pub const MAP_HUGETLB: usize = 0x40000;
pub const MADV_DONTNEED: usize = 4;
pub const MADV_HUGEPAGE: usize = 14;
pub const O_RDWR_CLOEXEC: usize = 0o2000002;
pub const O_RDONLY_CLOEXEC: usize = 0o2000000;

/// One system call; negative results are `-errno`.
///
/// # Safety
/// As the system call asks.
#[inline]
pub unsafe fn call(number: usize, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel preserves all registers but rax, rcx and r11; the rest is the caller's.
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

/// Maps memory without a file; `None` where the system refuses. `at` is a wish, or the place with
/// `MAP_FIXED`: then the caller owns that range.
///
/// # Safety
/// With `MAP_FIXED` nothing that is in use may be in the range.
pub unsafe fn map(at: usize, bytes: usize, prot: usize, flags: usize) -> Result<usize, i32> {
    let flags = flags | MAP_PRIVATE | MAP_ANONYMOUS;
    // SAFETY: passed on.
    let result = unsafe { call(MMAP, [at, bytes, prot, flags, usize::MAX, 0]) };
    match result {
        -4095..0 => Err(-result as i32),
        at => Ok(at as usize),
    }
}

/// Advises the system about pages; 0, or `-errno`.
///
/// # Safety
/// With `MADV_DONTNEED` the bytes must be nobody's.
pub unsafe fn madvise(at: usize, bytes: usize, advice: usize) -> isize {
    // SAFETY: passed on.
    unsafe { call(MADVISE, [at, bytes, advice, 0, 0, 0]) }
}

/// The process, and the thread.
pub fn pid() -> usize {
    // SAFETY: it has no arguments.
    unsafe { call(GETPID, [0; 6]) as usize }
}

pub fn tid() -> usize {
    // SAFETY: it has no arguments.
    unsafe { call(GETTID, [0; 6]) as usize }
}

pub fn yield_now() {
    // SAFETY: it has no arguments.
    unsafe { call(SCHED_YIELD, [0; 6]) };
}

/// A file that is closed when dropped.
pub struct File(usize);

impl File {
    /// Opens a path that ends with a zero byte.
    pub fn open(path: &[u8], flags: usize) -> Option<File> {
        debug_assert!(path.last() == Some(&0));
        // SAFETY: the path ends with a zero byte.
        let fd = unsafe { call(OPEN, [path.as_ptr() as usize, flags, 0, 0, 0, 0]) };
        usize::try_from(fd).ok().map(File)
    }

    /// Reads; 0 at the end and on errors.
    pub fn read(&self, into: &mut [u8]) -> usize {
        let at = into.as_mut_ptr() as usize;
        // SAFETY: the buffer is the caller's.
        let read = unsafe { call(READ, [self.0, at, into.len(), 0, 0, 0]) };
        usize::try_from(read).unwrap_or(0)
    }

    /// Maps it shared.
    pub fn map(&self, bytes: usize) -> Option<usize> {
        let a = [0, bytes, PROT_READ_WRITE, MAP_SHARED, self.0, 0];
        // SAFETY: a new mapping, at a place that the system chooses.
        let at = unsafe { call(MMAP, a) };
        (at > 0).then_some(at as usize)
    }

    /// `ioctl`.
    ///
    /// # Safety
    /// As the request asks of its argument.
    pub unsafe fn control(&self, request: usize, argument: usize) -> isize {
        // SAFETY: passed on.
        unsafe { call(IOCTL, [self.0, request, argument, 0, 0, 0]) }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's.
        unsafe { call(CLOSE, [self.0, 0, 0, 0, 0, 0]) };
    }
}

/// The path of the program.
pub fn executable(buffer: &mut [u8; 512]) -> &[u8] {
    const READLINK: usize = 89;
    let path = b"/proc/self/exe\0";
    let a = [
        path.as_ptr() as usize,
        buffer.as_mut_ptr() as usize,
        buffer.len(),
        0,
        0,
        0,
    ];
    // SAFETY: the path ends with a zero byte, and the buffer is the caller's.
    let len = unsafe { call(READLINK, a) };
    &buffer[..usize::try_from(len).unwrap_or(0)]
}
