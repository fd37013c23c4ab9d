//! Bytes of a trace on their way in: one bounded buffer under every reader.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::TraceError;

/// Bytes held at once. Also the most that [`Input::at_least`] can give.
const CAPACITY: usize = 256 << 10;
/// The longest line that is read; a longer one is an error, not memory.
pub(crate) const MAX_LINE: usize = 64 << 10;
/// How many bytes a format may look at to recognise itself.
pub(crate) const HEAD: usize = 4096;

/// A file, a pipe or standard input, read forward through one buffer of 256 KiB that knows its place.
pub struct Input {
    reader: Box<dyn Read + Send>,
    path: PathBuf,
    total: Option<u64>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    line: u64,
}

impl Input {
    /// Opens the file at `path`; `-` is standard input.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the file cannot be opened or is a directory.
    pub fn open(path: &Path) -> Result<Input, TraceError> {
        if path == Path::new("-") {
            return Ok(Input::new(std::io::stdin(), "standard input"));
        }
        let failed = |source| TraceError::io("open", path, source);
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(failed(ErrorKind::IsADirectory.into()));
        }
        let mut input = Input::new(file, path);
        input.total = about.is_file().then_some(about.len());
        Ok(input)
    }

    /// Reads from anything; `name` stands for the path in messages.
    pub fn new(reader: impl Read + Send + 'static, name: impl Into<PathBuf>) -> Input {
        Input {
            reader: Box::new(reader),
            path: name.into(),
            total: None,
            buffer: vec![0; CAPACITY],
            start: 0,
            end: 0,
            offset: 0,
            line: 0,
        }
    }

    /// The file's path, or what stands for it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first bytes, up to 4 KiB, without taking them.
    ///
    /// # Errors
    /// [`TraceError::Io`] if reading fails, [`TraceError::Empty`] if there are no bytes at all.
    pub fn head(&mut self) -> Result<&[u8], TraceError> {
        if self.at_least(HEAD)?.is_empty() {
            return Err(TraceError::Empty {
                path: self.path.clone(),
            });
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + HEAD)])
    }

    /// Everything buffered, at least `wanted` bytes of it unless the input ends before.
    pub(crate) fn at_least(&mut self, wanted: usize) -> Result<&[u8], TraceError> {
        debug_assert!(wanted <= CAPACITY);
        while self.end - self.start < wanted && self.more()? {}
        Ok(&self.buffer[self.start..self.end])
    }

    /// Takes the first `count` buffered bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Moves up to `count` bytes into `target`; fewer only where the input ends. `target` grows with
    /// what is really there, not with what was promised.
    pub(crate) fn take(&mut self, count: usize, target: &mut Vec<u8>) -> Result<(), TraceError> {
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
    pub(crate) fn line(&mut self) -> Result<Option<&[u8]>, TraceError> {
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

    /// Bytes taken so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes taken and bytes in all, if that is known.
    pub(crate) fn progress(&self) -> Option<(u64, u64)> {
        self.total.map(|total| (self.offset.min(total), total))
    }

    /// The error for the line last returned.
    pub(crate) fn bad_line(&self, what: String) -> TraceError {
        let position = format!("line {}", self.line);
        TraceError::Corrupt {
            path: self.path.clone(),
            what,
            position,
        }
    }

    /// Takes the first `count` buffered bytes, which are text, and counts the lines that end in them.
    pub(crate) fn consume_text(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        let text = &self.buffer[self.start..self.start + count];
        self.line += memchr::memchr_iter(b'\n', text).count() as u64;
        self.consume(count);
    }

    /// The error for the line in which the buffered byte `at` stands.
    pub(crate) fn bad_text(&self, at: usize, what: String) -> TraceError {
        let at = at.min(self.end - self.start);
        let text = &self.buffer[self.start..self.start + at];
        let line = self.line + 1 + memchr::memchr_iter(b'\n', text).count() as u64;
        TraceError::Corrupt {
            path: self.path.clone(),
            what,
            position: format!("line {line}"),
        }
    }

    /// The error for the bytes from `offset` on.
    pub(crate) fn bad_bytes(&self, offset: u64, what: impl Into<String>) -> TraceError {
        let position = format!("byte {offset}");
        TraceError::Corrupt {
            path: self.path.clone(),
            what: what.into(),
            position,
        }
    }

    /// Reads once more; `false` at the end of the input.
    fn more(&mut self) -> Result<bool, TraceError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count.min(self.buffer.len() - self.end);
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::io("read", &self.path, error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_by_one_with_any_ending() {
        let mut input = Input::new(&b"a\r\n\nbc"[..], "t");
        assert_eq!(input.line().unwrap(), Some(&b"a"[..]));
        assert_eq!(input.line().unwrap(), Some(&b""[..]));
        assert_eq!(input.line().unwrap(), Some(&b"bc"[..]));
        assert_eq!(input.line().unwrap(), None);
        assert_eq!(input.offset(), 6);
    }

    #[test]
    fn an_endless_line_is_an_error_and_not_memory() {
        let mut input = Input::new(std::io::repeat(b'x'), "t");
        let error = input.line().unwrap_err();
        assert!(error.to_string().contains("line 1"), "{error}");
        assert_eq!(input.buffer.len(), CAPACITY);
    }

    #[test]
    fn a_line_of_the_longest_length_is_read() {
        let mut bytes = vec![b'x'; MAX_LINE];
        bytes.extend_from_slice(b"\ny");
        let mut input = Input::new(std::io::Cursor::new(bytes), "t");
        assert_eq!(input.line().unwrap().map(<[u8]>::len), Some(MAX_LINE));
        assert_eq!(input.line().unwrap(), Some(&b"y"[..]));
    }

    #[test]
    fn a_promise_of_bytes_takes_no_memory_before_they_come() {
        let mut input = Input::new(&b"abc"[..], "t");
        let mut target = Vec::new();
        input.take(usize::MAX, &mut target).unwrap();
        assert_eq!(target, b"abc");
        assert!(target.capacity() < 1024);
    }
}
