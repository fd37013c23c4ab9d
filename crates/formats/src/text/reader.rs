//! The `Source` of a text: reads its words as items. A number is its own item, and a name gets a
//! number (see `names`).

use memchr::memchr;
use reuselens_units::{Accesses, Bytes};

use crate::delivery::{Delivery, ENOUGH, item};
use crate::lines::{Bad, too_long, whole_words};
use crate::names::{Names, is_free};
use crate::number;
use crate::segments::SegmentLines;
use crate::text::segment;
use crate::text::{BYTE_ORDER_MARK, is_binary};
use reuselens_io::Input;
use reuselens_io::MAX_LINE;
use reuselens_trace::{
    AnySegment, Block, ItemProjection, Process, Projection, Segmented, Source, Step, TraceError,
};

/// Ids gathered before they become rows.
const PART: usize = 2 << 10;

/// Reads words as items. A number is its own id; names are numbered from 2^63 in the order in which
/// they appear. Memory grows with the number of distinct names, not with the length of the input.
/// Lines may be of any length, words have up to 64 KiB.
///
/// It reads all words, or those of a segment ([`Segmented::segments`]).
pub struct TextReader {
    pub(super) input: Input,
    delivery: Delivery,
    pub(super) words: Words,
}

impl TextReader {
    /// A reader at the start of `input`.
    ///
    /// # Errors
    /// `FileError::Empty` or `FileError::Io` if the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<TextReader, TraceError> {
        input.head()?;
        TextReader::of(input, Words::default())
    }

    /// A reader of `input`, whose first bytes are buffered.
    ///
    /// # Errors
    /// `FileError::Io` if it cannot be read.
    pub(super) fn of(mut input: Input, words: Words) -> Result<TextReader, TraceError> {
        let mark = BYTE_ORDER_MARK;
        if input.offset() == 0 && input.at_least(mark.len())?.starts_with(mark) {
            input.consume(mark.len());
        }
        Ok(TextReader {
            input,
            delivery: Delivery::new(Process::default()),
            words,
        })
    }
}

impl Source for TextReader {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        let (input, words) = (&mut self.input, &mut self.words);
        self.delivery.next(block, |rows| words.fill(input, rows))
    }

    fn has_addresses(&self) -> bool {
        false
    }

    fn is_of_one_thread(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!("items in the text of {}", self.input.path().display())
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }

    fn memory(&self) -> Bytes {
        self.words.names.memory()
    }

    fn read_ahead_within(&mut self, _most: Bytes) {}

    fn project(&mut self, _projection: Projection) -> bool {
        false
    }
}

impl Segmented for TextReader {
    /// Of a text of numbers that is not packed, or is in an archive. Segments end with an error
    /// where a name is: it has the number of those before it.
    fn segments(
        &mut self,
        _: ItemProjection,
        most: usize,
        shortest: Accesses,
    ) -> Result<Vec<AnySegment>, TraceError> {
        segment::segments(&mut self.input, most, shortest)
    }
}

/// Words on their way to ids.
#[derive(Default)]
pub(super) struct Words {
    names: Names,
    /// Of a segment: the lines that it has.
    pub(super) lines: Option<SegmentLines>,
    /// Whether the next byte belongs to a comment.
    in_comment: bool,
    ids: Vec<u64>,
}

impl Words {
    /// Those of a segment that has these lines.
    pub(super) fn of_segment(lines: SegmentLines) -> Words {
        Words {
            lines: Some(lines),
            ..Words::default()
        }
    }

    fn fill(&mut self, input: &mut Input, rows: &mut Block) -> Result<bool, TraceError> {
        if let Some(lines) = &mut self.lines {
            lines.begin(input)?;
        }
        self.names.begin_block();
        while rows.len() < ENOUGH && !self.names.fill_a_block() {
            let buffered = input.at_least(1)?;
            self.in_comment |= buffered.first() == Some(&b'#');
            let length = if self.in_comment {
                buffered.len()
            } else {
                whole_words(input)?
            };
            let offset = input.offset();
            let text = self.within(&input.at_least(0)?[..length], offset);
            let parsed = if self.in_comment {
                self.comment(text)
            } else {
                self.parse(text, rows)
            };
            match parsed {
                Ok(0) => return Ok(false),
                Ok(taken) => input.consume_text(taken),
                Err(bad) => return Err(input.bad_text(bad.at, bad.what).into()),
            }
        }
        Ok(true)
    }

