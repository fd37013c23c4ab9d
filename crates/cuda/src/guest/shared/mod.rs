//! What the preloaded library of the crate `preload` needs inside a program too: its sources, as
//! they are there. They use nothing but Rust's core and the C library.
#![allow(dead_code, reason = "each library uses a part")]

#[path = "../../../../preload/src/shim/lock.rs"]
pub mod lock;
#[path = "../../../../preload/src/shim/modules.rs"]
pub mod modules;
#[path = "../../../../preload/src/shim/next.rs"]
pub mod next;
#[path = "../../../../preload/src/shim/sys.rs"]
mod sys;
#[path = "../../../../preload/src/shim/unwind.rs"]
pub mod unwind;
