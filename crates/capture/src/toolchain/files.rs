//! [`RunTimeFiles`]: the files that compilers need from us (the run time, the LLVM pass's source,
//! headers), written once per version into a directory in the user's cache.
//!
//! These files become part of what the user builds and runs. So a directory is used only if no
//! other user can write to it, and if the files in it have exactly the contents of this version.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::CaptureError;
use crate::embedded::run_time;

/// An archive without members: stands in for the compiler's own run time.
const EMPTY_ARCHIVE: &[u8] = b"!<arch>\n";
/// What a program exports to instrumented libraries that it loads.
const DYNAMIC_LIST: &[u8] = b"{ __tsan_*; __reuselens_*; __wrap_*; Record*; record*_; };\n";

/// The run time for measured programs: one object file.
static OBJECT: LazyLock<Vec<u8>> = LazyLock::new(run_time);

/// The names of the files, and what is in them.
fn files() -> [(&'static str, &'static [u8]); 8] {
    [
        ("reuselens.o", &OBJECT),
        ("pass.cpp", include_bytes!("../../llvm/pass.cpp")),
        ("dynamic.list", DYNAMIC_LIST),
        ("empty/libtsan.a", EMPTY_ARCHIVE),
        ("empty/libtsan_preinit.o", EMPTY_ARCHIVE),
        (
            "include/reuselens.h",
            include_bytes!("../../include/reuselens.h"),
        ),
        (
            "include/reuselens.inc",
            include_bytes!("../../include/reuselens.inc"),
        ),
        (
            "include/reuselens.f90",
            include_bytes!("../../include/reuselens.f90"),
        ),
    ]
}

/// Where the files are.
#[derive(Clone, Debug)]
pub struct RunTimeFiles {
    directory: PathBuf,
}

impl RunTimeFiles {
    /// Writes the files, unless they are there already. Several processes may call this at the same
    /// time.
    ///
    /// They are in the user's cache, or in a directory of the user's own in the system's temporary
    /// one. If neither can be trusted, each call makes a new directory.
    ///
    /// # Errors
    /// If neither the user's cache nor the system's temporary directory can be written.
    pub fn install() -> Result<RunTimeFiles, CaptureError> {
        let name = format!("{}-{:016x}", env!("CARGO_PKG_VERSION"), fingerprint());
        let temporary = std::env::temp_dir();
        // The owner of this is the user that the process runs as.
        if let Ok(user) = std::fs::metadata("/proc/self").map(|about| about.uid()) {
            let cache = cache_directory().map(|cache| cache.join("reuselens"));
            let shared = temporary.join(format!("reuselens-{user}"));
            for place in cache.into_iter().chain([shared]) {
                if let Ok(directory) = install_in(&place, &name, user) {
                    return Ok(RunTimeFiles { directory });
                }
            }
        }
        let fresh = tempfile::Builder::new().prefix("reuselens-").tempdir();
        let fresh = fresh.and_then(|fresh| {
            write(fresh.path())?;
            Ok(fresh.keep())
        });
        match fresh {
            Ok(directory) => Ok(RunTimeFiles { directory }),
            Err(source) => Err(CaptureError::RunTime {
                path: temporary,
                source,
            }),
        }
    }

    /// Files that are known to be in `directory`.
    #[cfg(test)]
    pub(super) fn at(directory: PathBuf) -> RunTimeFiles {
        RunTimeFiles { directory }
    }

    /// The directory of everything.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The object file to link into a measured program.
    pub fn object(&self) -> PathBuf {
        self.directory.join("reuselens.o")
    }

    /// The directory of `reuselens.h`, `reuselens.inc` and `reuselens.f90`.
    pub fn include(&self) -> PathBuf {
        self.directory.join("include")
    }

    /// The source of the LLVM pass.
    pub(super) fn pass_source(&self) -> PathBuf {
        self.directory.join("pass.cpp")
    }

    /// The LLVM pass, once it has been compiled.
    pub(super) fn pass(&self) -> PathBuf {
        self.directory.join("pass-19.so")
    }

    /// A directory with empty stand-ins for the compiler's own run time, for `-B`.
    pub(super) fn empty_libraries(&self) -> PathBuf {
        self.directory.join("empty")
    }

    /// The linker's list of symbols to export.
    pub(super) fn dynamic_list(&self) -> PathBuf {
        self.directory.join("dynamic.list")
    }
}

fn cache_directory() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
}

