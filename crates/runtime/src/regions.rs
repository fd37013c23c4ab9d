//! The functions by which a program marks regions, `reuselens_region_begin(name)` and
//! `reuselens_region_end()`: they change the thread's gate, which decides what is recorded.
//!
//! A name has a length, or the length 0 and a zero byte at its end. Each function begins with an
//! instruction without effect, by which the rewriter recognises it in programs that it rewrites.

use core::arch::global_asm;
use core::ffi::CStr;

use reuselens_wire::{MARK_BEGIN, MARK_END, REGION_BYTES};

use crate::stage::at_gate;

unsafe extern "C" fn begin(name: *const u8, length: usize) {
    at_gate(|gate, control| {
        if name.is_null() {
            return gate.begin_region(control, b"");
        }
        // SAFETY: the interface asks for a name of this length, or one that a zero byte ends.
        let name = unsafe {
            if length == 0 {
                CStr::from_ptr(name.cast()).to_bytes()
            } else {
                core::slice::from_raw_parts(name, length.min(REGION_BYTES))
            }
        };
        gate.begin_region(control, name.trim_ascii_end());
    });
}

unsafe extern "C" fn end() {
    at_gate(|gate, _| gate.end_region());
}

// Fortran passes a text and its length; so does the Rust crate. `nop dword ptr [rax + mark]`.
global_asm!(
    ".globl reuselens_mark_region_begin, reuselens_region_begin_",
    ".type reuselens_mark_region_begin,@function",
    ".type reuselens_region_begin_,@function",
    "reuselens_mark_region_begin:",
    "reuselens_region_begin_:",
    ".byte 0x0f, 0x1f, 0x80",
    ".long {mark_begin}",
    "jmp {begin}",
    ".globl reuselens_mark_region_end, reuselens_region_end_",
    ".type reuselens_mark_region_end,@function",
    ".type reuselens_region_end_,@function",
    "reuselens_mark_region_end:",
    "reuselens_region_end_:",
    ".byte 0x0f, 0x1f, 0x80",
    ".long {mark_end}",
    "jmp {end}",
    mark_begin = const MARK_BEGIN,
    mark_end = const MARK_END,
    begin = sym begin,
    end = sym end,
);
