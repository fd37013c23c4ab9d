//! Colours, line breaks and shortening of text for a terminal.
//!
//! All text of reports goes through this file, which shows control characters as escapes, so that
//! names in a profile cannot steer the terminal.

use reuselens_units::{shown, shown_lines};

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Strong,
    Soft,
    Hit,
    Miss,
    Cold,
    Warn,
}

/// Colours text, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    pub(crate) const fn new(on: bool) -> Self {
        Paint { on }
    }

    /// The text in the colour of its style: one of the sixteen colours that every terminal has. No
    /// two styles differ only by red and green.
    pub(crate) fn ink(self, ink: TextStyle, text: &str) -> String {
        let text = shown_lines(text);
        if !self.on || text.is_empty() {
            return text.into_owned();
        }
        let code = match ink {
            TextStyle::Strong => "1",
            TextStyle::Soft => "2",
            TextStyle::Hit => "34",
            TextStyle::Miss => "33",
            TextStyle::Cold => "35",
            TextStyle::Warn => "1;33",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Breaks text at spaces so that no line is longer than `width`, and indents all but the first.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut column = indent;
    for word in shown_lines(text).split_whitespace() {
        let len = word.chars().count();
        if column > indent && column + 1 + len > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += len;
    }
    out
}

/// Appends an empty line and a title with `aside` after it, or below it if the line would be longer
/// than `width`.
pub(crate) fn heading(out: &mut String, title: &str, aside: &str, width: usize, paint: Paint) {
    let title_columns = title.chars().count();
    out.push('\n');
    out.push_str(&paint.ink(TextStyle::Strong, &wrap(title, width, 0)));
    if !aside.is_empty() {
        let fits = title_columns + 1 + aside.chars().count() <= width;
        out.push_str(if fits { " " } else { "\n  " });
        let aside = if fits {
            aside.to_owned()
        } else {
            wrap(aside, width, 2)
        };
        out.push_str(&paint.ink(TextStyle::Soft, &aside));
    }
    out.push('\n');
}

/// What a name loses first.
const LEAST: &str = " (unknown line)";

/// The text in at most `width` columns: what is cut in the middle becomes an ellipsis, since names
/// differ at their ends.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    let text = shown(text);
    if text.chars().count() <= width || width < 2 {
        return text.into_owned();
    }
    let text = text.strip_suffix(LEAST).unwrap_or(&text);
    let len = text.chars().count();
    if len <= width {
        return text.to_owned();
    }
    let tail = (width - 1) * 3 / 5;
    let head: String = text.chars().take(width - 1 - tail).collect();
    let end: String = text.chars().skip(len - tail).collect();
    format!("{head}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrap_keeps_lines_within_the_width() {
        let text = wrap("one two three four", 12, 4);
        assert_eq!(text, "one two\n    three\n    four");
        assert_eq!(
            wrap("averyveryverylongword x", 8, 2),
            "averyveryverylongword\n  x"
        );
    }

    #[test]
    fn paint_escapes_colours_in_text() {
        let text = "\u{1b}[2Jgone\u{7}";
        let escaped = "\\u{1b}[2Jgone\\u{7}";
        assert_eq!(Paint::new(false).ink(TextStyle::Hit, text), escaped);
        let coloured = format!("\u{1b}[34m{escaped}\u{1b}[0m");
        assert_eq!(Paint::new(true).ink(TextStyle::Hit, text), coloured);
        assert_eq!(wrap(text, 80, 0), escaped);
    }

    #[test]
    fn shorten_keeps_both_ends() {
        assert_eq!(shorten("main > solve > sweep", 11), "main… sweep");
        assert_eq!(shorten("gzip!fn@4295 (unknown line)", 20), "gzip!fn@4295");
        assert_eq!(shorten("a\u{1b}[31mb", 20), "a\\u{1b}[31mb");
    }
}
