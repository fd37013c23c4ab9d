//! [`write`]: a folder that looks like an installation of CUDA to makefiles and CMake. Its nvcc is
//! a script that calls this program with [`ROOT`] and the folder.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{NvccError, tools};

/// The first argument of a call by a toolkit's script, before the folder.
pub const ROOT: &str = "--rl-root";
/// What tells the script from another nvcc.
pub const MARK: &str = "# reuselens: stands in for CUDA's nvcc";

/// Writes `bin/nvcc`, which calls `program nvcc`, the headers to `include`, and the library to
/// `lib64`. Files that are there are replaced.
///
/// # Errors
/// If the folder cannot be written, or the library cannot be made.
pub fn write(folder: &Path, program: &Path, clang: &OsStr) -> Result<(), NvccError> {
    let failed = |source| NvccError::write(folder, source);
    // CMake finds the folder by that of `libdevice`.
    let parts = ["bin", "include", "lib64", "nvvm/libdevice"];
    let parts = parts.map(|name| folder.join(name));
    let [bin, include, lib, _] = &parts;
    for part in &parts {
        std::fs::create_dir_all(part).map_err(failed)?;
    }
    let script = bin.join("nvcc");
    let mut text = format!("#!/bin/sh\n{MARK}\nexec ").into_bytes();
    text.extend(quoted(program.as_os_str().as_bytes()));
    let root = std::fs::canonicalize(folder).map_err(failed)?;
    text.extend(format!(" nvcc {ROOT} ").bytes());
    text.extend(quoted(root.as_os_str().as_bytes()));
    text.extend(b" \"$@\"\n");
    std::fs::write(&script, text).map_err(failed)?;
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).map_err(failed)?;
    reuselens_ptx::plan::write_cuda_headers(include).map_err(failed)?;
    tools::write_libraries(clang, lib)
}

/// A word as a shell reads it.
fn quoted(word: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = word.split(|&byte| byte == b'\'').collect();
    [b"'", &parts.join(&b"'\\''"[..])[..], b"'"].concat()
}
