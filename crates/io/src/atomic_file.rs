//! [`AtomicFile`]: an output file that gets its name only when it is complete. The bytes are
//! written into another file in the same directory (`beside`), which [`AtomicFile::commit`]
//! renames. All writers of files in this workspace use it.
//!
//! Invariants: a file with the target's name is complete. No file that was announced as an input
//! ([`AtomicFile::protect`]) is overwritten. Unfinished files with names are in a list, so that
//! they can be removed when the process ends by a signal.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sync_ahead::SyncThread;
use crate::{FileError, lock_file};

mod beside;

use beside::{Beside, Left, link, numbered_partial, rename, temporary};

/// How many names for a file are tried where other programs take them at the same time.
const NAMES_TRIED: u32 = 100;

/// Paths of the unfinished files of this process, for [`AtomicFile::remove_unfinished`].
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The files that [`AtomicFile::protect`] was called for: device and inode number of each.
static PROTECTED: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

fn protected() -> MutexGuard<'static, BTreeSet<(u64, u64)>> {
    PROTECTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is written next to its target and renamed by [`AtomicFile::commit`]: a half-written
/// file never has the final name. If it is dropped before that, it is removed, unless
/// [`AtomicFile::keep_partial`] was called. If the file system allows it, the unfinished file has
/// no name at all, so that nothing is left of it however this program ends.
///
/// A target that is no regular file (`/dev/null`, a pipe) is written directly; one that is a
/// symbolic link is replaced where it points to. What is overwritten keeps its permissions. Writes
/// are buffered.
#[derive(Debug)]
pub struct AtomicFile {
    out: BufWriter<File>,
    target: PathBuf,
    beside: Beside,
    force: bool,
    /// Whether it has its partial name.
    has_partial: bool,
    kept: bool,
    written: Arc<AtomicU64>,
    ahead: Option<SyncThread>,
}