    /// The part of `text`, which begins at byte `offset`, that is in the segment.
    fn within<'a>(&mut self, text: &'a [u8], offset: u64) -> &'a [u8] {
        match &mut self.lines {
            Some(lines) => &text[..lines.within(text, offset)],
            None => text,
        }
    }

    /// Skips a comment as far as its end or that of the bytes.
    fn comment(&mut self, text: &[u8]) -> Result<usize, Bad> {
        let end = memchr(b'\n', text);
        self.in_comment = end.is_none();
        let length = end.map_or(text.len(), |end| end + 1);
        check(text, 0, length)?;
        Ok(length)
    }

    /// Appends the items of whole words, until there are enough; returns how many bytes were taken.
    pub(super) fn parse(&mut self, text: &[u8], rows: &mut Block) -> Result<usize, Bad> {
        let mut at = 0;
        let mut failed = None;
        let mut full = false;
        while at < text.len() && rows.len() < ENOUGH && failed.is_none() && !full {
            // Never past enough rows, so that blocks are the same however the bytes come.
            let part = PART.min(ENOUGH - rows.len());
            at = numbers(text, at, part, &mut self.ids);
            if at < text.len() && self.ids.len() < part {
                match self.word(text, at) {
                    Ok(next) => at = next,
                    Err(bad) => failed = Some(bad),
                }
                full = self.names.fill_a_block();
            }
            if self.ids.len() >= part || at == text.len() || failed.is_some() || full {
                rows.extend(self.ids.iter().map(|&id| item(id)));
                self.ids.clear();
            }
        }
        failed.map_or(Ok(at), Err)
    }

    /// Takes what begins at `at`, whatever it is: a word, a comment or space.
    fn word(&mut self, text: &[u8], at: usize) -> Result<usize, Bad> {
        if text[at] == b'#' {
            let taken = self.comment(&text[at..]);
            return Ok(at + taken.map_err(|bad| bad.after(at))?);
        }
        let near_end = || text[at..].iter().position(|&byte| is_end(byte));
        let end = number::find_control(text, at)
            .or_else(|| Some(at + near_end()?))
            .unwrap_or(text.len());
        if end - at > MAX_LINE {
            let what = too_long("word");
            return Err(Bad { at, what });
        }
        let next = (end + 1).min(text.len());
        check(text, end, next)?;
        if end > at {
            let word = &text[at..end];
            self.ids.push(match &self.lines {
                None => self.names.id(word),
                Some(_) => segment::id(word).map_err(|bad| bad.after(at))?,
            });
        }
        Ok(next)
    }
}

/// Whether a byte can be in no word.
fn is_end(byte: u8) -> bool {
    byte.is_ascii_control() || byte == b' '
}

/// Appends numbers until there is something else, `part` of them, or hardly any text left; returns
/// where that is.
#[inline(never)]
fn numbers(text: &[u8], mut at: usize, part: usize, ids: &mut Vec<u64>) -> usize {
    while ids.len() < part {
        match number::either(text, at) {
            Some((id, end)) if is_space(text, end) && is_free(id) => {
                ids.push(id);
                at = end + 1;
            }
            _ if is_space(text, at) => at += 1,
            _ => break,
        }
    }
    at
}

#[inline(always)]
fn is_space(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(u8::is_ascii_whitespace)
}

fn check(text: &[u8], from: usize, to: usize) -> Result<(), Bad> {
    let Some(place) = text[from..to].iter().position(|&byte| is_binary(byte)) else {
        return Ok(());
    };
    let byte = text[from + place];
    Err(Bad {
        at: from + place,
        what: format!(
            "byte {byte:#04x} does not belong in text; for raw 64-bit items say `--format u64`"
        ),
    })
}
