//! The functions that the program calls in place of those of its C library.
//!
//! Those that allocate begin with a few instructions that pass on where the call came from; the
//! stack is as the caller left it, so that its calls can be followed.

use core::arch::naked_asm;
use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};

use reuselens_guest::unwind::CallCursor;
use reuselens_guest::{next, sys};

use super::{heap, mappings, sites, start, verify};

const NULL: *mut u8 = core::ptr::null_mut();
/// Errors of `posix_memalign`.
const EINVAL: c_int = 22;

/// Defines functions that pass on, after so many arguments of their own, the return address, the
/// stack pointer and `rbp`.
macro_rules! entries {
    ($($name:ident($($arg:ident: $type:ty),+) -> $result:ty,
        $address:literal $sp:literal $bp:literal => $to:ident;)+) => { $(
        /// As in the C library.
        ///
        /// # Safety
        /// As in the C library.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),+) -> $result {
            naked_asm!(
                concat!("mov ", $address, ", qword ptr [rsp]"),
                concat!("mov ", $sp, ", rsp"),
                concat!("mov ", $bp, ", rbp"),
                "jmp {to}",
                to = sym $to,
            )
        }
    )+ };
}

entries! {
    malloc(bytes: usize) -> *mut u8, "rsi" "rdx" "rcx" => malloc_from;
    valloc(bytes: usize) -> *mut u8, "rsi" "rdx" "rcx" => valloc_from;
    pvalloc(bytes: usize) -> *mut u8, "rsi" "rdx" "rcx" => pvalloc_from;
    calloc(count: usize, bytes: usize) -> *mut u8, "rdx" "rcx" "r8" => calloc_from;
    realloc(at: *mut u8, bytes: usize) -> *mut u8, "rdx" "rcx" "r8" => realloc_from;
    aligned_alloc(align: usize, bytes: usize) -> *mut u8, "rdx" "rcx" "r8" => aligned_from;
    memalign(align: usize, bytes: usize) -> *mut u8, "rdx" "rcx" "r8" => memalign_from;
    posix_memalign(to: *mut *mut u8, align: usize, bytes: usize) -> c_int,
        "rcx" "r8" "r9" => posix_memalign_from;
    __libc_malloc(bytes: usize) -> *mut u8, "rsi" "rdx" "rcx" => hooked_malloc_from;
    __libc_calloc(count: usize, bytes: usize) -> *mut u8, "rdx" "rcx" "r8" => hooked_calloc_from;
    __libc_realloc(at: *mut u8, bytes: usize) -> *mut u8, "rdx" "rcx" "r8" => hooked_realloc_from;
    __libc_memalign(align: usize, bytes: usize) -> *mut u8, "rdx" "rcx" "r8" => hooked_memalign_from;
}

/// As in the C library: nine arguments do not fit into registers, so the last three are pushed.
///
/// # Safety
/// As in the C library.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    at: usize,
    bytes: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut u8 {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, rsp",
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "push qword ptr [rax]",
        ".cfi_adjust_cfa_offset 8",
        "call {to}",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "ret",
        ".cfi_endproc",
        to = sym mmap_from,
    )
}

/// The same on 64-bit systems.
///
/// # Safety
/// As in the C library.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    at: usize,
    bytes: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut u8 {
    naked_asm!("jmp {to}", to = sym mmap)
}

/// Functions that change the mapped modules: they look at where they are called from, so that they
/// are jumped to.
macro_rules! notices {
    ($($name:ident $symbol:literal $slot:ident;)+) => { $(
        static $slot: AtomicUsize = AtomicUsize::new(0);

        /// As in the C library.
        ///
        /// # Safety
        /// As in the C library.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            extern "C" fn notice() -> usize {
                sites::modules_change();
                if $slot.load(Ordering::Relaxed) == 0 {
                    $slot.store(next::find($symbol), Ordering::Relaxed);
                }
                $slot.load(Ordering::Relaxed)
            }
            naked_asm!(
                "push rdi", "push rsi", "push rdx",
                "call {notice}",
                "pop rdx", "pop rsi", "pop rdi",
                "jmp rax",
                notice = sym notice,
            )
        }
    )+ };
}

notices! {
    dlopen c"dlopen" DLOPEN;
    dlmopen c"dlmopen" DLMOPEN;
    dlclose c"dlclose" DLCLOSE;
}

