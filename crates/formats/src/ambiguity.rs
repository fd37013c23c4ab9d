//! A remark on a trace that was detected as text, where its lines look as if they were another
//! format: din, a column of numbers under its name, lines with a word for read or write, or any
//! table.
//!
//! Used by `read` when the user names no format. The trace is read as text in any case; the remark
//! says which `--format` to try.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{csv, din, extension, number, text};
use reuselens_trace::Note;

/// Lines that are looked at: those of a head are more than need be.
const LINES: usize = 64;

/// What speaks against `format`, found from the content `head`: words that could be fields, of
/// which some are no items.
pub(super) fn remark(path: &Path, head: &[u8], format: &str) -> Option<Note> {
    if format != text::NAME {
        return None;
    }
    let lines = text::lines(head, LINES);
    dinero(path, head)
        .or_else(|| header(path, head, &lines))
        .or_else(|| labels(path, head, &lines))
        .or_else(|| table(path, head, &lines))
}

/// Dinero's lines, in a file whose name says that they are.
fn dinero(path: &Path, head: &[u8]) -> Option<Note> {
    let is_ambiguous = extension::is_last(path, din::NAME) && din::may_be(head);
    is_ambiguous.then(|| Note {
        code: "may-be-din".to_owned(),
        message: "read as text, where each word is an item: no address in its beginning has a letter, so its lines \
                  could be pairs of any numbers"
            .to_owned(),
        hint: "if this is a trace of Dinero (label and address): --format din".to_owned(),
    })
}

/// A table of one column, by that column's name, or by the file's if it is a name above nothing but
/// numbers.
fn header(path: &Path, head: &[u8], lines: &[Vec<&[u8]>]) -> Option<Note> {
    let (names, numbers) = lines.split_first()?;
    let first = text::first_line(head);
    let name = String::from_utf8_lossy(first).into_owned();
    let is_table = ["csv", "tsv"]
        .iter()
        .any(|end| extension::is_last(path, end));
    let is_known = csv::is_item(&name);
    let is_ambiguous = !numbers.is_empty()
        && numbers
            .iter()
            .all(|line| matches!(line[..], [word] if is_known || is_number(word)))
        && (is_table || is_known)
        && first.starts_with(names[0])
        && !names.iter().any(|word| looks_like_number(word));
    is_ambiguous.then(|| Note {
        code: "may-be-header".to_owned(),
        message: format!(
            "read as text, where each word is an item, the first line, '{}', too",
            name.escape_debug()
        ),
        hint: "if it is the name of a column: --format csv:address=1, or csv:id=1 for items that are no addresses"
            .to_owned(),
    })
}

/// A word for a read or a write in each line, at the same place.
fn labels(path: &Path, head: &[u8], lines: &[Vec<&[u8]>]) -> Option<Note> {
    let fields = lines.first()?.len();
    if lines.len() < 2 || lines.iter().any(|line| line.len() != fields) {
        return None;
    }
    let all = |at: usize, is: fn(&[u8]) -> bool| lines.iter().all(|line| is(line[at]));
    let label = (0..fields).find(|&at| all(at, csv::is_kind))?;
    let item = item(lines, (0..fields).filter(|&at| all(at, is_number)))?;
    let word = String::from_utf8_lossy(lines[0][label]).into_owned();
    let (item, label) = (item + 1, label + 1);
    let columns = format!("csv:address={item},kind={label},header=no");
    let hint = format!("if it is a table: {}", command(path, head, &columns));
    Some(Note {
        code: "may-be-labels".to_owned(),
        message: format!("read as text, where each word is an item, '{word}' and its like, too"),
        hint,
    })
}

/// Two words or more in each line, and in each line as many: a table, or items in lines of equal
/// length.
fn table(path: &Path, head: &[u8], lines: &[Vec<&[u8]>]) -> Option<Note> {
    let fields = lines.first()?.len();
    if lines.len() < 2 || fields < 2 || lines.iter().any(|line| line.len() != fields) {
        return None;
    }
    let has_header = !lines[0].iter().any(|word| looks_like_number(word))
        && lines[1..].iter().flatten().any(|word| is_number(word));
    let rows = if has_header { &lines[1..] } else { lines };
    let numbers = (0..fields).filter(|&at| rows.iter().all(|line| is_number(line[at])));
    let item = item(rows, numbers).unwrap_or(0);
    let column = if has_header {
        String::from_utf8_lossy(lines[0][item]).into_owned()
    } else {
        (item + 1).to_string()
    };
    let header = if has_header { "" } else { ",header=no" };
    let columns = format!("csv:address={column}{header}");
    Some(Note {
        code: "may-be-table".to_owned(),
        message: format!(
            "read as text, where each word is an item, though each line has {fields} words"
        ),
        hint: format!(
            "if it is a table, name the column of addresses (or id= for ids, and size=): {}",
            command(path, head, &columns)
        ),
    })
}

/// The option that reads a text with these columns; where lines begin with `#`, the command.
fn command(path: &Path, head: &[u8], columns: &str) -> String {
    let delimiter = if text::first_line(head).contains(&b'\t') {
        "tab"
    } else {
        "space"
    };
    let option = format!("--format {columns},delimiter={delimiter}");
    if !head
        .split(|&byte| byte == b'\n')
        .any(|line| line.starts_with(b"#"))
    {
        return option;
    }
    let unpacked = if extension::is_packed(path) {
        "the unpacked TRACE"
    } else {
        "TRACE"
    };
    format!("grep -v '^#' {unpacked} | reuselens analyze - {option}")
}

