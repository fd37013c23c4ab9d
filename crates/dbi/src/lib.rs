//! Rewrites the code of an unmodified program while it runs, so that its accesses are seen.
//!
//! The analysing side puts this crate's image into a program before its first instruction. From
//! then on nothing of the program runs where it lies: blocks of its code are decoded, and written
//! anew into a code cache with stores in between that note which memory they touch. What is noted
//! is handed on as the records of the wire crate, the same that the compiled-in run time writes.
//!
//! ```text
//! program's code ▸ translate ▸ cache ▸ (runs) ▸ buffer of the thread ▸ expand ▸ channel ▸ segment
//! ```
//!
//! A guest in the program, it uses nothing of it: no libc, no thread-local storage, no stack, no
//! heap; its state hangs on the segment register gs.
//!
//! For: the capture crate, which compiles it with `--cfg reuselens_dbi` and embeds the image.
//! Not for: being linked into anything; without that flag the crate is empty, but for its tests.
//! They run what needs no program around it on the machine that compiles: translating, laying out,
//! flags, names of regions.
#![cfg_attr(reuselens_dbi, no_std)]
#![cfg_attr(reuselens_dbi, allow(missing_docs))]
// What only the panic handler and the allocator use.
#![cfg_attr(test, allow(dead_code))]

#[cfg(any(reuselens_dbi, test))]
extern crate alloc;

#[cfg(any(reuselens_dbi, test))]
mod image;
