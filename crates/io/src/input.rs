//! [`Input`]: reads a file, a pipe or standard input through one bounded buffer, and decompresses
//! it if it is compressed. All readers of this workspace read through it: by bytes
//! ([`Input::at_least`], [`Input::consume`]) or by lines ([`Input::line`]). It knows its position
//! for error messages.
//!
//! Memory is bounded whatever the input claims: the buffer has 256 KiB, lines have a limit, and
//! [`Input::take`] grows its target only by bytes that were read.

mod places;
mod positioned;

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::input::positioned::Positioned;
use crate::unpack::{Packing, Raw, ReadSeek, Unreadable};
use crate::{FileError, retry_interrupted};
pub use places::Places;

/// Bytes held at once. Also the most that [`Input::at_least`] can give.
const CAPACITY: usize = 256 << 10;
/// The longest line that is read; a longer one is an error, not memory.
pub const MAX_LINE: usize = 64 << 10;
/// Bytes by which formats are detected.
const HEAD: usize = 4096;

/// A file, a pipe or standard input, read forward through one buffer of 256 KiB.
///
/// Inputs that are compressed with gzip, zstd, xz or snappy, and members of zip files, are
/// decompressed by a thread, a bounded number of bytes ahead. Offsets are then those in the
/// decompressed bytes; progress is that in the file.
pub struct Input {
    reader: Raw,
    path: PathBuf,
    total: Option<u64>,
    /// Whether the first bytes were checked for a compression.
    looked: bool,
    packed: Option<Packed>,
    /// The error that the next read will return.
    failed: Option<Error>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    line: u64,
}

/// What is known of a compressed input.
struct Packed {
    packing: Packing,
    /// Packed bytes taken so far.
    taken: Arc<AtomicU64>,
    /// The file, if it is an archive, to read other members at the same time.
    archive: Option<Box<dyn ReadSeek>>,
}

