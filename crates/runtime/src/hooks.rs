//! The hooks that the compiler calls before each access and around each function: `__tsan_*` of gcc
//! and clang, and `__sanitizer_cov_*`, which rustc calls before accesses with certain flags. Each
//! writes one record into the thread's block; if there is no room, it calls
//! [`crate::thread::slow`].
//!
//! Nine instructions: load the slot, load its cursor, test for room, store the two words, advance.
//! The program counter is the return address, so it is read from the stack, which needs assembly.

use core::arch::global_asm;

use reuselens_wire::{ENTER_DEPTH_UNKNOWN, Record, WireKind};

/// Defines access hooks: names, then kind and size in word 1's place.
macro_rules! access_hooks {
    ($($kind:ident $size:literal: $($name:literal),+;)+) => { $(
        global_asm!(
            $(concat!(".globl ", $name, "\n.type ", $name, ",@function\n", $name, ":"),)+
            "mov rax, qword ptr [rip + rl_tls@GOTTPOFF]",
            "mov rax, qword ptr fs:[rax]",
            "mov rdx, qword ptr [rax]",
            "movabs rsi, {meta}",
            "or rsi, qword ptr [rsp]",
            "test dx, dx",
            "jz {slow}",
            "mov qword ptr [rdx], rdi",
            "mov qword ptr [rdx + 8], rsi",
            "add rdx, 16",
            "mov qword ptr [rax], rdx",
            "ret",
            meta = const Record::meta(WireKind::$kind, $size),
            slow = sym crate::thread::slow,
        );
    )+ };
}

access_hooks! {
    Load 1: "__sanitizer_cov_load1", "__tsan_read1", "__tsan_unaligned_read1", "__tsan_volatile_read1", "__tsan_unaligned_volatile_read1";
    Load 2: "__sanitizer_cov_load2", "__tsan_read2", "__tsan_unaligned_read2", "__tsan_volatile_read2", "__tsan_unaligned_volatile_read2";
    Load 4: "__sanitizer_cov_load4", "__tsan_read4", "__tsan_unaligned_read4", "__tsan_volatile_read4", "__tsan_unaligned_volatile_read4";
    Load 8: "__sanitizer_cov_load8", "__tsan_read8", "__tsan_unaligned_read8", "__tsan_volatile_read8", "__tsan_unaligned_volatile_read8", "__tsan_vptr_read";
    Load 16: "__sanitizer_cov_load16", "__tsan_read16", "__tsan_unaligned_read16", "__tsan_volatile_read16", "__tsan_unaligned_volatile_read16";
    Store 1: "__sanitizer_cov_store1", "__tsan_write1", "__tsan_unaligned_write1", "__tsan_volatile_write1", "__tsan_unaligned_volatile_write1";
    Store 2: "__sanitizer_cov_store2", "__tsan_write2", "__tsan_unaligned_write2", "__tsan_volatile_write2", "__tsan_unaligned_volatile_write2";
    Store 4: "__sanitizer_cov_store4", "__tsan_write4", "__tsan_unaligned_write4", "__tsan_volatile_write4", "__tsan_unaligned_volatile_write4";
    Store 8: "__sanitizer_cov_store8", "__tsan_write8", "__tsan_unaligned_write8", "__tsan_volatile_write8", "__tsan_unaligned_volatile_write8", "__tsan_vptr_update";
    Store 16: "__sanitizer_cov_store16", "__tsan_write16", "__tsan_unaligned_write16", "__tsan_volatile_write16", "__tsan_unaligned_volatile_write16";
}

/// clang's compound accesses (a read and a write of the same place): two records.
macro_rules! read_write_hooks {
    ($($read:literal $write:literal: $($name:literal),+;)+) => { $(
        global_asm!(
            $(concat!(".globl ", $name, "\n.type ", $name, ",@function\n", $name, ":"),)+
            "mov rsi, qword ptr [rsp]",
            "mov rdx, {size}",
            "jmp {both}",
            size = const $read,
            both = sym read_write,
        );
    )+ };
}

