//! The traits between producers and readers of streams of warp instructions: [`WarpSource`]
//! delivers a stream, [`WarpSink`] takes one, and [`Collector`] takes one that several threads make
//! in [`RecordPiece`]s. [`open_warps`] opens a file of any format as a source.

use std::path::Path;

use crate::{Launch, WarpBatch, WarpRow, accelsim, file};
use reuselens_io::Input;
use reuselens_trace::Confidence;
use reuselens_trace::TraceError;

/// What [`WarpSource::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum WarpStep {
    /// A kernel was launched; the records that follow are of this launch.
    Launch(Launch),
    /// The caller's batch was filled with records of the last launch.
    Batch,
    /// The stream is over.
    End,
}

/// A stream of warp instructions, delivered piece by piece. The first piece is a launch.
pub trait WarpSource {
    /// The next piece. `batch` is cleared and filled only when [`WarpStep::Batch`] is returned.
    ///
    /// # Errors
    /// [`TraceError`] when the stream cannot be read on; what was delivered before stays valid, and
    /// later calls yield [`WarpStep::End`].
    fn next(&mut self, batch: &mut WarpBatch) -> Result<WarpStep, TraceError>;

    /// One line on where the records come from, for the head of a report.
    fn describe(&self) -> String;
}

impl<S: WarpSource + ?Sized> WarpSource for Box<S> {
    fn next(&mut self, batch: &mut WarpBatch) -> Result<WarpStep, TraceError> {
        (**self).next(batch)
    }

    fn describe(&self) -> String {
        (**self).describe()
    }
}

/// Takes a stream of warp instructions from a producer.
pub trait WarpSink {
    /// A kernel is launched; the records that follow are of this launch.
    ///
    /// # Errors
    /// [`TraceError`] if it cannot be stored.
    fn launch(&mut self, launch: &Launch) -> Result<(), TraceError>;

    /// Takes some records of the last launch. To be called with many records at once.
    ///
    /// # Errors
    /// [`TraceError`] if they cannot be stored.
    fn batch(&mut self, batch: &WarpBatch) -> Result<(), TraceError>;
}

/// Some records of one launch, collected where they are made, maybe on several threads.
pub trait RecordPiece: Default + Send {
    /// Adds a record, which must have an address for each bit of its mask. A record without an
    /// active lane is not added.
    fn add(&mut self, row: &WarpRow<'_>);

    /// Whether it has enough records to be sent.
    fn is_full(&self) -> bool;

    /// Whether there are no records.
    fn is_empty(&self) -> bool;

    /// Removes the records and keeps the memory.
    fn clear(&mut self);
}

/// A sink that takes pieces in a form of its own, so that threads that produce records can bring
/// them into that form.
pub trait Collector: WarpSink {
    /// The form.
    type Piece: RecordPiece;

    /// Takes some records of the last launch.
    ///
    /// # Errors
    /// As [`WarpSink::batch`].
    fn take(&mut self, piece: &Self::Piece) -> Result<(), TraceError>;
}

/// Opens a stream file: our own, or an Accel-Sim trace (`.traceg`, or its list of kernels). It may
/// be compressed. `-` is standard input.
///
/// # Errors
/// [`TraceError::UnknownFormat`] if it is neither; those of the readers.
pub fn open_warps(path: &Path) -> Result<Box<dyn WarpSource>, TraceError> {
    let mut input = Input::open(path)?;
    let head = input.head()?;
    if file::detect(head) != Confidence::No {
        return Ok(Box::new(file::WarpReader::new(input)?));
    }
    if accelsim::is_list(head) {
        return Ok(Box::new(accelsim::KernelList::new(input)?));
    }
    if accelsim::detect(head) != Confidence::No {
        return Ok(Box::new(accelsim::KernelReader::new(input)));
    }
    let what =
        "it is no stream of warp instructions; `reuselens gpu run` writes one, and traces of \
                Accel-Sim's tracer (.traceg) are read too"
            .to_owned();
    let path = path.to_owned();
    Err(TraceError::UnknownFormat { path, what })
}
