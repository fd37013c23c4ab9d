//! Escapes text from outside (names of files, programs, threads and symbols) before people see it:
//! characters that steer a terminal or hide text become visible.

use std::borrow::Cow;

/// A name on one line. Characters that a terminal obeys or that hide what follows become Rust's
/// escapes (`\u{1b}`, `\n`): control characters, line breaks, and signs that turn the direction of
/// text. Text without them is borrowed. Linear in the length of the text.
pub fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, steers)
}

/// The same for text of several lines: line breaks and tabs stay.
pub fn shown_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| {
        !matches!(letter, '\n' | '\t') && steers(letter)
    })
}

/// The same document in JSON, of which a terminal obeys nothing: what JSON allows in strings and
/// [`shown`] escapes is escaped as JSON has it (`\u009b`). `json` must be valid. Linear in its
/// length.
pub fn shown_json(json: &str) -> Cow<'_, str> {
    // Below are letters of the document itself, or escaped already.
    let steers = |letter| letter >= '\u{7f}' && steers(letter);
    replaced(json, steers, |letter, out| {
        // None of those is beyond 16 bits.
        out.push_str(&format!("\\u{:04x}", u32::from(letter)));
    })
}

fn escaped(text: &str, steers: impl Fn(char) -> bool) -> Cow<'_, str> {
    replaced(text, steers, |letter, out| {
        out.extend(letter.escape_default())
    })
}

/// The text with what `escape` appends in the place of each letter that `steers`.
fn replaced(
    text: &str,
    steers: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    if !text.chars().any(&steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if steers(letter) {
            escape(letter, &mut out)
        } else {
            out.push(letter)
        }
    }
    Cow::Owned(out)
}

fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            // Line and paragraph separator.
            '\u{2028}' | '\u{2029}'
            // Marks, embeddings, overrides and isolates of Unicode's bidirectional algorithm.
            | '\u{61c}' | '\u{200e}' | '\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(shown("a\u{1b}[31mb\r\n"), "a\\u{1b}[31mb\\r\\n");
        assert_eq!(shown("\u{9b}2J\u{7f}"), "\\u{9b}2J\\u{7f}");
        assert_eq!(shown("\u{202e}c.exe"), "\\u{202e}c.exe");
        assert_eq!(shown_lines("a\tb\n\u{7}"), "a\tb\n\\u{7}");
    }

    #[test]
    fn json_escapes_control_characters() {
        let json = "{\n \"n\": \"\u{7f}\u{9b}2J\u{202e}ö\\u001b\"\n}";
        let expected = "{\n \"n\": \"\\u007f\\u009b2J\\u202eö\\u001b\"\n}";
        assert_eq!(shown_json(json), expected);
        assert!(matches!(shown_json(expected), Cow::Borrowed(_)));
    }

    #[test]
    fn text_without_control_characters_is_borrowed() {
        for text in ["", "src/größe.c:12", "std::vector<int> 数 🦀", "C:\\x"] {
            assert!(matches!(shown(text), Cow::Borrowed(same) if same == text));
        }
    }
}
