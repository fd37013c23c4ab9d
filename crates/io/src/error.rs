//! [`FileError`]: why a file cannot be read or written, with a message for the user. Errors of the
//! crates that read traces contain it.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// What [`FileError::ArchiveInPipe`] says, as a sentence without its full stop.
pub const ARCHIVE_IN_PIPE: &str = "it is a zip archive, and those are read from files, not from pipes; \
     unpack it on the way in: `unzip -p FILE | reuselens analyze -`";

/// Why a file cannot be read, or written, on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: `read`, `write`, `open`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The bytes are damaged, or not in the format.
    #[error("{}: {what} (at {position}); everything before it was read", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong, as a sentence without its full stop.
        what: String,
        /// Where: a line or a byte offset, as text.
        position: String,
    },
    /// A zip archive comes through a pipe. Its list of members is at its end, so it needs a file.
    #[error("{}: {ARCHIVE_IN_PIPE}", path.display())]
    ArchiveInPipe {
        /// What stands for the pipe.
        path: PathBuf,
    },
    /// There is nothing in the file.
    #[error("{} is empty; was the program that wrote it interrupted?", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl FileError {
    /// The system's reason not to do this to the file at `path`.
    pub fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        FileError::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Whether a file could not be created because another one has its name.
    pub fn is_taken(&self) -> bool {
        matches!(self, FileError::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists)
    }
}
