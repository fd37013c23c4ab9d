//! The format `text`: a word is an item, a number or a name; `#` begins a comment.
//!
//! Used by `lib.rs`, which lists it in `FORMATS`, and by the other text formats, whose files have
//! to be text too (`is_text`).
//!
//! This file detects the format; `reader` reads it, `segment` reads parts of it on several threads,
//! and `writer` writes it.

mod reader;
mod segment;
mod writer;

pub use reader::TextReader as Reader;
pub use writer::TextWriter as Writer;

use reuselens_trace::Confidence;

/// What to type after `--format`.
pub const NAME: &str = "text";
/// One line for `reuselens formats`.
pub const SUMMARY: &str =
    "one item per word or line: numbers (decimal, 0x hex) or names; # begins a comment";

/// What some editors put before the first word.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether `head` is text made of numbers, or at least of plain words.
pub fn detect(head: &[u8]) -> Confidence {
    let plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"_.:/-+@$%".contains(byte) || *byte >= 0x80;
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let mut found = head.split(|&byte| byte == b'\n').flat_map(words).peekable();
    if !is_text(head) || found.peek().is_none() {
        return Confidence::No;
    }
    if found.all(|word| word.len() <= 256 && word.iter().all(plain)) {
        Confidence::Maybe
    } else {
        Confidence::No
    }
}

/// Whether there are no bytes that text does not have.
pub(super) fn is_text(head: &[u8]) -> bool {
    !head.iter().any(|&byte| is_binary(byte))
}

/// The first line, without what ends it.
pub(super) fn first_line(head: &[u8]) -> &[u8] {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let line = head.split(|&byte| byte == b'\n').next();
    line.unwrap_or_default().trim_ascii()
}

/// The words of the first `most` whole lines that have any.
pub(super) fn lines(head: &[u8], most: usize) -> Vec<Vec<&[u8]>> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let whole = memchr::memrchr(b'\n', head).unwrap_or(0);
    let lines = head[..whole].split(|&byte| byte == b'\n');
    let words = lines.map(|line| words(line).collect::<Vec<_>>());
    words.filter(|words| !words.is_empty()).take(most).collect()
}

/// The words of a line up to its comment.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    words.take_while(|word| word[0] != b'#')
}

fn is_binary(byte: u8) -> bool {
    (byte < 0x20 && !byte.is_ascii_whitespace()) || byte == 0x7f
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_detected_for_plain_words_only() {
        for (head, expected) in [
            (&b"a\nb\nc\na\n"[..], Confidence::Maybe),
            (b"# ids\n1 2 0x3\n", Confidence::Maybe),
            (b"# only a comment\n", Confidence::No),
            (b"{\"a\": 1}\n", Confidence::No),
            (b"1,2,3\n", Confidence::No),
            (b"a\0b", Confidence::No),
        ] {
            assert_eq!(detect(head), expected, "{}", String::from_utf8_lossy(head));
        }
    }
}