/// Where the program called: what the entry point has passed on, with the return address on top of
/// the stack.
#[inline]
fn cursor(return_address: u64, sp: u64, bp: u64) -> CallCursor {
    // SAFETY: the functions below are entered from the entry points above only, whose calls last
    // until they return.
    unsafe { CallCursor::new(return_address, sp + 8, bp) }
}

/// A block for an object of the plan; null where the ordinary allocator has to serve it.
#[cold]
#[inline(never)]
fn planned(from: CallCursor, bytes: usize, align: usize, is_zero: bool) -> *mut u8 {
    let Some(number) = sites::object(from) else {
        return NULL;
    };
    let Some((at, was_zero)) = heap::allocate(number, bytes, align) else {
        return NULL;
    };
    if is_zero && !was_zero {
        // SAFETY: the block has so many bytes.
        unsafe { core::ptr::write_bytes(at as *mut u8, 0, bytes) };
    }
    verify::add(number, at, bytes);
    at as *mut u8
}

/// Whether a call is none of ours: the test that almost all calls take, and nothing more.
#[inline(always)]
fn is_ordinary(return_address: u64, sp: u64) -> bool {
    start::is_calm() && sites::is_ordinary(return_address, sp + 8)
}

/// Whether a call may be planned, where there may be new modules.
fn is_candidate(return_address: u64) -> bool {
    sites::look();
    sites::is_candidate(return_address)
}

extern "C" fn malloc_from(bytes: usize, address: u64, sp: u64, bp: u64) -> *mut u8 {
    if is_ordinary(address, sp) {
        // SAFETY: the arguments are the program's, for this function.
        unsafe { next::malloc(bytes) }
    } else {
        malloc_slowly(bytes, address, sp, bp)
    }
}

#[cold]
#[inline(never)]
extern "C" fn malloc_slowly(bytes: usize, address: u64, sp: u64, bp: u64) -> *mut u8 {
    if start::is_starting() {
        return early(bytes);
    }
    if is_candidate(address) {
        let at = planned(cursor(address, sp, bp), bytes, 1, false);
        if !at.is_null() {
            return at;
        }
    }
    // SAFETY: as in `malloc_from`.
    unsafe { next::malloc(bytes) }
}

extern "C" fn calloc_from(count: usize, bytes: usize, address: u64, sp: u64, bp: u64) -> *mut u8 {
    if is_ordinary(address, sp) {
        // SAFETY: the arguments are the program's, for this function.
        unsafe { next::calloc(count, bytes) }
    } else {
        calloc_slowly(count, bytes, address, sp, bp)
    }
}

#[cold]
#[inline(never)]
extern "C" fn calloc_slowly(count: usize, bytes: usize, address: u64, sp: u64, bp: u64) -> *mut u8 {
    if start::is_starting() {
        // Never used before, so it is zero.
        return early(count.saturating_mul(bytes));
    }
    if is_candidate(address)
        && let Some(total) = count.checked_mul(bytes)
    {
        let at = planned(cursor(address, sp, bp), total, 1, true);
        if !at.is_null() {
            return at;
        }
    }
    // SAFETY: as in `calloc_from`.
    unsafe { next::calloc(count, bytes) }
}

extern "C" fn realloc_from(old: *mut u8, bytes: usize, address: u64, sp: u64, bp: u64) -> *mut u8 {
    if is_ordinary(address, sp) && !heap::is_ours(old as usize) && !is_early(old) {
        // SAFETY: the arguments are the program's, for this function.
        unsafe { next::realloc(old, bytes) }
    } else {
        realloc_slowly(old, bytes, address, sp, bp)
    }
}

#[cold]
#[inline(never)]
extern "C" fn realloc_slowly(
    old: *mut u8,
    bytes: usize,
    address: u64,
    sp: u64,
    bp: u64,
) -> *mut u8 {
    if start::is_starting() {
        let at = early(bytes);
        if !at.is_null() && is_early(old) {
            // SAFETY: both blocks have so many bytes, and are different ones.
            unsafe { core::ptr::copy_nonoverlapping(old, at, early_room(old).min(bytes)) };
        }
        return at;
    }
    let is_ours = heap::is_ours(old as usize);
    let is_early = is_early(old);
    if is_ours && bytes == 0 {
        release(old as usize);
        return NULL;
    }
    let may_be_planned = is_candidate(address) && (bytes > 0 || old.is_null());
    let mut at = NULL;
    if may_be_planned {
        at = planned(cursor(address, sp, bp), bytes, 1, false);
    }
    if at.is_null() {
        if !is_ours && !is_early {
            // SAFETY: as in `realloc_from`.
            return unsafe { next::realloc(old, bytes) };
        }
        // SAFETY: any number of bytes may be asked for.
        at = unsafe { next::malloc(bytes) };
    }
    if at.is_null() || old.is_null() {
        return at;
    }
    let room = match (is_ours, is_early) {
        (true, _) => heap::room(old as usize),
        (_, true) => early_room(old),
        // SAFETY: the block is the next allocator's.
        _ => unsafe { next::malloc_usable_size(old) },
    };
    // SAFETY: both blocks have so many bytes, and are different ones.
    unsafe { core::ptr::copy_nonoverlapping(old, at, room.min(bytes)) };
    // SAFETY: the old block is the caller's to give up.
    unsafe { free(old) };
    at
}

