//! Block traces of Microsoft Research Cambridge: a request a line, separated by commas.
//!
//! Used by `lib.rs`, which lists it in `FORMATS`. `line_reader::LineReader` reads the lines.
//!
//! Source: the README of the traces (SNIA IOTTA 388) and Narayanan, Donnelly and Rowstron, "Write
//! off-loading", FAST 2008: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime` without a
//! header; the type is `Read` or `Write`, offset and size are bytes, times are of 100 ns.

mod volumes;

use std::borrow::Cow;
use std::path::Path;

use volumes::{BITS, Volumes};

use crate::batch::Batch;
use crate::line_reader::{LineFormat, LineReader};
use crate::lines::{self, Bad, next_line, shown};
use crate::number::{decimal, eight, find3, number};
use crate::{extent, text};
use reuselens_io::Input;
use reuselens_trace::Confidence;
use reuselens_trace::{Block, Kind, Process, TraceError};

/// What to type after `--format`.
pub const NAME: &str = "msr";
/// One line for `reuselens formats`.
pub const SUMMARY: &str =
    "block traces of MSR Cambridge: timestamp,host,disk,Read|Write,offset,size,response time";

/// The column of sizes.
const SIZE: usize = 6;
/// The header that some copies of the traces have.
const HEADER: &[u8] = b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";

/// Certain if the first line is a request.
pub fn detect(head: &[u8]) -> Confidence {
    let Some(end) = head.iter().position(|&byte| byte == b'\n') else {
        return Confidence::No;
    };
    let line = head[..end].trim_ascii_end();
    if text::is_text(head) && (is_header(line) || Request::read(line).is_ok()) {
        Confidence::Certain
    } else {
        Confidence::No
    }
}

/// Reads requests. Each is a read or write of its bytes (as a range operation from 256 bytes on),
/// at its offset plus 2^48 times the number of its volume: volumes (host and disk) are numbered
/// from 0 in the order in which they appear, so that they never share an item. Times are not used.
pub type Reader = LineReader<Msr>;

/// What is known from the requests so far.
#[derive(Default)]
pub struct Msr {
    volumes: Volumes,
}

impl Reader {
    /// A reader at the start of `input`.
    ///
    /// # Errors
    /// `FileError::Empty` or `FileError::Io` if the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<Reader, TraceError> {
        input.head()?;
        Ok(LineReader::of(input, Process::default(), Msr::default()))
    }
}

impl LineFormat for Msr {
    fn describe(&self, path: &Path) -> String {
        format!("bytes of the block requests in {}", path.display())
    }

    fn parse(&mut self, text: &[u8], rows: &mut Block, batch: &mut Batch) -> Result<usize, Bad> {
        lines::each(text, rows, batch, |text, at, batch| {
            let fast = Request::fast(text, at);
            let (request, next) = match fast {
                Some(found) => found,
                None => match slow_line(text, at)? {
                    (Some(request), next) => (request, next),
                    (None, next) => return Ok(next),
                },
            };
            if !extent::fits(request.offset, request.size, extent::REQUEST) {
                let what = extent::wrong(request.offset, request.size, extent::REQUEST, SIZE);
                return Err(Bad { at, what });
            }
            let end = request.offset.checked_add(request.size);
            if end.is_none_or(|end| end > 1 << BITS) {
                let what = format!(
                    "the request ends beyond 2^{BITS} bytes ({} + {})",
                    request.offset, request.size
                );
                return Err(Bad { at, what });
            }
            let volume = self
                .volumes
                .base(&request.volume)
                .map_err(|what| Bad { at, what })?;
            batch.push(request.kind, request.size, 0, volume | request.offset);
            Ok(next)
        })
    }
}

/// Any line, for those that are not as almost all are; `None` if there is no request on it.
#[cold]
#[inline(never)]
fn slow_line(text: &[u8], at: usize) -> Result<(Option<Request<'_>>, usize), Bad> {
    let (line, next) = lines::line(text, at)?;
    if line.trim_ascii().is_empty() || is_header(line.trim_ascii()) {
        return Ok((None, next));
    }
    match Request::read(line) {
        Ok(request) => Ok((Some(request), next)),
        Err(wrong) => {
            let what = format!("'{}' is no request of an MSR trace: {wrong}", shown(line));
            Err(Bad { at, what })
        }
    }
}

fn is_header(line: &[u8]) -> bool {
    line.eq_ignore_ascii_case(HEADER)
}

/// One line of the trace.
struct Request<'a> {
    /// Host and disk without space around them, and a comma between them.
    volume: Cow<'a, [u8]>,
    kind: Kind,
    offset: u64,
    size: u64,
}

impl<'a> Request<'a> {
    /// A line exactly as the traces have it, and where the next one begins.
    #[inline(always)]
    fn fast(text: &'a [u8], at: usize) -> Option<(Request<'a>, usize)> {
        let (_, time) = decimal(text, at)?;
        let host = find3(text, time + 1, *b",\n\"")?;
        let (_, disk) = decimal(text, host + 1)?;
        let (kind, commas) = match eight(text, disk)? {
            word if word & 0xffff_ffff_ffff == READ => (Kind::Load, 6),
            word if word & 0xff_ffff_ffff_ffff == WRITE => (Kind::Store, 7),
            _ => return None,
        };
        let (offset, middle) = decimal(text, disk + commas)?;
        let (size, end) = decimal(text, middle + 1)?;
        let (_, last) = decimal(text, end + 1)?;
        let commas = [text[time], text[host], text[middle], text[end]];
        let plain = commas == *b",,,," && host > time + 1;
        // Space within the name would have to be taken off of it: `read` does that.
        let name = &text[time + 1..host];
        let plain = plain && !is_space(name.first()) && !is_space(name.last());
        let volume = Cow::Borrowed(&text[time + 1..disk]);
        let request = Request {
            volume,
            kind,
            offset,
            size,
        };
        plain.then_some((request, next_line(text, last)?))
    }

