//! Opens the files that a trace or a program names. They come from anywhere and name anything: a
//! pipe that nobody writes to, a device without end.

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
    match about.is_file() {
        true => Ok((file, about.len())),
        false => Err(other()),
    }
}
