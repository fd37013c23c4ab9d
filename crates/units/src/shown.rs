//! Text from outside as people may see it: names of files, programs, threads and symbols.

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

fn escaped(text: &str, steers: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match steers(letter) {
            true => out.extend(letter.escape_default()),
            false => out.push(letter),
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
    fn what_a_terminal_obeys_is_escaped() {
        assert_eq!(shown("a\u{1b}[31mb\r\n"), "a\\u{1b}[31mb\\r\\n");
        assert_eq!(shown("\u{9b}2J\u{7f}"), "\\u{9b}2J\\u{7f}");
        assert_eq!(shown("\u{202e}c.exe"), "\\u{202e}c.exe");
        assert_eq!(shown_lines("a\tb\n\u{7}"), "a\tb\n\\u{7}");
    }

    #[test]
    fn other_text_is_borrowed() {
        for text in ["", "src/größe.c:12", "std::vector<int> 数 🦀", "C:\\x"] {
            assert!(matches!(shown(text), Cow::Borrowed(same) if same == text));
        }
    }
}
