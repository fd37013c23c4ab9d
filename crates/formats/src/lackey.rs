//! What Valgrind prints with `--tool=lackey --trace-mem=yes`.
//!
//! Used by `lib.rs`, which lists it in `FORMATS`. `line_reader::LineReader` reads the lines.
//!
//! Source: the head comment of `lackey/lk_main.c` in Valgrind and the lines it describes:
//! `I  04001000,3` an instruction, ` L 1ffeffe7e,8` a load, ` S 1ffeffe7e,8` a store,
//! ` M 0421c7cc,4` a load and a store of one instruction, `SB 04001000` the beginning of a
//! superblock. Addresses are hexadecimal, sizes decimal.

use std::path::Path;

use crate::batch::Batch;
use crate::line_reader::{LineFormat, LineReader};
use crate::lines::{self, Bad, next_line, shown};
use crate::number::{self, digits, hexadecimal, short_decimal};
use crate::{extent, text};
use reuselens_io::Input;
use reuselens_trace::Confidence;
use reuselens_trace::{Block, Kind, Process, Row, TraceError};

/// What to type after `--format`.
pub const NAME: &str = "lackey";
/// One line for `reuselens formats`.
pub const SUMMARY: &str = "the output of valgrind --tool=lackey --trace-mem=yes";

/// Whether the first line that is not a message of Valgrind itself is one of a trace.
pub fn detect(head: &[u8]) -> Confidence {
    if !text::is_text(head) {
        return Confidence::No;
    }
    let banner = head
        .split(|&byte| byte == b'\n')
        .take_while(|line| is_message(line));
    if banner
        .into_iter()
        .any(|line| line.windows(8).any(|part| part == b"Lackey, "))
    {
        return Confidence::Certain;
    }
    let first = head
        .split(|&byte| byte == b'\n')
        .find(|line| !is_message(line) && !is_superblock(line));
    match first.map(LackeyLine::read) {
        Some(Some(_)) => Confidence::Certain,
        _ => Confidence::No,
    }
}

/// Reads lackey's lines. Instruction lines are no accesses; they give the accesses after them their
/// `pc`, plus one, since a row's instruction is looked up just before its `pc`. `M`
/// becomes a load and a store.
pub type Reader = LineReader<Lackey>;

/// What is known from lackey's lines so far.
#[derive(Default)]
pub struct Lackey {
    /// The `pc` of the accesses that follow: just after the last instruction.
    pc: u64,
}

impl Reader {
    /// A reader at the start of `input`.
    ///
    /// # Errors
    /// `FileError::Empty` or `FileError::Io` if the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<Reader, TraceError> {
        let process = process(input.head()?);
        Ok(LineReader::of(input, process, Lackey::default()))
    }
}

impl LineFormat for Lackey {
    fn describe(&self, path: &Path) -> String {
        format!(
            "data accesses that Valgrind's lackey printed in {}, threads not distinguished",
            path.display()
        )
    }

    fn parse(&mut self, text: &[u8], rows: &mut Block, batch: &mut Batch) -> Result<usize, Bad> {
        let mut pc = self.pc;
        let taken = lines::each(text, rows, batch, |text, at, batch| {
            if let Some((line, next)) = LackeyLine::fast(text, at) {
                line.push(&mut pc, batch);
                return Ok(next);
            }
            slow_line(text, at, &mut pc, batch)
        });
        self.pc = pc;
        taken
    }
}

/// The slow path: any line, lines that are not of the trace among them.
#[cold]
#[inline(never)]
fn slow_line(text: &[u8], at: usize, pc: &mut u64, batch: &mut Batch) -> Result<usize, Bad> {
    let (line, next) = lines::line(text, at)?;
    if is_message(line) || is_superblock(line) {
        return Ok(next);
    }
    let Some(line) = LackeyLine::read(line) else {
        let what = format!(
            "'{}' is no line of lackey; keep the program's own output apart with valgrind's --log-file",
            shown(line)
        );
        return Err(Bad { at, what });
    };
    if line.what != b'I' && !extent::fits(line.addr, line.size, extent::INSTRUCTION) {
        let what = extent::wrong(line.addr, line.size, extent::INSTRUCTION, SIZE);
        return Err(Bad { at, what });
    }
    if line.what == b'M' {
        batch.push(Kind::Load, line.size, *pc, line.addr);
        batch.push(Kind::Store, line.size, *pc, line.addr);
    } else if let (b'L' | b'S', 256..) = (line.what, line.size) {
        batch.push(line.kind(), line.size, *pc, line.addr);
    } else {
        line.push(pc, batch);
    }
    Ok(next)
}

/// Whether a line is a message of Valgrind itself, or empty.
fn is_message(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
        || [b"==", b"--", b"**"]
            .iter()
            .any(|mark| line.starts_with(*mark))
}

