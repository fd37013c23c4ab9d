//! [`find_program`]: the file that a program's name means, and [`program_files`]: those that it may
//! mean.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where programs are looked for if `PATH` is not set, as by `execvp`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The files that a program's name may mean, in the order in which the system tries them: the
/// program is the first that the user may execute.
pub fn program_files(program: &OsStr) -> Vec<PathBuf> {
    if program.is_empty() || program.as_bytes().contains(&b'/') {
        return vec![PathBuf::from(program)];
    }
    let folders = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    let folders = std::env::split_paths(&folders);
    folders.map(|folder| folder.join(program)).collect()
}

/// The file of a program, as the system finds it. A file that nobody may execute is it only if
/// there is no other, so that a message can name it.
pub fn find_program(program: &OsStr) -> Option<PathBuf> {
    let mut files = program_files(program);
    if program.as_bytes().contains(&b'/') {
        return files.pop();
    }
    let executable = files.iter().position(|path| is_executable(path));
    let found = executable.or_else(|| files.iter().position(|path| path.is_file()))?;
    Some(files.swap_remove(found))
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
