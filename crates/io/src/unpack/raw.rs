//! [`Raw`]: the source of an input's bytes before decompression, a stream or a seekable file; and
//! [`Counted`], which counts the bytes read from it and marks its errors, so that they can be
//! distinguished from errors of a decoder.

use std::fmt;
use std::io::{Cursor, Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A seekable source that can have several readers at the same time.
pub(crate) trait ReadSeek: Read + Seek + Send {
    /// Another reader of the same bytes, with a position of its own.
    fn another(&self) -> Box<dyn ReadSeek>;
}

impl<R: Read + Seek + Send + Clone + 'static> ReadSeek for R {
    fn another(&self) -> Box<dyn ReadSeek> {
        Box::new(self.clone())
    }
}

/// Where the bytes come from.
pub(crate) enum Raw {
    /// A pipe, or another source that can only be read forward.
    Stream(Box<dyn Read + Send>),
    /// A file.
    File(Box<dyn ReadSeek>),
}

impl Raw {
    /// A source without bytes.
    pub(crate) fn empty() -> Raw {
        Raw::Stream(Box::new(std::io::empty()))
    }

    /// The same source from its beginning, after `begun` was read from it; `failed` is the error
    /// that came after these bytes, if any.
    pub(crate) fn again(self, begun: Vec<u8>, failed: Option<Error>) -> Result<Raw> {
        match self {
            Raw::File(mut file) => {
                file.rewind()?;
                Ok(Raw::File(file))
            }
            Raw::Stream(rest) => {
                let begun = Cursor::new(begun).chain(Failing(failed));
                Ok(Raw::Stream(Box::new(begun.chain(rest))))
            }
        }
    }
}

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Raw::Stream(stream) => stream.read(buffer),
            Raw::File(file) => file.read(buffer),
        }
    }
}

/// A reader that returns one error, then the end.
struct Failing(Option<Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Marks an error as the system's, not one that a decoder has found in the bytes.
#[derive(Debug)]
pub(crate) struct Unreadable(pub(crate) Error);

impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for Unreadable {}

impl Unreadable {
    fn mark(error: Error) -> Error {
        if error.kind() == ErrorKind::Interrupted {
            return error;
        }
        Error::new(error.kind(), Unreadable(error))
    }
}

/// Counts the bytes that are read, and marks errors of the system.
pub(super) struct Counted {
    raw: Raw,
    taken: Arc<AtomicU64>,
}

impl Counted {
    pub(super) fn new(raw: Raw, taken: Arc<AtomicU64>) -> Counted {
        Counted { raw, taken }
    }

    /// The count.
    pub(super) fn count(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.taken)
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.raw.read(buffer).map_err(Unreadable::mark)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        match &mut self.raw {
            Raw::File(file) => file.seek(to),
            Raw::Stream(_) => Err(ErrorKind::NotSeekable.into()),
        }
    }
}
