//! Notices when a program restricts what its code may do, as with a filter of system calls
//! (`seccomp`): after that, a system call of ours could end the program, so the run time becomes
//! *quiet* ([`quiet::be_quiet`]). It makes no more system calls and goes on recording: it publishes
//! blocks without waking the consumer, and a thread that has to wait spins. Threads and processes
//! that begin later are not recorded, because attaching takes system calls.
//!
//! For this, libc's `prctl` and `syscall` are replaced, by which filters are installed (also by
//! libseccomp); the replacements do the same as libc's. A program that makes the call with an
//! instruction of its own is not noticed.

use core::arch::global_asm;

use reuselens_wire::{Restriction, restriction};

use crate::quiet;

unsafe extern "C" {
    fn __errno_location() -> *mut i32;
}

/// The program is about to make this system call.
unsafe extern "C" fn before(number: u64, one: u64, two: u64, three: u64) {
    if let Some(taken) = restriction(number, [one, two, three]) {
        quiet::be_quiet(taken == Restriction::CallsAndTime);
    }
}

/// The error of a call, as libc reports it.
unsafe extern "C" fn failed(result: i64) -> i64 {
    // SAFETY: libc's per-thread variable.
    unsafe { *__errno_location() = -result as i32 };
    -1
}

// Both take up to six arguments in registers and one on the stack. Which calls are looked at is
// decided here, so that all others cost a comparison or two.
global_asm!(
    ".weak prctl\n.type prctl,@function",
    "prctl:",
    ".cfi_startproc",
    "mov eax, edi",
    "mov r9, r8",
    "mov r8, rcx",
    "mov rcx, rdx",
    "mov rdx, rsi",
    "mov esi, eax",
    "mov edi, {prctl}",
    "jmp 2f",
    ".cfi_endproc",
    ".weak syscall\n.type syscall,@function",
    "syscall:",
    ".cfi_startproc",
    "2: cmp rdi, {prctl}",
    "je 3f",
    "cmp rdi, {seccomp}",
    "jne 4f",
    "3: push rdi",
    ".cfi_adjust_cfa_offset 8",
    "push rsi",
    ".cfi_adjust_cfa_offset 8",
    "push rdx",
    ".cfi_adjust_cfa_offset 8",
    "push rcx",
    ".cfi_adjust_cfa_offset 8",
    "push r8",
    ".cfi_adjust_cfa_offset 8",
    "push r9",
    ".cfi_adjust_cfa_offset 8",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "call {before}",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "pop r9",
    ".cfi_adjust_cfa_offset -8",
    "pop r8",
    ".cfi_adjust_cfa_offset -8",
    "pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "pop rdx",
    ".cfi_adjust_cfa_offset -8",
    "pop rsi",
    ".cfi_adjust_cfa_offset -8",
    "pop rdi",
    ".cfi_adjust_cfa_offset -8",
    "4: mov rax, rdi",
    "mov rdi, rsi",
    "mov rsi, rdx",
    "mov rdx, rcx",
    "mov r10, r8",
    "mov r8, r9",
    "mov r9, qword ptr [rsp + 8]",
    "syscall",
    "cmp rax, -4095",
    "jae 5f",
    "ret",
    "5: mov rdi, rax",
    "jmp {failed}",
    ".cfi_endproc",
    prctl = const 157,
    seccomp = const 317,
    before = sym before,
    failed = sym failed,
);
