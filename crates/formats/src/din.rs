//! The `din` traces of the cache simulator Dinero: an access a line, `label address`.
//!
//! Used by `lib.rs`, which lists it in `FORMATS`. `line_reader::LineReader` reads the lines.
//!
//! Source: the manual page of Dinero III and the `din` format of Dinero IV (Edler and Hill, 1998):
//! the label is 0 for a read, 1 for a write, 2 for an instruction fetch, 3 for an access of unknown
//! type, 4 for a flush; the address is hexadecimal; whatever follows on the line is ignored. Sizes
//! are not in it.

use std::path::Path;

use memchr::memchr;

use crate::batch::Batch;
use crate::line_reader::{LineFormat, LineReader};
use crate::lines::{self, Bad, next_line, shown};
use crate::number::{digits, hexadecimal};
use crate::text;
use reuselens_io::Input;
use reuselens_trace::Confidence;
use reuselens_trace::{Block, Kind, Process, Row, TraceError};

/// What to type after `--format`.
pub const NAME: &str = "din";
/// One line for `reuselens formats`.
pub const SUMMARY: &str =
    "Dinero: label and hexadecimal address; 0 read, 1 write, 2 instruction fetch";

/// How many bytes after the address are searched for the end of the line on the fast path.
const NEAR: usize = 4 << 10;

/// Certain if there are two lines or more of a trace, ten to each that is not, and some address has
/// a letter: lines of two decimal numbers could be items as well.
pub fn detect(head: &[u8]) -> Confidence {
    match lines_and_letters(head) {
        Some((2.., true)) => Confidence::Certain,
        _ => Confidence::No,
    }
}

/// Whether it could be a trace, if something else speaks for it too.
pub(super) fn may_be(head: &[u8]) -> bool {
    matches!(lines_and_letters(head), Some((1.., _)))
}

/// How many complete lines are of a trace, if nearly all are, and whether some address has a
/// letter. A damaged line, or a title, is to be reported, and not to make items of labels.
fn lines_and_letters(head: &[u8]) -> Option<(usize, bool)> {
    if !text::is_text(head) {
        return None;
    }
    let whole = head.iter().rposition(|&byte| byte == b'\n').unwrap_or(0);
    let (mut lines, mut others, mut letters) = (0, 0, false);
    for line in head[..whole].split(|&byte| byte == b'\n') {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        if DinLine::read(line).is_none() {
            others += 1;
            continue;
        }
        let address = line.split(u8::is_ascii_whitespace).nth(1);
        letters |= address.is_some_and(|word| word.iter().any(u8::is_ascii_alphabetic));
        lines += 1;
    }
    (others * 10 <= lines).then_some((lines, letters))
}

/// Reads Dinero's lines. The size of an access is not known and taken as one byte: it accesses the
/// item of its address and no other. An instruction fetch is no access; it gives the accesses after
/// it their `pc`, plus one, since a row's instruction is looked up just before its `pc`.
/// An access of unknown type (3) is a load; flushes (4) are passed over.
pub type Reader = LineReader<Din>;

/// What is known from the lines of a Dinero trace so far.
#[derive(Default)]
pub struct Din {
    /// The `pc` of the accesses that follow: just after the last instruction.
    pc: u64,
}

impl Reader {
    /// A reader at the start of `input`.
    ///
    /// # Errors
    /// `FileError::Empty` or `FileError::Io` if the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<Reader, TraceError> {
        input.head()?;
        Ok(LineReader::of(input, Process::default(), Din::default()))
    }
}

impl LineFormat for Din {
    fn describe(&self, path: &Path) -> String {
        format!(
            "data accesses of the Dinero trace {}, each taken as one byte",
            path.display()
        )
    }

    fn parse(&mut self, text: &[u8], rows: &mut Block, batch: &mut Batch) -> Result<usize, Bad> {
        let mut pc = self.pc;
        let taken = lines::each(text, rows, batch, |text, at, batch| {
            if let Some((line, next)) = DinLine::fast(text, at) {
                line.push(&mut pc, batch);
                return Ok(next);
            }
            slow_line(text, at, &mut pc, batch)
        });
        self.pc = pc;
        taken
    }
}

