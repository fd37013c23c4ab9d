//! [`read_object_file`]: reads a program or library whose path comes from a trace or a measured
//! program. Such a path may name any file, so only regular files that begin like an object file are
//! read further than their first four bytes.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

use crate::open_regular_file;

/// The most bytes of a file that is read, 4 GiB: the largest programs have about half of that with
/// debug information.
const MOST: u64 = 4 << 30;
/// The first bytes of programs and libraries.
const MAGIC: &[u8; 4] = b"\x7fELF";

/// The file at `path`, and its contents, if it is a program or a library.
///
/// # Errors
/// The system's, or that the file is something else or too large.
pub fn read_object_file(path: &Path) -> Result<(File, Vec<u8>)> {
    let other = |what: &str| Err(Error::new(ErrorKind::InvalidInput, what));
    let (mut file, length) = open_regular_file(path)?;
    if length > MOST {
        return other("it has more than 4 GiB");
    }
    let mut bytes = Vec::new();
    let mut begun = (&mut file).take(MAGIC.len() as u64);
    begun.read_to_end(&mut bytes)?;
    if bytes != MAGIC {
        return other("it is no program or library");
    }
    bytes.reserve(length as usize);
    // The file may grow while it is read.
    (&mut file).take(MOST).read_to_end(&mut bytes)?;
    Ok((file, bytes))
}
