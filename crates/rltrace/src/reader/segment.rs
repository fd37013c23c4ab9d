//! Segments of a file: ranges of its chunks, which several workers read at the same time.
//!
//! [`Source::segments`](reuselens_trace::Source::segments) of a `Reader` cuts the file by its
//! index; each segment is a `Reader` of its own, with [`SegmentChunks`]. It delivers the events of
//! all chunks before it first, taken from the index.
//!
//! *Invariant:* if the index is wrong, some segment ends with an error: each checks that its events
//! are those of the index, and that it ends where the next one begins. The segments before that one
//! have delivered what the whole file delivers.

use std::ops::Range;
use std::sync::Arc;

use reuselens_units::{Accesses, Bytes};

use super::Reader;
use crate::decoders::{BlockForm, Decoders};
use crate::encode::Totals;
use crate::index::Index;
use reuselens_io::chunk::Chunks;
use reuselens_io::varint::Damage;
use reuselens_trace::{AnySegment, Event, ItemProjection, TraceError, TraceSegment};

/// The most segments of a file.
const MAX_SEGMENTS: usize = 1 << 16;
/// An event takes at most as long as this many accesses.
const EVENT_ACCESSES: u64 = 64;

const OTHER: Damage = Damage("what the index lists is not what is in the file");

/// The chunks that a segment reads.
pub(super) struct SegmentChunks {
    index: Arc<Index>,
    /// The chunks that were not begun yet.
    left: Range<usize>,
    /// The events of the chunks before that were not delivered yet.
    before: Range<usize>,
}

/// What a segment has to read next.
pub(super) enum NextChunk {
    /// Nothing: another segment begins here.
    Over,
    /// A chunk of blocks and events.
    Chunk,
    /// Whatever comes: the last segment reads on to the end of the file.
    Any,
}

impl SegmentChunks {
    fn new(index: &Arc<Index>, chunks: Range<usize>) -> SegmentChunks {
        SegmentChunks {
            index: Arc::clone(index),
            before: 0..index.events_of(0..chunks.start).len(),
            left: chunks,
        }
    }

    /// The next event of the chunks before.
    pub(super) fn event_before(&mut self) -> Option<Event> {
        let next = self.before.next()?;
        self.index.summary.events.get(next).cloned()
    }

    /// Whether this is event `number` of the file, as the index has it.
    pub(super) fn says(&self, number: u64, event: &Event) -> bool {
        let number = usize::try_from(number);
        let said = number.map(|number| self.index.summary.events.get(number));
        said.is_ok_and(|said| said == Some(event))
    }

    /// Goes on to the next chunk.
    pub(super) fn find_next(&mut self) -> NextChunk {
        let is_last = self.is_last();
        match self.left.next() {
            Some(_) if !is_last => NextChunk::Chunk,
            None if !is_last => NextChunk::Over,
            _ => NextChunk::Any,
        }
    }

    fn is_last(&self) -> bool {
        self.left.end == self.index.chunks.len()
    }

    /// Where the later half of the chunks that are left begins, if each half has `shortest`
    /// accesses.
    fn middle(&self, shortest: Accesses) -> Option<usize> {
        let halves = share_out(&self.index, self.left.clone(), 2, shortest);
        let [_, later] = <[Range<usize>; 2]>::try_from(halves).ok()?;
        Some(later.start)
    }
}

impl Reader {
    /// This file in segments, or nothing; see [`reuselens_trace::Segmented::segments`].
    pub(super) fn in_segments(
        &mut self,
        projection: ItemProjection,
        most: usize,
        shortest: Accesses,
    ) -> Result<Vec<AnySegment>, TraceError> {
        let Ok(index) = self.take_index()? else {
            return Ok(Vec::new());
        };
        let (index, begin) = (Arc::new(index), self.input.offset());
        let mut segments = Vec::new();
        for chunks in share_out(&index, 0..index.chunks.len(), most, shortest) {
            // The first begins where the file's head ends, whatever the index says of it.
            let offset = match chunks.start {
                0 => begin,
                start => index.chunks[start].offset,
            };
            let Some(segment) = self.segment(&index, chunks, offset, projection)? else {
                return Ok(Vec::new());
            };
            segments.push(Box::new(segment) as AnySegment);
        }
        Ok(segments)
    }

    /// A reader of these chunks, which begin at `offset`.
    fn segment(
        &self,
        index: &Arc<Index>,
        chunks: Range<usize>,
        offset: u64,
        projection: ItemProjection,
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
            segment: Some(SegmentChunks::new(index, chunks)),
            form: BlockForm::ItemBatch(projection),
            // Its one thread reads nothing ahead.
            ahead: Bytes(0),
            start: offset,
            ending: None,
            checked: false,
            over: false,
        }))
    }

    /// Checks that an event is the one that the index has: the segments after this one took it from
    /// there.
    pub(super) fn check_event(&self, event: &Event) -> Result<(), TraceError> {
        match &self.segment {
            Some(segment) if !segment.says(self.totals.events, event) => {
                Err(self.damaged(self.start, OTHER))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a segment that is over had what the index says, and ends where the next begins.
    pub(super) fn check_segment(&self) -> Result<(), TraceError> {
        let Some(segment) = &self.segment else {
            return Ok(());
        };
        let Some(next) = segment.index.chunks.get(segment.left.end) else {
            return Ok(());
        };
        let totals = segment.index.totals_before(segment.left.end);
        if self.totals == totals && self.input.offset() == next.offset {
            return Ok(());
        }
        Err(self.damaged(self.input.offset(), OTHER))
    }
}

impl TraceSegment for Reader {
    fn split_off(&mut self, shortest: Accesses) -> Result<Option<AnySegment>, TraceError> {
        let (Some(segment), Some(projection)) = (&self.segment, self.form.projection()) else {
            return Ok(None);
        };
        let Some(middle) = segment.middle(shortest) else {
            return Ok(None);
        };
        let (index, later) = (Arc::clone(&segment.index), middle..segment.left.end);
        let half = self.segment(&index, later, index.chunks[middle].offset, projection)?;
        if let (Some(segment), Some(_)) = (&mut self.segment, &half) {
            segment.left.end = middle;
        }
        Ok(half.map(|half| Box::new(half) as AnySegment))
    }

    fn buffers(&self) -> Bytes {
        self.decoders.as_ref().map_or(Bytes(0), Decoders::memory)
    }
}

/// Cuts some of the chunks into up to `most` ranges with about as many accesses each, and at least
/// `shortest`.
fn share_out(
    index: &Index,
    chunks: Range<usize>,
    most: usize,
    shortest: Accesses,
) -> Vec<Range<usize>> {
    let accesses = |number: usize| u128::from(index.chunks[number].accesses);
    let all = chunks.clone().map(accesses).sum::<u128>();
    // Each segment delivers all events before it, so it should be long beside those.
    let events = EVENT_ACCESSES.saturating_mul(index.summary.events.len() as u64);
    let shortest = u128::from(shortest.get().max(events).max(1));
    let segments = (all / shortest).min(most.min(MAX_SEGMENTS) as u128);
    let (mut ranges, mut start) = (Vec::new(), chunks.start);
    let (mut before, mut shared) = (0, 0);
    for number in chunks.clone() {
        before += accesses(number);
        let due = before * segments >= all * (ranges.len() as u128 + 1);
        let long = before - shared >= shortest && all - before >= shortest;
        if due && long && ranges.len() as u128 + 1 < segments {
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
    /// The totals of the chunks before `number`.
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
