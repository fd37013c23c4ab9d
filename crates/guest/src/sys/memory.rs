//! System calls on memory. Our own is named by `usize`. The program's is named by `u64`: it may not
//! be accessible, so it is never made a pointer.

use super::{
    MADVISE, MMAP, MUNMAP, PROCESS_VM_READV, PROCESS_VM_WRITEV, RT_SIGPROCMASK, call, failed, tid,
};

/// For [`mmap`] and [`map`]: no access.
pub const PROT_NONE: u64 = 0;
/// For [`mmap`] and [`map`]: reads.
pub const PROT_READ: u64 = 1;
/// For [`mmap`] and [`map`]: writes.
pub const PROT_WRITE: u64 = 2;
/// For [`mmap`] and [`map`]: executes.
pub const PROT_EXEC: u64 = 4;
/// For [`mmap`] and [`map`]: reads and writes.
pub const PROT_READ_WRITE: u64 = PROT_READ | PROT_WRITE;
/// For [`mmap`]: other processes see what is written.
pub const MAP_SHARED: u64 = 1;
/// For [`mmap`]: only this process sees what is written.
pub const MAP_PRIVATE: u64 = 2;
/// For [`mmap`] and [`map`]: exactly at this address, in place of what is there.
pub const MAP_FIXED: u64 = 0x10;
/// For [`mmap`]: no file.
pub const MAP_ANONYMOUS: u64 = 0x20;
/// For [`mmap`] and [`map`]: counts only where it is used.
pub const MAP_NORESERVE: u64 = 0x4000;
/// For [`mmap`] and [`map`]: pages of the pool of huge ones.
pub const MAP_HUGETLB: u64 = 0x40000;
/// For [`madvise`]: the pages go back to the system.
pub const MADV_DONTNEED: u64 = 4;
/// For [`madvise`]: huge pages are wanted.
pub const MADV_HUGEPAGE: u64 = 14;
/// For [`madvise`]: the pages are there, as if they had been read; since Linux 5.14.
pub const MADV_POPULATE_READ: u64 = 22;
/// For [`madvise`]: the pages are there, as if they had been written to; since Linux 5.14.
pub const MADV_POPULATE_WRITE: u64 = 23;

/// Maps memory: its address, or `-errno`.
///
/// # Safety
/// As `mmap(2)`.
#[inline]
pub unsafe fn mmap(address: usize, bytes: usize, prot: u64, flags: u64, fd: i32, at: i64) -> i64 {
    let a = [
        address as u64,
        bytes as u64,
        prot,
        flags,
        fd as u64,
        at as u64,
    ];
    // SAFETY: passed on.
    unsafe { call(MMAP, a) }
}

/// Unmaps memory: 0, or `-errno`.
///
/// # Safety
/// As `munmap(2)`.
#[inline]
pub unsafe fn munmap(address: usize, bytes: usize) -> i64 {
    // SAFETY: passed on.
    unsafe { call(MUNMAP, [address as u64, bytes as u64, 0, 0, 0, 0]) }
}

/// Maps memory without a file: its address, or `-errno`. `at` is a wish, or the place with
/// [`MAP_FIXED`]: then the caller owns that range.
///
/// # Safety
/// With [`MAP_FIXED`] nothing that is in use may be in the range.
#[inline]
pub unsafe fn map(at: usize, bytes: usize, prot: u64, flags: u64) -> Result<usize, i64> {
    let flags = flags | MAP_PRIVATE | MAP_ANONYMOUS;
    // SAFETY: passed on.
    let result = unsafe { mmap(at, bytes, prot, flags, -1, 0) };
    if failed(result) {
        Err(result)
    } else {
        Ok(result as usize)
    }
}

/// Advises the system about pages: 0, or `-errno`.
///
/// # Safety
/// With [`MADV_DONTNEED`] the bytes must be nobody's.
#[inline]
pub unsafe fn madvise(at: usize, bytes: usize, advice: u64) -> i64 {
    // SAFETY: passed on.
    unsafe { call(MADVISE, [at as u64, bytes as u64, advice, 0, 0, 0]) }
}

/// Copies from the program's memory; false if it is not all readable, where an access would fault.
#[inline]
pub fn peek(address: u64, into: &mut [u8]) -> bool {
    let local = [into.as_mut_ptr() as u64, into.len() as u64];
    let remote = [address, into.len() as u64];
    transfer(PROCESS_VM_READV, &local, &remote)
}

/// Copies into the program's memory; false if it is not all writable. A stack grows for it.
///
/// # Safety
/// Nothing of ours is at `address`.
pub unsafe fn poke(address: u64, from: &[u8]) -> bool {
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

#[inline]
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

/// Whether the program may write to the page at `page`. Its contents do not change, but the page
/// gets memory of its own (`MADV_POPULATE_WRITE`). False on kernels before 5.14.
pub fn may_write(page: u64) -> bool {
    // SAFETY: writes nothing.
    unsafe { madvise(page as usize, 4096, MADV_POPULATE_WRITE) == 0 }
}
