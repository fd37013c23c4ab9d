//! A Rust program's own names for its data, and its own account of its accesses.
//!
//! Ding and Zhong (*Reuse Distance Analysis*, 2001, section 2.3) let a program say which data
//! structures it has and which of their elements it accesses. Then distances are those of the
//! algorithm, in elements, and not of what the compiler made of it. `reuselens.h` is the same for
//! C.
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
//! Nothing is recorded, and the calls cost nothing, unless the feature `record` is on and the
//! program runs under `reuselens`. So a library can have the calls in it for good:
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
//! # What the feature brings
//!
//! The run time, one object file without Rust's standard library. It is linked into the program,
//! not loaded, and takes the place of `malloc` and its kin, so that the end of a block ends the
//! names in it. Objects that `reuselens cc` compiled can be linked into the same program; what they
//! access is then recorded by themselves, and the calls here only give names. Only x86-64 Linux
//! with glibc can record. Without the feature there is neither a dependency nor a build step, on
//! any machine.
//!
//! # What is recorded
//!
//! Only what the calls say. Data that were not named are recorded too, as single bytes of the
//! memory they are: nothing is dropped. Names longer than 64 bytes are cut. A name ends with its
//! block of heap memory. Without hooks nobody sees a function return, so the name of a local array
//! lasts until something else is named in its place.
//!
//! For: Rust programs whose accesses are to be seen as the source means them. Not for: programs to
//! be measured as they are; Rust has no hooks yet that would see all of their accesses.
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
