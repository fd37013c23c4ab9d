//! Blocks that the program takes by `malloc` and its like: who took the block that a copy reads or
//! writes.
//!
//! These functions stand before those of the program's allocator, and pass every call on. Of large
//! blocks they keep address and call path; of the others nothing.

use std::alloc::{GlobalAlloc, Layout};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, Ordering};

use reuselens_guest::next;

use super::call_paths;
use super::guarded::{self, Guarded};
use super::python;

/// Blocks of fewer bytes are not kept: arrays that are copied are larger, and most other blocks
/// are smaller.
const LEAST_BYTES: usize = 4096;

/// A block of the program.
#[derive(Clone, Copy)]
pub struct HeapBlock {
    pub bytes: usize,
    /// Who took it.
    pub call_path: u32,
    /// Whether it took part in a copy before.
    is_known: bool,
}

static BLOCKS: Guarded<BTreeMap<usize, HeapBlock>> = Guarded::new(BTreeMap::new());

/// How many blocks of [`BLOCKS`] have an address with each hash. A `free` of what is surely not
/// there looks no further. A count that has reached its limit stays.
static FILTER: [AtomicU16; 1 << 16] = [const { AtomicU16::new(0) }; 1 << 16];

fn filter(address: usize) -> &'static AtomicU16 {
    let hash = (address as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    &FILTER[hash as usize]
}

/// Whether blocks are kept: once this library is ready.
static IS_READY: AtomicBool = AtomicBool::new(false);

/// Begins to keep blocks.
pub fn begin() {
    ensure();
    // SAFETY: functions that are there for as long as the process.
    unsafe { pthread_atfork(before_fork, after_fork, after_fork) };
    IS_READY.store(true, Ordering::Release);
}

unsafe extern "C" {
    fn pthread_atfork(
        before: extern "C" fn(),
        in_parent: extern "C" fn(),
        in_child: extern "C" fn(),
    ) -> c_int;
}

extern "C" fn before_fork() {
    BLOCKS.lock().take();
    call_paths::before_fork();
    guarded::begin_fork();
}

extern "C" fn after_fork() {
    guarded::end_fork();
    call_paths::after_fork();
    BLOCKS.lock().release();
}

/// Who allocates. Of Python it is not known: its allocator cannot be asked while it works, and the
/// interpreter's own functions say nothing.
fn of_allocation() -> u32 {
    if python::is_there() {
        0
    } else {
        call_paths::here_on_stack()
    }
}

/// The block around an address, how far it is in it, and whether this is the first time that
/// someone asks for it.
pub fn block_around(address: usize) -> Option<(HeapBlock, bool)> {
    BLOCKS.with(|blocks| {
        let (begin, block) = blocks.range_mut(..=address).next_back()?;
        if address - begin >= block.bytes {
            return None;
        }
        let is_first = !std::mem::replace(&mut block.is_known, true);
        Some((*block, is_first))
    })
}

/// Keeps a block that a call of the program took.
#[inline]
fn keep(at: *mut u8, bytes: usize) -> *mut u8 {
    if bytes >= LEAST_BYTES && !at.is_null() && IS_READY.load(Ordering::Acquire) {
        keep_block(at as usize, bytes);
    }
    at
}

#[cold]
fn keep_block(at: usize, bytes: usize) {
    insert(
        at,
        HeapBlock {
            bytes,
            call_path: of_allocation(),
            is_known: false,
        },
    );
}

fn insert(at: usize, block: HeapBlock) {
    let was_there = BLOCKS.with(|blocks| blocks.insert(at, block)).is_some();
    if !was_there {
        let more = |count: u16| count.checked_add(1);
        let _ = filter(at).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }
}

/// Forgets a block that is about to be freed.
#[inline]
fn forget(at: *mut u8) -> Option<HeapBlock> {
    match filter(at as usize).load(Ordering::Relaxed) {
        0 => None,
        _ => remove(at as usize),
    }
}

#[cold]
fn remove(at: usize) -> Option<HeapBlock> {
    let block = BLOCKS.with(|blocks| blocks.remove(&at))?;
    let less = |count: u16| (count < u16::MAX).then(|| count.saturating_sub(1));
    let _ = filter(at).fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    Some(block)
}

