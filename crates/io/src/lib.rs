//! Reads and writes the bytes of files, whatever they mean.
//!
//! [`Input`] reads a file, a pipe or standard input through one bounded buffer, and decompresses
//! gzip, zstd, xz, snappy and zip. [`AtomicFile`] is an output file that appears only when it is
//! complete. [`chunk`] stores compressed bytes with checksums, and [`varint`] stores numbers of
//! variable length: both file formats of this project consist of these two. [`open_regular_file`]
//! and [`read_object_file`] open files whose names come from a trace or a program, [`find_program`]
//! finds one by its name, [`why_not_run`] is the message about one that is no program, and
//! [`shell_words`] runs a script. [`PerfMap`] has the names of code that a program made while it
//! ran. [`read_folder`], [`lock_file`] and [`retry_interrupted`] make calls again that a signal
//! interrupts. [`text_of`], [`text_of_bytes`] and [`path_of`] keep names that are not UTF-8 as
//! text. [`console`] is what the command lines print, and [`listen_to_end_signals`] what asks them
//! to end.
//!
//! Nothing here depends on what an access is. The crates of traces use this one, and never the
//! reverse.
//!
//! For: readers and writers of files. Not for: what is in the files.

mod atomic_file;
mod by_shell;
pub mod chunk;
mod command_error;
pub mod console;
mod end_signals;
mod error;
mod find_program;
mod input;
mod interrupted;
mod not_a_program;
mod object_file;
mod os_text;
mod perf_map;
mod regular_file;
mod sync_ahead;
mod unpack;
pub mod varint;

pub use atomic_file::AtomicFile;
pub use by_shell::shell_words;
pub use command_error::command_error;
pub use end_signals::listen_to_end_signals;
pub use error::{ARCHIVE_IN_PIPE, FileError};
pub use find_program::{find_program, program_files};
pub use input::{Input, MAX_LINE, Places};
pub use interrupted::{lock_file, read_folder, retry_interrupted};
pub use not_a_program::{other_processor, why_not_run};
pub use object_file::read_object_file;
pub use os_text::{path_of, text_of, text_of_bytes};
pub use perf_map::PerfMap;
pub use regular_file::open_regular_file;
pub use unpack::Packing;
