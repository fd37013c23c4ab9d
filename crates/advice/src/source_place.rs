//! [`SourcePlace`]: `file:line` and `file:line:column`, as findings and reports write places.

use std::fmt;

/// A line of a source file, and the column if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourcePlace<'a> {
    /// The file as the debug information names it.
    pub file: &'a str,
    /// The line, from 1; 0 if it is not known.
    pub line: u64,
    /// The column, from 1.
    pub column: Option<u64>,
}

impl<'a> SourcePlace<'a> {
    /// Parses `file:line` and `file:line:column`; `None` without a line. Files may have colons in
    /// their names: at most the last two parts are numbers.
    pub fn parse(place: &'a str) -> Option<Self> {
        let (before, last) = split_number(place)?;
        Some(match split_number(before) {
            Some((file, line)) => SourcePlace {
                file,
                line,
                column: Some(last),
            },
            None => SourcePlace {
                file: before,
                line: last,
                column: None,
            },
        })
    }
}

impl fmt::Display for SourcePlace<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.file, self.line)?;
        match self.column {
            Some(column) => write!(out, ":{column}"),
            None => Ok(()),
        }
    }
}

/// What is before the last colon, and the number after it.
fn split_number(text: &str) -> Option<(&str, u64)> {
    let (before, number) = text.rsplit_once(':')?;
    let is_number = number.bytes().all(|it| it.is_ascii_digit());
    Some((before, number.parse().ok().filter(|_| is_number)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_parsed_with_and_without_columns() {
        for (place, file, line, column) in [
            ("/p/a.c:12", "/p/a.c", 12, None),
            ("/p/a.cu:12:7", "/p/a.cu", 12, Some(7)),
            ("c:/a.c:3", "c:/a.c", 3, None),
            ("a:1:2:3", "a:1", 2, Some(3)),
            ("a.c:0", "a.c", 0, None),
            (":3", "", 3, None),
        ] {
            let expected = SourcePlace { file, line, column };
            assert_eq!(SourcePlace::parse(place), Some(expected), "{place}");
            assert_eq!(expected.to_string(), place);
        }
        for none in [
            "",
            "a.c",
            "a.c:",
            "a.c:x",
            "a.c:+3",
            "a.c:99999999999999999999",
        ] {
            assert_eq!(SourcePlace::parse(none), None, "{none}");
        }
    }
}
