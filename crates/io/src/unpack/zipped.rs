//! Zip archives: reads the members one after the other as if they were one file, in the order of
//! their names ([`copy`]), or from any offset on ([`copy_from`]). [`Members`] is the archive's list
//! with the offset of each member in the decompressed bytes.

use std::cmp::Ordering;
use std::io::{BufReader, Error, ErrorKind, Read, Result, Seek};
use std::sync::{Arc, atomic};

use zip::ZipArchive;
use zip::read::{ZipArchiveMetadata, ZipFile, ZipReadOptions};
use zip::result::ZipError;

use super::PACKED;
use super::ahead::PartSender;
use super::raw::{Counted, ReadSeek};

/// The members of an archive in the order in which they are read: by name, with numbers in names
/// compared by value. With it, readers of some members need not read the archive's list again.
#[derive(Debug)]
pub(crate) struct Members {
    /// The archive's list.
    list: Arc<ZipArchiveMetadata>,
    all: Vec<Member>,
    /// Decompressed bytes of all members.
    length: u64,
}

#[derive(Debug)]
struct Member {
    /// Its index in the archive's list.
    index: usize,
    /// The offset of its first byte in the decompressed bytes of all members.
    begin: u64,
    /// Its decompressed bytes by the archive's list.
    length: u64,
}

impl Members {
    /// The members of the archive in a file; `None` if its list cannot be read. That is reported
    /// when the archive itself is read.
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
            // A wrong length is found when the member is read.
            length = length.saturating_add(member.length);
            all.push(member);
        }
        Ok(Members { list, all, length })
    }

    /// A reader of the decompressed bytes of a member in `file`.
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

    /// Decompressed bytes of all members by the archive's list.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The beginning of a member that is nearest to byte `offset`.
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

/// Sends the decompressed bytes of all members to `sink`. Members are checked as by [`copy_from`],
/// so that an archive is damaged or not whatever the number of threads that read it.
///
/// The list of members is at the end of the file, so nothing of an archive that was cut off can be
/// read.
pub(super) fn copy(packed: Counted, sink: &PartSender) -> Result<bool> {
    let taken = packed.count();
    let mut packed = BufReader::with_capacity(PACKED, packed);
    let members = Members::read(&mut packed)?;
    // The list of members has been read, which is at the end of the file and is no progress.
    taken.store(0, atomic::Ordering::Relaxed);
    send(&mut packed, &members, 0, sink)
}

/// Sends the decompressed bytes of `members` from byte `offset` on to `sink`. A member whose length
/// is not that of the list is an error: another thread may read the members after it, at offsets
/// computed from the list.
pub(super) fn copy_from(
    packed: Counted,
    members: &Members,
    offset: u64,
    sink: &PartSender,
) -> Result<bool> {
    let mut packed = BufReader::with_capacity(PACKED, packed);
    send(&mut packed, members, offset, sink)
}

fn send(
    packed: &mut (impl Read + Seek),
    members: &Members,
    offset: u64,
    sink: &PartSender,
) -> Result<bool> {
    let begun = members.all.partition_point(|member| member.begin <= offset);
    // Empty members before it are checked by the thread that reads the bytes before.
    let first = if offset == 0 {
        0
    } else {
        begun.saturating_sub(1)
    };
    for member in &members.all[first..] {
        let mut bytes = Measured {
            bytes: members.open(member, packed)?,
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

/// A reader that fails if it has fewer or more bytes than announced.
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

/// Compares names, with numbers in them by value: `chunk.0002` is before `chunk.0010`, and
/// `chunk.9999` before `chunk.10000`.
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
    use crate::{FileError, Input};

    #[test]
    fn names_are_compared_with_numbers_by_value() {
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
    fn nearest_returns_the_nearest_beginning_of_a_member() {
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
    fn wrong_length_in_the_list_of_members_is_damage_for_every_reader() {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in [("m.1", b"abcdef"), ("m.2", b"ghijkl")] {
            archive
                .start_file(name, SimpleFileOptions::default())
                .unwrap();
            archive.write_all(bytes).unwrap();
        }
        let sound = archive.finish().unwrap().into_inner();
        assert_eq!(read_all(open(&sound)).unwrap(), b"abcdefghijkl");
        let entries: Vec<usize> = (0..sound.len())
            .filter(|&at| sound[at..].starts_with(b"PK\x01\x02"))
            .collect();
        assert_eq!(entries.len(), 2);
        for entry in entries {
            for length in [7, 100, u32::MAX - 1] {
                let mut damaged = sound.clone();
                damaged[entry + 24..entry + 28].copy_from_slice(&length.to_le_bytes());
                let mut input = open(&damaged);
                input.head().unwrap();
                let second = input.another_at(&input.places().unwrap(), 0);
                let errors = [read_all(input), read_all(second.unwrap().unwrap())]
                    .map(|read| read.unwrap_err().to_string());
                assert!(errors[0].contains("not as long as the list"), "{errors:?}");
                assert_eq!(errors[0], errors[1]);
            }
        }
    }

    fn open(archive: &[u8]) -> Input {
        Input::seekable(Cursor::new(archive.to_vec()), "a.zip").unwrap()
    }

    fn read_all(mut input: Input) -> std::result::Result<Vec<u8>, FileError> {
        input.head()?;
        let mut all = Vec::new();
        while let bytes = input.at_least(1)?
            && !bytes.is_empty()
        {
            all.extend_from_slice(bytes);
            let count = bytes.len();
            input.consume(count);
        }
        Ok(all)
    }

    #[test]
    fn measured_refuses_fewer_or_more_bytes_than_announced() {
        let read = |bytes: &'static [u8], left| {
            let mut all = Vec::new();
            Measured { bytes, left }.read_to_end(&mut all).map(|_| all)
        };
        assert_eq!(read(b"abc", 3).unwrap(), b"abc");
        assert!(read(b"abc", 2).is_err() && read(b"abc", 4).is_err());
        assert_eq!(read(b"", 0).unwrap(), b"");
    }
}
