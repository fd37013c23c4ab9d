//! The members of a zip archive, one after the other, from the first or from any of them.

use std::cmp::Ordering;
use std::io::{BufReader, Error, ErrorKind, Read, Result, Seek};
use std::sync::{Arc, atomic};

use zip::ZipArchive;
use zip::read::{ZipArchiveMetadata, ZipFile, ZipReadOptions};
use zip::result::ZipError;

use super::PACKED;
use super::ahead::Sink;
use super::raw::{Counted, ReadSeek};

/// The members of an archive in the order in which they are read: that of their names, numbers in
/// them by value. Whoever reads some of them need not read the archive's list again.
#[derive(Debug)]
pub(crate) struct Members {
    /// The archive's list.
    list: Arc<ZipArchiveMetadata>,
    all: Vec<Member>,
    /// Bytes of all together, unpacked.
    length: u64,
}

#[derive(Debug)]
struct Member {
    /// Its place in the archive's list.
    index: usize,
    /// The place of its first byte in what all members unpack to.
    begin: u64,
    /// Its bytes, unpacked, as the archive's list has them.
    length: u64,
}

impl Members {
    /// The members of the archive in a file; `None` if it cannot be read, which is reported where
    /// all of it is read.
    pub(crate) fn of(file: Box<dyn ReadSeek>) -> Option<Members> {
        Members::read(&mut BufReader::with_capacity(PACKED, file)).ok()
    }

    /// Reads the archive's list, which is at its end.
    fn read(file: &mut (impl Read + Seek)) -> Result<Members> {
        let archive = ZipArchive::new(file).map_err(failed)?;
        let mut names = Vec::new();
        for index in 0..archive.len() {
            match archive.name_for_index(index) {
                Some(Ok(name)) if !name.ends_with('/') => names.push((name.into_owned(), index)),
                Some(Err(error)) => return Err(failed(error)),
                _ => {}
            }
        }
        names.sort_by(|one, other| by_number(one.0.as_bytes(), other.0.as_bytes()));
        let list = archive.metadata();
        let (mut all, mut length) = (Vec::new(), 0_u64);
        for (_, index) in names {
            let member = Member {
                index,
                begin: length,
                length: list.entry(index).map_err(failed)?.size(),
            };
            // Lengths that no file has are found to be wrong where the members are read.
            length = length.saturating_add(member.length);
            all.push(member);
        }
        Ok(Members { list, all, length })
    }

    /// What a member in `file` unpacks to.
    fn open<'a, R: Read + Seek>(
        &'a self,
        member: &Member,
        file: &'a mut R,
    ) -> Result<ZipFile<'a, R>> {
        let entry = self.list.entry(member.index).map_err(failed)?;
        entry
            .with_reader(file, ZipReadOptions::new())
            .map_err(failed)
    }

    /// Bytes of all members together, unpacked, as the archive's list has them.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Where the member begins of which the beginning is nearest to byte `offset`.
    pub(crate) fn nearest(&self, offset: u64) -> u64 {
        let after = self.all.partition_point(|member| member.begin <= offset);
        let begin = |at: usize| self.all.get(at).map(|member| member.begin);
        let before = begin(after.saturating_sub(1)).unwrap_or(0);
        match begin(after) {
            Some(next) if next - offset < offset - before => next,
            _ => before,
        }
    }
}

