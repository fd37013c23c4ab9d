//! Memory of the image's own, far from the program's: address space of a fixed use ([`reserve`]),
//! a heap that grows, with a global allocator of size classes over it and the threads' states in it
//! ([`take_thread`]), and `memcpy` and the other functions that compilers assume to exist.
//!
//! The address space is reserved before the program starts, so nothing that the program does takes
//! it away. A [`Frontier`] moves through each part that grows: what is below it is accessible. The
//! kernel only moves a border between two mappings for that, which also works for a program that
//! has used up the mappings that a process may have. What must become a mapping of its own then
//! takes the place of one of the [`ballast`](super::ballast). Nothing is unmapped: what is freed is
//! used again.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

use reuselens_guest::sys;
use reuselens_wire::{ARENA, HEAP as HEAP_BEGIN, START_BYTES};

use super::lock::Lock;
use super::{ballast, space};

/// Bytes that the allocator takes at a time. Larger blocks are taken on their own.
const CHUNK: u64 = 4 << 20;
/// Size classes: powers of two from 16 bytes on.
const CLASSES: usize = 40;

/// The next address of the part of a fixed use.
static NEXT: Lock<u64> = Lock::new(ARENA);
/// The end of the address space that was reserved for us; 0 if none was (in tests).
static RESERVED_END: AtomicU64 = AtomicU64::new(0);

/// Before anything else of this module: `end` is the end of the address space that was reserved.
pub fn begin(end: u64) {
    RESERVED_END.store(end, Ordering::Relaxed);
}

/// Takes address space of the part of a fixed use, aligned, without making it accessible.
pub fn reserve(bytes: u64, align: u64) -> u64 {
    let mut next = NEXT.lock();
    let at = next.next_multiple_of(align);
    *next = (at + bytes).next_multiple_of(4096);
    debug_assert!(*next <= HEAP_BEGIN);
    at
}

/// The end of our addresses.
pub fn end() -> u64 {
    let taken = HEAP.lock().taken;
    taken.max(RESERVED_END.load(Ordering::Relaxed))
}

/// The end of the accessible memory in a part of the address space that grows. The caller holds the
/// lock of that part.
pub struct Frontier {
    end: AtomicU64,
    rights: u64,
}

impl Frontier {
    /// All below `end` is accessible; what is added gets these rights, as for `mmap(2)`.
    pub const fn new(end: u64, rights: u64) -> Frontier {
        Frontier {
            end: AtomicU64::new(end),
            rights,
        }
    }

    /// Makes all memory below `to` accessible, and some more; false if the system refuses.
    pub fn reach(&self, to: u64) -> bool {
        const STEP: u64 = 4 << 20;
        let from = self.end.load(Ordering::Relaxed);
        if to <= from {
            return true;
        }
        let end = to.next_multiple_of(STEP);
        let reached = open(from, end - from, self.rights);
        if reached {
            self.end.store(end, Ordering::Relaxed);
        }
        reached
    }

    /// Begins at `at`, where nothing is accessible yet.
    pub fn begin(&self, at: u64) {
        self.end.store(at, Ordering::Relaxed);
    }
}

/// Makes our address space accessible; false if the system refuses.
fn open(at: u64, bytes: u64, rights: u64) -> bool {
    if at + bytes > RESERVED_END.load(Ordering::Relaxed) {
        return space::map_at(at, bytes, rights);
    }
    space::grow_data(bytes);
    let opened = set_rights(at, bytes, rights);
    if !opened {
        space::shrink_data(bytes);
    }
    opened
}

/// Changes the rights of memory; false if the system refuses even after it was given a mapping back
/// in exchange.
pub fn set_rights(at: u64, bytes: u64, rights: u64) -> bool {
    loop {
        // SAFETY: the caller's own memory, which nobody uses in a way that the rights forbid.
        match unsafe { sys::call(sys::MPROTECT, [at, bytes, rights, 0, 0, 0]) } {
            0 => return true,
            sys::ENOMEM if ballast::drop_some() => {}
            _ => return false,
        }
    }
}

