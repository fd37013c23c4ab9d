//! Comma-separated values with a header line: the columns are found by their names.
//!
//! Used by `lib.rs`, which lists it in `FORMATS`.
//!
//! Source: RFC 4180. In addition semicolons, tabs and, where the user asks for it, runs of spaces
//! may separate; a quoted field may not hold the end of a line, so that a damaged file cannot
//! swallow the rest of itself.

mod choice;
mod columns;
mod fast_line;
mod fields;
mod kinds;
mod reader;
mod slow_line;
mod threads;

pub use reader::TableReader as Reader;

use columns::{Role, TableLayout};
use fields::{Fields, delimiter};

use crate::lines::shown;
use crate::{number, text};
use reuselens_trace::Confidence;
use reuselens_units::counted;

/// What to type after `--format`.
pub const NAME: &str = "csv";
/// One line for `reuselens formats`.
pub const SUMMARY: &str =
    "a table with a header line: columns called address or id, size, kind, pc, thread";

/// Certain if the header names a column of addresses or ids, and the line after it has as many
/// fields. A header of one word could be an item or a comment: that is a table only if the
/// user asks for this format.
pub fn detect(head: &[u8]) -> Confidence {
    if !text::is_text(head) {
        return Confidence::No;
    }
    let head = head.strip_prefix(text::BYTE_ORDER_MARK).unwrap_or(head);
    let mut lines = head.split_inclusive(|&byte| byte == b'\n');
    let (Some(header), second) = (lines.next(), lines.next()) else {
        return Confidence::No;
    };
    let Some(layout) = TableLayout::detected(header.trim_ascii_end()) else {
        return Confidence::No;
    };
    match second {
        Some(line) if line.ends_with(b"\n") => match misfit_of(&layout, line.trim_ascii_end()) {
            None => Confidence::Certain,
            Some(_) => Confidence::No,
        },
        _ => Confidence::Maybe,
    }
}

/// Why a text is no table of ours although its first line names a column of addresses or ids, as a
/// sentence with what to do.
pub(super) fn misfit(head: &[u8]) -> Option<String> {
    let head = head.strip_prefix(text::BYTE_ORDER_MARK).unwrap_or(head);
    let mut lines = head.split(|&byte| byte == b'\n');
    let (header, line) = (lines.next()?, lines.next()?);
    let layout = TableLayout::detected(header.trim_ascii_end())?;
    misfit_of(&layout, line.trim_ascii_end())
}

/// The columns, in words, of a text that is no known table and may be one all the same: its first
/// lines have as many, more than one.
pub(super) fn table_columns(head: &[u8]) -> Option<String> {
    let last = memchr::memrchr(b'\n', head)?;
    let mut lines = head[..last].split(|&byte| byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let first = first.strip_prefix(text::BYTE_ORDER_MARK).unwrap_or(first);
    let delimiter = delimiter(first);
    let fields = |line: &[u8]| {
        let mut scratch = Vec::new();
        let mut fields = Fields::new(line.trim_ascii_end(), delimiter, &mut scratch);
        let mut count = 0_usize;
        while let Some(Ok(_)) = fields.next() {
            count += 1;
        }
        count
    };
    let expected = fields(first);
    if expected < 2 || lines.next().is_some_and(|line| fields(line) != expected) {
        return None;
    }
    let names = columns::names(first.trim_ascii_end(), delimiter).ok()?;
    Some(columns::listed(&names))
}

/// What keeps a line from being one of the table: other fields than the header promises, or no
/// number where an address must be.
fn misfit_of(layout: &TableLayout, line: &[u8]) -> Option<String> {
    let mut scratch = Vec::new();
    let mut fields = Fields::new(line, layout.delimiter, &mut scratch);
    let mut count = 0;
    while let Some(field) = fields.next() {
        let field = match field {
            Ok(field) => field,
            Err(wrong) => return Some(format!("it looks like a table, but in line 2 {wrong}")),
        };
        let place = layout.plan.get(count).copied().flatten();
        count += 1;
        if place == Some(Role::Address) && number::number(field).is_none() {
            let field = shown(field);
            return Some(format!(
                "it is a table, but '{field}' in its column of addresses is no number: addresses are decimal, or hexadecimal \
                 with 0x in front, and have no sign, point or separator; if these are names of items, say `--format \
                 csv:id={count}`"
            ));
        }
    }
    let expected = layout.fields;
    (count != expected).then(|| {
        format!(
            "it looks like a table, but its first line has {} and its second {count}",
            counted(expected as u64, "field", "fields")
        )
    })
}

pub(super) use columns::is_item;
pub(super) use kinds::{is_kind, is_scsi_write};

/// Whether a choice of columns is understood; what is wrong with it else.
pub(super) fn check(columns: &str) -> Result<(), String> {
    choice::Choice::read(columns).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misfit_reports_what_is_wrong_in_line_2() {
        for (head, expected) in [
            (
                "address,size\nhere,4\n",
                Some("'here' in its column of addresses"),
            ),
            ("time;address\r\n1;7fff\r\n", Some("csv:id=2")),
            ("address,size\n\"1,024\",4\n", Some("'1,024'")),
            (
                "address,size\n0x10\n",
                Some("has 2 fields and its second 1"),
            ),
            ("address,size\n0x10,4\n", None),
            ("where,size\nhere,4\n", None),
        ] {
            let said = misfit(head.as_bytes());
            match expected {
                Some(words) => assert!(said.as_ref().unwrap().contains(words), "{head}: {said:?}"),
                None => assert_eq!(said, None, "{head}"),
            }
        }
    }

    #[test]
    fn a_table_with_known_names_is_recognised() {
        for (head, expected) in [
            (&b"address,size\n0x10,4\n"[..], Confidence::Certain),
            (b"time;Key;op\r\n1;a b;get\r\n", Confidence::Certain),
            (b"tid\tvaddr\n1\t77\n", Confidence::Certain),
            (b"address,size\n", Confidence::Maybe),
            (b"address,size\n0x10,4", Confidence::Maybe),
            (b"address,size\nhere,4\n", Confidence::No),
            (b"address,size\n0x10\n", Confidence::No),
            (b"address\n0x10\n", Confidence::No),
            (b"# address\n0x10\n", Confidence::No),
            (b"a,b\n1,2\n", Confidence::No),
            (b"1,2\n3,4\n", Confidence::No),
            (b"{\"id\": 1, \"size\": 2}\n{}\n", Confidence::No),
        ] {
            assert_eq!(detect(head), expected, "{}", String::from_utf8_lossy(head));
        }
    }
}
