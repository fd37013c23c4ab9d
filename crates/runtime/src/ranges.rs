//! Records ranges of bytes: aggregates that the compiler copies (`__tsan_read_range` and
//! `__tsan_write_range`), and calls of `memcpy`, `memmove`, `memset` and their checked forms.
//!
//! gcc and clang before 16 do not replace `memcpy`, so programs are linked with `--wrap=memcpy`:
//! calls in the program's own objects go to `__wrap_memcpy`, which records its ranges and jumps to
//! the real function with unchanged arguments. Later clangs call `__tsan_memcpy`.

use core::arch::global_asm;

use reuselens_wire::{Record, WireKind};

use crate::thread::emit;
use crate::wrap::before;

/// Records a range of `bytes` bytes; nothing if there are none.
fn range(kind: WireKind, address: u64, bytes: u64, pc: u64) {
    if bytes > 0 {
        let operand = Record::new(WireKind::Operand, 0, 0, bytes);
        emit(&[Record::new(kind, 0, pc, address), operand]);
    }
}

unsafe extern "C" fn range_read(address: u64, bytes: u64, pc: u64) {
    range(WireKind::RangeLoad, address, bytes, pc);
}

unsafe extern "C" fn range_write(address: u64, bytes: u64, pc: u64) {
    range(WireKind::RangeStore, address, bytes, pc);
}

global_asm!(
    ".globl __tsan_read_range",
    ".type __tsan_read_range,@function",
    "__tsan_read_range:",
    "mov rdx, qword ptr [rsp]",
    "jmp {read}",
    ".globl __tsan_write_range",
    ".type __tsan_write_range,@function",
    "__tsan_write_range:",
    "mov rdx, qword ptr [rsp]",
    "jmp {write}",
    read = sym range_read,
    write = sym range_write,
);

/// `memcpy(to, from, bytes)` and `memmove`.
unsafe extern "C" fn copied(to: u64, from: u64, bytes: u64, pc: u64) {
    range(WireKind::RangeLoad, from, bytes, pc);
    range(WireKind::RangeStore, to, bytes, pc);
}

/// `memset(to, byte, bytes)`.
unsafe extern "C" fn filled(to: u64, _: u64, bytes: u64, pc: u64) {
    range(WireKind::RangeStore, to, bytes, pc);
}

before! {
    "memcpy" copied;
    "memmove" copied;
    "mempcpy" copied;
    "__mempcpy_chk" copied;
    "memset" filled;
    "__memcpy_chk" copied;
    "__memmove_chk" copied;
    "__memset_chk" filled;
}

// The linker wraps these references, too: recording here would count every range twice.
global_asm!(
    ".globl __tsan_memcpy\n.type __tsan_memcpy,@function\n__tsan_memcpy: jmp memcpy@PLT",
    ".globl __tsan_memmove\n.type __tsan_memmove,@function\n__tsan_memmove: jmp memmove@PLT",
    ".globl __tsan_memset\n.type __tsan_memset,@function\n__tsan_memset: jmp memset@PLT",
);
