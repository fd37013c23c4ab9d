//! Outputs that appear whole or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::TraceError;

/// The unfinished files of this process, for [`AtomicFile::remove_unfinished`].
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file written beside its target and renamed onto it by [`AtomicFile::commit`]: a half-written
/// file never has the final name. Dropped before that, it is removed, unless
/// [`AtomicFile::keep_partial`] was called.
///
/// A target that is no regular file (`/dev/null`, a pipe) is written directly; one that is a
/// symbolic link is replaced where it points to. Writes are buffered.
#[derive(Debug)]
pub struct AtomicFile {
    out: BufWriter<File>,
    target: PathBuf,
    /// Where the bytes are; `None` if in the target itself.
    beside: Option<PathBuf>,
    force: bool,
    kept: bool,
}

impl AtomicFile {
    /// Begins the file that will be `target`.
    ///
    /// # Errors
    /// [`TraceError::Io`]: of kind `AlreadyExists` if `target` exists and `force` is not set; or why it
    /// cannot be created.
    pub fn create(target: &Path, force: bool) -> Result<AtomicFile, TraceError> {
        let failed = |error| TraceError::io("create", target, explained(error));
        let real = match fs::canonicalize(target) {
            Ok(real) => real,
            Err(error) if error.kind() == ErrorKind::NotFound => target.to_owned(),
            Err(error) => return Err(failed(error)),
        };
        let Some(name) = real
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
        else {
            return Err(failed(ErrorKind::IsADirectory.into()));
        };
        match fs::metadata(&real) {
            Ok(about) if about.is_dir() => return Err(failed(ErrorKind::IsADirectory.into())),
            Ok(about) if !about.is_file() => {
                let file = OpenOptions::new().write(true).open(&real).map_err(failed)?;
                let out = BufWriter::new(file);
                return Ok(AtomicFile {
                    out,
                    target: real,
                    beside: None,
                    force,
                    kept: false,
                });
            }
            Ok(_) if !force => return Err(exists(target)),
            _ => {}
        }
        // Known before it is there: whoever removes unfinished files may do so at any moment.
        let mut known = unfinished();
        let (file, beside) = temporary(&real, &name).map_err(failed)?;
        known.insert(beside.clone());
        drop(known);
        let out = BufWriter::with_capacity(256 << 10, file);
        Ok(AtomicFile {
            out,
            target: real,
            beside: Some(beside),
            force,
            kept: false,
        })
    }

    /// The file's final path.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// From now on the unfinished file is called `TARGET.partial` and stays if this program dies or
    /// gives up: for recordings, whose beginning is worth having. Returns that path.
    ///
    /// # Errors
    /// [`TraceError::Io`], of kind `AlreadyExists` if an earlier run left such a file and there is no
    /// `force`.
    pub fn keep_partial(&mut self) -> Result<&Path, TraceError> {
        if let Some(beside) = &mut self.beside
            && !self.kept
        {
            let mut partial = self.target.clone().into_os_string();
            partial.push(".partial");
            let partial = PathBuf::from(partial);
            if partial.exists() && !self.force {
                return Err(exists(&partial));
            }
            let mut known = unfinished();
            fs::rename(&*beside, &partial)
                .map_err(|error| TraceError::io("create", &partial, explained(error)))?;
            known.remove(&*beside);
            drop(known);
            *beside = partial;
            self.kept = true;
        }
        Ok(self.beside.as_deref().unwrap_or(&self.target))
    }

    /// Writes everything out to the disk and gives the file its name. Returns that name.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the disk is full or refuses — full disks show as late as here — or if
    /// another program made the target meanwhile and there is no `force`. The target is then as before.
    pub fn commit(mut self) -> Result<PathBuf, TraceError> {
        let failed = |error| TraceError::io("write", &self.target, explained(error));
        let flushed = self.out.flush();
        flushed.map_err(failed)?;
        let Some(beside) = &self.beside else {
            return Ok(self.target.clone());
        };
        self.out.get_ref().sync_all().map_err(failed)?;
        if !self.force && self.target.exists() {
            return Err(exists(&self.target));
        }
        fs::rename(beside, &self.target).map_err(failed)?;
        unfinished().remove(beside);
        self.beside = None;
        Ok(self.target.clone())
    }

    /// Removes the unfinished files of this process that would go if their values were dropped: for the
    /// moment before it ends in another way, at a signal.
    pub fn remove_unfinished() {
        for path in std::mem::take(&mut *unfinished()) {
            // Nobody is left to tell.
            let _ = fs::remove_file(path);
        }
    }
}

impl Write for AtomicFile {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.write(bytes).map_err(explained)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush().map_err(explained)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside
            && !self.kept
        {
            // Nobody is left to tell; a leftover is hidden and names its process.
            let _ = fs::remove_file(beside);
            unfinished().remove(beside);
        }
    }
}

/// A new file in the target's directory.
fn temporary(target: &Path, name: &str) -> std::io::Result<(File, PathBuf)> {
    let mut last = Error::from(ErrorKind::AlreadyExists);
    for attempt in 0..100 {
        let ending = if attempt == 0 {
            String::new()
        } else {
            format!("-{attempt}")
        };
        let path = target.with_file_name(format!(".{name}.tmp-{}{ending}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

fn exists(path: &Path) -> TraceError {
    let what = "it exists already; name another file with -o, or overwrite it with --force";
    TraceError::io("create", path, Error::new(ErrorKind::AlreadyExists, what))
}

/// The error with what to do about it.
fn explained(error: Error) -> Error {
    let advice = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "free some space, or name a place on another disk with -o"
        }
        ErrorKind::NotFound => "create its directory first, or name another place with -o",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::IsADirectory => {
            "name another place with -o"
        }
        _ => return error,
    };
    Error::new(error.kind(), format!("{error}; {advice}"))
}
