//! A running program becomes a stream of accesses.
//!
//! [`toolchain`] is `reuselens cc`: the system compiler with its thread-sanitizer hooks switched on and
//! our own run time (the runtime crate, embedded here as a static library) linked in their place.
//! [`Running`] starts such a program with a shared-memory segment and is a
//! [`Source`](reuselens_trace::Source) of what it does while it does it.
//!
//! For: anyone who wants a program's accesses. Not for: analysing them.

mod consumer;
mod decode;
mod error;
mod follow;
mod inject;
mod notes;
mod program;
mod running;
mod segment;
pub mod toolchain;

pub use error::CaptureError;
pub use program::{Capture, Launch, carries_basic_blocks};
pub use running::Running;
