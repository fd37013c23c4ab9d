//! Replaces libc's allocation functions (`malloc` and the like, `mmap`, `munmap`, `operator new`):
//! records each allocation and free with the return address of the call, and forwards to libc's
//! `__libc_*` functions or to the kernel.
//!
//! The functions replace libc's in the entire process, for an executable's symbols are looked up
//! first. They are weak: a program that defines its own allocator keeps it. `operator new` is
//! replaced, too, because otherwise all C++ allocations would have return addresses in libstdc++.

use core::arch::global_asm;
use core::ffi::{c_int, c_void};

use reuselens_guest::errno::reported;
use reuselens_guest::sys;
use reuselens_wire::{Record, WireKind};

use crate::segment;
use crate::thread::emit;
use crate::{publish, thread};

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_memalign(align: usize, bytes: usize) -> *mut c_void;
    fn __errno_location() -> *mut c_int;
}

const ENOMEM: c_int = 12;
const EINVAL: c_int = 22;

fn began(block: *mut c_void, bytes: usize, pc: u64) -> *mut c_void {
    if !block.is_null() {
        emit(&[
            Record::new(WireKind::Alloc, 0, pc, block as u64),
            Record::new(WireKind::Operand, 0, 0, bytes as u64),
        ]);
        // Other threads may be given the block at once: their records with it must be read later.
        if bytes >= SHARED_SOON_BYTES && segment::mapped().is_some_and(publish::others_run) {
            thread::flush();
        }
    }
    block
}

/// With several threads, an allocation of this size is published at once.
const SHARED_SOON_BYTES: usize = 4096;

fn ended(block: *mut c_void, bytes: u64, pc: u64) {
    if !block.is_null() {
        emit(&[
            Record::new(WireKind::Free, 0, pc, block as u64),
            Record::new(WireKind::Operand, 0, 0, bytes),
        ]);
    }
}

unsafe extern "C" fn malloc(bytes: usize, pc: u64) -> *mut c_void {
    // SAFETY: the caller's own request, passed on; so below.
    began(unsafe { __libc_malloc(bytes) }, bytes, pc)
}

unsafe extern "C" fn calloc(count: usize, bytes: usize, pc: u64) -> *mut c_void {
    // SAFETY: as above.
    began(
        unsafe { __libc_calloc(count, bytes) },
        count.wrapping_mul(bytes),
        pc,
    )
}

unsafe extern "C" fn realloc(old: *mut c_void, bytes: usize, pc: u64) -> *mut c_void {
    // SAFETY: as above.
    let new = unsafe { __libc_realloc(old, bytes) };
    if !new.is_null() || bytes == 0 {
        ended(old, 0, pc);
    }
    began(new, bytes, pc)
}

unsafe extern "C" fn free(block: *mut c_void, pc: u64) {
    ended(block, 0, pc);
    // SAFETY: as above.
    unsafe { __libc_free(block) }
}

unsafe extern "C" fn aligned(align: usize, bytes: usize, pc: u64) -> *mut c_void {
    // SAFETY: as above.
    began(unsafe { __libc_memalign(align, bytes) }, bytes, pc)
}

unsafe extern "C" fn posix_aligned(
    result: *mut *mut c_void,
    align: usize,
    bytes: usize,
    pc: u64,
) -> c_int {
    if !align.is_power_of_two() || align < size_of::<usize>() {
        return EINVAL;
    }
    // SAFETY: as above; `result` is the caller's place for the address.
    unsafe {
        let block = aligned(align, bytes, pc);
        if block.is_null() {
            return ENOMEM;
        }
        *result = block;
    }
    0
}

unsafe extern "C" fn map(a: usize, bytes: usize, prot: i32, flags: i32, fd: i32, at: i64) -> i64 {
    // SAFETY: the caller's own request.
    reported(unsafe { sys::mmap(a, bytes, prot as u64, flags as u64, fd, at) })
}

