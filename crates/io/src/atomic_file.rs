//! Outputs that appear whole or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::FileError;
use crate::sync_ahead::Ahead;

mod beside;

use beside::{Beside, link, rename, temporary};

/// The unfinished files of this process, for [`AtomicFile::remove_unfinished`].
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What [`AtomicFile::protect`] keeps: device and number of each file.
static PROTECTED: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

fn protected() -> MutexGuard<'static, BTreeSet<(u64, u64)>> {
    PROTECTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file written beside its target and renamed onto it by [`AtomicFile::commit`]: a half-written
/// file never has the final name. Dropped before that, it is removed, unless
/// [`AtomicFile::keep_partial`] was called. Until then it has no name at all where the file system
/// allows that, so that nothing is left of it however this program ends.
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
    kept: bool,
    written: Arc<AtomicU64>,
    ahead: Option<Ahead>,
}

impl AtomicFile {
    /// Begins the file that will be `target`.
    ///
    /// # Errors
    /// [`FileError::Io`]: of kind `AlreadyExists` if `target` exists and `force` is not set; of
    /// kind `InvalidInput` if it is [protected](Self::protect); or why it cannot be created.
    pub fn create(target: &Path, force: bool) -> Result<AtomicFile, FileError> {
        let failed = |error| FileError::io("create", target, explained_at(target, error));
        let real = match fs::canonicalize(target) {
            Ok(real) => real,
            Err(error) if error.kind() == ErrorKind::NotFound => match target.is_symlink() {
                false => target.to_owned(),
                true => return Err(leads_nowhere(target)),
            },
            Err(error) => return Err(failed(error)),
        };
        let Some(name) = real
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
        else {
            return Err(failed(ErrorKind::IsADirectory.into()));
        };
        let mut mode = None;
        match fs::metadata(&real) {
            Ok(about) if about.is_dir() => return Err(failed(ErrorKind::IsADirectory.into())),
            Ok(about) if !about.is_file() => {
                let file = OpenOptions::new().write(true).open(&real).map_err(failed)?;
                let out = BufWriter::new(file);
                return Ok(AtomicFile {
                    out,
                    target: real,
                    beside: Beside::Target,
                    force,
                    kept: false,
                    written: Arc::default(),
                    ahead: None,
                });
            }
            Ok(about) if protected().contains(&identity(&about)) => return Err(is_read(target)),
            Ok(_) if !force => return Err(exists(target)),
            Ok(about) => mode = Some(about.permissions()),
            Err(_) => {}
        }
        // Known before it is there: whoever removes unfinished files may do so at any moment.
        let mut known = unfinished();
        let (file, beside) = temporary(&real, &name).map_err(failed)?;
        if let Beside::Named(path) = &beside {
            known.insert(path.clone());
        }
        drop(known);
        if let Some(mode) = mode {
            // Who may read the file that is overwritten may read the new one, and nobody else.
            file.set_permissions(mode).map_err(failed)?;
        }
        let out = BufWriter::with_capacity(256 << 10, file);
        Ok(AtomicFile {
            out,
            target: real,
            beside,
            force,
            kept: false,
            written: Arc::default(),
            ahead: None,
        })
    }

    /// Fails as [`create`](Self::create) would, and leaves everything as it is: for who writes only
    /// after long work. Pipes are not opened, as whoever reads them would see them end.
    ///
    /// # Errors
    /// Those of [`create`](Self::create).
    pub fn check(target: &Path, force: bool) -> Result<(), FileError> {
        match fs::metadata(target) {
            Ok(about) if !about.is_file() && !about.is_dir() => Ok(()),
            _ => Self::create(target, force).map(drop),
        }
    }

    /// From now on no file of this process is begun in the place of the one that is at `path` now,
    /// by whatever name and with `force` or without: for what is read. Nothing happens if no
    /// regular file is there.
    pub fn protect(path: &Path) {
        let about = fs::metadata(path);
        protected().extend(about.iter().filter(|about| about.is_file()).map(identity));
    }

    /// From here on what is written is brought to the disk meanwhile, by a thread of its own, so
    /// that [`Self::commit`] has little left to wait for: for large files that are written over a
    /// long time.
    ///
    /// # Errors
    /// [`FileError::Io`] if there is no thread to be had; nothing has changed then.
    pub fn sync_ahead(&mut self) -> Result<(), FileError> {
        if self.beside == Beside::Target {
            return Ok(());
        }
        let file = self.out.get_ref().try_clone();
        let ahead = file.and_then(Ahead::new);
        self.ahead = Some(ahead.map_err(|error| FileError::io("write", &self.target, error))?);
        Ok(())
    }

    /// The file's final path.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// How many bytes were written so far, also once the file is in other hands.
    pub fn written(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }

    /// From now on the unfinished file is called `TARGET.partial` and stays if this program dies or
    /// gives up: for recordings, whose beginning is worth having. Returns that path.
    ///
    /// # Errors
    /// [`FileError::Io`], of kind `AlreadyExists` if an earlier run left such a file and there is
    /// no `force`.
    pub fn keep_partial(&mut self) -> Result<&Path, FileError> {
        if self.beside != Beside::Target && !self.kept {
            let mut partial = self.target.clone().into_os_string();
            partial.push(".partial");
            let partial = PathBuf::from(partial);
            self.give_name(&partial, "create")?;
            self.beside = Beside::Named(partial);
            self.kept = true;
        }
        match &self.beside {
            Beside::Named(path) => Ok(path),
            _ => Ok(&self.target),
        }
    }

    /// Writes everything out to the disk and gives the file its name. Returns that name.
    ///
    /// # Errors
    /// [`FileError::Io`] if the disk is full or refuses — full disks show as late as here — or if
    /// another program made the target meanwhile and there is no `force`. The target is then as
    /// before.
    pub fn commit(mut self) -> Result<PathBuf, FileError> {
        let failed = |error| FileError::io("write", &self.target, explained(error));
        let flushed = self.out.flush();
        flushed.map_err(failed)?;
        if self.beside == Beside::Target {
            return Ok(self.target.clone());
        }
        self.ahead
            .take()
            .map_or(Ok(()), Ahead::end)
            .map_err(failed)?;
        self.out.get_ref().sync_all().map_err(failed)?;
        self.give_name(&self.target, "write")?;
        self.beside = Beside::Target;
        Ok(self.target.clone())
    }

    /// Gives the file a name, over a file that has it only with `force`. On success it is no more
    /// one of the unfinished files.
    fn give_name(&self, name: &Path, action: &'static str) -> Result<(), FileError> {
        let named = match &self.beside {
            Beside::Named(path) => rename(path, name, self.force),
            _ => link(self.out.get_ref(), name, self.force),
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

    /// Removes the unfinished files of this process that would go if their values were dropped: for
    /// the moment before it ends in another way, at a signal.
    pub fn remove_unfinished() {
        remove(&mut unfinished());
    }

    /// [`remove_unfinished`](Self::remove_unfinished), unless the list of them is in use: for the
    /// end of a process in the middle of anything, where nobody may be left to give the list back.
    pub fn remove_unfinished_unless_busy() {
        if let Ok(mut unfinished) = UNFINISHED.try_lock() {
            remove(&mut unfinished);
        }
    }
}

/// Removes these files.
fn remove(unfinished: &mut BTreeSet<PathBuf>) {
    for path in std::mem::take(unfinished) {
        // Nobody is left to tell.
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
            // The system tells an error once: now, and not when hours have been recorded.
            let ended = self.ahead.take().map_or(Ok(()), Ahead::end);
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
            // Nobody is left to tell; a leftover is hidden and names its process.
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
