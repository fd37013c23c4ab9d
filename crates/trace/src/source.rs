//! [`Source`]: the one interface through which analyses see traces, whether a file or a running
//! program; [`TraceSegment`], a part of one that a worker reads; and [`TraceError`], why reading
//! ends.

use std::path::{Path, PathBuf};

use reuselens_io::{ARCHIVE_IN_PIPE, FileError};
use reuselens_units::{Accesses, Bytes};
use thiserror::Error;

use crate::{Block, Event, ItemProjection};

/// What [`Source::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The caller's block was filled with rows.
    Block,
    /// An event; the caller's block is as it was.
    Event(Event),
    /// The trace is over.
    End,
}

/// A trace, delivered piece by piece in the order in which it was recorded.
pub trait Source {
    /// The next piece. `block` is cleared and filled only when [`Step::Block`] is returned.
    ///
    /// # Errors
    /// [`TraceError`] when the trace cannot be read on. Everything delivered before stays valid,
    /// and a caller reports it as incomplete; calling again after an error yields [`Step::End`].
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError>;

    /// Whether addresses are byte addresses of a program (`true`) or ids that already are the items
    /// (`false`: granularity 1).
    fn has_addresses(&self) -> bool;

    /// Whether all rows are of one thread; `false` where that is not known before the first.
    fn is_of_one_thread(&self) -> bool;

    /// One line for the head of the report: where the accesses come from, and which are seen.
    fn describe(&self) -> String;

    /// How far along the source is: bytes read and bytes in all, where that is known.
    fn progress(&self) -> Option<(u64, u64)>;

    /// The memory held that grows with what was read, such as the names of a text; and what the
    /// source may read ahead ([`Self::read_ahead_within`]), whether or not it has yet, so that an
    /// analysis that keeps to a limit does not depend on how fast the source's threads are. Buffers
    /// and tables of a few MiB are not in it. Cost: none to speak of.
    fn memory(&self) -> Bytes;

    /// Bounds the blocks that the source holds ready ahead of its caller, if it has threads that
    /// decode: a source that reads only what is asked for ignores it. One block is held however
    /// large it is. Call it before the first [`Self::next`].
    fn read_ahead_within(&mut self, most: Bytes);

    /// Asks for blocks in another form. Returns `true` if blocks come in that form from now on;
    /// otherwise nothing changes. Call it before the first [`Self::next`], and with one projection
    /// only.
    fn project(&mut self, projection: Projection) -> bool;
}

/// A source of which several parts can be read at the same time.
///
/// An adapter that needs to see all blocks in order implements only [`Source`]. Where a source that
/// cannot be cut takes the place of one that can, it is [`Unsegmented`](crate::Unsegmented).
pub trait Segmented: Source {
    /// Up to `most` segments of the trace, in order, of about as many accesses each and at least
    /// `shortest`, for workers that read them at the same time and need only the items of
    /// `projection`. Empty, or one, if the source cannot be cut. This source still delivers all of
    /// the trace. Call it before the first [`Source::next`].
    ///
    /// # Errors
    /// `FileError::Io` if the file cannot be read.
    fn segments(
        &mut self,
        projection: ItemProjection,
        most: usize,
        shortest: Accesses,
    ) -> Result<Vec<AnySegment>, TraceError>;
}

/// A form of blocks that a source can be asked for ([`Source::project`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projection {
    /// Only the items that are accessed: [`ItemBatch`](crate::ItemBatch) in the place of most rows.
    Items(ItemProjection),
    /// Rows that repeat others are left out ([`Repeats`](crate::Repeats)). Blocks then refer to
    /// those before them: none may be dropped.
    Repeats,
    /// Rows of ids have the sizes of the objects that the ids stand for, as rows of addresses have:
    /// `size` bytes, or a range operation and its operand. Only where the trace has sizes.
    Sizes,
}