impl Input {
    /// Opens the file at `path`; `-` is standard input.
    ///
    /// # Errors
    /// [`FileError::Io`] if the file cannot be opened or is a directory.
    pub fn open(path: &Path) -> Result<Input, FileError> {
        if path == Path::new("-") {
            return Ok(Input::new(std::io::stdin(), "standard input"));
        }
        let failed = |source| FileError::io("open", path, source);
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(failed(ErrorKind::IsADirectory.into()));
        }
        if about.is_file() {
            return Input::file(file, path);
        }
        Ok(Input::new(file, path))
    }

    /// Reads an open file, of which any part can be read, from its beginning; `name` is its path in
    /// messages.
    ///
    /// # Errors
    /// [`FileError::Io`] if its length cannot be had.
    pub fn file(file: File, name: impl Into<PathBuf>) -> Result<Input, FileError> {
        Input::seekable(Positioned::new(file), name)
    }

    /// Reads from a source with a known length, of which any part can be read; zip archives can
    /// only be read from such. A clone of `reader` must have a position of its own, unlike that of
    /// an `Arc<File>`: see [`Input::file`].
    ///
    /// # Errors
    /// [`FileError::Io`] if its length cannot be had.
    pub fn seekable(
        mut reader: impl Read + Seek + Send + Clone + 'static,
        name: impl Into<PathBuf>,
    ) -> Result<Input, FileError> {
        let length = reader.seek(SeekFrom::End(0));
        let length = length.and_then(|length| reader.rewind().map(|()| length));
        let mut input = Input::from(Raw::File(Box::new(reader)), name.into());
        let length = length.map_err(|error| FileError::io("read", &input.path, error))?;
        input.total = Some(length);
        Ok(input)
    }

    /// Reads from any source; `name` is its path in messages.
    pub fn new(reader: impl Read + Send + 'static, name: impl Into<PathBuf>) -> Input {
        Input::from(Raw::Stream(Box::new(reader)), name.into())
    }

    fn from(reader: Raw, path: PathBuf) -> Input {
        Input {
            reader,
            path,
            total: None,
            looked: false,
            packed: None,
            failed: None,
            buffer: vec![0; CAPACITY],
            start: 0,
            end: 0,
            offset: 0,
            line: 0,
        }
    }

    /// The file's path, or the name that is used in place of it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first bytes, up to 4 KiB, without consuming them; decompressed if the input is
    /// compressed.
    ///
    /// # Errors
    /// [`FileError::Io`] if reading fails, [`FileError::Corrupt`] if nothing could be unpacked,
    /// [`FileError::ArchiveInPipe`] if it is an archive that comes through a pipe,
    /// [`FileError::Empty`] if there are no bytes at all.
    pub fn head(&mut self) -> Result<&[u8], FileError> {
        if !self.looked {
            self.looked = true;
            self.look()?;
            if let Some(packing) = Packing::of(&self.buffer[..self.end]) {
                self.unpack(packing)?;
            }
        }
        self.look()?;
        Ok(&self.buffer[self.start..self.end.min(self.start + HEAD)])
    }

    /// Checks for a compression more strictly than [`Input::head`]: for formats whose files may
    /// begin with any bytes. The input is decompressed only if its first bytes can be decompressed.
    ///
    /// # Errors
    /// Those of [`Input::head`].
    pub fn head_of_any_bytes(&mut self) -> Result<(), FileError> {
        if !self.looked {
            self.look()?;
            let begun = &self.buffer[..self.end];
            self.looked = Packing::of(begun).is_some_and(|packing| !packing.opens(begun));
        }
        self.head().map(|_| ())
    }

    /// Reads the first bytes. An error after some bytes is kept until these have been consumed.
    fn look(&mut self) -> Result<(), FileError> {
        while self.end - self.start < HEAD && self.failed.is_none() {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => self.failed = Some(error),
            }
        }
        if self.end > self.start {
            return Ok(());
        }
        if let Some(error) = self.failed.take() {
            return Err(self.unreadable(error));
        }
        let path = self.path.clone();
        Err(FileError::Empty { path })
    }

    /// Starts a thread that decompresses, between the file and the buffer.
    fn unpack(&mut self, packing: Packing) -> Result<(), FileError> {
        if packing == Packing::Zip && matches!(self.reader, Raw::Stream(_)) {
            let path = self.path.clone();
            return Err(FileError::ArchiveInPipe { path });
        }
        let begun = self.buffer[..self.end].to_vec();
        let raw = std::mem::replace(&mut self.reader, Raw::empty());
        let archive = match &raw {
            Raw::File(file) if packing == Packing::Zip => Some(file.another()),
            _ => None,
        };
        let unpacked = raw.again(begun, self.failed.take());
        let unpacked = unpacked.and_then(|raw| packing.unpack(raw));
        let (reader, taken) =
            unpacked.map_err(|error| FileError::io("unpack", &self.path, error))?;
        self.reader = Raw::Stream(reader);
        self.packed = Some(Packed {
            packing,
            taken,
            archive,
        });
        (self.start, self.end) = (0, 0);
        Ok(())
    }

    /// All buffered bytes, at least `wanted` of them unless the input ends before. `wanted` must be
    /// at most 256 KiB.
    ///
    /// # Errors
    /// [`FileError::Io`] if reading fails, [`FileError::Corrupt`] if what is unpacked is damaged.
    #[inline]
    pub fn at_least(&mut self, wanted: usize) -> Result<&[u8], FileError> {
        debug_assert!(wanted <= CAPACITY);
        while self.end - self.start < wanted && self.more()? {}
        Ok(&self.buffer[self.start..self.end])
    }

    /// Removes the first `count` bytes from the buffer.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Moves `count` bytes into `target`, or fewer if the input ends before. `target` grows only as
    /// bytes are read, so a forged `count` takes no memory.
    pub fn take(&mut self, count: usize, target: &mut Vec<u8>) -> Result<(), FileError> {
        target.clear();
        while target.len() < count {
            let buffered = self.at_least(1)?;
            if buffered.is_empty() {
                break;
            }
            let part = buffered.len().min(count - target.len());
            target.extend_from_slice(&buffered[..part]);
            self.consume(part);
        }
        Ok(())
    }

    /// The next line without its end, or `None` after the last.
    ///
    /// # Errors
    /// [`FileError::Corrupt`] if it is longer than [`MAX_LINE`]; those of [`Input::at_least`].
    pub fn line(&mut self) -> Result<Option<&[u8]>, FileError> {
        let mut searched = 0;
        let length = loop {
            let rest = &self.buffer[self.start + searched..self.end];
            if let Some(at) = rest.iter().position(|&byte| byte == b'\n') {
                break searched + at;
            }
            searched += rest.len();
            if searched > MAX_LINE {
                break searched;
            }
            if !self.more()? {
                if searched == 0 {
                    return Ok(None);
                }
                break searched;
            }
        };
        self.line += 1;
        if length > MAX_LINE {
            return Err(self.bad_line(format!("a line is longer than {MAX_LINE} bytes")));
        }
        let line = self.start..self.start + length;
        self.consume(length + 1);
        let line = &self.buffer[line];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Whether the input is compressed.
    #[inline]
    pub fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// Bytes consumed so far.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of the file read so far, and the file's length, if that is known.
    pub fn progress(&self) -> Option<(u64, u64)> {
        let taken = match &self.packed {
            Some(packed) => packed.taken.load(Ordering::Relaxed),
            None => self.offset,
        };
        self.total.map(|total| (taken.min(total), total))
    }

    /// The error for the line last returned.
    pub fn bad_line(&self, what: String) -> FileError {
        let position = format!("line {}", self.line);
        FileError::Corrupt {
            path: self.path.clone(),
            what,
            position,
        }
    }

    /// Removes the first `count` bytes from the buffer, which are text, and counts the lines that
    /// end in them.
    #[inline]
    pub fn consume_text(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        let text = &self.buffer[self.start..self.start + count];
        self.line += memchr::memchr_iter(b'\n', text).count() as u64;
        self.consume(count);
    }

    /// The error for the line that contains the buffered byte `at`.
    pub fn bad_text(&self, at: usize, what: String) -> FileError {
        let at = at.min(self.end - self.start);
        let text = &self.buffer[self.start..self.start + at];
        let line = self.line + 1 + memchr::memchr_iter(b'\n', text).count() as u64;
        FileError::Corrupt {
            path: self.path.clone(),
            what,
            position: format!("line {line}"),
        }
    }

    /// The error for the bytes from `offset` on.
    pub fn bad_bytes(&self, offset: u64, what: impl Into<String>) -> FileError {
        let unpacked = if self.packed.is_some() {
            " of what it unpacks to"
        } else {
            ""
        };
        let position = format!("byte {offset}{unpacked}");
        FileError::Corrupt {
            path: self.path.clone(),
            what: what.into(),
            position,
        }
    }

    /// Reads once more; `false` at the end of the input.
    fn more(&mut self) -> Result<bool, FileError> {
        let read = match self.failed.take() {
            Some(error) => Err(error),
            None => self.fill(),
        };
        read.map_err(|error| self.unreadable(error))
    }

    fn fill(&mut self) -> std::io::Result<bool> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let room = &mut self.buffer[self.end..];
        let count = retry_interrupted(|| self.reader.read(room))?;
        self.end += count.min(room.len());
        Ok(count > 0)
    }

    /// The error of the system, or damage in compressed bytes.
    fn unreadable(&self, error: Error) -> FileError {
        let Some(packed) = &self.packed else {
            return FileError::io("read", &self.path, error);
        };
        let error = match error.downcast::<Unreadable>() {
            Ok(Unreadable(error)) => return FileError::io("read", &self.path, error),
            Err(error) => error,
        };
        let name = packed.packing.name();
        let what = if error.kind() == ErrorKind::UnexpectedEof {
            format!("its {name} data is cut off")
        } else {
            format!("its {name} data is damaged ({error})")
        };
        // Archives are not read in one pass, so more bytes may be taken than there are.
        let taken = packed.taken.load(Ordering::Relaxed);
        let taken = self.total.map_or(taken, |total| taken.min(total));
        FileError::Corrupt {
            path: self.path.clone(),
            what,
            position: format!("or before byte {taken} of the file"),
        }
    }
}

#[cfg(test)]
mod tests;
