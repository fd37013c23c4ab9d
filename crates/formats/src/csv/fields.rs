//! Splits a line of a table into its fields, quoted or not, and finds the delimiter.
//!
//! Used by `columns` for the header, and by `slow_line`.

/// The delimiters that are detected.
pub(super) const DELIMITERS: [u8; 3] = *b",;\t";

/// The delimiter that is found most often in a line, outside of quotes: a comma if there is none.
pub(super) fn delimiter(line: &[u8]) -> u8 {
    let mut counts = [0_usize; DELIMITERS.len()];
    let mut quoted = false;
    for &byte in line {
        quoted ^= byte == b'"';
        let place = DELIMITERS
            .iter()
            .position(|&delimiter| delimiter == byte && !quoted);
        if let Some(place) = place {
            counts[place] += 1;
        }
    }
    let mut best = 0;
    for place in 1..counts.len() {
        if counts[place] > counts[best] {
            best = place;
        }
    }
    DELIMITERS[best]
}

/// The fields of one line, in order. Takes no memory of its own.
pub(super) struct Fields<'a> {
    line: &'a [u8],
    /// Where the next field begins, unless there is none.
    at: Option<usize>,
    delimiter: u8,
    scratch: &'a mut Vec<u8>,
}

impl<'a> Fields<'a> {
    /// The fields of `line`. `scratch` holds a field with doubled quotes, unescaped.
    pub(super) fn new(line: &'a [u8], delimiter: u8, scratch: &'a mut Vec<u8>) -> Fields<'a> {
        Fields {
            line,
            at: Some(0),
            delimiter,
            scratch,
        }
    }

    /// The next field without quotes and without the space around it, or what is wrong with it.
    pub(super) fn next(&mut self) -> Option<Result<&[u8], &'static str>> {
        let mut rest = &self.line[self.at.take()?..];
        if self.delimiter == b' ' {
            // A run of spaces separates once, and there may be some before the first field.
            rest = rest.trim_ascii_start();
            if rest.is_empty() {
                return None;
            }
        }
        let begin = rest
            .iter()
            .position(|&byte| byte != b' ')
            .unwrap_or(rest.len());
        if rest.get(begin) == Some(&b'"') {
            return Some(self.quoted(&rest[begin + 1..]));
        }
        let end = rest.iter().position(|&byte| byte == self.delimiter);
        let from = self.line.len() - rest.len();
        self.at = end.map(|end| from + end + 1);
        Some(Ok(rest[..end.unwrap_or(rest.len())].trim_ascii()))
    }

    /// The field whose opening quote was before `rest`.
    fn quoted(&mut self, rest: &'a [u8]) -> Result<&[u8], &'static str> {
        self.scratch.clear();
        let mut begin = 0;
        loop {
            let quote = rest[begin..].iter().position(|&byte| byte == b'"');
            let Some(quote) = quote.map(|quote| begin + quote) else {
                return Err("a quoted field does not end on its line");
            };
            let part = &rest[begin..quote];
            if rest.get(quote + 1) == Some(&b'"') {
                self.scratch.extend_from_slice(part);
                self.scratch.push(b'"');
                begin = quote + 2;
                continue;
            }
            self.skip_delimiter(&rest[quote + 1..])?;
            if self.scratch.is_empty() {
                return Ok(part);
            }
            self.scratch.extend_from_slice(part);
            return Ok(self.scratch);
        }
    }

    /// Moves past the delimiter that must be next in `rest` after spaces.
    fn skip_delimiter(&mut self, rest: &[u8]) -> Result<(), &'static str> {
        let from = self.line.len() - rest.len();
        for (place, &byte) in rest.iter().enumerate() {
            if byte == self.delimiter {
                self.at = Some(from + place + 1);
                return Ok(());
            }
            if byte != b' ' {
                return Err("something follows a closing quote");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Result<Vec<String>, &'static str> {
        let mut scratch = Vec::new();
        let mut fields = Fields::new(line.as_bytes(), b',', &mut scratch);
        let mut found = Vec::new();
        while let Some(field) = fields.next() {
            found.push(String::from_utf8_lossy(field?).into_owned());
        }
        Ok(found)
    }

    #[test]
    fn fields_are_plain_or_quoted() {
        for (line, expected) in [
            ("a,b", Ok(vec!["a", "b"])),
            ("", Ok(vec![""])),
            (",", Ok(vec!["", ""])),
            (" a , \"b, c\" ,d", Ok(vec!["a", "b, c", "d"])),
            (
                "\"say \"\"a\"\"\",\"\",\"\"\"\"",
                Ok(vec!["say \"a\"", "", "\""]),
            ),
            ("5\" disk,x", Ok(vec!["5\" disk", "x"])),
            ("\"a", Err("a quoted field does not end on its line")),
            ("\"a\"b,c", Err("something follows a closing quote")),
        ] {
            let expected =
                expected.map(|fields| fields.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(split(line), expected, "{line}");
        }
    }

    #[test]
    fn runs_of_spaces_separate_once() {
        let mut scratch = Vec::new();
        let mut fields = Fields::new(b"  a  \"b c\"   d ", b' ', &mut scratch);
        for expected in [b"a".as_slice(), b"b c", b"d"] {
            assert_eq!(fields.next(), Some(Ok(expected)));
        }
        assert_eq!(fields.next(), None);
        assert_eq!(Fields::new(b"  ", b' ', &mut scratch).next(), None);
    }

    #[test]
    fn the_delimiter_is_the_most_frequent() {
        for (line, expected) in [
            ("a,b", b','),
            ("a;b;c,d", b';'),
            ("a\tb", b'\t'),
            ("a", b','),
            ("\"a;b;c\",d", b','),
        ] {
            assert_eq!(delimiter(line.as_bytes()), expected, "{line}");
        }
    }
}
