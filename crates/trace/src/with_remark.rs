//! A source with a remark before everything else.
//!
//! Readers of parts of traces use it to say what the part lacks: a [`Note`] for the report.

use crate::{Block, Event, Note, Projection, Source, Step, TraceError};
use reuselens_units::Bytes;

/// Delivers a note, then what another source delivers.
pub struct WithRemark<S> {
    source: S,
    note: Option<Note>,
}

impl<S: Source> WithRemark<S> {
    /// `note`, then `source`.
    pub fn new(source: S, note: Note) -> WithRemark<S> {
        let note = Some(note);
        WithRemark { source, note }
    }
}

impl<S: Source> Source for WithRemark<S> {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        match self.note.take() {
            Some(note) => Ok(Step::Event(Event::Note(note))),
            None => self.source.next(block),
        }
    }

    fn has_addresses(&self) -> bool {
        self.source.has_addresses()
    }

    fn is_of_one_thread(&self) -> bool {
        self.source.is_of_one_thread()
    }

    fn describe(&self) -> String {
        self.source.describe()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }

    fn memory(&self) -> Bytes {
        self.source.memory()
    }

    fn read_ahead_within(&mut self, most: Bytes) {
        self.source.read_ahead_within(most);
    }

    /// Sizes only: what has a remark is a part of a trace, which is cut row by row.
    fn project(&mut self, projection: Projection) -> bool {
        projection == Projection::Sizes && self.source.project(projection)
    }
}