impl AtomicFile {
    /// Begins the file that will be `target`.
    ///
    /// # Errors
    /// [`FileError::Io`]: of kind `AlreadyExists` if `target` exists and `force` is not set; of
    /// kind `InvalidInput` if it is [protected](Self::protect); or why it cannot be created.
    pub fn create(target: &Path, force: bool) -> Result<AtomicFile, FileError> {
        let failed = |error| FileError::io("create", target, explained_at(target, error));
        // Such a file may have no path but this one: `/dev/stdout` leads to a pipe without a name.
        if fs::metadata(target).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
            let file = OpenOptions::new().write(true).open(target);
            return Ok(AtomicFile::direct(file.map_err(failed)?, target, force));
        }
        let real = match fs::canonicalize(target) {
            Ok(real) => real,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if target.is_symlink() {
                    return Err(leads_nowhere(target));
                } else {
                    target.to_owned()
                }
            }
            Err(error) => return Err(failed(error)),
        };
        let Some(name) = real.file_name() else {
            return Err(failed(ErrorKind::IsADirectory.into()));
        };
        let mut mode = None;
        match fs::metadata(&real) {
            Ok(about) if about.is_dir() => return Err(failed(ErrorKind::IsADirectory.into())),
            Ok(about) if protected().contains(&identity(&about)) => return Err(is_read(target)),
            Ok(_) if !force => return Err(exists(target)),
            Ok(about) => mode = Some(about.permissions()),
            Err(_) => {}
        }
        // The list is locked until the file is in it: unfinished files may be removed at any
        // moment.
        let mut known = unfinished();
        let (file, beside) = temporary(&real, name).map_err(failed)?;
        if let Beside::Named(path) = &beside {
            known.insert(path.clone());
        }
        drop(known);
        if let Some(mode) = mode {
            // The new file gets the permissions of the file that it replaces.
            file.set_permissions(mode).map_err(failed)?;
        }
        let out = BufWriter::with_capacity(256 << 10, file);
        Ok(AtomicFile {
            out,
            target: real,
            beside,
            force,
            has_partial: false,
            kept: false,
            written: Arc::default(),
            ahead: None,
        })
    }

    /// A file that is written directly.
    fn direct(file: File, target: &Path, force: bool) -> AtomicFile {
        AtomicFile {
            out: BufWriter::new(file),
            target: target.to_owned(),
            beside: Beside::Target,
            force,
            has_partial: false,
            kept: false,
            written: Arc::default(),
            ahead: None,
        }
    }

    /// Fails as [`create`](Self::create) would, and changes nothing: for callers that write only
    /// after long work. Pipes are not opened, because their readers would see them end.
    ///
    /// # Errors
    /// Those of [`create`](Self::create).
    pub fn check(target: &Path, force: bool) -> Result<(), FileError> {
        match fs::metadata(target) {
            Ok(about) if !about.is_file() && !about.is_dir() => Ok(()),
            _ => Self::create(target, force).map(drop),
        }
    }

    /// Protects the file that is at `path` now: [`create`](Self::create) refuses to replace it, by
    /// any of its names, and also with `force`. For files that are read. Nothing happens if no
    /// regular file is there.
    pub fn protect(path: &Path) {
        let about = fs::metadata(path);
        protected().extend(about.iter().filter(|about| about.is_file()).map(identity));
    }

    /// Starts a thread that flushes written bytes to the disk meanwhile, so that [`Self::commit`]
    /// has little left to wait for: for large files that are written over a long time.
    ///
    /// # Errors
    /// [`FileError::Io`] if no thread can be started; nothing has changed then.
    pub fn sync_ahead(&mut self) -> Result<(), FileError> {
        if self.beside == Beside::Target {
            return Ok(());
        }
        let file = self.out.get_ref().try_clone();
        let ahead = file.and_then(SyncThread::new);
        self.ahead = Some(ahead.map_err(|error| FileError::io("write", &self.target, error))?);
        Ok(())
    }

    /// The file's final path.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The count of bytes written so far, which other threads may read while the file is written.
    pub fn written(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }

    /// Gives the unfinished file the name `TARGET.partial`, so that other programs see that the
    /// target is being written. It is removed if the file is dropped before
    /// [`keep_partial`](Self::keep_partial). With `force` it replaces the file that a dead program
    /// left; beside one that another program writes, it gets a number (`TARGET.2.partial`). Returns
    /// that path.
    ///
    /// # Errors
    /// [`FileError::Io`], of kind `AlreadyExists` if there is such a file and no `force`.
    pub fn name_partial(&mut self) -> Result<&Path, FileError> {
        if self.beside != Beside::Target && !self.has_partial {
            // Other programs see by the lock that the file is being written. Where the file system
            // has no locks, they take it for one that was left.
            let _ = lock_file(self.out.get_ref());
            let partial = self.partial_name()?;
            unfinished().insert(partial.clone());
            self.beside = Beside::Named(partial);
            self.has_partial = true;
        }
        match &self.beside {
            Beside::Named(path) => Ok(path),
            _ => Ok(&self.target),
        }
    }

    /// Gives the unfinished file the first name for partial files that no other program uses.
    fn partial_name(&self) -> Result<PathBuf, FileError> {
        let mut number = 1;
        loop {
            let partial = numbered_partial(&self.target, number);
            match self.give_name(&partial, "create", false) {
                Ok(()) => return Ok(partial),
                Err(error) if !self.force || !error.is_taken() => return Err(error),
                Err(_) => {}
            }
            match Left::at(&partial) {
                // Only the program that has locked the file may replace it.
                Left::Locked(_lock) => {
                    self.give_name(&partial, "create", true)?;
                    return Ok(partial);
                }
                Left::InUse => number += 1,
                Left::Gone => {}
            }
        }
    }

    /// Keeps the unfinished file under its [partial name](Self::name_partial) if this program dies
    /// or gives up: for recordings, of which a part is useful. Returns that path.
    ///
    /// # Errors
    /// Those of [`name_partial`](Self::name_partial).
    pub fn keep_partial(&mut self) -> Result<&Path, FileError> {
        self.name_partial()?;
        self.kept = self.has_partial;
        match &self.beside {
            Beside::Named(path) => {
                unfinished().remove(path);
                Ok(path)
            }
            _ => Ok(&self.target),
        }
    }

    /// Another target in the same directory, for a file whose name depends on that of another one.
    pub fn rename_target(&mut self, target: &Path) {
        target.clone_into(&mut self.target);
    }

    /// Flushes everything to the disk and gives the file its name. Returns that name.
    ///
    /// # Errors
    /// [`FileError::Io`] if the disk is full or refuses (some systems report a full disk only
    /// here), or if another program has made the target meanwhile and there is no `force`. The
    /// target is then unchanged.
    pub fn commit(mut self) -> Result<PathBuf, FileError> {
        self.finish()
    }

    /// As [`commit`](Self::commit), but if another program has made the target meanwhile, the file
    /// gets the name that `next` returns: for results with numbers in their names.
    ///
    /// # Errors
    /// Those of [`commit`](Self::commit).
    pub fn commit_or(mut self, mut next: impl FnMut() -> PathBuf) -> Result<PathBuf, FileError> {
        for _ in 0..NAMES_TRIED {
            match self.finish() {
                Err(error) if error.is_taken() => self.target = next(),
                done => return done,
            }
        }
        self.finish()
    }

    /// Commits; after a failure, it can be called again.
    fn finish(&mut self) -> Result<PathBuf, FileError> {
        let failed = |error| FileError::io("write", &self.target, explained(error));
        let flushed = self.out.flush();
        flushed.map_err(failed)?;
        if self.beside == Beside::Target {
            return Ok(self.target.clone());
        }
        self.ahead
            .take()
            .map_or(Ok(()), SyncThread::end)
            .map_err(failed)?;
        self.out.get_ref().sync_all().map_err(failed)?;
        self.give_name(&self.target, "write", self.force)?;
        self.beside = Beside::Target;
        Ok(self.target.clone())
    }

    /// Gives the file a name; a file that has it is replaced only with `force`. On success, removes
    /// it from the list of unfinished files.
    fn give_name(&self, name: &Path, action: &'static str, force: bool) -> Result<(), FileError> {
        let named = match &self.beside {
            Beside::Named(path) => rename(path, name, force),
            _ => link(self.out.get_ref(), name, force),
        };
        named.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => exists(name),
            _ => FileError::io(action, name, explained(error)),
        })?;
        if let Beside::Named(path) = &self.beside {
            unfinished().remove(path);
        }
        Ok(())
    }

    /// Removes the unfinished files of this process that would be removed if their values were
    /// dropped: for a process that is about to end by a signal.
    pub fn remove_unfinished() {
        remove(&mut unfinished());
    }

    /// As [`remove_unfinished`](Self::remove_unfinished), unless the list is locked: for the end of
    /// a process at any point, when the thread that has locked the list may never unlock it.
    pub fn remove_unfinished_unless_busy() {
        if let Ok(mut unfinished) = UNFINISHED.try_lock() {
            remove(&mut unfinished);
        }
    }
}

