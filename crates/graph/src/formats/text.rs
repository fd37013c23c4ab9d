//! Lines and numbers of text files, and [`TextError`].

use std::io::BufRead;

use thiserror::Error;

use crate::{VERTEX_LIMIT, VertexId};

/// The longest line in bytes: the neighbours of a vertex with more than 20 million of them.
pub const MAX_LINE: usize = 256 << 20;

/// What some editors put before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why a file of text cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TextError {
    /// The system refused, or the bytes could not be unpacked.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A line is not what the format asks for.
    #[error("line {line}: {what}")]
    Line {
        /// The number of the line, from 1.
        line: u64,
        /// What is wrong, why, and what to do, as a sentence without its full stop.
        what: String,
    },
}

impl TextError {
    /// An error in this line; that of an empty file is in line 1.
    pub(crate) fn at(line: u64, what: impl Into<String>) -> Self {
        Self::Line {
            line: line.max(1),
            what: what.into(),
        }
    }
}

/// The lines of a file, without spaces at their ends. An error here is one of the file: the
/// lines end with it.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
    /// Whether nothing more is read.
    at_end: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            number: 0,
            at_end: false,
        }
    }

    /// The number of the line that was read last, from 1; 0 before the first one.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The next line, empty ones included; `None` at the end of the file. The memory for a line is
    /// used again for the next one.
    pub(crate) fn next_line(&mut self) -> Result<Option<&[u8]>, TextError> {
        self.line.clear();
        if self.at_end {
            return Ok(None);
        }
        self.number += 1;
        match self.fill_line() {
            Ok(true) => Ok(Some(self.line.trim_ascii())),
            Ok(false) => {
                self.at_end = true;
                self.number -= 1;
                Ok(None)
            }
            Err(error) => {
                self.at_end = true;
                self.line.clear();
                Err(error)
            }
        }
    }

    /// Reads a line into `line`; says whether there was one.
    fn fill_line(&mut self) -> Result<bool, TextError> {
        loop {
            let bytes = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            if self.number == 1 && self.line.is_empty() && bytes.contains(&0) {
                let what = "the file is binary or UTF-16; graphs and streams are text, a line per \
                            edge, in ASCII or UTF-8, and may be packed (gzip, zstd, xz, zip)";
                return Err(TextError::at(1, what));
            }
            if bytes.is_empty() {
                return Ok(!self.line.is_empty());
            }
            let end = memchr::memchr(b'\n', bytes);
            let taken = end.map_or(bytes.len(), |end| end + 1);
            if self.line.len() + taken > MAX_LINE {
                let what = format!(
                    "it is longer than {} MiB; is this a text file with one edge per line?",
                    MAX_LINE >> 20
                );
                return Err(TextError::at(self.number, what));
            }
            self.line.extend_from_slice(&bytes[..taken]);
            self.input.consume(taken);
            if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
                self.line.drain(..BYTE_ORDER_MARK.len());
            }
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// The next line that has something and does not begin with one of the marks of comments.
    pub(crate) fn next_content(&mut self, comments: &[u8]) -> Result<Option<&[u8]>, TextError> {
        loop {
            // The borrow checker does not see that the line is returned in one case only.
            match self.next_line()?.and_then(|line| line.first().copied()) {
                Some(first) if !comments.contains(&first) => break,
                None if self.line.is_empty() => return Ok(None),
                _ => {}
            }
        }
        Ok(Some(self.line.trim_ascii()))
    }
}

/// The words of a line. Words are separated by spaces, tabs, commas or semicolons.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t' | b',' | b';' | b'\r'))
        .filter(|word| !word.is_empty())
}

/// A whole number below 2^64, without a sign.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for byte in word {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    (!word.is_empty()).then_some(value)
}

/// A whole number of 64 bits, with or without a sign.
pub(crate) fn signed(word: &[u8]) -> Option<i64> {
    let (negative, digits) = match word {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let value = number(digits)?;
    if negative {
        0_i64.checked_sub_unsigned(value)
    } else {
        i64::try_from(value).ok()
    }
}

/// A count of vertices that a head names.
///
/// # Errors
/// If it is no count of 32 bits; callers check it against the limit of a graph.
pub(crate) fn vertex_count(count: u64) -> Result<VertexId, String> {
    let count = VertexId::try_from(count);
    count.map_err(|_| format!("a graph has at most {VERTEX_LIMIT} vertices"))
}

/// A vertex of a format that numbers them from 1: its number from 0.
///
/// # Errors
/// If the word is no number from 1 to `vertices`.
pub(crate) fn place(word: &[u8], vertices: VertexId) -> Result<VertexId, String> {
    let place = number(word).filter(|place| (1..=u64::from(vertices)).contains(place));
    let place = place.ok_or_else(|| format!("{} is not in 1 to {vertices}", shown(word)))?;
    Ok((place - 1) as VertexId)
}

/// A word as messages show it: shortened, with escapes for what is not printable.
pub(crate) fn shown(word: &[u8]) -> String {
    const MOST: usize = 40;
    let cut = &word[..word.len().min(MOST)];
    let text: String = String::from_utf8_lossy(cut).escape_debug().collect();
    if cut.len() < word.len() {
        format!("'{text}…'")
    } else {
        format!("'{text}'")
    }
}

/// Why a word is no id of a vertex.
pub(crate) fn no_id(word: &[u8]) -> String {
    let digits = word.iter().all(u8::is_ascii_digit);
    let why = match word {
        [b'-', rest @ ..] if number(rest).is_some() => "ids are not negative",
        _ if digits => "ids are below 2^64",
        _ => "ids are whole numbers; give names numbers first",
    };
    format!("{} is no id of a vertex: {why}", shown(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_their_limits_are_read_and_larger_ones_refused() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(
            (number(b""), number(b"1x"), number(b"-1")),
            (None, None, None)
        );
        assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed(b"9223372036854775808"), None);
        assert_eq!(
            (signed(b"+5"), signed(b"-"), signed(b"--1")),
            (Some(5), None, None)
        );
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let mut lines = Lines::new(&b"\xef\xbb\xbf1 2\n3 4\n"[..]);
        assert_eq!(lines.next_line().unwrap(), Some(&b"1 2"[..]));
    }

    #[test]
    fn lines_end_with_an_error_of_the_file() {
        let mut lines = Lines::new(&b"1 2\0\n3 4\n"[..]);
        assert!(lines.next_line().is_err());
        assert_eq!(lines.next_line().unwrap(), None);
        assert_eq!(lines.number(), 1);
    }

    #[test]
    fn lines_are_counted_through_comments_and_without_a_last_line_feed() {
        let mut lines = Lines::new(&b"# a\r\n\n 1 2 \r\n3 4"[..]);
        assert_eq!(lines.next_content(b"#").unwrap(), Some(&b"1 2"[..]));
        assert_eq!(lines.number(), 3);
        assert_eq!(lines.next_content(b"#").unwrap(), Some(&b"3 4"[..]));
        assert_eq!(lines.number(), 4);
        assert_eq!(lines.next_content(b"#").unwrap(), None);
        assert_eq!(lines.next_content(b"#").unwrap(), None);
    }
}