/// A segment of a trace, read beside others: see [`Segmented::segments`].
///
/// A segment first delivers all events of the segments before it. Then it delivers its own blocks:
/// items, or rows whose `pc` may differ from the one that the source itself delivers. A note
/// on what an access is like may come only with the first such access of a segment.
///
/// If a trace ends well, all its segments together deliver its accesses. If a trace is damaged, or
/// a segment begins at a wrong place, one of the segments ends with an error. The segments before
/// that one have then delivered what the whole source delivers.
///
/// Named accesses of a segment depend on what the segments before have named only if a block says
/// that elements straddle items
/// ([`ItemBatch::elements_straddle`](crate::ItemBatch::elements_straddle)). A caller that meets
/// such a block reads the whole source instead.
pub trait TraceSegment: Source {
    /// Splits off the later half of what is not yet begun, for a worker that has nothing left to
    /// do. `None` if a half would have fewer than `shortest` accesses.
    ///
    /// # Errors
    /// `FileError::Io` if the file cannot be read. The segment is as it was.
    fn split_off(&mut self, shortest: Accesses) -> Result<Option<AnySegment>, TraceError>;

    /// Bytes held to read it and to unpack it, beside the blocks that it delivers.
    fn buffers(&self) -> Bytes;
}

/// A segment of which only the interface is known.
pub type AnySegment = Box<dyn TraceSegment + Send>;

impl<S: TraceSegment + ?Sized> TraceSegment for Box<S> {
    fn split_off(&mut self, shortest: Accesses) -> Result<Option<AnySegment>, TraceError> {
        (**self).split_off(shortest)
    }

    fn buffers(&self) -> Bytes {
        (**self).buffers()
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        (**self).next(block)
    }

    fn has_addresses(&self) -> bool {
        (**self).has_addresses()
    }

    fn is_of_one_thread(&self) -> bool {
        (**self).is_of_one_thread()
    }

    fn describe(&self) -> String {
        (**self).describe()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        (**self).progress()
    }

    fn memory(&self) -> Bytes {
        (**self).memory()
    }

    fn read_ahead_within(&mut self, most: Bytes) {
        (**self).read_ahead_within(most);
    }

    fn project(&mut self, projection: Projection) -> bool {
        (**self).project(projection)
    }
}

impl<S: Segmented + ?Sized> Segmented for Box<S> {
    fn segments(
        &mut self,
        projection: ItemProjection,
        most: usize,
        shortest: Accesses,
    ) -> Result<Vec<AnySegment>, TraceError> {
        (**self).segments(projection, most, shortest)
    }
}

/// Why a trace cannot be read, or written, on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be read, or not be written, or its bytes are not what the format promises.
    #[error(transparent)]
    File(FileError),
    /// The file is in no format known.
    #[error("{}: {what}; `reuselens formats` lists what can be read, `--format NAME` names one", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// What was seen instead.
        what: String,
    },
    /// Somebody asked for an end ([`crate::Stop`]).
    #[error("stopped by signal {signal}; everything before was read")]
    Stopped {
        /// The number of the signal that asked.
        signal: i32,
    },
}

impl From<FileError> for TraceError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::ArchiveInPipe { path } => TraceError::UnknownFormat {
                path,
                what: ARCHIVE_IN_PIPE.to_owned(),
            },
            error => TraceError::File(error),
        }
    }
}

impl TraceError {
    /// [`FileError::io`].
    pub fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        FileError::io(action, path, source).into()
    }

    /// The line of a text that is not what its format promises, in words (`line 7`); `None` for all
    /// else.
    pub fn line(&self) -> Option<&str> {
        match self {
            TraceError::File(FileError::Corrupt { position, .. })
                if position.starts_with("line ") =>
            {
                Some(position)
            }
            _ => None,
        }
    }

    /// Whether what was read before the error is a usable part of a trace.
    pub fn is_partial(&self) -> bool {
        matches!(self, TraceError::File(FileError::Corrupt { .. }))
    }
}
