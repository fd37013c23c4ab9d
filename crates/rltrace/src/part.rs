//! Reads a part of a file: which chunks have something of a [`Selection`], and which of their rows.
//!
//! `Reader::select` makes a [`FilePart`]; the reader asks it for the next chunk, and cuts each
//! block by it. Without an index no chunk can be left out, so all of the file is one chunk here.
//!
//! *Invariant:* all events are delivered, those of omitted chunks too, and rows are numbered as in
//! the whole file.

use std::collections::VecDeque;

use crate::index::Index;
use reuselens_io::Input;
use reuselens_io::chunk::Chunks;
use reuselens_trace::{Block, Event, Selection, TraceError};

/// The part of a file that is read.
pub(super) struct FilePart {
    selection: Selection,
    /// The index, if the file has one: then chunks can be left out.
    index: Option<Index>,
    /// The chunk to look at next, and the number of its first row.
    next: (usize, u64),
    /// The chunks that decoders have begun and not ended. After the last one an empty one, for the
    /// events after it.
    begun: VecDeque<BegunChunk>,
    /// Whether no more chunks are wanted.
    over: bool,
}

/// A chunk that was begun.
#[derive(Default)]
struct BegunChunk {
    /// The number of its next row.
    row: u64,
    /// Events of the chunks before it that were left out.
    events: VecDeque<Event>,
}

impl FilePart {
    pub(super) fn new(selection: Selection, index: Option<Index>) -> FilePart {
        // Without an index all is one chunk.
        let whole = index.is_none().then(BegunChunk::default);
        FilePart {
            selection,
            index,
            next: (0, 0),
            begun: whole.into_iter().collect(),
            over: false,
        }
    }

    /// Moves the input to the next chunk that may have rows that are wanted. Returns whether there
    /// is one. Without an index nothing moves, and there always is one.
    pub(super) fn find_next(
        &mut self,
        input: &mut Input,
        chunks: &mut Chunks,
    ) -> Result<bool, TraceError> {
        let Some(index) = &self.index else {
            return Ok(true);
        };
        if self.over {
            return Ok(false);
        }
        let (from, mut row) = self.next;
        let left = from..index.chunks.len();
        let wanted = left.clone().find(|&number| {
            let wanted = index.wants(&self.selection, number, row);
            row += if wanted { 0 } else { index.chunks[number].rows };
            wanted
        });
        let events = index.events_of(from..wanted.unwrap_or(left.end));
        let events = events.iter().cloned().collect();
        self.begun.push_back(BegunChunk { row, events });
        let Some(number) = wanted else {
            self.over = true;
            return Ok(false);
        };
        let chunk = &index.chunks[number];
        self.next = (number + 1, row + chunk.rows);
        input.jump(chunk.offset)?;
        *chunks = Chunks::from(number as u32);
        Ok(true)
    }

    /// The next event of the chunks that were left out before the one that is read.
    pub(super) fn event_before(&mut self) -> Option<Event> {
        self.begun.front_mut()?.events.pop_front()
    }

    /// Removes from the next block the rows that are not wanted. Returns whether there are others.
    pub(super) fn cut(&mut self, block: &mut Block) -> bool {
        let Some(chunk) = self.begun.front_mut() else {
            return false;
        };
        let first = chunk.row;
        chunk.row += block.len() as u64;
        self.selection.cut(block, first)
    }

    /// All of a chunk was delivered.
    pub(super) fn chunk_is_over(&mut self) {
        if self.index.is_some() {
            self.begun.pop_front();
        }
    }

    /// Whether chunks are found by the index.
    pub(super) fn is_indexed(&self) -> bool {
        self.index.is_some()
    }
}
