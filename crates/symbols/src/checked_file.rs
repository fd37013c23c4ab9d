//! [`CheckedFile`]: a file that stays open once its build id was compared.

use std::fs::{File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use reuselens_attribute::known_names::is_system_module;
use reuselens_io::text_of;

/// A file that is kept: what is asked for later is asked of the one that was checked, even if it is
/// gone by then.
#[derive(Debug)]
pub(crate) struct CheckedFile {
    pub path: PathBuf,
    pub file: File,
}

impl CheckedFile {
    /// The same file, kept by another.
    pub fn again(&self) -> std::io::Result<CheckedFile> {
        Ok(CheckedFile {
            path: self.path.clone(),
            file: self.file.try_clone()?,
        })
    }

    /// Whether it is a file of the system.
    pub fn is_of_system(&self) -> bool {
        is_system_module(&text_of(&self.path))
    }

    /// Where to open it once more: by its path, which shows the folder of other files beside it, if
    /// the file still exists there.
    pub fn path(&self) -> PathBuf {
        let identity = |about: Metadata| (about.dev(), about.ino(), about.mtime(), about.size());
        let kept = self.file.metadata().map(identity);
        let there = std::fs::metadata(&self.path).map(identity);
        match (kept, there) {
            (Ok(kept), Ok(there)) if kept == there => self.path.clone(),
            _ => format!("/proc/self/fd/{}", self.file.as_raw_fd()).into(),
        }
    }
}