/// The slow path: any line, damaged ones among them.
#[cold]
#[inline(never)]
fn slow_line(text: &[u8], at: usize, pc: &mut u64, batch: &mut Batch) -> Result<usize, Bad> {
    let (line, next) = lines::line(text, at)?;
    if line.trim_ascii().is_empty() {
        return Ok(next);
    }
    let Some(line) = DinLine::read(line) else {
        let what = format!(
            "'{}' is no line of din: a label from 0 to 4 and a hexadecimal address are expected",
            shown(line)
        );
        return Err(Bad { at, what });
    };
    line.push(pc, batch);
    Ok(next)
}

/// One line of the trace.
struct DinLine {
    /// From 0 to 4.
    label: u8,
    addr: u64,
}

impl DinLine {
    /// A line of one digit, one space and an address, and where the next line begins.
    #[inline(always)]
    fn fast(text: &[u8], at: usize) -> Option<(DinLine, usize)> {
        let &[label, b' '] = text.get(at..)?.first_chunk::<2>()? else {
            return None;
        };
        let label = label.wrapping_sub(b'0');
        if label > 4 {
            return None;
        }
        let (addr, end) = hexadecimal(text, at + 2)?;
        if let Some(next) = next_line(text, end) {
            return Some((DinLine { label, addr }, next));
        }
        if text[end] != b' ' {
            return None;
        }
        let near = &text[end..text.len().min(end + NEAR)];
        Some((DinLine { label, addr }, end + memchr(b'\n', near)? + 1))
    }

    fn read(line: &[u8]) -> Option<DinLine> {
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let &[label @ b'0'..=b'4'] = words.next()? else {
            return None;
        };
        let addr = match words.next()? {
            [b'0', b'x' | b'X', addr @ ..] | addr => digits(addr, 16)?,
        };
        let label = label - b'0';
        Some(DinLine { label, addr })
    }

    /// Remembers an instruction, or adds the row of an access.
    #[inline(always)]
    fn push(&self, pc: &mut u64, batch: &mut Batch) {
        let kind = if self.label == 1 {
            Kind::Store
        } else {
            Kind::Load
        };
        let row = Row {
            kind,
            size: 1,
            pc: *pc,
            addr: self.addr,
        };
        batch.push_if(self.label != 2 && self.label != 4, row);
        *pc = if self.label == 2 {
            self.addr.wrapping_add(1)
        } else {
            *pc
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_lines_are_refused() {
        for (line, expected) in [
            ("0 7fff1234", Some((0, 0x7fff_1234))),
            ("2  0x40a0\tfoo bar", Some((2, 0x40a0))),
            (" 1 FFFFFFFFFFFFFFFF\r", Some((1, u64::MAX))),
            ("5 10", None),
            ("10 10", None),
            ("0", None),
            ("0 ", None),
            ("0 xyz", None),
            ("0 10000000000000000", None),
            ("r 10", None),
            ("", None),
        ] {
            let read = DinLine::read(line.as_bytes()).map(|line| (line.label, line.addr));
            assert_eq!(read, expected, "{line}");
        }
    }

    #[test]
    fn din_is_detected_only_with_letters_in_addresses() {
        for (head, expected) in [
            (&b"0 7fff1234\n1 7fff1238\n"[..], Confidence::Certain),
            (b"2 400\n0 7f00\n0 7f08 word\n1 7f1", Confidence::Certain),
            (b"0 1\n0 2\n1 3\n", Confidence::No),
            (b"0 7fff1234\n", Confidence::No),
            (b"0 7fff1234\n9 7fff1238\n", Confidence::No),
            (b"a b\nc d\n", Confidence::No),
        ] {
            assert_eq!(detect(head), expected, "{}", String::from_utf8_lossy(head));
        }
    }

    /// What is damaged, or a title, is for the reader to report: as text its labels would be items.
    #[test]
    fn din_is_detected_despite_a_damaged_line() {
        let trace = "0 7fff1234\n1 7fff1238\n".repeat(5);
        for bad in ["zz top", "# a title", "7 7fff1234", "0"] {
            let title = format!("{bad}\n{trace}");
            let amid = format!("{trace}{bad}\n{trace}");
            let often = format!("{bad}\n{bad}\n{trace}");
            let found = [title, amid, often].map(|head| detect(head.as_bytes()));
            let certain = Confidence::Certain;
            assert_eq!(found, [certain, certain, Confidence::No], "{bad}");
        }
    }
}
