//! Cuts the input into whole lines or words, for all text formats.
//!
//! `fill` gives a parser as many whole lines as are buffered, and `each` calls a closure for each
//! of them. A line or word longer than `MAX_LINE` is an error. Blocks have the same rows however
//! the system delivers the bytes.

use memchr::{memchr, memrchr};

use crate::batch::Batch;
use crate::delivery::ENOUGH;
use reuselens_io::Input;
use reuselens_io::MAX_LINE;
use reuselens_trace::{Block, TraceError};

/// What is wrong with a text, and at which of its bytes.
pub struct Bad {
    /// The byte.
    pub at: usize,
    /// What is wrong, as a sentence without its full stop.
    pub what: String,
}

impl Bad {
    /// The same in a text that has `before` more bytes before it.
    pub(super) fn after(self, before: usize) -> Bad {
        Bad {
            at: self.at + before,
            ..self
        }
    }
}

/// Has `parse` append the rows of whole lines until there are [`ENOUGH`]; `false` if the input is
/// over.
///
/// `parse` says how many bytes it took, always whole lines; if fewer than it was given, it is not
/// called again for now.
pub(super) fn fill(
    input: &mut Input,
    rows: &mut Block,
    mut parse: impl FnMut(&[u8], &mut Block) -> Result<usize, Bad>,
) -> Result<bool, TraceError> {
    while rows.len() < ENOUGH {
        let length = whole_lines(input)?;
        if length == 0 {
            return Ok(false);
        }
        match parse(&input.at_least(0)?[..length], rows) {
            Ok(taken) => {
                input.consume_text(taken);
                if taken < length {
                    return Ok(true);
                }
            }
            Err(bad) => return Err(input.bad_text(bad.at, bad.what).into()),
        }
    }
    Ok(true)
}

/// Has `line` turn one line after the other into rows, by way of `batch`, until there are
/// [`ENOUGH`]: no line is begun after that, so that blocks are the same however the bytes come.
/// Returns how many bytes were taken. `line` gets the text and where its line begins, and returns
/// where the next begins, or the same place to stop before it; it makes up to four rows.
#[inline(always)]
pub(super) fn each(
    text: &[u8],
    rows: &mut Block,
    batch: &mut Batch,
    mut line: impl FnMut(&[u8], usize, &mut Batch) -> Result<usize, Bad>,
) -> Result<usize, Bad> {
    let mut at = 0;
    while at < text.len() && rows.len() < ENOUGH {
        let mut stopped = None;
        let last = Batch::last_begin(ENOUGH - rows.len());
        while at < text.len() && batch.len() <= last {
            match line(text, at, batch) {
                Ok(next) if next > at => at = next,
                other => {
                    stopped = Some(other);
                    break;
                }
            }
        }
        batch.move_to(rows);
        if let Some(stopped) = stopped {
            return stopped;
        }
    }
    Ok(at)
}

/// The line that begins at `at`, without its end, and where the next one begins.
pub(super) fn line(text: &[u8], at: usize) -> Result<(&[u8], usize), Bad> {
    let rest = &text[at..];
    let length = memchr(b'\n', rest).unwrap_or(rest.len());
    if length > MAX_LINE {
        let what = too_long("line");
        return Err(Bad { at, what });
    }
    let line = &rest[..length];
    let next = (at + length + 1).min(text.len());
    Ok((line.strip_suffix(b"\r").unwrap_or(line), next))
}

/// Where the next line begins if this one ends at `end`. `None` if it does not, or close to the
/// end.
#[inline(always)]
pub(super) fn next_line(text: &[u8], end: usize) -> Option<usize> {
    match *text.get(end)? {
        b'\n' => Some(end + 1),
        b'\r' if *text.get(end + 1)? == b'\n' => Some(end + 2),
        _ => None,
    }
}

/// As much of a line as a message shows.
pub(super) fn shown(line: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&line[..line.len().min(40)]);
    shown.escape_debug().to_string()
}

/// How many of the buffered bytes are whole lines: at least one, or 0 at the end of the input,
/// whose last line need not have an end.
fn whole_lines(input: &mut Input) -> Result<usize, TraceError> {
    whole(input, "line", |bytes| memrchr(b'\n', bytes))
}

/// How many of the buffered bytes are whole words and what separates them: at least one byte, or 0
/// at the end of the input.
pub(super) fn whole_words(input: &mut Input) -> Result<usize, TraceError> {
    whole(input, "word", |bytes| {
        bytes.iter().rposition(u8::is_ascii_whitespace)
    })
}

fn whole(
    input: &mut Input,
    unit: &str,
    last_end: impl Fn(&[u8]) -> Option<usize>,
) -> Result<usize, TraceError> {
    let mut searched = 0;
    while searched <= MAX_LINE {
        let buffered = input.at_least(searched + 1)?;
        if let Some(end) = last_end(&buffered[searched..]) {
            return Ok(searched + end + 1);
        }
        if buffered.len() == searched {
            return Ok(searched);
        }
        searched = buffered.len();
    }
    Err(input.bad_text(0, too_long(unit)).into())
}

pub(super) fn too_long(unit: &str) -> String {
    format!("a {unit} is longer than {MAX_LINE} bytes")
}
