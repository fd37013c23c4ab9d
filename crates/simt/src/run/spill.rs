//! [`SpillFile`]: what does not fit in memory, in a file without a name. [`Window`] reads pieces
//! with a length before each, from memory or from such a file.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use reuselens_io::varint::{Cursor, Damage, LONGEST};
use reuselens_trace::TraceError;

/// A file without a name in the folder for temporary files. It is gone when it is dropped.
#[derive(Debug)]
pub(crate) struct SpillFile {
    file: File,
    /// Its length, and the first error of reading.
    state: Mutex<(u64, Option<io::Error>)>,
}

fn failed(action: &'static str, error: io::Error) -> TraceError {
    TraceError::io(
        action,
        &std::env::temp_dir().join("a temporary file"),
        error,
    )
}

impl SpillFile {
    pub(crate) fn new() -> Result<SpillFile, TraceError> {
        let file = tempfile::tempfile().map_err(|error| failed("create", error))?;
        let state = Mutex::new((0, None));
        Ok(SpillFile { file, state })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, (u64, Option<io::Error>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends bytes, and returns where they begin.
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<u64, TraceError> {
        let mut state = self.state();
        let start = state.0;
        let written = self.file.write_all_at(bytes, start);
        written.map_err(|error| failed("write", error))?;
        state.0 += bytes.len() as u64;
        Ok(start)
    }

    /// Reads bytes at a place. If that fails, nothing more is read, and [`Self::check`] returns the
    /// error.
    fn read(&self, into: &mut [u8], at: u64) -> bool {
        let read = self.file.read_exact_at(into, at);
        read.map_err(|error| self.state().1.get_or_insert(error).kind())
            .is_ok()
    }

    /// Whether all reads were well.
    pub(crate) fn check(&self) -> Result<(), TraceError> {
        match self.state().1.take() {
            None => Ok(()),
            Some(error) => Err(failed("read", error)),
        }
    }
}

/// Reads pieces, one after the other, each with its length before it.
#[derive(Debug)]
pub(crate) enum Window<'a> {
    Memory {
        bytes: &'a [u8],
        at: usize,
    },
    File {
        file: &'a SpillFile,
        /// What was not read yet.
        rest: Range<u64>,
        /// Bytes to read at once.
        size: usize,
        buffer: Vec<u8>,
        at: usize,
    },
}

impl<'a> Window<'a> {
    pub(crate) fn of_file(file: &'a SpillFile, rest: Range<u64>, size: usize) -> Window<'a> {
        Window::File {
            file,
            rest,
            size,
            buffer: Vec::new(),
            at: 0,
        }
    }

    /// The bytes that places refer to.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Window::Memory { bytes, .. } => bytes,
            Window::File { buffer, .. } => buffer,
        }
    }

    /// Where the next piece is in [`bytes`](Self::bytes), until this is called again.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Range<usize>> {
        let start = match self {
            Window::Memory { bytes, at } if *at < bytes.len() => *at,
            Window::Memory { .. } => return None,
            Window::File { .. } => self.fill(LONGEST)?,
        };
        let (length, start) = length(self.bytes(), start).ok()?;
        let start = match self {
            Window::Memory { at, .. } => {
                *at = start + length;
                start
            }
            Window::File { at, .. } => {
                *at = start;
                let start = self.fill(length)?;
                if let Window::File { at, .. } = self {
                    *at = start + length;
                }
                start
            }
        };
        (start + length <= self.bytes().len()).then(|| start..start + length)
    }

    /// Makes `wanted` bytes present, or all that are left; where they begin. None at the end.
    fn fill(&mut self, wanted: usize) -> Option<usize> {
        let Window::File {
            file,
            rest,
            size,
            buffer,
            at,
        } = self
        else {
            return None;
        };
        let left = buffer.len() - *at;
        let unread = rest.end - rest.start;
        if left < wanted && unread > 0 {
            buffer.drain(..*at);
            *at = 0;
            let more = ((*size).max(wanted - left) as u64).min(unread);
            buffer.resize(left + more as usize, 0);
            if !file.read(&mut buffer[left..], rest.start) {
                rest.start = rest.end;
                buffer.clear();
                return None;
            }
            rest.start += more;
        }
        (*at < buffer.len() || wanted == 0).then_some(*at)
    }
}

/// A length, and where what follows it begins.
#[inline]
fn length(bytes: &[u8], at: usize) -> Result<(usize, usize), Damage> {
    let mut cursor = Cursor::new(bytes, at);
    let length = cursor.small()?;
    Ok((length, cursor.at()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_io::varint::put_bytes;

    #[test]
    fn pieces_of_any_length_are_read_through_small_windows() {
        let pieces: Vec<Vec<u8>> = (0..300_usize)
            .map(|at| vec![at as u8; at * 7 % 211])
            .collect();
        let mut bytes = Vec::new();
        pieces.iter().for_each(|piece| put_bytes(&mut bytes, piece));
        let file = SpillFile::new().unwrap();
        file.append(&[9; 13]).unwrap();
        let start = file.append(&bytes).unwrap();
        file.append(&[9; 13]).unwrap();
        let end = start + bytes.len() as u64;
        let mut windows = vec![Window::Memory {
            bytes: &bytes,
            at: 0,
        }];
        windows.extend([1, 16, 1000].map(|size| Window::of_file(&file, start..end, size)));
        for mut window in windows {
            for piece in &pieces {
                let place = window.next().unwrap();
                assert_eq!(&window.bytes()[place], &piece[..]);
            }
            assert_eq!(window.next(), None);
        }
        file.check().unwrap();
        let mut beyond = Window::of_file(&file, start..end + 1000, 1 << 20);
        assert_eq!(beyond.next(), None);
        assert!(
            file.check()
                .unwrap_err()
                .to_string()
                .contains("temporary file")
        );
    }
}
