//! What the code that runs inside measured programs has in common: system calls, a lock, the
//! modules of the process, its calls by frame information, and the allocator after ours.
//!
//! | module | what | needs of the C library |
//! |---|---|---|
//! | [`sys`] | system calls, made directly | nothing |
//! | [`thread_name`] | the names that the system has for threads | nothing |
//! | [`digits`] | numbers as text | nothing |
//! | [`clock`] | the time-stamp counter | nothing |
//! | [`lock`] | a lock that spins | nothing |
//! | [`modules`] | files that the loader has mapped, and their symbols | `dl_iterate_phdr` |
//! | [`unwind`] | the calls that a thread is in | `dl_iterate_phdr` |
//! | [`next`] | the allocator that the program would use without us | `dlsym`, `errno` |
//! | [`errno`] | results of system calls in place of functions | `errno` |
//!
//! It is a guest, too: it allocates nothing, prints nothing but before it ends the process, and
//! leaves `errno` alone but where it stands in for a function of the C library. The build scripts
//! of those that use it compile it with plain `rustc` (`build_support.rs`); as a member of the
//! workspace it is checked and tested. It is for x86-64 Linux, and empty elsewhere.
//!
//! For: `runtime`, `dbi`, and what `preload` and `cuda` put into programs. Not for: the analysing
//! side, which has the standard library, and what both sides must know (`wire`).
#![no_std]
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

pub mod clock;
pub mod digits;
pub mod errno;
pub mod lock;
pub mod modules;
pub mod next;
pub mod sys;
pub mod thread_name;
pub mod unwind;
