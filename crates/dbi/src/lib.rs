//! The rewriter: it rewrites the code of an unmodified program while the program runs, so that its
//! accesses to memory are recorded (dynamic binary instrumentation; x86-64 Linux).
//!
//! The analysing side puts this crate's image into a program before its first instruction. From
//! then on the program's own code is not executed in its place: blocks of it are decoded, and
//! written into a code cache with additional stores, by which each execution of a block writes a
//! *block record* into the thread's buffer. When the buffer is full, its block records go into the
//! shared segment, unchanged or expanded to records (see the crate `wire`).
//!
//! ```text
//! program's code ▸ translate ▸ cache ▸ (runs) ▸ buffer of the thread ▸ expand ▸ channel ▸ segment
//! ```
//!
//! The image uses nothing of the program: no libc, no thread-local storage, no stack, no heap. The
//! segment register gs points to the state of the running thread.
//!
//! For: the crate `capture`, which compiles this one with `--cfg reuselens_dbi` and embeds the
//! image. Not for: being linked into anything; without that flag the crate is empty, but for its
//! tests. These run on the host what needs no program around it: translation, layout, flags, names
//! of regions.
#![cfg_attr(reuselens_dbi, no_std)]
#![cfg_attr(reuselens_dbi, allow(missing_docs))]
// What only the panic handler and the allocator use.
#![cfg_attr(test, allow(dead_code))]

#[cfg(any(reuselens_dbi, test))]
extern crate alloc;

#[cfg(any(reuselens_dbi, test))]
mod image;
