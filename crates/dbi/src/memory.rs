//! Memory of the image's own: an arena of addresses far from the program's ([`reserve`], [`map`]),
//! a global allocator with size classes over it, and `memcpy` and the other functions that
//! compilers assume to exist.
//!
//! Addresses of the arena are used once: what is unmapped is not reserved again.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::asm;

use reuselens_wire::ARENA;

use super::lock::Lock;
use super::sys;

const READ_WRITE: u64 = 3;
/// Bytes that the allocator maps at a time. Larger blocks are mapped on their own.
const CHUNK: u64 = 4 << 20;
/// Size classes: powers of two from 16 bytes on.
const CLASSES: usize = 32;

/// The next address of the arena.
static NEXT: Lock<u64> = Lock::new(ARENA);

/// Takes address space from the arena, aligned, without mapping it.
pub fn reserve(bytes: u64, align: u64) -> u64 {
    let mut next = NEXT.lock();
    let at = next.next_multiple_of(align);
    *next = (at + bytes).next_multiple_of(4096);
    at
}

/// The end of the addresses that were reserved.
pub fn end() -> u64 {
    *NEXT.lock()
}

/// Maps fresh zeros; ends the process if there is no memory.
pub fn map(bytes: u64, align: u64) -> u64 {
    for _ in 0..64 {
        let at = reserve(bytes, align);
        if sys::map_at(at, bytes.next_multiple_of(4096), READ_WRITE) {
            return at;
        }
    }
    sys::complain(
        "reuselens: no memory for the rewriter of this program; is there a limit? ulimit -v unlimited \
         takes it away\n",
    );
    sys::die(127)
}

struct Heap {
    free: [u64; CLASSES],
    next: u64,
    end: u64,
}

static HEAP: Lock<Heap> = Lock::new(Heap {
    free: [0; CLASSES],
    next: 0,
    end: 0,
});

/// Holds the locks of this module until the result is dropped, for a fork. Nothing can be allocated
/// meanwhile.
pub fn hold() -> impl Sized {
    (HEAP.lock(), NEXT.lock())
}

/// The allocator.
struct Allocator;

/// Size class of a request.
fn class(layout: Layout) -> usize {
    let bytes = layout.size().max(layout.align()).max(16);
    bytes.next_power_of_two().trailing_zeros() as usize
}

// SAFETY: blocks of a class are as large and as aligned as its power of two, and disjoint.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class(layout);
        let bytes = 1_u64 << class;
        if bytes >= CHUNK {
            return map(bytes, bytes.min(1 << 21)) as *mut u8;
        }
        let mut heap = HEAP.lock();
        let free = heap.free[class];
        if free != 0 {
            // SAFETY: a free block's first word is the next one's address.
            heap.free[class] = unsafe { *(free as *const u64) };
            return free as *mut u8;
        }
        let mut at = heap.next.next_multiple_of(bytes.min(4096));
        if heap.next == 0 || at + bytes > heap.end {
            at = map(CHUNK, 4096);
            heap.end = at + CHUNK;
        }
        heap.next = at + bytes;
        at as *mut u8
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = class(layout);
        if 1_u64 << class >= CHUNK {
            // SAFETY: mapped by `alloc`, and no longer used.
            return unsafe { sys::unmap(block as u64, 1 << class) };
        }
        let mut heap = HEAP.lock();
        // SAFETY: the block is free, and as large as a word at least.
        unsafe { *block.cast::<u64>() = heap.free[class] };
        heap.free[class] = block as u64;
    }
}

#[cfg_attr(reuselens_dbi, global_allocator)]
static ALLOCATOR: Allocator = Allocator;

/// # Safety
/// As `memcpy(3)`.
#[cfg_attr(reuselens_dbi, unsafe(no_mangle))]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    // SAFETY: by the caller; the direction flag is clear in our code.
    unsafe {
        asm!("rep movsb", inout("rcx") bytes => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags))
    };
    to
}

/// # Safety
/// As `memmove(3)`.
#[cfg_attr(reuselens_dbi, unsafe(no_mangle))]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    // SAFETY: by the caller; backwards where the ranges overlap so.
    unsafe {
        if (to as usize).wrapping_sub(from as usize) >= bytes {
            return memcpy(to, from, bytes);
        }
        asm!("std", "rep movsb", "cld", inout("rcx") bytes => _,
            inout("rdi") to.add(bytes).wrapping_sub(1) => _, inout("rsi") from.add(bytes).wrapping_sub(1) => _, options(nostack));
    }
    to
}

/// # Safety
/// As `memset(3)`.
#[cfg_attr(reuselens_dbi, unsafe(no_mangle))]
pub unsafe extern "C" fn memset(to: *mut u8, value: i32, bytes: usize) -> *mut u8 {
    // SAFETY: as for `memcpy`.
    unsafe {
        asm!("rep stosb", inout("rcx") bytes => _, inout("rdi") to => _, in("al") value as u8, options(nostack, preserves_flags))
    };
    to
}

/// # Safety
/// As `memcmp(3)`.
#[cfg_attr(reuselens_dbi, unsafe(no_mangle))]
pub unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, bytes: usize) -> i32 {
    for index in 0..bytes {
        // SAFETY: by the caller. Volatile, so that this does not become a call of itself.
        let (a, b) = unsafe {
            (
                one.add(index).read_volatile(),
                other.add(index).read_volatile(),
            )
        };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// # Safety
/// As `bcmp(3)`.
#[cfg_attr(reuselens_dbi, unsafe(no_mangle))]
pub unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, bytes: usize) -> i32 {
    // SAFETY: by the caller.
    unsafe { memcmp(one, other, bytes) }
}

/// # Safety
/// As `strlen(3)`.
#[cfg_attr(reuselens_dbi, unsafe(no_mangle))]
pub unsafe extern "C" fn strlen(text: *const u8) -> usize {
    let mut length = 0;
    // SAFETY: by the caller.
    while unsafe { text.add(length).read_volatile() } != 0 {
        length += 1;
    }
    length
}

/// The image never unwinds.
#[cfg(reuselens_dbi)]
#[unsafe(no_mangle)]
pub extern "C" fn rust_eh_personality() {}

/// The image never unwinds.
#[cfg(reuselens_dbi)]
#[unsafe(no_mangle)]
pub extern "C" fn _Unwind_Resume() {}
