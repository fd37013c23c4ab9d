//! A guess of the format that may be wrong, said with the trace.

use std::path::Path;

use crate::formats::{AnySource, din, ending, text};
use crate::{Block, Event, Note, Source, Step, TraceError};

/// A source that first says what speaks against its format.
pub(super) struct Doubted {
    source: AnySource,
    note: Option<Note>,
}

impl Doubted {
    pub(super) fn new(source: AnySource, note: Note) -> Doubted {
        let note = Some(note);
        Doubted { source, note }
    }
}

impl Source for Doubted {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        match self.note.take() {
            Some(note) => Ok(Step::Event(Event::Note(note))),
            None => self.source.next(block),
        }
    }

    fn has_addresses(&self) -> bool {
        self.source.has_addresses()
    }

    fn describe(&self) -> String {
        self.source.describe()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }
}

/// What speaks against `format`, found from the content `head`: words that could be Dinero's lines, in a file whose
/// name says that they are.
pub(super) fn doubt(path: &Path, head: &[u8], format: &str) -> Option<Note> {
    let doubted = format == text::NAME && ending::is_last(path, din::NAME) && din::may_be(head);
    doubted.then(|| Note {
        code: "may-be-din".to_owned(),
        message: "read as text, where each word is an item: no address in its beginning has a letter, so its lines \
                  could be pairs of any numbers"
            .to_owned(),
        hint: "if this is a trace of Dinero (label and address): --format din".to_owned(),
    })
}