/// A number that changes with the files' contents (FNV-1a).
fn fingerprint() -> u64 {
    let bytes = files()
        .into_iter()
        .flat_map(|(name, content)| name.bytes().chain(content.iter().copied()));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The directory `name` in `place`, with all files in it, which only `user` can change.
///
/// # Errors
/// If they cannot be written, or `place` belongs to another user.
fn install_in(place: &Path, name: &str, user: u32) -> io::Result<PathBuf> {
    if let Some(parent) = place.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(place) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let about = std::fs::symlink_metadata(place)?;
    if about.is_dir() && about.uid() == user && about.mode() & 0o022 != 0 {
        // Earlier versions made it as the user's mask said, so that a group could write to it.
        std::fs::set_permissions(place, Permissions::from_mode(0o700))?;
    }
    check_owner(place, user)?;
    let directory = place.join(name);
    if !is_trusted(&directory, user) {
        replace(place, &directory, user)?;
    }
    Ok(directory)
}

/// Whether this is a directory of the user's own with all files.
fn is_trusted(directory: &Path, user: u32) -> bool {
    check_owner(directory, user).is_ok() && is_complete(directory)
}

/// Fails if this is no directory of the user's, or others can write to it. Links are refused.
fn check_owner(directory: &Path, user: u32) -> io::Result<()> {
    let about = std::fs::symlink_metadata(directory)?;
    if about.is_dir() && about.uid() == user && about.mode() & 0o022 == 0 {
        Ok(())
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// Whether all files are there, with the content of this version.
fn is_complete(directory: &Path) -> bool {
    files().iter().all(|(name, content)| {
        std::fs::read(directory.join(name)).is_ok_and(|found| found == *content)
    })
}

/// Puts the files at `directory`, which is in `place`, instead of what is there. Everything is
/// written into a new directory that is renamed, so that nobody sees half of it.
fn replace(place: &Path, directory: &Path, user: u32) -> io::Result<()> {
    let temporary = tempfile::Builder::new().prefix(".new-").tempdir_in(place)?;
    let new = temporary.path().join("new");
    DirBuilder::new().mode(0o700).create(&new)?;
    write(&new)?;
    if std::fs::rename(&new, directory).is_ok() || is_trusted(directory, user) {
        return Ok(());
    }
    // What is there goes away with the temporary directory.
    std::fs::rename(directory, temporary.path().join("old"))?;
    std::fs::rename(&new, directory)
}

fn write(directory: &Path) -> io::Result<()> {
    for (name, content) in files() {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            DirBuilder::new()
                .mode(0o700)
                .recursive(true)
                .create(parent)?;
        }
        std::fs::write(path, content)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place in a temporary directory, and the number of the user that owns it.
    fn place() -> (tempfile::TempDir, PathBuf, u32) {
        let folder = tempfile::tempdir().unwrap();
        let user = std::fs::metadata(folder.path()).unwrap().uid();
        let place = folder.path().join("cache/reuselens");
        (folder, place, user)
    }

    #[test]
    fn files_of_this_version_are_used_again() {
        let (_folder, place, user) = place();
        let first = install_in(&place, "1", user).unwrap();
        // As the LLVM pass, which is compiled into the directory.
        std::fs::write(first.join("more"), "").unwrap();
        assert_eq!(install_in(&place, "1", user).unwrap(), first);
        assert!(first.join("more").exists() && is_complete(&first));
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1);
    }

    #[test]
    fn files_with_other_content_are_replaced() {
        let (_folder, place, user) = place();
        let directory = install_in(&place, "1", user).unwrap();
        std::fs::write(directory.join("reuselens.o"), "evil").unwrap();
        assert_eq!(install_in(&place, "1", user).unwrap(), directory);
        assert!(is_complete(&directory));
    }

    #[test]
    fn directories_that_others_can_write_are_not_trusted() {
        let (folder, place, user) = place();
        let directory = install_in(&place, "1", user).unwrap();
        std::fs::write(directory.join("pass-19.so"), "evil").unwrap();
        std::fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
        install_in(&place, "1", user).unwrap();
        assert!(!directory.join("pass-19.so").exists() && is_complete(&directory));
        std::fs::set_permissions(&place, Permissions::from_mode(0o775)).unwrap();
        install_in(&place, "1", user).unwrap();
        assert_eq!(std::fs::metadata(&place).unwrap().mode() & 0o777, 0o700);
        // Another user's directory, and a link to the user's own.
        assert!(install_in(&place, "1", user + 1).is_err());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&place, &link).unwrap();
        assert!(install_in(&link, "1", user).is_err());
    }

    #[test]
    fn concurrent_installs_leave_the_same_files() {
        let (_folder, place, user) = place();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let directory = install_in(&place, "1", user).unwrap();
                        assert!(is_complete(&directory));
                    }
                });
            }
        });
    }
}
