//! Requests to a cache as libCacheSim stores them: oracleGeneral.
//!
//! Used by `lib.rs`, which lists it in `FORMATS`. The user or the file's ending (`extension`)
//! chooses it, never the content. `records::RecordReader` reads the records.
//!
//! Source: libCacheSim, `traceReader/customizedReader/oracle/oracleGeneralBin.h`. Records of 24
//! bytes, little endian: `u32` time, `u64` id of the object, `u32` its size, `i64` when it is next
//! requested.

use std::path::Path;

use crate::block_requests::Unit;
use crate::delivery::{ObjectRequest, item};
use crate::records::{RecordLayout, RecordReader, SizedLayout, number, number32};
use reuselens_io::Input;
use reuselens_trace::Confidence;
use reuselens_trace::{Block, ItemProjection, Kind, TraceError};

/// What to type after `--format`.
pub const NAME: &str = "oraclegeneral";
/// One line for `reuselens formats`.
pub const SUMMARY: &str = "libCacheSim's oracleGeneral: 24-byte records (oraclegeneral:unit=BYTES: ids are numbers of blocks)";

const LENGTH: usize = 24;
const ID_AT: usize = 4;
const SIZE_AT: usize = 12;

/// Never: its records have nothing to be known by, so the format must be named.
pub fn detect(_head: &[u8]) -> Confidence {
    Confidence::No
}

/// Reads requests; the id of the object is the item, and its size is left out unless it is asked
/// for. With a unit, ids are numbers of blocks, and a request accesses its bytes.
pub type Reader = RecordReader<Requests>;

/// A record is a request.
#[derive(Clone, Copy, Debug)]
pub struct Requests;

impl Reader {
    /// A reader at the start of `input`.
    ///
    /// # Errors
    /// `FileError::Empty` or `FileError::Io` if the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<Reader, TraceError> {
        input.head()?;
        Ok(RecordReader::of_objects(input, Requests))
    }

    /// As [`Reader::new`], of requests for blocks of a unit.
    ///
    /// # Errors
    /// Those of [`Reader::new`].
    pub(super) fn of_blocks(mut input: Input, unit: Unit) -> Result<Reader, TraceError> {
        input.head()?;
        Ok(RecordReader::of_requests(input, Requests, unit))
    }
}

impl RecordLayout for Requests {
    const HAS_ADDRESSES: bool = false;
    const HAS_KINDS: bool = false;
    const MOST_ACCESSES: usize = 1;

    fn length(&self) -> usize {
        LENGTH
    }

    fn describe(&self, path: &Path) -> String {
        format!("objects requested in {}", path.display())
    }

    fn rows(&mut self, records: &[u8], rows: &mut Block) -> usize {
        let (records, _) = records.as_chunks::<LENGTH>();
        rows.extend(records.iter().map(|record| item(number(record, ID_AT))));
        records.len()
    }

    fn items(&mut self, records: &[u8], _: ItemProjection, items: &mut Vec<u64>) -> usize {
        let (records, _) = records.as_chunks::<LENGTH>();
        items.extend(records.iter().map(|record| number(record, ID_AT)));
        records.len()
    }
}

impl SizedLayout for Requests {
    fn object(&self, record: &[u8]) -> Option<ObjectRequest> {
        let record = record.first_chunk::<LENGTH>()?;
        Some(ObjectRequest {
            kind: Kind::Load,
            id: number(record, ID_AT),
            bytes: number32(record, SIZE_AT).into(),
        })
    }
}