/// An aligned block; `ordinary` serves what is not planned.
#[inline]
fn aligned(
    (align, bytes): (usize, usize),
    from: CallCursor,
    ordinary: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    if start::is_starting() {
        return NULL;
    }
    if is_candidate(from.return_address()) && align.is_power_of_two() {
        let at = planned(from, bytes, align, false);
        if !at.is_null() {
            return at;
        }
    }
    ordinary()
}

extern "C" fn aligned_from(align: usize, bytes: usize, at: u64, sp: u64, bp: u64) -> *mut u8 {
    aligned((align, bytes), cursor(at, sp, bp), || {
        // SAFETY: the arguments are the program's, for this function.
        unsafe { next::aligned_alloc(align, bytes) }
    })
}

extern "C" fn memalign_from(align: usize, bytes: usize, at: u64, sp: u64, bp: u64) -> *mut u8 {
    aligned((align, bytes), cursor(at, sp, bp), || {
        // SAFETY: the arguments are the program's, for this function.
        unsafe { next::memalign(align, bytes) }
    })
}

extern "C" fn valloc_from(bytes: usize, at: u64, sp: u64, bp: u64) -> *mut u8 {
    aligned((4096, bytes), cursor(at, sp, bp), || {
        // SAFETY: the arguments are the program's, for this function.
        unsafe { next::valloc(bytes) }
    })
}

extern "C" fn pvalloc_from(bytes: usize, at: u64, sp: u64, bp: u64) -> *mut u8 {
    let pages = bytes.checked_next_multiple_of(4096).unwrap_or(bytes);
    aligned((4096, pages), cursor(at, sp, bp), || {
        // SAFETY: the arguments are the program's, for this function.
        unsafe { next::pvalloc(bytes) }
    })
}

extern "C" fn posix_memalign_from(
    to: *mut *mut u8,
    align: usize,
    bytes: usize,
    address: u64,
    sp: u64,
    bp: u64,
) -> c_int {
    if start::is_starting() {
        return EINVAL;
    }
    if align.is_power_of_two() && align >= 8 && is_candidate(address) {
        let at = planned(cursor(address, sp, bp), bytes, align, false);
        if !at.is_null() {
            // SAFETY: the caller gives the place.
            unsafe { *to = at };
            return 0;
        }
    }
    // SAFETY: the arguments are the program's, for this function.
    unsafe { next::posix_memalign(to, align, bytes) }
}

/// Programs that `reuselens cc` built have functions `malloc` and so on of their own, which pass on
/// to the functions `__libc_malloc` and so on of the C library: the call that counts is the one
/// around those.
fn around_hook(from: CallCursor) -> CallCursor {
    if sites::has_table() {
        from.caller().unwrap_or(from)
    } else {
        from
    }
}

extern "C" fn hooked_malloc_from(bytes: usize, address: u64, sp: u64, bp: u64) -> *mut u8 {
    let from = around_hook(cursor(address, sp, bp));
    malloc_from(bytes, from.return_address(), from.sp() - 8, from.bp())
}

extern "C" fn hooked_calloc_from(
    count: usize,
    bytes: usize,
    address: u64,
    sp: u64,
    bp: u64,
) -> *mut u8 {
    let from = around_hook(cursor(address, sp, bp));
    calloc_from(
        count,
        bytes,
        from.return_address(),
        from.sp() - 8,
        from.bp(),
    )
}

extern "C" fn hooked_realloc_from(
    old: *mut u8,
    bytes: usize,
    address: u64,
    sp: u64,
    bp: u64,
) -> *mut u8 {
    let from = around_hook(cursor(address, sp, bp));
    realloc_from(old, bytes, from.return_address(), from.sp() - 8, from.bp())
}