unsafe extern "C" fn mapped(block: *mut c_void, bytes: usize, pc: u64) {
    if block as isize != -1 {
        began(block, bytes, pc);
    }
}

unsafe extern "C" fn unmap(address: usize, bytes: usize, pc: u64) -> i64 {
    ended(address as *mut c_void, bytes as u64, pc);
    // SAFETY: the caller's own request.
    reported(unsafe { sys::munmap(address, bytes) })
}

/// Defines weak functions that pass their return address as the next argument.
macro_rules! with_return_address {
    ($($register:literal $function:ident: $($name:literal),+;)+) => { $(
        global_asm!(
            $(concat!(".weak ", $name, "\n.type ", $name, ",@function\n", $name, ":"),)+
            concat!("mov ", $register, ", qword ptr [rsp]"),
            "jmp {function}",
            function = sym $function,
        );
    )+ };
}

with_return_address! {
    "rsi" malloc: "malloc";
    "rdx" calloc: "calloc";
    "rdx" realloc: "realloc";
    "rsi" free: "free", "cfree";
    "rdx" aligned: "memalign", "aligned_alloc";
    "rcx" posix_aligned: "posix_memalign";
    "rdx" unmap: "munmap";
    "rdx" new_or_null: "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t";
}

// mmap has six arguments already: call, then record.
global_asm!(
    ".weak mmap\n.type mmap,@function\nmmap:",
    ".weak mmap64\n.type mmap64,@function\nmmap64:",
    "push rsi",
    "call {map}",
    "pop rsi",
    "push rax",
    "mov rdi, rax",
    "mov rdx, qword ptr [rsp + 8]",
    "call {mapped}",
    "pop rax",
    "ret",
    map = sym map,
    mapped = sym mapped,
);

unsafe extern "C" fn new_or_null(bytes: usize, _: *const c_void, pc: u64) -> *mut c_void {
    // SAFETY: as `malloc`; C++ wants distinct addresses even for nothing.
    unsafe { malloc(bytes.max(1), pc) }
}

unsafe extern "C" fn new_block(bytes: usize, pc: u64) -> *mut c_void {
    // SAFETY: as `malloc`.
    unsafe { malloc(bytes.max(1), pc) }
}

// `operator new`: when there is no memory, calls the new-handler and tries again, or throws
// `std::bad_alloc`. Exceptions pass through, so no Rust frame may be on the stack by then. The weak
// symbols are libstdc++'s, there if the program has C++ in it.
global_asm!(
    ".weak _ZSt15get_new_handlerv",
    ".weak _ZSt17__throw_bad_allocv",
    ".weak _Znwm\n.type _Znwm,@function\n_Znwm:",
    ".weak _Znam\n.type _Znam,@function\n_Znam:",
    ".cfi_startproc",
    "2: mov rsi, qword ptr [rsp]",
    "push rdi",
    ".cfi_adjust_cfa_offset 8",
    "call {new_block}",
    "test rax, rax",
    "jz 3f",
    "pop rdi",
    ".cfi_adjust_cfa_offset -8",
    "ret",
    ".cfi_adjust_cfa_offset 8",
    "3: mov rax, qword ptr [rip + _ZSt15get_new_handlerv@GOTPCREL]",
    "test rax, rax",
    "jz 4f",
    "call rax",
    "test rax, rax",
    "jz 4f",
    "call rax",
    "pop rdi",
    ".cfi_adjust_cfa_offset -8",
    "jmp 2b",
    ".cfi_adjust_cfa_offset 8",
    "4: pop rdi",
    ".cfi_adjust_cfa_offset -8",
    "mov rax, qword ptr [rip + _ZSt17__throw_bad_allocv@GOTPCREL]",
    "test rax, rax",
    "jz 5f",
    "jmp rax",
    "5: ud2",
    ".cfi_endproc",
    new_block = sym new_block,
);
