//! A guess of the format that may be wrong, said with the trace.

use std::path::Path;

use crate::Note;
use crate::formats::{csv, din, ending, number, text};

/// Lines that are looked at: those of a head are more than need be.
const LINES: usize = 64;

/// What speaks against `format`, found from the content `head`: words that could be fields, of which some are no items.
pub(super) fn doubt(path: &Path, head: &[u8], format: &str) -> Option<Note> {
    if format != text::NAME {
        return None;
    }
    let lines = text::lines(head, LINES);
    dinero(path, head)
        .or_else(|| header(path, &lines))
        .or_else(|| labels(&lines))
}

/// Dinero's lines, in a file whose name says that they are.
fn dinero(path: &Path, head: &[u8]) -> Option<Note> {
    let doubted = ending::is_last(path, din::NAME) && din::may_be(head);
    doubted.then(|| Note {
        code: "may-be-din".to_owned(),
        message: "read as text, where each word is an item: no address in its beginning has a letter, so its lines \
                  could be pairs of any numbers"
            .to_owned(),
        hint: "if this is a trace of Dinero (label and address): --format din".to_owned(),
    })
}

/// A table of one column whose name is not known, in a file whose name says that it is one.
fn header(path: &Path, lines: &[Vec<&[u8]>]) -> Option<Note> {
    let ([name], [second]) = (&lines.first()?[..], &lines.get(1)?[..]) else {
        return None;
    };
    let doubted = ["csv", "tsv"].iter().any(|end| ending::is_last(path, end))
        && number::number(name).is_none()
        && number::number(second).is_some();
    doubted.then(|| {
        let name = String::from_utf8_lossy(name).escape_debug().to_string();
        Note {
            code: "may-be-header".to_owned(),
            message: format!("read as text, where each word is an item, the first, '{name}', too"),
            hint: format!(
                "if it is the name of a column: --format 'csv:address={name}', or 'csv:id={name}' for items that are no addresses"
            ),
        }
    })
}

/// A word for a read or a write in each line, at the same place.
fn labels(lines: &[Vec<&[u8]>]) -> Option<Note> {
    let fields = lines.first()?.len();
    if lines.len() < 2 || lines.iter().any(|line| line.len() != fields) {
        return None;
    }
    let all = |at: usize, is: fn(&[u8]) -> bool| lines.iter().all(|line| is(line[at]));
    let label = (0..fields).find(|&at| all(at, csv::is_kind))?;
    let number = (0..fields).find(|&at| all(at, |word| number::number(word).is_some()))?;
    let word = String::from_utf8_lossy(lines[0][label]).into_owned();
    Some(Note {
        code: "may-be-labels".to_owned(),
        message: format!("read as text, where each word is an item, '{word}' and its like, too"),
        hint: format!(
            "if only word {} of a line is an item: awk '{{print ${}}}' TRACE | reuselens analyze -",
            number + 1,
            number + 1
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_are_no_items_are_doubted() {
        for (name, head, expected) in [
            ("a.din", "0 1000\n1 1008\n", Some("may-be-din")),
            ("a.txt", "0 1000\n1 1008\n", None),
            ("a.csv", "offset\n0\n4096\n", Some("may-be-header")),
            ("a.csv.gz", "offset\n0\n", Some("may-be-header")),
            ("a.txt", "offset\n0\n4096\n", None),
            ("a.csv", "17\n0\n4096\n", None),
            ("a.csv", "offset\nsize\n", None),
            ("a", "0x1000 R\n0x1008 W\n", Some("may-be-labels")),
            ("a", "ld 17 4\n# half\nst 18 4\n", Some("may-be-labels")),
            ("a", "0x1000 R\n0x1008\n", None),
            ("a", "R W\nW R\n", None),
            ("a", "0 1\n1 0\n", None),
            ("a", "0x1000 R", None),
        ] {
            let found = doubt(Path::new(name), head.as_bytes(), text::NAME);
            assert_eq!(
                found.map(|note| note.code).as_deref(),
                expected,
                "{name}: {head}"
            );
        }
        assert!(doubt(Path::new("a.din"), b"0 1000\n1 1008\n", din::NAME).is_none());
    }
}