extern "C" fn hooked_memalign_from(
    align: usize,
    bytes: usize,
    address: u64,
    sp: u64,
    bp: u64,
) -> *mut u8 {
    let from = around_hook(cursor(address, sp, bp));
    memalign_from(
        align,
        bytes,
        from.return_address(),
        from.sp() - 8,
        from.bp(),
    )
}

#[allow(clippy::too_many_arguments)]
extern "C" fn mmap_from(
    at: usize,
    bytes: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
    address: u64,
    sp: u64,
    bp: u64,
) -> *mut u8 {
    start::is_starting();
    // SAFETY: the arguments are the program's, for this function.
    let mapped = unsafe { next::mmap(at, bytes, prot, flags, fd, offset) };
    if flags as u64 & sys::MAP_ANONYMOUS != 0 && mapped as isize != -1 && is_candidate(address) {
        mappings::mapped(mapped as usize, bytes, cursor(address, sp, bp));
    }
    mapped
}

/// As in the C library.
///
/// # Safety
/// As in the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(at: *mut u8, bytes: usize) -> c_int {
    start::is_starting();
    mappings::unmapped(at as usize, bytes);
    // SAFETY: passed on.
    unsafe { next::munmap(at, bytes) }
}

#[inline(never)]
fn release(at: usize) {
    verify::remove(at);
    heap::free(at);
}

/// As in the C library.
///
/// # Safety
/// As in the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(at: *mut u8) {
    if heap::is_ours(at as usize) {
        return release(at as usize);
    }
    if start::is_calm() && !is_early(at) {
        // SAFETY: passed on.
        unsafe { next::free(at) }
    } else {
        free_slowly(at)
    }
}

/// As the C library's: see [`around_hook`].
///
/// # Safety
/// As `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __libc_free(at: *mut u8) {
    // SAFETY: passed on.
    unsafe { free(at) }
}

#[cold]
#[inline(never)]
fn free_slowly(at: *mut u8) {
    // What was allocated early is kept.
    if !is_early(at) && !start::is_starting() {
        // SAFETY: the block is the next allocator's.
        unsafe { next::free(at) };
    }
}

/// C23's, for blocks of ours in programs that use it.
///
/// # Safety
/// As in the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_sized(at: *mut u8, _: usize) {
    // SAFETY: passed on.
    unsafe { free(at) }
}

/// C23's, for blocks of ours in programs that use it.
///
/// # Safety
/// As in the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_aligned_sized(at: *mut u8, _: usize, _: usize) {
    // SAFETY: passed on.
    unsafe { free(at) }
}

/// As in the C library.
///
/// # Safety
/// As in the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(at: *mut u8) -> usize {
    if heap::is_ours(at as usize) {
        return heap::room(at as usize);
    }
    if is_early(at) {
        early_room(at)
    } else if start::is_starting() {
        0
    } else {
        // SAFETY: passed on.
        unsafe { next::malloc_usable_size(at) }
    }
}

/// Ends the process at once.
///
/// # Safety
/// As in the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    start::finish();
    sys::die(status as u64)
}

/// Ends the process at once.
///
/// # Safety
/// As in the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    // SAFETY: passed on.
    unsafe { _exit(status) }
}

/// Blocks for what the loader allocates while it finds the next allocator. They are never used
/// again. Each is after its size.
const EARLY: usize = 64 << 10;
#[repr(align(16))]
struct Early(core::cell::UnsafeCell<[u8; EARLY]>);
// SAFETY: each part is handed out once, to one caller.
unsafe impl Sync for Early {}
static EARLY_BLOCKS: Early = Early(core::cell::UnsafeCell::new([0; EARLY]));
static EARLY_USED: AtomicUsize = AtomicUsize::new(0);

#[cold]
fn early(bytes: usize) -> *mut u8 {
    if bytes > EARLY {
        return NULL;
    }
    let bytes = bytes.max(1).next_multiple_of(16);
    let at = EARLY_USED.fetch_add(bytes + 16, Ordering::Relaxed);
    if at + bytes + 16 > EARLY {
        return NULL;
    }
    let start = EARLY_BLOCKS.0.get().cast::<u8>();
    // SAFETY: this part of the array is this caller's alone.
    unsafe {
        start.add(at).cast::<usize>().write(bytes);
        start.add(at + 16)
    }
}

#[inline]
fn is_early(at: *mut u8) -> bool {
    (at as usize).wrapping_sub(EARLY_BLOCKS.0.get() as usize) < EARLY
}

fn early_room(at: *mut u8) -> usize {
    // SAFETY: the size is before each early block.
    unsafe { at.sub(16).cast::<usize>().read() }
}
