//! The allocator of a program that reports what it has when memory ends.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::exhausted::{note, out_of_memory};
use crate::limit::address_space_limit;

/// The system's allocator, with a reserve of address space for the time after it has refused
/// something. The reserve takes no memory: none of its pages is touched.
///
/// Where the system refuses an allocation, the reserve is given back to it, the allocation is tried
/// again, and [`out_of_memory`] says from then on that the work should end. Cost: a comparison per
/// allocation.
pub struct Allocator;

/// The most bytes of the reserve: enough for the report of a small profile.
const RESERVE: usize = 32 << 20;
/// Bytes of a large block: tables that grow have more, buffers that come and go have less.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 4 << 20;
/// The part of a limited address space that is reserved at most.
const PART: usize = 8;

/// The reserve while there is one.
static RESERVED: AtomicPtr<libc::c_void> = AtomicPtr::new(ptr::null_mut());
/// Its bytes.
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// What is to be done before the process ends because nothing more can be allocated.
static LAST: OnceLock<fn()> = OnceLock::new();

/// What is said then.
static EXPLANATION: OnceLock<String> = OnceLock::new();

/// What is said where nobody has explained it.
const MESSAGE: &str = "reuselens: the system refuses memory, and what is left is too little for a \
report; allow more address space (ulimit -v) or memory\n";

impl Allocator {
    /// What is said on standard error where a failed allocation ends the process: a line, which
    /// says what helps. The first call counts.
    pub fn explain(message: String) {
        // It fails where this was done before.
        let _ = EXPLANATION.set(message);
    }

    /// Sets the reserve aside. From now on a failed allocation that nothing can be done about ends
    /// the process with a message and exit code 1, after `last`, instead of SIGABRT. `last` must
    /// neither allocate nor wait.
    pub fn prepare(last: fn()) {
        // It fails where this was done before.
        let _ = LAST.set(last);
        give_large_blocks_back();
        let bytes = reserve_bytes();
        // SAFETY: a new mapping that overlaps none, of no file.
        let reserve = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if reserve != libc::MAP_FAILED {
            BYTES.store(bytes, Ordering::Relaxed);
            RESERVED.store(reserve, Ordering::Release);
        }
        let handler: extern "C" fn(libc::c_int) = aborted;
        // SAFETY: the handler is a function that lives for ever.
        unsafe {
            libc::signal(libc::SIGABRT, handler as libc::sighandler_t);
        }
    }
}

/// Has the C library map each block of [`LARGE`] bytes and more by itself, so that its memory is
/// the system's again once it is freed. Left to itself, glibc puts blocks of up to 32 MiB into its
/// heap after the first that was freed, and what a table held before it grew stays there. Smaller
/// blocks that are freed stay with it, up to twice [`LARGE`] at the end of a heap.
fn give_large_blocks_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: they set numbers of the C library's.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        // A fixed threshold also fixes the trim threshold at 128 KiB; buffers below `LARGE` come
        // and go.
        libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * LARGE);
    }
}

/// Bytes to reserve: few where there is little address space, which the work itself needs.
fn reserve_bytes() -> usize {
    let limit = address_space_limit().and_then(|limit| usize::try_from(limit).ok());
    limit.map_or(RESERVE, |limit| RESERVE.min(limit / PART))
}

/// Notes a refused allocation. Whether the reserve was given back, so that it may succeed now.
#[cold]
fn has_given_back(bytes: usize) -> bool {
    note(bytes);
    let reserve = RESERVED.swap(ptr::null_mut(), Ordering::AcqRel);
    if reserve.is_null() {
        return false;
    }
    // SAFETY: the mapping that `prepare` made, which nobody else knows.
    unsafe { libc::munmap(reserve, BYTES.load(Ordering::Relaxed)) == 0 }
}

/// Ends the process in order if it aborts because an allocation failed: the standard library calls
/// `abort` then, on the thread that needed the memory.
extern "C" fn aborted(_signal: libc::c_int) {
    if out_of_memory().is_none() {
        // `abort` raises the signal once more, with its default action.
        return;
    }
    if let Some(last) = LAST.get() {
        last();
    }
    let message = EXPLANATION.get().map_or(MESSAGE, String::as_str);
    // SAFETY: it writes bytes that live for ever, and ends the process.
    unsafe {
        libc::write(2, message.as_ptr().cast(), message.len());
        libc::_exit(1);
    }
}

/// What `allocate` finds, which is tried again with the reserve if it finds nothing.
#[inline]
fn allocated(bytes: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    let found = allocate();
    if found.is_null() && has_given_back(bytes) {
        return allocate();
    }
    found
}

// SAFETY: every call goes to the system's allocator as it came. One that failed is repeated as it
// came, which changes nothing but what the system has left.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that `System` asks for.
        allocated(layout.size(), || unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        allocated(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; where it failed the old block is as it was.
        allocated(size, || unsafe { System.realloc(old, layout, size) })
    }

    #[inline]
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(old, layout) }
    }
}
