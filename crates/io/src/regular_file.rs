//! [`open_regular_file`]: opens a file whose path comes from a trace or a measured program. Such a
//! path may name anything, such as a pipe without a writer, at which opening would block, or a
//! device without an end; only regular files are opened.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// The regular file at `path`, and how many bytes it has now; it may grow while it is read.
///
/// # Errors
/// The system's; `it is no regular file` for pipes, devices and folders.
pub fn open_regular_file(path: &Path) -> Result<(File, u64)> {
    let other = || Error::new(ErrorKind::InvalidInput, "it is no regular file");
    // Opening a pipe blocks until a process opens it for writing.
    if !std::fs::metadata(path)?.is_file() {
        return Err(other());
    }
    let file = File::open(path)?;
    let about = file.metadata()?;
    if about.is_file() {
        Ok((file, about.len()))
    } else {
        Err(other())
    }
}