/// Of columns of numbers the one that has items: in hexadecimal, or else one whose numbers do not
/// only grow, as times and serial numbers do, with the most different numbers.
fn item(lines: &[Vec<&[u8]>], columns: impl Iterator<Item = usize>) -> Option<usize> {
    let worth = |&at: &usize| {
        let words: BTreeSet<_> = lines.iter().map(|line| line[at]).collect();
        let is_hexadecimal = words.iter().all(|word| word.starts_with(b"0x"));
        let numbers = lines.iter().map(|line| number::number(line[at]));
        let grows = words.len() > 1 && numbers.is_sorted();
        // Where all columns grow, a time is the first of them.
        let place = if grows { at as isize } else { -(at as isize) };
        (is_hexadecimal, words.len() > 1, !grows, words.len(), place)
    };
    columns.max_by_key(worth)
}

fn is_number(word: &[u8]) -> bool {
    number::number(word).is_some()
}

/// Whether a word could be a number in some way of writing, so that it is hardly a name.
fn looks_like_number(word: &[u8]) -> bool {
    let begins = word
        .first()
        .is_some_and(|byte| byte.is_ascii_digit() || b"+-.".contains(byte));
    begins || word.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_text_gets_a_remark() {
        for (name, head, expected) in [
            ("a.din", "0 1000\n1 1008\n", Some("may-be-din")),
            ("a.txt", "0 1000\n1 1008\n", Some("may-be-table")),
            ("a.csv", "offset\n0\n4096\n", Some("may-be-header")),
            ("a.csv.gz", "offset\n0\n", Some("may-be-header")),
            ("a.txt", "offset\n0\n4096\n", None),
            ("a.csv", "17\n0\n4096\n", None),
            ("a.csv", "offset\nsize\n", None),
            ("a.csv", "offset\n1\nsize\n", None),
            ("a.csv", "logical block\r\n1\r\n", Some("may-be-header")),
            ("a.csv", "\u{feff}offset\n1\n", Some("may-be-header")),
            ("a.csv", "-1\n5\n", None),
            ("a.csv", "deadbeef\n5\n", None),
            ("a.csv", "# offset\n5\n6\n", None),
            ("a.csv", "# by x\noffset\n5\n", None),
            ("a", "1 100 4096\n2 200 512\n", Some("may-be-table")),
            ("a", "time id size\n1 7 2\n3 7 2\n", Some("may-be-table")),
            (
                "a",
                "0x7F64 P_MEM_RD 10\n0x7F64 P_MEM_WR 20\n",
                Some("may-be-table"),
            ),
            ("a", "I 0x400500\nR 0x10\n", Some("may-be-table")),
            ("a", "5\n7\n", None),
            ("a", "5 6 7\n8 9\n", None),
            ("a.csv", "user1\n17\nuser2\n", None),
            ("a", "addr\n5\n7\n", Some("may-be-header")),
            ("a", "# addr\n5\n7\n", None),
            ("a", "key\nuser3\nuser7\n", Some("may-be-header")),
            ("a", "key\nuser 3\nuser 7\n", None),
            ("a.csv", "word\nuser3\nuser7\n", None),
            ("a", "0x1000 R\n0x1008 W\n", Some("may-be-labels")),
            ("a", "ld 17 4\n# half\nst 18 4\n", Some("may-be-labels")),
            ("a", "0x1000 R\n0x1008\n", None),
            ("a", "R W\nW R\n", Some("may-be-table")),
            ("a", "0 1\n1 0\n", Some("may-be-table")),
            ("a", "0x1000 R", None),
        ] {
            let found = remark(Path::new(name), head.as_bytes(), text::NAME);
            assert_eq!(
                found.map(|note| note.code).as_deref(),
                expected,
                "{name}: {head}"
            );
        }
        assert!(remark(Path::new("a.din"), b"0 1000\n1 1008\n", din::NAME).is_none());
    }

    #[test]
    fn remark_names_the_column_of_addresses() {
        let hint = |name: &str, head: &str| {
            remark(Path::new(name), head.as_bytes(), text::NAME)
                .unwrap()
                .hint
        };
        assert!(hint("a", "R 4 0x10\nW 4 0x20\n").contains("address=3,kind=1"));
        assert!(hint("a", "1 R 10\n1 W 20\n").contains("address=3,kind=2"));
        assert!(hint("a", "1 R\n2 W\n").contains("delimiter=space"));
        assert!(hint("a", "1 R\n#\n2 W\n").contains("'^#' TRACE |"));
        assert!(hint("a.gz", "1 R\n#\n2 W\n").contains("unpacked"));
        // The time grows, the block does not: FIU's traces, and those of cache simulators.
        let fiu = "0 4892 syslogd 904265560 8 W 6 0 ab\n39 4892 syslogd 904265568 8 W 6 0 cd\n\
                   53 2522 kjournald 11 8 W 6 0 ef\n";
        assert!(
            hint("a", fiu).contains("address=4,kind=6"),
            "{}",
            hint("a", fiu)
        );
        let webcachesim = "1 100 4096\n2 200 512\n3 100 4096\n4 300 64\n";
        assert!(hint("a", webcachesim).contains("address=2,header=no,delimiter=space"));
        assert!(hint("a", "1\t5\n2\t6\n").contains("address=2,header=no,delimiter=tab"));
        assert!(hint("a", "time obj\n1 9\n2 7\n").contains("csv:address=obj,delimiter=space"));
        assert!(hint("a", "R\t10\nW\t20\n").contains("csv:address=2,kind=1"));
    }
}