    /// Any line of seven fields.
    fn read(line: &'a [u8]) -> Result<Request<'a>, &'static str> {
        let mut fields = [line; 7];
        let mut found = 0;
        for part in line.split(|&byte| byte == b',') {
            if let Some(field) = fields.get_mut(found) {
                *field = part.trim_ascii();
            }
            found += 1;
        }
        if found != fields.len() {
            return Err("seven fields with commas between them are expected");
        }
        let [time, host, disk, kind, offset, size, _] = fields;
        if number(time).is_none() || number(disk).is_none() || host.is_empty() {
            return Err("it should begin with a timestamp, a host and the number of a disk");
        }
        let kind = match kind {
            word if word.eq_ignore_ascii_case(b"read") => Kind::Load,
            word if word.eq_ignore_ascii_case(b"write") => Kind::Store,
            _ => return Err("the fourth field should be Read or Write"),
        };
        let (Some(offset), Some(size)) = (number(offset), number(size)) else {
            return Err("offset and size should be numbers of bytes");
        };
        Ok(Request {
            // As in `fast`: space around the fields does not make it another volume.
            volume: Cow::Owned([host, b",", disk].concat()),
            kind,
            offset,
            size,
        })
    }
}

#[inline(always)]
fn is_space(byte: Option<&u8>) -> bool {
    byte.is_some_and(u8::is_ascii_whitespace)
}

/// What is between disk and offset, the first character lowest.
const READ: u64 = u64::from_le_bytes(*b",Read,\0\0");
const WRITE: u64 = u64::from_le_bytes(*b",Write,\0");

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "128166372003061629,hm,1,Read,383496192,32768,1331";

    #[test]
    fn fast_and_slow_path_read_a_line_alike() {
        let text = format!("{LINE}\n{LINE}\n");
        let Some((request, next)) = Request::fast(text.as_bytes(), 0) else {
            panic!("an ordinary line is read quickly");
        };
        assert_eq!(next, LINE.len() + 1);
        assert_eq!((&*request.volume, request.kind), (&b"hm,1"[..], Kind::Load));
        assert_eq!((request.offset, request.size), (383_496_192, 32_768));
        let slow = Request::read(LINE.as_bytes()).unwrap();
        assert_eq!((slow.volume, slow.offset), (request.volume, request.offset));
        for wrong in [
            "",
            "1,hm,1,Read,5,6",
            "1,hm,1,Read,5,6,7,8",
            "1,hm,1,Trim,5,6,7",
            "1,,1,Read,5,6,7",
            "1,hm,x,Read,5,6,7",
            "x,hm,1,Read,5,6,7",
            "1,hm,1,Read,-5,6,7",
        ] {
            assert!(Request::read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    /// Every line that is read quickly says the same when it is read strictly, and space around the
    /// host or the disk makes no other volume.
    #[test]
    fn space_around_fields_does_not_change_the_volume() {
        for volume in [
            "hm,1",
            " hm,1",
            "hm ,1",
            "hm, 1",
            "hm,1 ",
            "\thm\t,\t1\t",
            " h m ,1",
        ] {
            for (begin, end) in [("5,", ",Read,7,8,9"), (" 5 ,", ", Read , 7 , 8 , 9 ")] {
                let line = format!("{begin}{volume}{end}");
                let strict = Request::read(line.as_bytes()).unwrap();
                let expected = if volume.contains("h m") {
                    "h m,1"
                } else {
                    "hm,1"
                };
                assert_eq!(&*strict.volume, expected.as_bytes(), "{line:?}");
                let text = format!("{line}\n{LINE}\n");
                let Some((fast, next)) = Request::fast(text.as_bytes(), 0) else {
                    assert!(line.contains(char::is_whitespace), "{line:?} is ordinary");
                    continue;
                };
                assert_eq!(fast.volume, strict.volume, "{line:?}");
                assert_eq!(
                    (fast.kind, fast.offset, fast.size),
                    (strict.kind, strict.offset, strict.size)
                );
                assert_eq!(next, line.len() + 1);
            }
        }
    }

    #[test]
    fn msr_is_detected_by_a_request_or_the_header() {
        let with_end = format!("{LINE}\r\n");
        for (head, expected) in [
            (with_end.as_bytes(), Confidence::Certain),
            (
                b"timestamp,hostname,disknumber,type,offset,size,responsetime\n",
                Confidence::Certain,
            ),
            (LINE.as_bytes(), Confidence::No),
            (b"1,hm,1,Trim,5,6,7\n", Confidence::No),
            (b"address,size\n", Confidence::No),
        ] {
            assert_eq!(detect(head), expected, "{}", String::from_utf8_lossy(head));
        }
    }
}