/// Removes these files.
fn remove(unfinished: &mut BTreeSet<PathBuf>) {
    for path in std::mem::take(unfinished) {
        // The process ends; a failure cannot be reported.
        let _ = fs::remove_file(path);
    }
}

impl Write for AtomicFile {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.out.write(bytes).map_err(explained)?;
        let before = self.written.fetch_add(count as u64, Ordering::Relaxed);
        if let Some(ahead) = &mut self.ahead
            && !ahead.look(before + count as u64)
        {
            // The system reports a write error once: report it now, not after hours of recording.
            let ended = self.ahead.take().map_or(Ok(()), SyncThread::end);
            ended.map_err(explained)?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush().map_err(explained)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Beside::Named(beside) = &self.beside
            && !self.kept
        {
            // A failure cannot be reported from here. What is left is a hidden file with the
            // process's id in its name.
            let _ = fs::remove_file(beside);
            unfinished().remove(beside);
        }
    }
}

/// Device and number of a file: the same by each of its names.
fn identity(about: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (about.dev(), about.ino())
}

fn is_read(path: &Path) -> FileError {
    let what = "it is read or run here, and would be lost; name another file, as with -o";
    FileError::io("create", path, Error::new(ErrorKind::InvalidInput, what))
}

fn leads_nowhere(path: &Path) -> FileError {
    let what =
        "it is a link to a file that is missing; remove the link, or name another file, as with -o";
    FileError::io("create", path, Error::new(ErrorKind::InvalidInput, what))
}

fn exists(path: &Path) -> FileError {
    let what = "it exists already; name another file, as with -o, or overwrite it with --force";
    FileError::io("create", path, Error::new(ErrorKind::AlreadyExists, what))
}

/// [`explained`] for a file that cannot be created: its directory may be there, and take no files
/// (`/proc`).
fn explained_at(target: &Path, error: Error) -> Error {
    let directory = target
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if error.kind() == ErrorKind::NotFound && directory.is_none_or(Path::is_dir) {
        let what = "no files can be created in its directory; name another place, with -o or in the option for it";
        return Error::new(error.kind(), what);
    }
    explained(error)
}

/// The error with what to do about it.
fn explained(error: Error) -> Error {
    let advice = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "free some space, or name a place on another disk, with -o or in the option for it"
        }
        ErrorKind::NotFound => {
            "create its directory first, or name another place, with -o or in the option for it"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::IsADirectory => {
            "name another place, with -o or in the option for it"
        }
        _ => return error,
    };
    Error::new(error.kind(), format!("{error}; {advice}"))
}
