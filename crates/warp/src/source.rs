//! The interfaces between those who make streams of warp instructions and those who read them.

use std::path::Path;

use crate::{Launch, WarpBatch, WarpRow, accelsim, file};
use reuselens_io::Input;
use reuselens_trace::Confidence;
use reuselens_trace::TraceError;

/// What [`WarpSource::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum WarpStep {
    /// A kernel was launched: what follows is its.
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

/// Takes a stream of warp instructions: the other end of who makes one.
pub trait WarpSink {
    /// A kernel is launched; what follows is its.
    ///
    /// # Errors
    /// [`TraceError`] if it cannot be kept.
    fn launch(&mut self, launch: &Launch) -> Result<(), TraceError>;

    /// Some records of the last launch. Called once a batch, never per record.
    ///
    /// # Errors
    /// [`TraceError`] if they cannot be kept.
    fn batch(&mut self, batch: &WarpBatch) -> Result<(), TraceError>;
}

/// Some records of one launch, collected where they are made, maybe on several threads.
pub trait Piece: Default + Send {
    /// Adds a record, whose addresses are as many as its mask has bits. One without an active lane
    /// is left out.
    fn add(&mut self, row: &WarpRow<'_>);

    /// Whether it is time to hand it over.
    fn is_full(&self) -> bool;

    /// Whether there are no records.
    fn is_empty(&self) -> bool;

    /// Forgets the records and keeps the memory.
    fn clear(&mut self);
}

/// A sink that takes pieces in a form of its own, so that the work of making them is done where the
/// records are.
pub trait Collector: WarpSink {
    /// What it takes.
    type Piece: Piece;

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
        return Ok(Box::new(file::Reader::new(input)?));
    }
    if accelsim::is_list(head) {
        return Ok(Box::new(accelsim::List::new(input)?));
    }
    if accelsim::detect(head) != Confidence::No {
        return Ok(Box::new(accelsim::Reader::new(input)));
    }
    let what =
        "it is no stream of warp instructions; `reuselens simt run` writes one, and traces of \
                Accel-Sim's tracer (.traceg) are read too"
            .to_owned();
    let path = path.to_owned();
    Err(TraceError::UnknownFormat { path, what })
}
