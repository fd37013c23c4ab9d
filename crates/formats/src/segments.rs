//! Where the segments of an input begin, so that several threads can read it: `Cuts`, for
//! `records`, drmemtrace and text. In a plain file a segment can begin at any record, in an archive
//! only where a member begins.
//!
//! `SegmentLines` says which lines of a text belong to a segment: each line belongs to exactly one.

use std::ops::RangeInclusive;

use memchr::memchr;

use reuselens_io::Input;
use reuselens_io::Places;
use reuselens_trace::{AnySegment, TraceError, TraceSegment};

/// The most segments of an input.
const MOST: u64 = 1 << 16;

/// The fewest segments in which a trace is read of which rows are made. Two take as long as a
/// thread that reads in parallel with one that counts, and a tenth more processor time.
pub(super) const FEWEST_OF_ROWS: usize = 3;

/// The places of an input at which a segment can begin, counted in units: records,
/// or bytes where records have no fixed length.
#[derive(Clone)]
pub(super) struct Cuts {
    pub(super) places: Places,
    unit: u64,
}

impl Cuts {
    /// The places of an input in units of `unit` bytes.
    pub(super) fn new(places: Places, unit: usize) -> Cuts {
        Cuts {
            places,
            unit: unit as u64,
        }
    }

    /// The byte at which a unit begins.
    pub(super) fn byte(&self, unit: u64) -> u64 {
        unit * self.unit
    }

    /// The segments of the input, of at least `shortest` units each; none if there would be fewer
    /// than `counts` allows. `open` opens a segment from its first unit to that of the next one, if
    /// there is a next one. There are no segments if `open` returns `None` for one of them.
    ///
    /// # Errors
    /// Those of `open`.
    pub(super) fn segments<S: TraceSegment + Send + 'static>(
        &self,
        counts: RangeInclusive<usize>,
        shortest: u64,
        mut open: impl FnMut(u64, Option<u64>) -> Result<Option<S>, TraceError>,
    ) -> Result<Vec<AnySegment>, TraceError> {
        let firsts = self.firsts(*counts.end(), shortest);
        let mut segments = Vec::new();
        if firsts.len() < *counts.start() {
            return Ok(segments);
        }
        for (at, &first) in firsts.iter().enumerate() {
            let Some(segment) = open(first, firsts.get(at + 1).copied())? else {
                return Ok(Vec::new());
            };
            segments.push(Box::new(segment) as AnySegment);
        }
        Ok(segments)
    }

    /// Takes off the later half of a segment that has `left` units from byte `offset` on, or all to
    /// the end of the input. `open` opens the half: its first unit, and what is `left` of it. If
    /// there is a half, `left` becomes what remains of the segment. There is no half if one of the
    /// two would have fewer than `shortest` units, or if `open` returns `None`.
    ///
    /// # Errors
    /// Those of `open`; `left` is as it was.
    pub(super) fn split_off<S: TraceSegment + Send + 'static>(
        &self,
        offset: u64,
        left: &mut Option<u64>,
        shortest: u64,
        open: impl FnOnce(u64, Option<u64>) -> Result<Option<S>, TraceError>,
    ) -> Result<Option<AnySegment>, TraceError> {
        let Some((first, before)) = self.half(offset, *left, shortest) else {
            return Ok(None);
        };
        let half = open(first, left.map(|left| left - before))?;
        if half.is_some() {
            *left = Some(before);
        }
        Ok(half.map(|half| Box::new(half) as AnySegment))
    }

    /// The first units of up to `most` segments of at least `shortest` units.
    fn firsts(&self, most: usize, shortest: u64) -> Vec<u64> {
        let units = self.units();
        let most = (units / shortest).min(most as u64).clamp(1, MOST);
        let mut firsts = vec![0];
        for number in 1..most {
            // In 128 bits: the product of two lengths.
            let wanted = (u128::from(units) * u128::from(number) / u128::from(most)) as u64;
            let first = self.near(wanted);
            let before = firsts.last().map_or(0, |last| first.saturating_sub(*last));
            if before >= shortest && units.saturating_sub(first) >= shortest {
                firsts.push(first);
            }
        }
        firsts
    }

    /// Where the later half begins of what a segment has from byte `offset` on: `left` units, or
    /// all to the end of the input. `None` if one of the halves would have fewer than `shortest`
    /// units. The unit, and the units before it.
    fn half(&self, offset: u64, left: Option<u64>, shortest: u64) -> Option<(u64, u64)> {
        let now = offset / self.unit;
        let all = left.unwrap_or(self.units().saturating_sub(now));
        let first = self.near(now + all / 2);
        let (before, after) = (first.saturating_sub(now), (now + all).saturating_sub(first));
        (before >= shortest && after >= shortest).then_some((first, before))
    }

    /// Whole units of the input.
    fn units(&self) -> u64 {
        self.places.length() / self.unit
    }

    /// The first unit that begins at, or after, the place nearest to a unit.
    fn near(&self, unit: u64) -> u64 {
        let place = self.places.nearest(unit.saturating_mul(self.unit));
        place.div_ceil(self.unit)
    }
}

