//! Reads words as items.

use std::collections::HashMap;
use std::ops::Range;

use crate::formats::feed::{ENOUGH, Feed, item};
use crate::formats::text::{BYTE_ORDER_MARK, is_binary, words};
use crate::{Block, Input, Process, Source, Step, TraceError};

/// The ids of names. Numbers of this range in the text are treated as names, so that no name and
/// no number ever share an id.
const NAMES: Range<u64> = 1 << 63..(1 << 63) + (1 << 32);

/// Reads words as items. A number is its own id; names are numbered from 2^63 in the order in which
/// they appear. Memory grows with the number of distinct names, not with the length of the input.
pub struct Reader {
    input: Input,
    feed: Feed,
    names: Names,
}

impl Reader {
    /// A reader at the start of `input`.
    ///
    /// # Errors
    /// [`TraceError::Empty`] or [`TraceError::Io`] if the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<Reader, TraceError> {
        if input.head()?.starts_with(BYTE_ORDER_MARK) {
            input.consume(BYTE_ORDER_MARK.len());
        }
        Ok(Reader {
            input,
            feed: Feed::new(Process::default()),
            names: Names::default(),
        })
    }
}

impl Source for Reader {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        let (input, names) = (&mut self.input, &mut self.names);
        self.feed.next(block, |rows| fill(input, names, rows))
    }

    fn has_addresses(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        format!("items in the text of {}", self.input.path().display())
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }
}

fn fill(input: &mut Input, names: &mut Names, rows: &mut Block) -> Result<bool, TraceError> {
    // A line has at most MAX_LINE / 2 words, so a block stays within 64 Ki rows.
    while rows.len() < ENOUGH {
        let Some(line) = input.line()? else {
            return Ok(false);
        };
        if let Some(&byte) = line.iter().find(|&&byte| is_binary(byte)) {
            return Err(input.bad_line(format!(
                "byte {byte:#04x} does not belong in text; for raw 64-bit items say `--format u64`"
            )));
        }
        for word in words(line) {
            rows.push(item(names.id(word)));
        }
    }
    Ok(true)
}

/// The names seen so far.
#[derive(Default)]
struct Names {
    ids: HashMap<Box<[u8]>, u64>,
}

impl Names {
    fn id(&mut self, word: &[u8]) -> u64 {
        match number(word) {
            Some(id) if !NAMES.contains(&id) => id,
            Some(id) => self.named(id.to_string().as_bytes()),
            None => self.named(word),
        }
    }

    fn named(&mut self, word: &[u8]) -> u64 {
        if let Some(&id) = self.ids.get(word) {
            return id;
        }
        let id = NAMES.start + self.ids.len() as u64;
        self.ids.insert(word.into(), id);
        id
    }
}

/// A word of decimal digits, or of hexadecimal digits after `0x`, that fits into 64 bits.
fn number(word: &[u8]) -> Option<u64> {
    let (digits, radix) = match word {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        digits => (digits, 10),
    };
    self::digits(digits, radix)
}

/// The number that digits of that radix write, if they are at least one and it fits into 64 bits.
pub(in crate::formats) fn digits(digits: &[u8], radix: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, &digit| {
        let digit = char::from(digit).to_digit(radix)?;
        value
            .checked_mul(u64::from(radix))?
            .checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbers_or_names() {
        for (word, expected) in [
            ("12", Some(12)),
            ("007", Some(7)),
            ("0xFf", Some(255)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("0x", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("ff", None),
        ] {
            assert_eq!(number(word.as_bytes()), expected, "{word}");
        }
    }

    #[test]
    fn no_number_meets_a_name() {
        let mut names = Names::default();
        let a = names.id(b"a");
        let clash = names.id(a.to_string().as_bytes());
        assert_ne!(a, clash);
        assert_eq!(clash, names.id(format!("{a:#x}").as_bytes()));
        assert_eq!(a, names.id(b"a"));
    }
}
