//! The part of a file that is read: which chunks, and what of them.

use std::collections::VecDeque;

use crate::index::Index;
use reuselens_io::Input;
use reuselens_io::chunk::Chunks;
use reuselens_trace::{Block, Event, Selection, TraceError};

/// What is read of a file.
pub(super) struct Part {
    selection: Selection,
    /// What is where, if chunks can be left out.
    index: Option<Index>,
    /// The chunk to look at next, and the number of its first row.
    next: (usize, u64),
    /// The chunks that were begun and not left, and the end, once that is near.
    begun: VecDeque<Begun>,
    over: bool,
}

/// A chunk of a part.
#[derive(Default)]
struct Begun {
    /// The number of its next row.
    row: u64,
    /// Events of the chunks before it that were left out.
    events: VecDeque<Event>,
}

impl Part {
    pub(super) fn new(selection: Selection, index: Option<Index>) -> Part {
        // Without an index all is one chunk.
        let whole = index.is_none().then(Begun::default);
        Part {
            selection,
            index,
            next: (0, 0),
            begun: whole.into_iter().collect(),
            over: false,
        }
    }

    /// Goes on to the next chunk that can hold something; whether there is one.
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
        self.begun.push_back(Begun { row, events });
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

    /// An event that lies before the chunk that is read.
    pub(super) fn event_before(&mut self) -> Option<Event> {
        self.begun.front_mut()?.events.pop_front()
    }

    /// Leaves in the next block what is wanted; whether that is anything.
    pub(super) fn cut(&mut self, block: &mut Block) -> bool {
        let Some(chunk) = self.begun.front_mut() else {
            return false;
        };
        let first = chunk.row;
        chunk.row += block.len() as u64;
        self.selection.cut(block, first)
    }

    pub(super) fn chunk_is_over(&mut self) {
        if self.index.is_some() {
            self.begun.pop_front();
        }
    }

    /// Whether it is known where its chunks are.
    pub(super) fn is_indexed(&self) -> bool {
        self.index.is_some()
    }
}