/// Finds the program's allocator, with the first call of any function.
#[inline]
fn ensure() {
    if FOUND.load(Ordering::Acquire) != 2 {
        look();
    }
}

/// 0 before, 1 while it is looked for, 2 after. While it is looked for there is one thread, and
/// what the loader asks for gets no memory, which it can do without.
static FOUND: AtomicU8 = AtomicU8::new(0);

#[cold]
fn look() {
    if FOUND
        .compare_exchange(0, 1, Ordering::Acquire, Ordering::Acquire)
        .is_ok()
    {
        next::find_all();
        FOUND.store(2, Ordering::Release);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn malloc(bytes: usize) -> *mut u8 {
    ensure();
    // SAFETY: the arguments are the program's, for this function.
    keep(unsafe { next::malloc(bytes) }, bytes)
}

#[unsafe(no_mangle)]
pub extern "C" fn calloc(count: usize, bytes: usize) -> *mut u8 {
    ensure();
    // SAFETY: the arguments are the program's, for this function.
    let block = unsafe { next::calloc(count, bytes) };
    keep(block, count.wrapping_mul(bytes))
}

#[unsafe(no_mangle)]
pub extern "C" fn free(at: *mut u8) {
    ensure();
    forget(at);
    // SAFETY: the arguments are the program's, for this function.
    unsafe { next::free(at) };
}

#[unsafe(no_mangle)]
pub extern "C" fn realloc(at: *mut u8, bytes: usize) -> *mut u8 {
    ensure();
    let before = forget(at);
    // SAFETY: the arguments are the program's, for this function.
    let moved = unsafe { next::realloc(at, bytes) };
    if moved.is_null()
        && bytes > 0
        && let Some(before) = before
    {
        insert(at as usize, before);
    }
    keep(moved, bytes)
}

#[unsafe(no_mangle)]
pub extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut u8 {
    ensure();
    // SAFETY: the arguments are the program's, for this function.
    keep(unsafe { next::aligned_alloc(alignment, bytes) }, bytes)
}

#[unsafe(no_mangle)]
pub extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut u8 {
    ensure();
    // SAFETY: the arguments are the program's, for this function.
    keep(unsafe { next::memalign(alignment, bytes) }, bytes)
}

#[unsafe(no_mangle)]
pub extern "C" fn posix_memalign(to: *mut *mut u8, alignment: usize, bytes: usize) -> c_int {
    ensure();
    // SAFETY: the arguments are the program's, for this function.
    let result = unsafe { next::posix_memalign(to, alignment, bytes) };
    if result == 0 {
        // SAFETY: it has succeeded, so the block's address is there.
        keep(unsafe { *to }, bytes);
    }
    result
}

/// What this library takes itself: from the program's allocator, and kept nowhere.
struct OwnMemory;

#[global_allocator]
static OWN: OwnMemory = OwnMemory;

/// Every block of the C library has this alignment.
const ALIGNMENT: usize = 16;

// SAFETY: the C library's functions do what Rust asks of them.
unsafe impl GlobalAlloc for OwnMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ensure();
        // SAFETY: a layout's alignment is a power of two.
        unsafe {
            if layout.align() <= ALIGNMENT {
                next::malloc(layout.size())
            } else {
                next::memalign(layout.align(), layout.size())
            }
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, _: Layout) {
        // SAFETY: the block was allocated here.
        unsafe { next::free(at) };
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ensure();
        if layout.align() <= ALIGNMENT {
            // SAFETY: any number of bytes may be asked for.
            return unsafe { next::calloc(1, layout.size()) };
        }
        // SAFETY: passed on.
        let at = unsafe { self.alloc(layout) };
        if !at.is_null() {
            // SAFETY: the block has this size.
            unsafe { at.write_bytes(0, layout.size()) };
        }
        at
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            // SAFETY: the block was allocated here, by `malloc`.
            return unsafe { next::realloc(at, bytes) };
        }
        // SAFETY: the size is one that Rust asks for, and the alignment is the block's.
        let new = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        // SAFETY: passed on; both blocks have at least the bytes that are copied.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(at, moved, layout.size().min(bytes));
                self.dealloc(at, layout);
            }
            moved
        }
    }
}
