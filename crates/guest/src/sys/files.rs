//! System calls on files.

use core::ffi::CStr;

use super::{
    CLOSE, IOCTL, MAP_SHARED, OPENAT, PREAD, PROT_READ_WRITE, READ, READLINK, STAT, WRITE, call,
    mmap,
};

/// For [`open`]: for reading and writing.
pub const O_RDWR: u64 = 2;

/// Opens a file, closed on exec; `flags` as for `open(2)`, 0 for reading only. The descriptor, or
/// `-errno`.
///
/// By `openat`, as the loader does: a filter that is there from before the program began allows
/// that call.
pub fn open(path: &CStr, flags: u64) -> i64 {
    const HERE: u64 = -100_i64 as u64;
    const O_CLOEXEC: u64 = 0o2_000_000;
    let a = [HERE, path.as_ptr() as u64, flags | O_CLOEXEC, 0, 0, 0];
    // SAFETY: the path is ended.
    unsafe { call(OPENAT, a) }
}

/// Closes a file that was opened by [`open`].
pub fn close(fd: i64) {
    // SAFETY: only our own files.
    unsafe { call(CLOSE, [fd as u64, 0, 0, 0, 0, 0]) };
}

/// Reads from a file. Returns the number of bytes; 0 at the end or on errors.
pub fn read(fd: i64, into: &mut [u8]) -> usize {
    let (to, bytes) = (into.as_mut_ptr() as u64, into.len() as u64);
    // SAFETY: the kernel writes into the slice.
    usize::try_from(unsafe { call(READ, [fd as u64, to, bytes, 0, 0, 0]) }).unwrap_or(0)
}

/// Reads from a file at an offset. Returns the number of bytes; 0 at the end or on errors.
pub fn read_at(fd: i64, into: &mut [u8], offset: u64) -> usize {
    let (to, bytes) = (into.as_mut_ptr() as u64, into.len() as u64);
    // SAFETY: the kernel writes into the slice.
    usize::try_from(unsafe { call(PREAD, [fd as u64, to, bytes, offset, 0, 0]) }).unwrap_or(0)
}

/// Reads the target of a symbolic link into `target`; the length, or 0.
pub fn read_link(path: &CStr, target: &mut [u8]) -> usize {
    let (from, to) = (path.as_ptr() as u64, target.as_mut_ptr() as u64);
    let a = [from, to, target.len() as u64, 0, 0, 0];
    // SAFETY: the kernel writes at most `target.len()` bytes.
    usize::try_from(unsafe { call(READLINK, a) }).unwrap_or(0)
}

/// Reads the path of the program that runs into `path`; the length, or 0.
///
/// Not by `/proc/self`: that is the process's first thread, which has no program any more once it
/// has ended.
pub fn executable(path: &mut [u8]) -> usize {
    read_link(c"/proc/thread-self/exe", path)
}

/// Device and number of the file at a path.
pub fn identity(path: &CStr) -> Option<(u64, u64)> {
    // `struct stat`: the device comes first, then the number.
    let mut about = [0_u64; 18];
    let a = [path.as_ptr() as u64, about.as_mut_ptr() as u64, 0, 0, 0, 0];
    // SAFETY: the kernel reads the path and writes 144 bytes.
    (unsafe { call(STAT, a) } == 0).then_some((about[0], about[1]))
}

/// Prints a text on standard error: only for failures after which the program cannot go on.
pub fn complain(words: &str) {
    const STANDARD_ERROR: u64 = 2;
    let (from, bytes) = (words.as_ptr() as u64, words.len() as u64);
    // SAFETY: the kernel reads the string.
    unsafe { call(WRITE, [STANDARD_ERROR, from, bytes, 0, 0, 0]) };
}

/// Writes a number in decimal, for paths in `/proc`. Returns how many digits it has: ten at most.
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

/// A file that is closed when dropped.
pub struct File(i64);

impl File {
    /// Opens a file; `flags` as for [`open`]. `None` if the system refuses.
    pub fn open(path: &CStr, flags: u64) -> Option<File> {
        let fd = open(path, flags);
        (fd >= 0).then_some(File(fd))
    }

    /// Reads; 0 at the end and on errors.
    pub fn read(&self, into: &mut [u8]) -> usize {
        read(self.0, into)
    }

    /// Maps its first bytes, shared, for reading and writing. `None` if the system refuses.
    pub fn map(&self, bytes: usize) -> Option<usize> {
        let fd = self.0 as i32;
        // SAFETY: a new mapping, at a place that the system chooses.
        let at = unsafe { mmap(0, bytes, PROT_READ_WRITE, MAP_SHARED, fd, 0) };
        (at > 0).then_some(at as usize)
    }

    /// `ioctl`.
    ///
    /// # Safety
    /// As the request asks of its argument.
    pub unsafe fn control(&self, request: u64, argument: u64) -> i64 {
        // SAFETY: passed on.
        unsafe { call(IOCTL, [self.0 as u64, request, argument, 0, 0, 0]) }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        close(self.0);
    }
}
