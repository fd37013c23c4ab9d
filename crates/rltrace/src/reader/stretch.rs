//! A stretch of a file's chunks, read beside others.

use std::ops::Range;
use std::sync::Arc;

use reuselens_units::{Accesses, Bytes};

use super::Reader;
use crate::decoders::BlockForm;
use crate::encode::Totals;
use crate::index::Index;
use reuselens_io::chunk::Chunks;
use reuselens_io::varint::Damage;
use reuselens_trace::{AnyStretch, Event, Stretch, TraceError, Wish};

/// The most stretches of a file.
const MOST: usize = 1 << 16;
/// Accesses that take as long as an event, at most.
const EVENT: u64 = 64;

const OTHER: Damage = Damage("what the index lists is not what is in the file");

/// Which chunks of a file are read.
pub(super) struct Chunked {
    index: Arc<Index>,
    /// Those that were not begun.
    left: Range<usize>,
    /// Of the events of the chunks before, those that were not delivered.
    before: Range<usize>,
}

/// What a stretch has to read next.
pub(super) enum Next {
    /// Nothing.
    Over,
    /// A chunk of rows.
    Chunk,
    /// Whatever there is: the last goes on to the end of the file.
    Any,
}

impl Chunked {
    fn new(index: &Arc<Index>, chunks: Range<usize>) -> Chunked {
        Chunked {
            index: Arc::clone(index),
            before: 0..index.events_of(0..chunks.start).len(),
            left: chunks,
        }
    }

    /// An event that lies before it and was not delivered.
    pub(super) fn event_before(&mut self) -> Option<Event> {
        let next = self.before.next()?;
        self.index.summary.events.get(next).cloned()
    }

    /// Whether the index says that this is event `number` of the file.
    pub(super) fn says(&self, number: u64, event: &Event) -> bool {
        let number = usize::try_from(number);
        let said = number.map(|number| self.index.summary.events.get(number));
        said.is_ok_and(|said| said == Some(event))
    }

    /// Goes on to the next chunk.
    pub(super) fn find_next(&mut self) -> Next {
        let is_last = self.is_last();
        match self.left.next() {
            Some(_) if !is_last => Next::Chunk,
            None if !is_last => Next::Over,
            _ => Next::Any,
        }
    }

    fn is_last(&self) -> bool {
        self.left.end == self.index.chunks.len()
    }

    /// Where the later half of what is left begins, if each half has so many accesses.
    fn middle(&self, shortest: Accesses) -> Option<usize> {
        let halves = share_out(&self.index, self.left.clone(), 2, shortest);
        let [_, later] = <[Range<usize>; 2]>::try_from(halves).ok()?;
        Some(later.start)
    }
}

impl Reader {
    /// This file in stretches, or nothing; see [`reuselens_trace::Source::stretches`].
    pub(super) fn in_stretches(
        &mut self,
        wish: Wish,
        most: usize,
        shortest: Accesses,
    ) -> Result<Vec<AnyStretch>, TraceError> {
        let Ok(index) = self.take_index()? else {
            return Ok(Vec::new());
        };
        let (index, begin) = (Arc::new(index), self.input.offset());
        let mut stretches = Vec::new();
        for chunks in share_out(&index, 0..index.chunks.len(), most, shortest) {
            // The first begins where the file's head ends, whatever the index says of it.
            let offset = match chunks.start {
                0 => begin,
                start => index.chunks[start].offset,
            };
            let Some(stretch) = self.stretch(&index, chunks, offset, wish)? else {
                return Ok(Vec::new());
            };
            stretches.push(Box::new(stretch) as AnyStretch);
        }
        Ok(stretches)
    }

    /// A reader of these chunks, which begin at `offset`.
    fn stretch(
        &self,
        index: &Arc<Index>,
        chunks: Range<usize>,
        offset: u64,
        wish: Wish,
    ) -> Result<Option<Reader>, TraceError> {
        let Some(mut input) = self.input.another() else {
            return Ok(None);
        };
        input.jump(offset)?;
        Ok(Some(Reader {
            input,
            header: self.header.clone(),
            threads: 1,
            chunks: Chunks::from(chunks.start as u32),
            decoders: None,
            totals: index.totals_before(chunks.start),
            index: None,
            part: None,
            stretch: Some(Chunked::new(index, chunks)),
            form: BlockForm::Touches(wish),
            start: offset,
            ending: None,
            checked: false,
            over: false,
        }))
    }

    /// Whether an event is the one that the index of a stretch has there: those behind took that
    /// for it.
    pub(super) fn check_event(&self, event: &Event) -> Result<(), TraceError> {
        match &self.stretch {
            Some(stretch) if !stretch.says(self.totals.events, event) => {
                Err(self.damaged(self.start, OTHER))
            }
            _ => Ok(()),
        }
    }

    /// Whether a stretch that is over has what the index says, and ends where the next begins.
    pub(super) fn check_stretch(&self) -> Result<(), TraceError> {
        let Some(stretch) = &self.stretch else {
            return Ok(());
        };
        let Some(behind) = stretch.index.chunks.get(stretch.left.end) else {
            return Ok(());
        };
        let totals = stretch.index.totals_before(stretch.left.end);
        if self.totals == totals && self.input.offset() == behind.offset {
            return Ok(());
        }
        Err(self.damaged(self.input.offset(), OTHER))
    }
}

impl Stretch for Reader {
    fn split_off(&mut self, shortest: Accesses) -> Result<Option<AnyStretch>, TraceError> {
        let (Some(stretch), Some(wish)) = (&self.stretch, self.form.wish()) else {
            return Ok(None);
        };
        let Some(middle) = stretch.middle(shortest) else {
            return Ok(None);
        };
        let (index, later) = (Arc::clone(&stretch.index), middle..stretch.left.end);
        let half = self.stretch(&index, later, index.chunks[middle].offset, wish)?;
        if let (Some(stretch), Some(_)) = (&mut self.stretch, &half) {
            stretch.left.end = middle;
        }
        Ok(half.map(|half| Box::new(half) as AnyStretch))
    }

    /// None: a chunk is small beside what an analysis holds.
    fn buffers(&self) -> Bytes {
        Bytes(0)
    }
}

/// Ranges of about as many accesses each, of some of the chunks, at least `shortest`.
fn share_out(
    index: &Index,
    chunks: Range<usize>,
    most: usize,
    shortest: Accesses,
) -> Vec<Range<usize>> {
    let accesses = |number: usize| u128::from(index.chunks[number].accesses);
    let all = chunks.clone().map(accesses).sum::<u128>();
    // Each stretch takes in all events before it.
    let events = EVENT.saturating_mul(index.summary.events.len() as u64);
    let shortest = u128::from(shortest.get().max(events).max(1));
    let stretches = (all / shortest).min(most.min(MOST) as u128);
    let (mut ranges, mut start) = (Vec::new(), chunks.start);
    let (mut before, mut shared) = (0, 0);
    for number in chunks.clone() {
        before += accesses(number);
        let due = before * stretches >= all * (ranges.len() as u128 + 1);
        let long = before - shared >= shortest && all - before >= shortest;
        if due && long && ranges.len() as u128 + 1 < stretches {
            ranges.push(start..number + 1);
            (start, shared) = (number + 1, before);
        }
    }
    if start < chunks.end {
        ranges.push(start..chunks.end);
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
