//! Captures the accesses of a running program: [`Running`] starts a program with a shared-memory
//! segment, and is a [`Source`](reuselens_trace::Source) of the program's accesses and events while
//! the program runs.
//!
//! A program records its accesses itself, in one of two ways. Either it was built with `reuselens
//! cc` ([`toolchain`]), the system compiler with its thread-sanitizer hooks switched on, or with
//! our LLVM pass, and with our own run time linked in (the crate `runtime`, embedded here). Or it
//! is an unmodified program, into which the rewriter is put when it starts (the crate `dbi`,
//! embedded, too). Both write into the segment, which is described in the crate `wire`.
//!
//! For: anyone who wants a program's accesses. Not for: analysing them.

mod built_in;
mod consumer;
mod control;
mod cuda;
mod decode;
mod dispositions;
mod embedded;
mod error;
mod exec_arguments;
mod follow;
mod functions;
mod generated_code;
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
pub use program::{Capture, Launch, process_end, report_size_limits};
pub use reuselens_io::find_program;
pub use running::{Delivered, Running};