read_write_hooks! {
    1 1: "__tsan_read_write1", "__tsan_unaligned_read_write1";
    2 2: "__tsan_read_write2", "__tsan_unaligned_read_write2";
    4 4: "__tsan_read_write4", "__tsan_unaligned_read_write4";
    8 8: "__tsan_read_write8", "__tsan_unaligned_read_write8";
    16 16: "__tsan_read_write16", "__tsan_unaligned_read_write16";
}

unsafe extern "C" fn read_write(address: u64, pc: u64, size: u64) {
    let size = size as u8;
    crate::thread::emit(&[
        Record::new(WireKind::Load, size, pc, address),
        Record::new(WireKind::Store, size, pc, address),
    ]);
}

// Function entry: the argument is the call's return address; the stack pointer after the hook's own
// return is the low end of the function's frame. See `enter_words` for the packing.
global_asm!(
    ".globl __tsan_func_entry",
    ".type __tsan_func_entry,@function",
    "__tsan_func_entry:",
    "mov rax, qword ptr [rip + rl_tls@GOTTPOFF]",
    "mov rax, qword ptr fs:[rax]",
    "mov rdx, qword ptr [rax]",
    "mov rsi, qword ptr [rax + 8]", // stack_high
    "sub rsi, rsp",
    "sub rsi, 8",
    "shr rsi, 3",
    "mov ecx, {unknown}",
    "cmp rsi, rcx",
    "cmova rsi, rcx",
    "mov rcx, rsi",
    "shl rcx, 48",
    "or rdi, rcx",
    "shr rsi, 16",
    "shl rsi, 48",
    "or rsi, qword ptr [rsp]",
    "movabs rcx, {meta}",
    "or rsi, rcx",
    "test dx, dx",
    "jz 2f",
    "mov qword ptr [rdx], rdi",
    "mov qword ptr [rdx + 8], rsi",
    "add rdx, 16",
    "mov qword ptr [rax], rdx",
    "ret",
    // The stack's top may not be known yet: pack again after the thread has its slot.
    "2: lea rdx, [rsp + 8]",
    "jmp {slow}",
    unknown = const ENTER_DEPTH_UNKNOWN,
    meta = const Record::meta(WireKind::Enter, 0),
    slow = sym enter_slow,
);

const _: () = assert!(core::mem::offset_of!(reuselens_wire::Slot, cursor) == 0);
const _: () = assert!(core::mem::offset_of!(reuselens_wire::Slot, stack_high) == 8);

unsafe extern "C" fn enter_slow(word0: u64, word1: u64, stack_pointer: u64) {
    let packed = Record { word0, word1 };
    let (return_address, _) = reuselens_wire::unpack_enter(packed);
    // Makes room (and attaches the thread) first, so that the top of the stack is known.
    if !crate::thread::prepare() {
        return;
    }
    let depth = crate::thread::stack_high().wrapping_sub(stack_pointer) >> 3;
    crate::thread::emit(&[reuselens_wire::enter_words(
        packed.pc(),
        return_address,
        depth,
    )]);
}

// Function exit: word 0 is the stack pointer.
global_asm!(
    ".globl __tsan_func_exit",
    ".type __tsan_func_exit,@function",
    "__tsan_func_exit:",
    "mov rax, qword ptr [rip + rl_tls@GOTTPOFF]",
    "mov rax, qword ptr fs:[rax]",
    "mov rdx, qword ptr [rax]",
    "lea rdi, [rsp + 8]",
    "movabs rsi, {meta}",
    "or rsi, qword ptr [rsp]",
    "test dx, dx",
    "jz {slow}",
    "mov qword ptr [rdx], rdi",
    "mov qword ptr [rdx + 8], rsi",
    "add rdx, 16",
    "mov qword ptr [rax], rdx",
    "ret",
    meta = const Record::meta(WireKind::Exit, 0),
    slow = sym crate::thread::slow,
);

#[unsafe(no_mangle)]
extern "C" fn __tsan_ignore_thread_begin() {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_ignore_thread_end() {}
