//! Segments of a text of numbers, which several threads read: each line is in exactly one segment.
//!
//! Used by `reader`, when the analysis has more than one worker.
//!
//! A name's id depends on the names before it, which a segment does not know. So a segment with a
//! name in it ends with an error, and the caller reads the text again from the beginning with one
//! reader.

use reuselens_units::{Accesses, Bytes};

use super::reader::{TextReader, Words};
use crate::lines::Bad;
use crate::names::is_free;
use crate::number::number;
use crate::segments::{Cuts, FEWEST_OF_ROWS, SegmentLines};
use reuselens_io::Input;
use reuselens_trace::{AnySegment, Block, TraceError, TraceSegment};

/// Roughly the bytes of a word with the space after it.
const PER_WORD: u64 = 8;

/// The segments of all of `input`. None if there would be fewer than [`FEWEST_OF_ROWS`], if the
/// input cannot be opened a second time, or if its buffered beginning has a name or not one
/// complete line.
pub(super) fn segments(
    input: &mut Input,
    most: usize,
    shortest: Accesses,
) -> Result<Vec<AnySegment>, TraceError> {
    // A mark before the first word may be taken already.
    let is_new = input.offset() <= super::BYTE_ORDER_MARK.len() as u64;
    let can = is_new && most >= FEWEST_OF_ROWS;
    let Some(places) = can.then(|| input.places()).flatten() else {
        return Ok(Vec::new());
    };
    let cuts = Cuts::new(places, 1);
    if !is_of_numbers(&cuts, input.head()?) {
        return Ok(Vec::new());
    }
    let counts = FEWEST_OF_ROWS..=most;
    cuts.segments(counts, shortest_bytes(shortest), |first, next| {
        reader(input, first, SegmentLines::new(cuts.clone(), first, next))
    })
}

/// A reader of the lines of a segment that begins at byte `first`.
fn reader(
    input: &Input,
    first: u64,
    lines: SegmentLines,
) -> Result<Option<TextReader>, TraceError> {
    let input = input.another_at(&lines.cuts.places, first)?;
    let reader = input.map(|input| TextReader::of(input, Words::of_segment(lines)));
    reader.transpose()
}

/// Whether the complete lines of `head` have no names; `false` if there is no complete line.
fn is_of_numbers(cuts: &Cuts, head: &[u8]) -> bool {
    let lines = memchr::memrchr(b'\n', head).map_or(0, |end| end + 1);
    let mut words = Words::of_segment(SegmentLines::new(cuts.clone(), 0, None));
    let parsed = words.parse(&head[..lines], &mut Block::new());
    lines > 0 && parsed.is_ok()
}

/// The id of a word that is a number.
pub(super) fn id(word: &[u8]) -> Result<u64, Bad> {
    let id = number(word).filter(|id| is_free(*id));
    id.ok_or_else(|| Bad {
        at: 0,
        what: "a name is numbered after those before it".to_owned(),
    })
}

/// Roughly the bytes of a segment of at least `shortest` accesses.
fn shortest_bytes(shortest: Accesses) -> u64 {
    shortest.get().max(1).saturating_mul(PER_WORD)
}

impl TraceSegment for TextReader {
    fn split_off(&mut self, shortest: Accesses) -> Result<Option<AnySegment>, TraceError> {
        let Some(lines) = &mut self.words.lines else {
            return Ok(None);
        };
        let half = lines.half(self.input.offset(), shortest_bytes(shortest));
        let Some((first, half)) = half else {
            return Ok(None);
        };
        let half = reader(&self.input, first, half)?;
        if half.is_some() {
            lines.end_at(first);
        }
        Ok(half.map(|half| Box::new(half) as AnySegment))
    }

    fn buffers(&self) -> Bytes {
        self.input.memory()
    }
}
