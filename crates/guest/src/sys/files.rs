//! System calls on files.

use core::ffi::CStr;

use super::{
    CLOSE, IOCTL, MAP_SHARED, OPENAT, PREAD, PROT_READ_WRITE, READ, READLINK, STAT, WRITE, call,
    mmap,
};

/// For [`File::open`]: for reading and writing.
pub const O_RDWR: u64 = 2;

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

/// A file, closed when dropped, and when the program becomes another one by `exec`.
pub struct File(i32);

impl File {
    /// Opens a file; `flags` as for `open(2)`, 0 for reading only. `None` if the system refuses.
    ///
    /// By `openat`, as the loader does: a filter that is there from before the program began allows
    /// that call.
    pub fn open(path: &CStr, flags: u64) -> Option<File> {
        const HERE: u64 = -100_i64 as u64;
        const O_CLOEXEC: u64 = 0o2_000_000;
        let a = [HERE, path.as_ptr() as u64, flags | O_CLOEXEC, 0, 0, 0];
        // SAFETY: the path is ended.
        let descriptor = unsafe { call(OPENAT, a) };
        (descriptor >= 0).then_some(File(descriptor as i32))
    }

    /// The descriptor, which is the file's until that is dropped.
    pub fn descriptor(&self) -> i32 {
        self.0
    }

    /// Reads. Returns the number of bytes; 0 at the end and on errors.
    pub fn read(&self, into: &mut [u8]) -> usize {
        let (to, bytes) = (into.as_mut_ptr() as u64, into.len() as u64);
        // SAFETY: the kernel writes into the slice.
        usize::try_from(unsafe { call(READ, [self.0 as u64, to, bytes, 0, 0, 0]) }).unwrap_or(0)
    }

    /// Reads at an offset. Returns the number of bytes; 0 at the end and on errors.
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> usize {
        let (to, bytes) = (into.as_mut_ptr() as u64, into.len() as u64);
        let a = [self.0 as u64, to, bytes, offset, 0, 0];
        // SAFETY: the kernel writes into the slice.
        usize::try_from(unsafe { call(PREAD, a) }).unwrap_or(0)
    }

    /// Maps its first bytes, shared, for reading and writing. `None` if the system refuses.
    pub fn map(&self, bytes: usize) -> Option<usize> {
        // SAFETY: a new mapping, at a place that the system chooses.
        let at = unsafe { mmap(0, bytes, PROT_READ_WRITE, MAP_SHARED, self.0, 0) };
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
        // SAFETY: only our own file.
        unsafe { call(CLOSE, [self.0 as u64, 0, 0, 0, 0, 0]) };
    }
}