/// The most bytes of the line in which a segment of a text begins.
const MOST_PASSED: usize = 1 << 20;

/// The lines of a segment of a text: those after the line in which its first byte is, up to and
/// with the line in which the first byte of the next segment is. So each line is in one segment.
pub(super) struct SegmentLines {
    /// Where segments can begin, in bytes.
    pub(super) cuts: Cuts,
    /// The first byte of the next segment; `None` if there is none.
    until: Option<u64>,
    /// Whether the line in which it begins is still to be passed over.
    begins: bool,
    /// The end of its last line, once that is known.
    end: Option<u64>,
}

impl SegmentLines {
    /// Those of the segment from byte `first` on, to the one that begins at byte `until`.
    pub(super) fn new(cuts: Cuts, first: u64, until: Option<u64>) -> SegmentLines {
        SegmentLines {
            cuts,
            until,
            begins: first > 0,
            end: None,
        }
    }

    /// Passes over the line of the segment before; to be called before the first byte is read.
    ///
    /// # Errors
    /// If that line is too long: segments of such a text would all be read to the end.
    pub(super) fn begin(&mut self, input: &mut Input) -> Result<(), TraceError> {
        if !std::mem::take(&mut self.begins) {
            return Ok(());
        }
        let mut passed = 0;
        loop {
            let text = input.at_least(1)?;
            let (length, end) = (text.len(), memchr(b'\n', text));
            input.consume(end.map_or(length, |end| end + 1));
            if end.is_some() || length == 0 {
                break;
            }
            passed += length;
            if passed > MOST_PASSED {
                let what = format!("a line is longer than {MOST_PASSED} bytes");
                return Err(input.bad_bytes(input.offset(), what).into());
            }
        }
        if self.until.is_some_and(|until| until < input.offset()) {
            // The next segment begins in the same line.
            self.end = Some(input.offset());
        }
        Ok(())
    }

    /// How many of the bytes of `text`, which begins at byte `offset`, are in the segment; 0 at its
    /// end.
    pub(super) fn within(&mut self, text: &[u8], offset: u64) -> usize {
        let Some(until) = self.until else {
            return text.len();
        };
        if self.end.is_none() {
            let from = until.saturating_sub(offset);
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            // Of its last line no end was in what came before.
            let rest = text.get(from..).unwrap_or_default();
            let end = memchr(b'\n', rest).map(|end| offset + (from + end + 1) as u64);
            self.end = end;
        }
        let left = self.end.map_or(u64::MAX, |end| end.saturating_sub(offset));
        text.len().min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// Takes off the later half of what is not read yet, if both have at least `shortest` bytes:
    /// where it begins, and its lines.
    pub(super) fn half(&self, offset: u64, shortest: u64) -> Option<(u64, SegmentLines)> {
        let left = self.until.map(|until| until.saturating_sub(offset));
        let (first, _) = self.cuts.half(offset, left, shortest)?;
        Some((
            first,
            SegmentLines::new(self.cuts.clone(), first, self.until),
        ))
    }

    /// Ends it where another begins, which [`SegmentLines::half`] has taken off.
    pub(super) fn end_at(&mut self, until: u64) {
        // The end found so far is that of the taken half.
        (self.until, self.end) = (Some(until), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_known_end_can_be_split() {
        let text = b"1\n22\n333\n4444\n55555\n";
        let cuts = Cuts::new(Places::any(text.len() as u64), 1);
        let mut lines = SegmentLines::new(cuts, 0, Some(10));
        assert_eq!(lines.within(text, 0), b"1\n22\n333\n4444\n".len());
        lines.end_at(6);
        assert_eq!(lines.within(text, 0), b"1\n22\n333\n".len());
    }
}
