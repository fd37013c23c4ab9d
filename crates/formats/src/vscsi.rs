//! Requests to a virtual disk as VMware's vscsiStats logs them, in either of two versions.
//!
//! Used by `lib.rs`, which lists it in `FORMATS`. `records::RecordReader` reads the records.
//!
//! Source: the readers of libCacheSim (`traceReader/customizedReader/vscsi.h`) and of mimircache.
//! Little endian; version 1, 32 bytes: `u32` serial number, length, segments, `u16` command,
//! version, `u64` block, time. Version 2, 40 bytes: `u16` command, version, `u32` serial number,
//! length, segments, `u64` block, time, response time. The upper byte of the version field is 1 or
//! 2. The command is the first byte of the SCSI command: 0x28 reads, 0x2a writes.

use std::path::Path;

use crate::block_requests::Unit;
use crate::csv;
use crate::delivery::{ObjectRequest, item};
use crate::records::{RecordLayout, RecordReader, SizedLayout, number, number32, word};
use reuselens_io::Input;
use reuselens_trace::Confidence;
use reuselens_trace::{Block, ItemProjection, Kind, Row, TraceError};

/// What to type after `--format`.
pub const NAME: &str = "vscsi";
/// One line for `reuselens formats`.
pub const SUMMARY: &str = "requests to a virtual disk, vscsi1 and vscsi2: 32- and 40-byte records (vscsi:unit=512: their bytes)";

/// A record of a version: its length, and where the fields are that count.
#[derive(Debug)]
pub struct Version {
    length: usize,
    number: u16,
    command_at: usize,
    version_at: usize,
    bytes_at: usize,
}

const VERSIONS: [Version; 2] = [
    Version {
        length: FIRST,
        number: 1,
        command_at: 12,
        version_at: 14,
        bytes_at: 4,
    },
    Version {
        length: SECOND,
        number: 2,
        command_at: 0,
        version_at: 2,
        bytes_at: 8,
    },
];

const FIRST: usize = 32;
const SECOND: usize = 40;
/// In both versions.
const BLOCK_AT: usize = 16;
/// Records that all have to look right before the format is guessed.
const SURE: usize = 16;

/// Whether there are some records, and in all of them the version is the same and the command one
/// byte.
pub fn detect(head: &[u8]) -> Confidence {
    let fits = |version: &Version| {
        let mut records = head.chunks_exact(version.length);
        records.len() >= SURE
            && records
                .all(|record| version.is_of(record) && word(record, version.command_at) < 0x100)
    };
    if VERSIONS.iter().any(fits) {
        Confidence::Certain
    } else {
        Confidence::No
    }
}

/// Reads requests; the block at which one begins is the item. Commands that write are stores, all
/// others are loads. The length is the size of the object. With a unit, a request accesses its
/// bytes.
pub type Reader = RecordReader<&'static Version>;

impl Reader {
    /// A reader at the start of `input`, which is of the version that its first record names.
    ///
    /// # Errors
    /// `FileError::Corrupt` if that is neither, `FileError::Empty` or `FileError::Io` if
    /// the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<Reader, TraceError> {
        let version = version(&mut input)?;
        Ok(RecordReader::of_objects(input, version))
    }

    /// As [`Reader::new`], of requests for blocks of a unit.
    ///
    /// # Errors
    /// Those of [`Reader::new`].
    pub(super) fn of_blocks(mut input: Input, unit: Unit) -> Result<Reader, TraceError> {
        let version = version(&mut input)?;
        Ok(RecordReader::of_requests(input, version, unit))
    }
}

/// The version that the first record names.
fn version(input: &mut Input) -> Result<&'static Version, TraceError> {
    let head = input.head()?;
    let first = |version: &&Version| {
        let field = head.get(version.version_at..version.version_at + 2);
        field.is_some_and(|field| word(field, 0) >> 8 == version.number)
    };
    // Where both could be meant, the one that the other records speak for as well.
    let surer = |version: &&Version| {
        let records = head.chunks_exact(version.length);
        records.filter(|record| version.is_of(record)).count() * version.length
    };
    let Some(version) = VERSIONS.iter().filter(first).max_by_key(surer) else {
        let what = "its first record is neither of version 1 nor of version 2";
        return Err(input.bad_bytes(0, what).into());
    };
    Ok(version)
}

impl Version {
    #[inline(always)]
    fn is_of(&self, record: &[u8]) -> bool {
        word(record, self.version_at) >> 8 == self.number
    }

    /// The records before the first that is not of this version.
    fn valid<'a, const N: usize>(&self, records: &'a [u8]) -> &'a [[u8; N]] {
        let (records, _) = records.as_chunks::<N>();
        let other = records.iter().position(|record| !self.is_of(record));
        &records[..other.unwrap_or(records.len())]
    }

    /// What a record requests, by its command.
    #[inline(always)]
    fn kind(&self, record: &[u8]) -> Kind {
        if csv::is_scsi_write(word(record, self.command_at)) {
            Kind::Store
        } else {
            Kind::Load
        }
    }

    /// Appends the rows of valid records; how many these are.
    fn add_rows<const N: usize>(&self, records: &[u8], rows: &mut Block) -> usize {
        let valid = self.valid::<N>(records);
        rows.extend(valid.iter().map(|record| Row {
            kind: self.kind(record),
            ..item(number(record, BLOCK_AT))
        }));
        valid.len()
    }

    /// Appends the items of valid records that count; how many records these are.
    fn add_items<const N: usize>(
        &self,
        records: &[u8],
        projection: ItemProjection,
        items: &mut Vec<u64>,
    ) -> usize {
        let valid = self.valid::<N>(records);
        let counts = |record: &&[u8; N]| projection.counts(self.kind(*record));
        let counted = valid.iter().filter(counts);
        items.extend(counted.map(|record| number(record, BLOCK_AT)));
        valid.len()
    }
}

impl RecordLayout for &'static Version {
    const HAS_ADDRESSES: bool = false;
    const HAS_KINDS: bool = true;
    const MOST_ACCESSES: usize = 1;

    fn length(&self) -> usize {
        self.length
    }

    fn describe(&self, path: &Path) -> String {
        format!("blocks of a virtual disk requested in {}", path.display())
    }

    fn rows(&mut self, records: &[u8], rows: &mut Block) -> usize {
        match self.length {
            FIRST => self.add_rows::<FIRST>(records, rows),
            _ => self.add_rows::<SECOND>(records, rows),
        }
    }

    fn items(&mut self, records: &[u8], projection: ItemProjection, items: &mut Vec<u64>) -> usize {
        match self.length {
            FIRST => self.add_items::<FIRST>(records, projection, items),
            _ => self.add_items::<SECOND>(records, projection, items),
        }
    }

    fn invalid(&self) -> String {
        let number = self.number;
        format!("a record is not of version {number}, as those before it")
    }
}

impl SizedLayout for &'static Version {
    fn object(&self, record: &[u8]) -> Option<ObjectRequest> {
        let id = match self.length {
            FIRST => number(record.first_chunk::<FIRST>()?, BLOCK_AT),
            _ => number(record.first_chunk::<SECOND>()?, BLOCK_AT),
        };
        self.is_of(record).then(|| ObjectRequest {
            kind: self.kind(record),
            id,
            bytes: number32(record, self.bytes_at).into(),
        })
    }
}
