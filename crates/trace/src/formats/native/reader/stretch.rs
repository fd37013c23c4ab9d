//! A stretch of a file's chunks, read beside others.

use std::collections::VecDeque;
use std::ops::Range;

use reuselens_units::Accesses;

use super::Reader;
use crate::formats::native::bytes::Damage;
use crate::formats::native::chunk::Chunks;
use crate::formats::native::encode::Totals;
use crate::formats::native::index::Index;
use crate::{AnySource, Event, TraceError, Wish};

/// What is read of a file.
pub(super) struct Stretch {
    /// Events of the chunks before it.
    events: VecDeque<Event>,
    /// Where it ends. The last goes on to the end of the file.
    end: Option<End>,
}

/// Where a stretch ends.
struct End {
    /// Chunks that are not read yet.
    chunks_left: usize,
    /// Where the next stretch begins, and what the file has before that.
    offset: u64,
    totals: Totals,
}

/// What a stretch has to read next.
pub(super) enum Next {
    /// Nothing.
    Over,
    /// A chunk of rows.
    Chunk,
    /// Whatever there is.
    Any,
}

impl Stretch {
    /// These chunks of a file.
    fn new(index: &Index, chunks: &Range<usize>) -> Stretch {
        let end = index.chunks.get(chunks.end).map(|behind| End {
            chunks_left: chunks.len(),
            offset: behind.offset,
            totals: index.totals_before(chunks.end),
        });
        Stretch {
            events: index.events_of(0..chunks.start).iter().cloned().collect(),
            end,
        }
    }

    /// An event that lies before it and was not delivered.
    pub(super) fn event_before(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Goes on to the next chunk.
    pub(super) fn find_next(&mut self) -> Next {
        match &mut self.end {
            None => Next::Any,
            Some(end) if end.chunks_left == 0 => Next::Over,
            Some(end) => {
                end.chunks_left -= 1;
                Next::Chunk
            }
        }
    }
}

impl Reader {
    /// This file in stretches, or nothing; see [`crate::Source::stretches`].
    pub(super) fn in_stretches(
        &mut self,
        wish: Wish,
        most: usize,
        shortest: Accesses,
    ) -> Result<Vec<AnySource>, TraceError> {
        let Ok(index) = self.take_index()? else {
            return Ok(Vec::new());
        };
        let mut stretches = Vec::new();
        for chunks in share_out(&index, most, shortest) {
            let Some(stretch) = self.stretch(&index, chunks, wish)? else {
                return Ok(Vec::new());
            };
            stretches.push(Box::new(stretch) as AnySource);
        }
        Ok(stretches)
    }

    /// A reader of these chunks.
    fn stretch(
        &self,
        index: &Index,
        chunks: Range<usize>,
        wish: Wish,
    ) -> Result<Option<Reader>, TraceError> {
        let Some(mut input) = self.input.another() else {
            return Ok(None);
        };
        // The first begins where the file's head ends, whatever the index says of it.
        let offset = match chunks.start {
            0 => self.input.offset(),
            start => index.chunks[start].offset,
        };
        input.jump(offset)?;
        Ok(Some(Reader {
            input,
            header: self.header.clone(),
            version: self.version,
            threads: 1,
            chunks: Chunks::from(chunks.start as u32),
            crew: None,
            totals: index.totals_before(chunks.start),
            index: None,
            part: None,
            stretch: Some(Stretch::new(index, &chunks)),
            wish: Some(wish),
            start: offset,
            ending: None,
            over: false,
        }))
    }

    /// Whether a stretch that is over has what the index says, and ends where the next begins.
    pub(super) fn check_stretch(&self) -> Result<(), TraceError> {
        let Some(end) = self.stretch.as_ref().and_then(|it| it.end.as_ref()) else {
            return Ok(());
        };
        if self.totals == end.totals && self.input.offset() == end.offset {
            return Ok(());
        }
        let what = Damage("what the index lists is not what is in the file");
        Err(self.damaged(self.input.offset(), what))
    }
}

/// Ranges of chunks of about as many accesses each.
fn share_out(index: &Index, most: usize, shortest: Accesses) -> Vec<Range<usize>> {
    let accesses = index.chunks.iter().map(|chunk| u128::from(chunk.accesses));
    let all = accesses.clone().sum::<u128>();
    let stretches = (all / u128::from(shortest.get().max(1))).min(most as u128);
    let (mut ranges, mut start, mut before) = (Vec::new(), 0, 0);
    for (number, accesses) in accesses.enumerate() {
        before += accesses;
        let due = before * stretches >= all * (ranges.len() as u128 + 1);
        if due && ranges.len() as u128 + 1 < stretches {
            ranges.push(start..number + 1);
            start = number + 1;
        }
    }
    if start < index.chunks.len() {
        ranges.push(start..index.chunks.len());
    }
    ranges
}

impl Index {
    /// What it says of the chunks before `number`.
    fn totals_before(&self, number: usize) -> Totals {
        let chunks = &self.chunks[..number];
        Totals {
            chunks: number as u64,
            blocks: chunks.iter().map(|chunk| chunk.blocks).sum(),
            rows: chunks.iter().map(|chunk| chunk.rows).sum(),
            events: self.events_of(0..number).len() as u64,
        }
    }
}
