//! A running program becomes a stream of accesses.
//!
//! [`toolchain`] is `reuselens cc`: the system compiler with its thread-sanitizer hooks switched on
//! and our own run time (the runtime crate, embedded here as a static library) linked in their
//! place. [`Running`] starts such a program with a shared-memory segment and is a
//! [`Source`](reuselens_trace::Source) of what it does while it does it.
//!
//! For: anyone who wants a program's accesses. Not for: analysing them.

mod built_in;
mod consumer;
mod control;
mod decode;
mod dispositions;
mod embedded;
mod error;
mod follow;
mod format;
mod functions;
mod inject;
mod kinds;
mod limiter;
mod program;
mod records;
mod running;
mod segment;
mod terminate;
pub mod toolchain;
mod unordered;

pub use built_in::carries_basic_blocks;
pub use control::{ControlOptions, Regions, Span};
pub use error::CaptureError;
pub use program::{Capture, Launch, report_size_limits};
pub use running::{Delivered, Running};
