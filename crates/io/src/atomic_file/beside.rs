//! The temporary file of an [`AtomicFile`](super::AtomicFile): where its bytes are ([`Beside`]),
//! how it is created ([`temporary`]), and how it gets a name ([`link`], [`rename`]).
//!
//! It is in the target's directory, hence on the same file system. If possible it has no name;
//! otherwise it is hidden, with the process's id in its name.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use super::{identity, unfinished};
use crate::{lock_file, retry_interrupted};

/// Where the bytes are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// In the target itself.
    Target,
    /// In a file without a name, on the target's file system.
    Nameless,
    /// In this file.
    Named(PathBuf),
}

/// Gives a nameless file a name. If a file has that name, replaces it if `force` is set, else
/// fails.
pub(super) fn link(file: &File, path: &Path, force: bool) -> std::io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file));
    let give = |name: &Path| linkat(CWD, own.as_str(), CWD, name, AtFlags::SYMLINK_FOLLOW);
    match give(path) {
        Err(rustix::io::Errno::EXIST) if force => {
            // A link cannot replace a file: link under another name, and rename that.
            let mut beside = path.as_os_str().to_owned();
            beside.push(format!(".tmp-{}", std::process::id()));
            let beside = PathBuf::from(beside);
            // If such a file exists, it is left from a dead process that had our id.
            let _ = fs::remove_file(&beside);
            unfinished().insert(beside.clone());
            let moved = give(&beside).map_err(Error::from);
            let moved = moved.and_then(|()| fs::rename(&beside, path));
            if moved.is_err() {
                let _ = fs::remove_file(&beside);
            }
            unfinished().remove(&beside);
            moved
        }
        done => Ok(done?),
    }
}

/// Renames a file. If a file has the new name, replaces it if `force` is set, else fails.
pub(super) fn rename(from: &Path, to: &Path, force: bool) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    if force {
        return fs::rename(from, to);
    }
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The file system does not support this. A hard link is as safe: the file then has both
        // names for a moment.
        Err(Errno::INVAL | Errno::NOSYS) => match fs::hard_link(from, to) {
            Ok(()) => {
                // The target exists; if this fails, a hidden second name stays.
                let _ = fs::remove_file(from);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            // Hard links are not supported either. Check first, though another program may create
            // the target between the two steps.
            Err(_) if to.exists() => Err(ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(from, to),
        },
        done => Ok(done?),
    }
}

/// The name of a partial file: `TARGET.partial`, then `TARGET.2.partial` and so on.
pub(super) fn numbered_partial(target: &Path, number: u32) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    match number {
        1 => name.push(".partial"),
        _ => name.push(format!(".{number}.partial")),
    }
    PathBuf::from(name)
}

/// A partial file that was there before.
pub(super) enum Left {
    /// The program that wrote it is dead. Nobody else replaces it while this lock is held; there
    /// is none where the file cannot be opened or locked.
    Locked(Option<File>),
    /// A program writes it.
    InUse,
    /// It has just been renamed, removed or replaced.
    Gone,
}

impl Left {
    /// What is at `path`.
    pub(super) fn at(path: &Path) -> Left {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Left::Gone,
            Err(_) => return Left::Locked(None),
        };
        match lock_file(&file) {
            Ok(true) => {}
            Ok(false) => return Left::InUse,
            Err(_) => return Left::Locked(None),
        }
        // It may have been replaced before it was locked.
        match (fs::metadata(path), file.metadata()) {
            (Ok(there), Ok(locked)) if identity(&there) == identity(&locked) => {
                Left::Locked(Some(file))
            }
            _ => Left::Gone,
        }
    }
}

/// A file without a name in the target's directory, if its file system and `/proc` allow that.
fn nameless(target: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let directory = target.parent()?;
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = retry_interrupted(|| open(directory, flags, Mode::from(0o666))).ok()?;
    let file = File::from(file);
    let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    fs::metadata(own).is_ok().then_some(file)
}

/// A new file in the target's directory.
pub(super) fn temporary(target: &Path, name: &OsStr) -> std::io::Result<(File, Beside)> {
    if let Some(file) = nameless(target) {
        return Ok((file, Beside::Nameless));
    }
    let mut last = Error::from(ErrorKind::AlreadyExists);
    for attempt in 0..100 {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".tmp-{}", std::process::id()));
        if attempt > 0 {
            hidden.push(format!("-{attempt}"));
        }
        let path = target.with_file_name(hidden);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, Beside::Named(path))),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}
