//! The reader that the text formats din, lackey and msr share: `LineReader`. A format implements
//! `LineFormat`, which turns lines into rows; this file does the rest of a `Source`.
//!
//! The lines do not say which thread an access is of, so all rows are delivered as one thread's,
//! and `is_of_one_thread` returns false. Rows have byte addresses.

use reuselens_units::Bytes;
use std::path::Path;

use reuselens_io::Input;
use reuselens_trace::{Block, Process, Projection, Source, Step, TraceError};

use crate::batch::Batch;
use crate::delivery::Delivery;
use crate::lines::{self, Bad};

/// What a format makes of its lines.
pub trait LineFormat {
    /// Where the accesses come from; see [`Source::describe`].
    fn describe(&self, path: &Path) -> String;

    /// Appends the rows of whole lines, by way of `batch`, until there are enough for a block. See
    /// [`lines::each`], which does that line by line.
    ///
    /// # Errors
    /// What is wrong with a line. The rows of those before it are appended.
    fn parse(&mut self, text: &[u8], rows: &mut Block, batch: &mut Batch) -> Result<usize, Bad>;
}

/// Reads the lines of a format. Rows have byte addresses.
pub struct LineReader<F> {
    input: Input,
    delivery: Delivery,
    batch: Box<Batch>,
    format: F,
}

impl<F: LineFormat> LineReader<F> {
    /// A reader of `input`, whose first bytes are buffered, for one process of one thread.
    pub(super) fn of(input: Input, process: Process, format: F) -> Self {
        LineReader {
            input,
            delivery: Delivery::new(process),
            batch: Batch::new(),
            format,
        }
    }
}

impl<F: LineFormat> Source for LineReader<F> {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        let (input, batch, format) = (&mut self.input, &mut *self.batch, &mut self.format);
        self.delivery.next(block, |rows| {
            lines::fill(input, rows, |text, rows| format.parse(text, rows, batch))
        })
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        self.format.describe(self.input.path())
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }

    fn is_of_one_thread(&self) -> bool {
        false
    }

    fn memory(&self) -> Bytes {
        Bytes(0)
    }

    fn read_ahead_within(&mut self, _most: Bytes) {}

    fn project(&mut self, _projection: Projection) -> bool {
        false
    }
}