/// Whether a line says that a superblock begins, as `--trace-superblocks=yes` adds them:
/// `SB 04001000`. No access.
fn is_superblock(line: &[u8]) -> bool {
    let addr = line.strip_prefix(b"SB ").map(<[u8]>::trim_ascii);
    addr.is_some_and(|addr| digits(addr, 16).is_some())
}

/// The process that Valgrind's opening lines name: `==123== Command: ./a.out x`.
fn process(head: &[u8]) -> Process {
    let mut process = Process::default();
    for line in head
        .split(|&byte| byte == b'\n')
        .take_while(|line| is_message(line))
    {
        let line = String::from_utf8_lossy(line);
        let Some((pid, said)) = line
            .strip_prefix("==")
            .and_then(|rest| rest.split_once("== "))
        else {
            continue;
        };
        process.pid = pid.parse().unwrap_or(process.pid);
        if let Some(command) = said.strip_prefix("Command: ") {
            process.executable = command
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned();
        }
    }
    process
}

/// The column of sizes, after the comma.
const SIZE: usize = 2;
/// The first three characters of a line, the first lowest.
const INSTRUCTION: u64 = u64::from_le_bytes(*b"I  \0\0\0\0\0");
const LOAD: u64 = u64::from_le_bytes(*b" L \0\0\0\0\0");
const STORE: u64 = u64::from_le_bytes(*b" S \0\0\0\0\0");

/// One line of the trace.
struct LackeyLine {
    what: u8,
    addr: u64,
    size: u64,
}

impl LackeyLine {
    /// A line of an instruction, or of a load or store of less than 100 bytes, exactly as Valgrind
    /// prints it, and where the next line begins.
    #[inline(always)]
    fn fast(text: &[u8], at: usize) -> Option<(LackeyLine, usize)> {
        let begin = number::eight(text, at)? & 0xff_ffff;
        let (fetch, store) = (begin == INSTRUCTION, begin == STORE);
        // Loads and stores come in no order that a branch could predict.
        if !(fetch | store | (begin == LOAD)) {
            return None;
        }
        let what = if store { b'S' } else { b'L' };
        let what = if fetch { b'I' } else { what };
        let (addr, comma) = hexadecimal(text, at + 3)?;
        let (size, end) = short_decimal(text, comma + 1)?;
        if text.get(comma) != Some(&b',') || size == 0 {
            return None;
        }
        Some((LackeyLine { what, addr, size }, next_line(text, end)?))
    }

    fn kind(&self) -> Kind {
        if self.what == b'S' {
            Kind::Store
        } else {
            Kind::Load
        }
    }

    /// Remembers an instruction, or adds the row of a load or store of less than 256 bytes.
    #[inline(always)]
    fn push(&self, pc: &mut u64, batch: &mut Batch) {
        let fetch = self.what == b'I';
        let row = Row {
            kind: self.kind(),
            size: self.size as u8,
            pc: *pc,
            addr: self.addr,
        };
        batch.push_if(!fetch, row);
        *pc = if fetch {
            self.addr.wrapping_add(1)
        } else {
            *pc
        };
    }

    fn read(line: &[u8]) -> Option<LackeyLine> {
        let (what, rest) = match line.strip_suffix(b"\r").unwrap_or(line) {
            [b'I', b' ', rest @ ..] => (b'I', rest),
            [b' ', what @ (b'L' | b'S' | b'M'), b' ', rest @ ..] => (*what, rest),
            _ => return None,
        };
        let rest = rest.trim_ascii();
        let comma = rest.iter().position(|&byte| byte == b',')?;
        let addr = digits(&rest[..comma], 16)?;
        let size = digits(&rest[comma + 1..], 10).filter(|&size| size > 0)?;
        Some(LackeyLine { what, addr, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_lines_are_refused() {
        for (line, expected) in [
            ("I  04001000,3", Some((b'I', 0x0400_1000, 3))),
            (" L 1ffeffe7e,8", Some((b'L', 0x1_ffef_fe7e, 8))),
            (" M 0421c7cc,4", Some((b'M', 0x0421_c7cc, 4))),
            (" S 10,32\r", Some((b'S', 16, 32))),
            ("L 10,4", None),
            (" L 10", None),
            (" L 10,0", None),
            (" L ,4", None),
            (" L 1g,4", None),
            (" L 10000000000000000,4", None),
            (" X 10,4", None),
            ("", None),
        ] {
            let read =
                LackeyLine::read(line.as_bytes()).map(|line| (line.what, line.addr, line.size));
            assert_eq!(read, expected, "{line}");
        }
    }

    #[test]
    fn lackey_header_names_the_process() {
        let head = b"==42== Lackey, an example Valgrind tool\n==42== Command: ./a.out 7\n==42== \nI  10,3\n";
        let process = process(head);
        assert_eq!((process.pid, process.executable.as_str()), (42, "./a.out"));
        assert_eq!(detect(head), Confidence::Certain);
        assert_eq!(detect(b"==42== nothing\nhello\n"), Confidence::No);
    }
}
