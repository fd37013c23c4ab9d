//! Colours, line breaks and shortening of text for a terminal.
//!
//! All text for terminals goes through this file, which shows control characters as escapes, so
//! that names from a program or a file cannot steer the terminal.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use reuselens_units::{shown, shown_lines};

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// A heading, or what matters most.
    Strong,
    /// A remark, or the head of a table.
    Soft,
    /// Accesses that hit.
    Hit,
    /// Accesses that miss.
    Miss,
    /// First touches.
    Cold,
    /// A warning.
    Warn,
}

/// Colours text, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// With colours, or without any.
    pub const fn new(on: bool) -> Self {
        Paint { on }
    }

    /// The text in the colour of its style: one of the sixteen colours that every terminal has. No
    /// two styles differ only by red and green.
    pub fn ink(self, ink: TextStyle, text: &str) -> String {
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
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut column = indent;
    let text = shown_lines(text);
    for word in with_units(&text) {
        let word = word.as_ref();
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

/// Units that stay on the line of their number.
const UNITS: [&str; 14] = [
    "%", "k", "M", "G", "T", "B", "KiB", "MiB", "GiB", "TiB", "s", "ms", "µs", "ns",
];

/// The words of a text, a number and its unit as one.
pub fn with_units(text: &str) -> Vec<Cow<'_, str>> {
    let mut words: Vec<Cow<'_, str>> = Vec::new();
    for word in text.split_whitespace() {
        let bare =
            word.trim_end_matches(|letter: char| letter.is_ascii_punctuation() && letter != '%');
        let is_unit = UNITS.contains(&bare);
        match words
            .last_mut()
            .filter(|last| is_unit && ends_in_digit(last))
        {
            Some(number) => *number = format!("{number} {word}").into(),
            None => words.push(word.into()),
        }
    }
    words
}

fn ends_in_digit(word: &str) -> bool {
    word.ends_with(|letter: char| letter.is_ascii_digit())
}

/// Appends an empty line and a title with `aside` after it, or below it if the line would be longer
/// than `width`.
pub fn heading(out: &mut String, title: &str, aside: &str, width: usize, paint: Paint) {
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
pub fn shorten(text: &str, width: usize) -> String {
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

/// Texts in at most `width` columns, as [`shorten`] has them, but texts that differ stay different:
/// those that would become equal are cut where they agree, or get numbers. Control characters have
/// to be escaped already.
pub fn shorten_all(texts: &[String], width: usize) -> Vec<String> {
    let mut groups: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for text in texts {
        groups.entry(shorten(text, width)).or_default().insert(text);
    }
    let mut names: HashMap<&str, String> = HashMap::new();
    let (alone, equal): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(_, of)| of.len() == 1);
    let mut taken: BTreeSet<String> = alone.iter().map(|(short, _)| short.clone()).collect();
    for (short, of) in alone {
        names.extend(of.into_iter().map(|text| (text, short.clone())));
    }
    for (_, group) in equal {
        let (before, after) = agreement(&group);
        for text in group {
            let around = around_difference(text, before, after, width);
            let numbered = (2..).map(|number| {
                let number = format!(" ({number})");
                shorten(&around, width.saturating_sub(number.len())) + &number
            });
            let mut candidates = std::iter::once(around.clone()).chain(numbered);
            let free = candidates.find(|name| !taken.contains(name));
            let name = free.unwrap_or_default();
            taken.insert(name.clone());
            names.insert(text, name);
        }
    }
    texts
        .iter()
        .map(|text| names[text.as_str()].clone())
        .collect()
}

/// Letters at the beginning and at the end that all texts have.
fn agreement(texts: &BTreeSet<&str>) -> (usize, usize) {
    let first = texts.first().copied().unwrap_or_default();
    let least = texts.iter().map(|text| text.chars().count()).min();
    let least = least.unwrap_or(0);
    let common = |same: &dyn Fn(&str) -> usize| texts.iter().map(|text| same(text)).min();
    let before = common(&|text| {
        let pairs = text.chars().zip(first.chars());
        pairs.take_while(|(one, other)| one == other).count()
    });
    let before = before.unwrap_or(0).min(least);
    let after = common(&|text| {
        let pairs = text.chars().rev().zip(first.chars().rev());
        pairs.take_while(|(one, other)| one == other).count()
    });
    (before, after.unwrap_or(0).min(least - before))
}

/// A text in `width` columns with what comes after its first `before` letters, and before its last
/// `after` ones, as far as that fits; of the rest, the beginning of the text.
fn around_difference(text: &str, before: usize, after: usize, width: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    let own = &letters[before..letters.len() - after];
    // Both ellipses and a letter of the beginning.
    let own: String = own.iter().take(width.saturating_sub(3)).collect();
    let left = width.saturating_sub(own.chars().count() + 2);
    let head = left.min(before).div_ceil(2);
    // A part of what comes just before and after the difference says what it is in.
    let lead = (left - head).min(before - head).div_ceil(2);
    let tail = (left - head - lead).min(after);
    let part = |range: std::ops::Range<usize>| letters[range].iter().collect::<String>();
    let end = letters.len() - after;
    let mut found = part(0..head);
    found.push_str(if head + lead < before { "…" } else { "" });
    found.push_str(&part(before - lead..before));
    found.push_str(&own);
    found.push_str(&part(end..end + tail));
    found.push_str(if tail < after { "…" } else { "" });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_not_between_a_number_and_its_unit() {
        let wrapped = wrap("it has 7.2 M misses (45 %), of 32 KiB; in 12 k", 12, 0);
        let expected = "it has 7.2 M\nmisses\n(45 %), of\n32 KiB; in\n12 k";
        assert_eq!(wrapped, expected);
    }

    #[test]
    fn names_that_differ_stay_different_when_they_are_cut() {
        let name = |kind: &str| {
            format!(
                "void cub::DeviceReduceKernel<cub::Policy<{kind}, 256>, float*, float*, int, cub::Sum>"
            )
        };
        let texts = [
            name("float"),
            name("double"),
            name("long"),
            name("float"),
            "k".to_owned(),
        ];
        for width in [12, 20, 24, 40, 60] {
            let short = shorten_all(&texts, width);
            assert!(
                short.iter().all(|text| text.chars().count() <= width),
                "{short:?}"
            );
            let distinct: BTreeSet<&String> = short.iter().collect();
            assert_eq!(
                (distinct.len(), &short[0], &short[4][..]),
                (4, &short[3], "k"),
                "{short:?}"
            );
        }
        let short = shorten_all(&texts, 40);
        assert!(
            short[1].contains("double") && short[2].contains("long"),
            "{short:?}"
        );
        // What differs is longer than there is room, and begins alike.
        let texts =
            ["a", "b", "c"].map(|end| format!("{}{end}{}{end}", "x".repeat(9), "y".repeat(30)));
        let mut texts: Vec<String> = texts.to_vec();
        texts.extend(
            (0..12).map(|at| format!("begin{}same{at:02}{}", "z".repeat(40), "w".repeat(40))),
        );
        let short = shorten_all(&texts, 12);
        let distinct: BTreeSet<&String> = short.iter().collect();
        assert_eq!(distinct.len(), texts.len(), "{short:?}");
        assert!(
            short.iter().all(|text| text.chars().count() <= 12),
            "{short:?}"
        );
    }

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
