//! Reads the object files that a trace or a program names, which may be none of its business.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

use crate::open_regular_file;

/// The most bytes of a file that is read, 4 GiB: the largest programs have about half of that,
/// debug information included.
const MOST: u64 = 4 << 30;
/// What programs and libraries begin with.
const MAGIC: &[u8; 4] = b"\x7fELF";

/// The file at `path`, and its content. Only a regular file that begins as a program or a library
/// does is read further than its first bytes.
///
/// # Errors
/// The system's, or what the file is instead, as a clause.
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
