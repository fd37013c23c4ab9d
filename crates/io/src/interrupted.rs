//! Calls that the standard library does not make again when a signal interrupts them. File systems
//! on a network, and those that a program serves, let signals interrupt calls that others do not.

use std::fs::{File, ReadDir};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Makes a call until no signal interrupts it. Returns what it returns then.
///
/// # Errors
/// Those of the call, other than [`ErrorKind::Interrupted`].
pub fn retry_interrupted<T, E>(mut call: impl FnMut() -> std::result::Result<T, E>) -> Result<T>
where
    Error: From<E>,
{
    loop {
        match call().map_err(Error::from) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// The names in a folder, as [`std::fs::read_dir`] returns them.
///
/// # Errors
/// The system's, but not that a signal interrupted the call.
pub fn read_folder(folder: &Path) -> Result<ReadDir> {
    retry_interrupted(|| std::fs::read_dir(folder))
}

/// Locks a file, as [`File::try_lock`] does. Returns whether it is locked now: no if somebody else
/// has locked it.
///
/// # Errors
/// The system's, but not that a signal interrupted the call.
pub fn lock_file(file: &File) -> Result<bool> {
    match retry_interrupted(|| file.try_lock()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::TryLockError;

    use super::*;

    #[test]
    fn interrupted_call_is_made_again() {
        let mut made = 0;
        let result: Result<u32> = retry_interrupted(|| {
            made += 1;
            match made {
                1 | 2 => Err(Error::from(ErrorKind::Interrupted)),
                _ => Ok(made),
            }
        });
        assert_eq!(result.unwrap(), 3);
        let failed: Result<()> =
            retry_interrupted(|| Err(TryLockError::Error(ErrorKind::NotFound.into())));
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn file_that_another_has_locked_is_not_locked() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("lock");
        let (one, other) = (File::create(&path).unwrap(), File::create(&path).unwrap());
        assert!(lock_file(&one).unwrap());
        assert!(!lock_file(&other).unwrap());
        drop(one);
        assert!(lock_file(&other).unwrap());
        assert_eq!(read_folder(place.path()).unwrap().count(), 1);
    }
}
