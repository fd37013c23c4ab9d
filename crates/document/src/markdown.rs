//! Text in Markdown (GitHub's): as code, and without a meaning of its signs.

use reuselens_units::shown;

/// Text as code in a cell of a table, where `|` needs an escape even there.
pub fn code_in_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Text as code. Fenced by more backticks than there are in it.
pub fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = shown(text);
    let runs = text.split(|letter| letter != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0) + 1);
    match fence.len() {
        1 => format!("`{text}`"),
        _ => format!("{fence} {text} {fence}"),
    }
}

/// Text with its signs escaped, so that they mean nothing in Markdown.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in shown(text).chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' => out.extend(['\\', letter]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '~' => out.push_str("\\~"),
            _ => out.push(letter),
        }
    }
    out
}

/// A sentence of ours: code between backticks stays code, and the signs of all else mean nothing.
pub fn prose(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        // A backtick of a name.
        return plain(text);
    }
    let mut out = String::with_capacity(text.len());
    for (index, piece) in pieces.into_iter().enumerate() {
        if index.is_multiple_of(2) {
            out.push_str(&plain(piece));
        } else if !piece.is_empty() {
            out.push_str(&code(piece));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_names_mean_nothing() {
        assert_eq!(plain("a&lt;*_~~b|"), "a&amp;lt;\\*\\_\\~\\~b\\|");
        assert_eq!(code(""), "");
        assert_eq!(code("a`b"), "`` a`b ``");
        assert_eq!(code_in_cell("a|b"), "`a\\|b`");
    }

    #[test]
    fn code_in_sentences_stays_code() {
        assert_eq!(prose("read `a_b[i]` of x_1"), "read `a_b[i]` of x\\_1");
        assert_eq!(prose("`f` and `g`"), "`f` and `g`");
        // A name that has one.
        assert_eq!(prose("read a`b of <c>"), "read a\\`b of &lt;c>");
    }
}
