//! The run time: the library that is linked into programs compiled with `reuselens cc`, and records
//! their accesses.
//!
//! It defines the hooks of the compiler's thread sanitizer (`gcc`/`gfortran`/`clang
//! -fsanitize=thread`), the functions that code compiled with the LLVM pass calls
//! (`block_records`), allocation functions, and the functions by which a program names its data. It
//! writes one 16-byte record per event into a block of the shared segment (see the crate `wire`).
//! The build script of crate `capture` compiles it with `--cfg reuselens_runtime` into a static
//! library without the Rust standard library: a measured program gets nothing but these symbols.
//!
//! It must never allocate, take a lock that the program could hold, change `errno`, print, or
//! change the floating-point state. System calls are made directly. The few libc functions that it
//! uses (such as `dl_iterate_phdr` and `pthread_key_create`) run while the thread is *silent*
//! (`Tls::busy` is not 0): hooks that they call record nothing.
//!
//! Without a segment (the environment variable is not set) all hooks return at once, so that an
//! instrumented program also runs on its own.
//!
//! For: the crate `capture`. Not for: being linked into Rust code of this workspace; without the
//! cfg `reuselens_runtime` this crate is empty.
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
mod quiet;
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
mod thread;
#[cfg(reuselens_runtime)]
mod title;
#[cfg(reuselens_runtime)]
mod tls;
#[cfg(reuselens_runtime)]
mod wrap;

/// A panic in the run time is a bug: ends the program.
#[cfg(reuselens_runtime)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: `ud2` ends the process by SIGILL; nothing runs after it.
    unsafe { core::arch::asm!("ud2", options(noreturn)) }
}
