//! Macros that define a function `__wrap_NAME`, to which the linker leads a program's calls of the
//! library function NAME (`--wrap`). The defined function does its part before the library's
//! ([`before!`]) or around it ([`around!`]).
//!
//! They are only for functions whose arguments and results are integers or pointers in one
//! register: vector registers, and rdx of results, are not preserved.
//!
//! The library's functions are weak references, so that programs link without `--wrap`, too (and
//! never call these). If a program itself refers weakly to a function that is missing,
//! `__wrap_NAME` calls nothing and returns 0.

/// Instructions that save the registers in which a function gets its arguments: 56 bytes, which
/// align the stack at a function's entry. `rax` has the number of vector registers among them.
macro_rules! save_arguments {
    () => {
        "push rdi\npush rsi\npush rdx\npush rcx\npush r8\npush r9\npush rax"
    };
}

/// Instructions that restore what [`save_arguments`] saved.
macro_rules! restore_arguments {
    () => {
        "pop rax\npop r9\npop r8\npop rcx\npop rdx\npop rsi\npop rdi"
    };
}

/// Defines functions that call a function of ours and then jump to the library's: the library
/// function's name, and our function. Ours gets the first three arguments and the return address of
/// the call.
macro_rules! before {
    ($($name:literal $before:ident;)+) => { $(
        core::arch::global_asm!(
            concat!(".weak __real_", $name),
            concat!(".globl __wrap_", $name, "\n.type __wrap_", $name, ",@function"),
            concat!("__wrap_", $name, ":"),
            $crate::wrap::save_arguments!(),
            "mov rcx, qword ptr [rsp + 56]",
            "call {before}",
            $crate::wrap::restore_arguments!(),
            concat!("cmp qword ptr [rip + __real_", $name, "@GOTPCREL], 0"),
            "je 2f",
            concat!("jmp qword ptr [rip + __real_", $name, "@GOTPCREL]"),
            "2: xor eax, eax",
            "ret",
            before = sym $before,
        );
    )+ };
}

/// Defines functions that call a function of ours before and another one after the library's: the
/// library function's name, our two functions, and an instruction that loads into r10d how many
/// arguments are on the stack. Threads are cancelled and exceptions are thrown through these
/// functions, so their frames can be unwound.
macro_rules! around {
    ($($name:literal $before:ident $after:ident $words:literal;)+) => { $(
        core::arch::global_asm!(
            concat!(".weak __real_", $name),
            concat!(".globl __wrap_", $name, "\n.type __wrap_", $name, ",@function"),
            concat!("__wrap_", $name, ":"),
            ".cfi_startproc",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            $crate::wrap::save_arguments!(),
            "sub rsp, 8",
            "call {before}",
            "add rsp, 8",
            $crate::wrap::restore_arguments!(),
            $words,
            "test r10d, r10d",
            "jle 3f",
            "test r10b, 1",
            "jz 2f",
            "push rax",
            // The arguments begin above the saved rbp and the return address; the last goes first.
            "2: push qword ptr [rbp + 8 + 8*r10]",
            "dec r10d",
            "jnz 2b",
            concat!("3: cmp qword ptr [rip + __real_", $name, "@GOTPCREL], 0"),
            "je 4f",
            concat!("call qword ptr [rip + __real_", $name, "@GOTPCREL]"),
            "mov qword ptr [rbp - 16], rax",
            "lea rsp, [rbp - 16]",
            "call {after}",
            "mov rax, qword ptr [rbp - 16]",
            "jmp 5f",
            "4: xor eax, eax",
            "5: leave",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_endproc",
            before = sym $before,
            after = sym $after,
        );
    )+ };
}

pub(crate) use {around, before, restore_arguments, save_arguments};
