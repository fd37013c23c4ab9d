//! [`find_program`]: the file that a program's name means.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The file of a program, looked up like a shell does.
pub fn find_program(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 || path.is_absolute() {
        return Some(path.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(path))
        .find(|path| path.is_file())
}
