//! Streams of changes: a line per edge that comes or goes, in the order in which it does.
//!
//! | line | meaning |
//! |---|---|
//! | `u v [time]` | the edge is inserted |
//! | `+ u v [time]`, `a u v [time]` | the edge is inserted |
//! | `- u v [time]`, `d u v [time]` | the edge is deleted |
//!
//! - All forms may be mixed in one file. `#` and `%` begin comments; words are separated by spaces,
//!   tabs, commas or semicolons.
//! - Times are whole numbers of 64 bits, in any unit.
//! - **Unsorted times**: the reader gives lines in their order. Who cuts a stream by time counts a
//!   line with an earlier time than the line before into the current batch.
//! - Insertion of what is present, deletion of what is absent, and self loops are no errors here:
//!   [`EdgeChange`](crate::EdgeChange) says what they do.

use std::io::BufRead;

use super::TextError;
use super::edge_list::COMMENTS;
use super::text::{Lines, no_id, number, shown, signed, words};

/// What this format is called.
pub const NAME: &str = "stream";
/// What it is, in a few words.
pub const SUMMARY: &str = "changes: `u v [time]`, `+ u v [time]`, `- u v [time]` per line";

/// A line of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRecord {
    /// Whether the edge comes; otherwise it goes.
    pub inserts: bool,
    /// The id of the vertex where it begins.
    pub from: u64,
    /// The id of the vertex where it ends.
    pub to: u64,
    /// When, in the unit of the file.
    pub time: Option<i64>,
}

/// Reads streams line by line: [`read`].
#[derive(Debug)]
pub struct StreamReader<R> {
    lines: Lines<R>,
}

/// A reader of a stream. Nothing is read yet.
pub fn read<R: BufRead>(input: R) -> StreamReader<R> {
    StreamReader {
        lines: Lines::new(input),
    }
}

impl<R: BufRead> StreamReader<R> {
    /// The next change; `None` at the end of the file. Allocates nothing per line. After an error
    /// in a line, the reader goes on with the line after it; an error of the file, such as binary
    /// bytes, ends the stream.
    ///
    /// # Errors
    /// [`TextError`] with the number of the line that is no change, or for the file.
    pub fn next_record(&mut self) -> Result<Option<StreamRecord>, TextError> {
        let Some(line) = self.lines.next_content(COMMENTS)? else {
            return Ok(None);
        };
        match parse(line) {
            Ok(record) => Ok(Some(record)),
            Err(what) => Err(TextError::at(self.lines.number(), what)),
        }
    }

    /// The number of the line that was read last, from 1.
    pub fn line(&self) -> u64 {
        self.lines.number()
    }
}

/// A change from a line of text.
///
/// # Errors
/// What is wrong, why, and what to do, as a sentence without its full stop.
pub fn parse(line: &[u8]) -> Result<StreamRecord, String> {
    let mut words = words(line);
    let first = words.next().unwrap_or_default();
    let (inserts, from) = match first {
        b"+" | b"a" => (true, words.next()),
        b"-" | b"d" => (false, words.next()),
        [b'+' | b'-', rest @ ..] if number(rest).is_some() => {
            let what = "put a space after the sign, as in `+ 1 2`";
            return Err(format!("{} is no id of a vertex: {what}", shown(first)));
        }
        _ => (true, Some(first)),
    };
    let (Some(from), Some(to)) = (from, words.next()) else {
        return Err(format!(
            "{} has too few columns; a change is `u v`, `+ u v` or `- u v`, with a time after it",
            shown(line)
        ));
    };
    let time = match words.next() {
        Some(word) => Some(signed(word).ok_or_else(|| no_time(word))?),
        None => None,
    };
    if words.next().is_some() {
        return Err(format!(
            "{} has too many columns; a change ends with its time, so leave out weights",
            shown(line)
        ));
    }
    let id = |word| number(word).ok_or_else(|| no_id(word));
    Ok(StreamRecord {
        inserts,
        from: id(from)?,
        to: id(to)?,
        time,
    })
}

fn no_time(word: &[u8]) -> String {
    format!(
        "{} is no time; times are whole numbers of 64 bits, so choose a smaller unit for fractions",
        shown(word)
    )
}