/// Hands over all members.
///
/// The list of members lies at the end of the file, so nothing can be had of one that was cut off.
pub(super) fn copy(packed: Counted, sink: &Sink) -> Result<bool> {
    let taken = packed.count();
    let mut packed = BufReader::with_capacity(PACKED, packed);
    let members = Members::read(&mut packed)?;
    // What was read so far is the list of members, which is after them in the file.
    taken.store(0, atomic::Ordering::Relaxed);
    for member in &members.all {
        if !sink.copy(&mut members.open(member, &mut packed)?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Hands over what `members` unpack to from byte `offset` on. A member that is not as long as the
/// list says is an error: another thread may read those after it, and has relied on that.
pub(super) fn copy_from(
    packed: Counted,
    members: &Members,
    offset: u64,
    sink: &Sink,
) -> Result<bool> {
    let mut packed = BufReader::with_capacity(PACKED, packed);
    let begun = members.all.partition_point(|member| member.begin <= offset);
    // Members before it that have no bytes are found to have none where the bytes before are read.
    let first = if offset == 0 {
        0
    } else {
        begun.saturating_sub(1)
    };
    for member in &members.all[first..] {
        let mut bytes = Measured {
            bytes: members.open(member, &mut packed)?,
            left: member.length,
        };
        let before = offset.saturating_sub(member.begin);
        std::io::copy(&mut bytes.by_ref().take(before), &mut std::io::sink())?;
        if !sink.copy(&mut bytes)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Bytes of which there must be as many as were announced.
struct Measured<R> {
    bytes: R,
    left: u64,
}

impl<R: Read> Read for Measured<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.bytes.read(buffer)?;
        let is_short = count == 0 && self.left > 0 && !buffer.is_empty();
        match self.left.checked_sub(count as u64) {
            Some(left) if !is_short => self.left = left,
            _ => {
                let what = "a member is not as long as the list of members says";
                return Err(Error::new(ErrorKind::InvalidData, what));
            }
        }
        Ok(count)
    }
}

fn failed(error: ZipError) -> Error {
    match error {
        ZipError::Io(error) => error,
        error => Error::new(ErrorKind::InvalidData, error),
    }
}

/// `chunk.0002` before `chunk.0010`, and `chunk.9999` before `chunk.10000`.
fn by_number(one: &[u8], other: &[u8]) -> Ordering {
    let (mut one, mut other) = (one, other);
    loop {
        let ((number, a), (another, b)) = (number(one), number(other));
        let order = match (number, another) {
            (Some(number), Some(another)) => (number.len(), number).cmp(&(another.len(), another)),
            _ => one.first().cmp(&other.first()),
        };
        if order != Ordering::Equal || one.is_empty() {
            return order;
        }
        (one, other) = (a, b);
    }
}

/// The number that `name` begins with, without leading zeros, if it does; and what is left without
/// it, or else without the first byte.
fn number(name: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return (None, name.get(1..).unwrap_or_default());
    }
    let (number, rest) = name.split_at(digits);
    let zeros = number.iter().take_while(|&&byte| byte == b'0').count();
    (Some(&number[zeros..]), rest)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    #[test]
    fn numbers_in_names_go_by_value() {
        let mut names = [
            "c.10000", "b", "c.9999", "c.0010", "c.0002", "c", "c.2x", "",
        ];
        names.sort_by(|one, other| by_number(one.as_bytes(), other.as_bytes()));
        let sorted = [
            "", "b", "c", "c.0002", "c.2x", "c.0010", "c.9999", "c.10000",
        ];
        assert_eq!(names, sorted);
    }

    #[test]
    fn the_nearest_member_is_that_which_begins_nearest() {
        let archive = |lengths: &[usize]| {
            let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
            for (number, length) in lengths.iter().enumerate() {
                let options = SimpleFileOptions::default();
                archive.start_file(format!("m.{number}"), options).unwrap();
                archive.write_all(&vec![7; *length]).unwrap();
            }
            Members::read(&mut archive.finish().unwrap()).unwrap()
        };
        let members = archive(&[100, 0, 30, 70]);
        assert_eq!(members.length(), 200);
        let places = [
            (0, 0),
            (50, 0),
            (51, 100),
            (100, 100),
            (115, 100),
            (116, 130),
            (500, 130),
        ];
        for (offset, begin) in places {
            assert_eq!(members.nearest(offset), begin, "{offset}");
        }
        assert_eq!(archive(&[]).nearest(7), 0);
    }

    #[test]
    fn bytes_that_are_fewer_or_more_than_announced_are_an_error() {
        let read = |bytes: &'static [u8], left| {
            let mut all = Vec::new();
            Measured { bytes, left }.read_to_end(&mut all).map(|_| all)
        };
        assert_eq!(read(b"abc", 3).unwrap(), b"abc");
        assert!(read(b"abc", 2).is_err() && read(b"abc", 4).is_err());
        assert_eq!(read(b"", 0).unwrap(), b"");
    }
}
