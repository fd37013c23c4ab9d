//! [`Allocator`]: a global allocator for programs that must report their results when there is no
//! more memory. It forwards to the system's allocator and holds a reserve of address space, which
//! it gives up when an allocation fails for the first time; the program can check for that
//! ([`out_of_memory`]) and end in order.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::exhausted::{out_of_memory, set_refused};
use crate::limit::address_space_limit;

/// The system's allocator, with a reserve of address space for the time after it has refused
/// something. The reserve takes no memory: none of its pages is touched.
///
/// When the system refuses an allocation, the reserve is unmapped, the allocation is tried again,
/// and [`out_of_memory`] returns that allocation from then on. Cost: a comparison per allocation.
pub struct Allocator;

/// The most bytes of the reserve: enough for the report of a small profile.
const RESERVE: usize = 32 << 20;
/// The least bytes of a large block: growing tables have more, short-lived buffers less.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 4 << 20;
/// At most one part in this many of a limited address space is reserved.
const PART: usize = 8;

/// The reserve while there is one.
static RESERVED: AtomicPtr<libc::c_void> = AtomicPtr::new(ptr::null_mut());
/// Its bytes.
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Called before the process ends because nothing more can be allocated.
static LAST: OnceLock<fn()> = OnceLock::new();

/// The message that is printed then, if it was set.
static EXPLANATION: OnceLock<String> = OnceLock::new();

/// The message that is printed otherwise.
const MESSAGE: &str = "reuselens: the system refuses memory, and what is left is too little for a \
report; allow more address space (ulimit -v) or memory\n";

impl Allocator {
    /// Sets the line that is printed on standard error if a failed allocation ends the process; it
    /// should have advice. Only the first call has an effect.
    pub fn explain(message: String) {
        // Fails if it is set already.
        let _ = EXPLANATION.set(message);
    }

    /// Maps the reserve. After this, an allocation that fails in spite of the reserve ends the
    /// process with a message and exit code 1, after calling `last`, instead of by SIGABRT. `last`
    /// must neither allocate nor wait.
    pub fn prepare(last: fn()) {
        // Fails if it is set already.
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

/// Makes the C library map each block of at least [`LARGE`] bytes separately, so that its memory
/// returns to the system when it is freed. By default, once such a block was freed, glibc puts
/// blocks of up to 32 MiB into its heap, where the old memory of a table that has grown stays.
/// Smaller freed blocks stay with glibc, up to twice [`LARGE`] at the end of a heap.
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

/// Bytes to reserve: fewer if the address space is limited, for the work itself needs it.
fn reserve_bytes() -> usize {
    let limit = address_space_limit().and_then(|limit| usize::try_from(limit).ok());
    limit.map_or(RESERVE, |limit| RESERVE.min(limit / PART))
}

/// Keeps that an allocation was refused. Returns whether the reserve was unmapped now, so that the
/// allocation may succeed.
#[cold]
fn has_given_back(bytes: usize) -> bool {
    set_refused(bytes);
    let reserve = RESERVED.swap(ptr::null_mut(), Ordering::AcqRel);
    if reserve.is_null() {
        return false;
    }
    // SAFETY: the mapping that `prepare` made, which nothing else uses.
    unsafe { libc::munmap(reserve, BYTES.load(Ordering::Relaxed)) == 0 }
}

/// The handler of SIGABRT: ends the process in order if an allocation has failed, for which the
/// standard library calls `abort`, on the thread that needed the memory.
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

/// The result of `allocate`, which is called again after giving up the reserve if it returns null.
#[inline]
fn allocated(bytes: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    let found = allocate();
    if found.is_null() && has_given_back(bytes) {
        return allocate();
    }
    found
}

// SAFETY: each call is forwarded to the system's allocator. A failed call is repeated with the same
// arguments, which is another valid call.
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
        // SAFETY: as above; a failed call leaves the old block unchanged.
        allocated(size, || unsafe { System.realloc(old, layout, size) })
    }

    #[inline]
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(old, layout) }
    }
}