/// Ends the process: there is no memory for what cannot be done without.
pub fn exhausted() -> ! {
    sys::complain(
        "reuselens: no memory for the rewriter of this program; is there a limit? ulimit -v unlimited \
         -d unlimited takes it away\n",
    );
    sys::die(127)
}

struct Heap {
    free: [u64; CLASSES],
    /// The next block, and the end of the chunk that it is taken from.
    next: u64,
    end: u64,
    /// Address of a chunk for later, or 0.
    spare: u64,
    /// The end of all chunks and larger blocks.
    taken: u64,
    /// Address of the first state of a thread that is free, or 0.
    threads: u64,
}

static HEAP: Lock<Heap> = Lock::new(Heap {
    free: [0; CLASSES],
    next: 0,
    end: 0,
    spare: 0,
    taken: HEAP_BEGIN,
    threads: 0,
});
/// The end of the heap's accessible memory: in a program, some is accessible before we start.
static HEAP_END: Frontier = Frontier::new(HEAP_BEGIN + START, sys::PROT_READ_WRITE);
const START: u64 = if cfg!(test) { 0 } else { START_BYTES[1] };

impl Heap {
    /// Fresh zeros; `None` if there is no memory.
    fn take(&mut self, bytes: u64, align: u64) -> Option<u64> {
        let at = self.taken.next_multiple_of(align);
        let end = at + bytes.next_multiple_of(4096);
        if !HEAP_END.reach(end) {
            return None;
        }
        self.taken = end;
        Some(at)
    }
}

/// Sees that there is memory for the translation of a block; false if the system has none left.
pub fn prepare() -> bool {
    let mut heap = HEAP.lock();
    if heap.spare == 0 {
        heap.spare = heap.take(CHUNK, 4096).unwrap_or(0);
    }
    heap.spare != 0
}

/// Takes memory of zeros for the state of a thread, and whether it was one before; `None` if there
/// is no memory.
pub fn take_thread(bytes: u64, align: u64) -> Option<(u64, bool)> {
    let mut heap = HEAP.lock();
    let free = heap.threads;
    if free == 0 {
        return heap.take(bytes, align).map(|at| (at, false));
    }
    // SAFETY: a free state's first word is the next one's address.
    heap.threads = unsafe { core::mem::take(&mut *(free as *mut u64)) };
    Some((free, true))
}

/// Gives back memory that [`take_thread`] has returned; nobody uses it any more.
pub fn give_thread(at: u64, bytes: u64) {
    if !empty(at, bytes) {
        return; // It is not zeros.
    }
    let mut heap = HEAP.lock();
    // SAFETY: the memory is free.
    unsafe { *(at as *mut u64) = heap.threads };
    heap.threads = at;
}

/// Gives the pages of memory back to the system: they are zeros when they are used again. False if
/// the system refuses, because they are locked.
fn empty(at: u64, bytes: u64) -> bool {
    // SAFETY: the caller's own memory, which nobody uses.
    unsafe { sys::madvise(at as usize, bytes as usize, sys::MADV_DONTNEED) == 0 }
}

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
        let mut heap = HEAP.lock();
        let free = heap.free[class];
        if free != 0 {
            // SAFETY: a free block's first word is the next one's address.
            heap.free[class] = unsafe { *(free as *const u64) };
            return free as *mut u8;
        }
        if bytes >= CHUNK {
            let taken = heap.take(bytes, bytes.min(1 << 21));
            return taken.unwrap_or_else(|| exhausted()) as *mut u8;
        }
        let mut at = heap.next.next_multiple_of(bytes.min(4096));
        if heap.next == 0 || at + bytes > heap.end {
            at = match core::mem::take(&mut heap.spare) {
                0 => heap.take(CHUNK, 4096).unwrap_or_else(|| exhausted()),
                spare => spare,
            };
            heap.end = at + CHUNK;
        }
        heap.next = at + bytes;
        at as *mut u8
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = class(layout);
        if 1_u64 << class >= CHUNK {
            empty(block as u64, 1 << class);
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
