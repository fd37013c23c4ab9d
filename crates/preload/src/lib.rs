//! Puts the data of an unmodified program where a placement file says.
//!
//! This crate is compiled twice. As a library of the workspace it checks a program and a placement
//! file ([`PlacedProgram`]), runs the program, and says what became of each object ([`PlacedRun`]).
//! As a shared library without std (`--cfg reuselens_preload`, by the build script, embedded here)
//! it is preloaded into the program, where it stands before the allocator: blocks of planned call
//! paths come from the memory of their tier, all others from the allocator that the program uses
//! anyway.
//!
//! | what | modules |
//! |---|---|
//! | what both sides share | `layout` |
//! | before and after the run | `program`, `ways`, `segment`, `run` |
//! | in the program: calls of the allocator | `entry`, `start` |
//! | in the program: whose allocation it is | `plan`, `sites`, `wrappers` |
//! | in the program: the memory | `heap`, `mappings`, `symbols`, `policy` |
//! | in the program: where its pages are | `verify`, `smaps` |
//!
//! Modules of the process, calls of a thread, the next allocator and system calls are those of the
//! crate `guest`.
//!
//! What the preloaded library must never do: allocate, print, change `errno`, or hold a lock while
//! code of the program runs. Without a plan it passes every call on.
//!
//! For: running programs by placements. Not for: choosing placements (the `placement` crate).
#![cfg_attr(reuselens_preload, no_std)]
#![cfg_attr(reuselens_preload, allow(missing_docs))]

mod layout;
#[cfg(not(reuselens_preload))]
mod program;
#[cfg(not(reuselens_preload))]
mod run;
#[cfg(not(reuselens_preload))]
mod segment;
#[cfg(reuselens_preload)]
mod shim;
#[cfg(not(reuselens_preload))]
mod ways;

#[cfg(not(reuselens_preload))]
pub use program::ProgramError;
#[cfg(not(reuselens_preload))]
pub use run::{PlacedProgram, PlacedRun, RunError, SignalForwarder};
#[cfg(not(reuselens_preload))]
pub use segment::{ModuleSeen, ObjectOutcome, TierOutcome};
#[cfg(not(reuselens_preload))]
pub use ways::{Way, WayError, Ways};
