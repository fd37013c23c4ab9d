//! For Rust programs that reuselens measures: functions and macros by which a program names its
//! data and reports its accesses itself.
//!
//! Ding and Zhong (*Reuse Distance Analysis*, 2001, section 2.3) let a program say which data
//! structures it has and which of their elements it accesses. Distances are then those of the
//! algorithm, in elements, and do not depend on the compiler. `reuselens.h` is the same for C.
//!
//! ```
//! use reuselens_annotate::{record_access, record_named_data, record_statement};
//!
//! let mut a = vec![1.0; 100];
//! record_named_data("a", &a);
//! for i in 1..a.len() {
//!     record_statement();
//!     record_access!(a[i]);
//!     record_access!(a[i - 1]);
//!     a[i] += 0.2 * a[i - 1];
//! }
//! ```
//!
//! # How to run
//!
//! The calls do nothing and cost nothing without the feature `record`, and record nothing unless
//! the program runs under `reuselens`. So a library can keep the calls:
//!
//! ```text
//! cargo add reuselens-annotate
//! cargo build --release --features reuselens-annotate/record
//! reuselens profile --granularity 8 -- target/release/program
//! ```
//!
//! `--granularity` is the size of an element: then items are elements. With `--names statement`, an
//! element that a statement names twice counts once. Keep debug information (`debug = 1` in the
//! profile), so that reports can name lines.
//!
//! # What the feature adds
//!
//! The run time, one object file without Rust's standard library. It is linked into the program and
//! replaces `malloc` and the like, so that a name ends when its memory is freed. Objects that
//! `reuselens cc` has compiled can be linked into the same program; these record their accesses
//! themselves, and the calls here then only give names. Only x86-64 Linux with glibc can record.
//! Without the feature there is neither a dependency nor a build step, on any machine.
//!
//! # What is recorded
//!
//! Only accesses that the program reports by calls. Accesses to data without a name are recorded,
//! too, as accesses to single bytes of memory. Names longer than 64 bytes are cut. A name ends with
//! its block of heap memory. Returns of functions are not recorded without hooks, so the name of a
//! local array lasts until other data at its address get a name.
//!
//! For: Rust programs whose accesses are to be recorded as the source has them. Not for: programs
//! that are to be measured as they are compiled; use `reuselens profile` on these without changes.
#![no_std]

extern crate alloc;

mod calls;
mod entry;
mod macros;
#[doc(hidden)]
pub mod raw;

pub use calls::{
    record_data, record_named_data, record_partial_data, record_statement, region_begin, region_end,
};
pub use entry::Entry;

/// Whether the calls do anything: the feature `record`.
pub const RECORDING: bool = cfg!(feature = "record");
