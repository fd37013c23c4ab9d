//! The run time that is linked into measured programs.
//!
//! It answers the compiler's thread-sanitizer hooks (`gcc`/`gfortran`/`clang -fsanitize=thread`),
//! code that the LLVM pass has seen (`block_records`), the allocation functions and the calls of the
//! program's own names, and writes one 16-byte record per event into a block of the shared segment
//! (see the wire crate). It is compiled by the capture crate's build script with `--cfg
//! reuselens_runtime` into a static library without the Rust standard library: a measured program
//! gets nothing but these symbols.
//!
//! What it must never do: allocate, take a lock that the program could hold, change `errno`, print,
//! or touch the floating-point state. System calls are made directly; the few libc functions used
//! (`dl_iterate_phdr`, `pthread_getattr_np`, `pthread_key_create`) run under a per-thread guard
//! that keeps the hooks inside them silent.
//!
//! Without a segment (the environment variable is not set) every hook returns at once, so that an
//! instrumented program also runs on its own.
//!
//! For: the capture crate. Not for: being linked into Rust code of this workspace; without the
//! `reuselens_runtime` cfg this crate is empty.
#![cfg_attr(reuselens_runtime, no_std)]
#![cfg_attr(reuselens_runtime, allow(missing_docs))]

#[cfg(reuselens_runtime)]
mod alloc;
#[cfg(reuselens_runtime)]
mod atomics;
#[cfg(reuselens_runtime)]
mod block_records;
#[cfg(reuselens_runtime)]
mod hooks;
#[cfg(reuselens_runtime)]
mod modules;
#[cfg(reuselens_runtime)]
mod names;
#[cfg(reuselens_runtime)]
mod order;
#[cfg(reuselens_runtime)]
mod process;
#[cfg(reuselens_runtime)]
mod publish;
#[cfg(reuselens_runtime)]
mod ranges;
#[cfg(reuselens_runtime)]
mod regions;
#[cfg(reuselens_runtime)]
mod restrict;
#[cfg(reuselens_runtime)]
mod segment;
#[cfg(reuselens_runtime)]
mod signals;
#[cfg(reuselens_runtime)]
mod space;
#[cfg(reuselens_runtime)]
mod spawn;
#[cfg(reuselens_runtime)]
mod stacks;
#[cfg(reuselens_runtime)]
mod stage;
#[cfg(reuselens_runtime)]
mod sys;
#[cfg(reuselens_runtime)]
mod thread;
#[cfg(reuselens_runtime)]
mod title;
#[cfg(reuselens_runtime)]
mod tls;
#[cfg(reuselens_runtime)]
mod wrap;

/// A panic in the run time is a bug; there is nobody to tell, so the program ends.
#[cfg(reuselens_runtime)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: `ud2` ends the process by SIGILL; nothing runs after it.
    unsafe { core::arch::asm!("ud2", options(noreturn)) }
}
