//! Errors of commands that could not be started.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

/// The error of starting a command, as it is if the user may look into all folders of `PATH`: if
/// one of them is closed to the user, the system says of a command that is in none of them that
/// permission is denied, and not that there is none.
pub fn command_error(program: &OsStr, error: io::Error) -> io::Error {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if is_nowhere(program, &path, &error) {
        io::Error::from_raw_os_error(ENOENT)
    } else {
        error
    }
}

/// "No such file or directory".
const ENOENT: i32 = 2;

/// Whether permission was denied for a name that is in no folder of `path`.
fn is_nowhere(program: &OsStr, path: &OsStr, error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
        && Path::new(program).components().count() == 1
        && !std::env::split_paths(path).any(|folder| folder.join(program).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denied_commands_are_missing_if_no_folder_has_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("there"), "").unwrap();
        let path = std::env::join_paths([Path::new("/nonexistent"), folder.path()]).unwrap();
        let whole = folder.path().join("missing");
        for (program, kind, expected) in [
            (OsStr::new("missing"), io::ErrorKind::PermissionDenied, true),
            (OsStr::new("there"), io::ErrorKind::PermissionDenied, false),
            (OsStr::new("missing"), io::ErrorKind::NotFound, false),
            (whole.as_os_str(), io::ErrorKind::PermissionDenied, false),
        ] {
            let found = is_nowhere(program, &path, &kind.into());
            assert_eq!(found, expected, "{program:?} {kind}");
        }
    }
}
