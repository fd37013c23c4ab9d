//! Bytes on their way in and out of files, whatever they mean.
//!
//! [`Input`] reads a file, a pipe or standard input through one bounded buffer, and unpacks gzip,
//! zstd, xz and zip on the way. [`AtomicFile`] is an output that appears whole or not at all.
//! [`chunk`] frames checked and compressed bytes, and [`varint`] stores numbers of variable length:
//! both file formats of this project are made of these two. [`open_regular_file`] and
//! [`read_object_file`] open files that a trace or a program names.
//!
//! Nothing here knows what an access is. The crates of traces use this one, and never the reverse:
//! a [`FileError`] is one of the reasons of a `FileError`.
//!
//! For: readers and writers of files. Not for: what is in the files.

mod atomic_file;
pub mod chunk;
mod error;
mod input;
mod object_file;
mod regular_file;
mod sync_ahead;
mod unpack;
pub mod varint;

pub use atomic_file::AtomicFile;
pub use error::{ARCHIVE_IN_PIPE, FileError};
pub use input::{Input, MAX_LINE, Places};
pub use object_file::read_object_file;
pub use regular_file::open_regular_file;
pub use unpack::Packing;
