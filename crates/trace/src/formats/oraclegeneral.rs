//! Requests to a cache as libCacheSim stores them: oracleGeneral.
//!
//! Source: libCacheSim, `traceReader/customizedReader/oracle/oracleGeneralBin.h`. Records of 24 bytes,
//! little endian: `u32` time, `u64` id of the object, `u32` its size, `i64` when it is next requested.

use crate::formats::Confidence;
use crate::formats::feed::{ENOUGH, Feed, item};
use crate::formats::records::{number, whole};
use crate::{Block, Input, Process, Source, Step, TraceError};

/// What to type after `--format`.
pub const NAME: &str = "oraclegeneral";
/// One line for `reuselens formats`.
pub const SUMMARY: &str =
    "libCacheSim's oracleGeneral: 24-byte records (ending .oracleGeneral, .oracleGeneral.bin)";

const LENGTH: usize = 24;

/// Never: its records have nothing to be known by, so the format must be named.
pub fn detect(_head: &[u8]) -> Confidence {
    Confidence::No
}

/// Reads requests; the id of the object is the item, and its size, which has no part in a distance, is
/// left out.
pub struct Reader {
    input: Input,
    feed: Feed,
}

impl Reader {
    /// A reader at the start of `input`.
    ///
    /// # Errors
    /// [`TraceError::Empty`] or [`TraceError::Io`] if the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<Reader, TraceError> {
        input.head()?;
        Ok(Reader {
            input,
            feed: Feed::new(Process::default()),
        })
    }
}

impl Source for Reader {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        let input = &mut self.input;
        self.feed.next(block, |rows| fill(input, rows))
    }

    fn has_addresses(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        format!("objects requested in {}", self.input.path().display())
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }
}

fn fill(input: &mut Input, rows: &mut Block) -> Result<bool, TraceError> {
    // To exactly that many, so that blocks are the same however the bytes come.
    while rows.len() < ENOUGH {
        let count = whole(input, LENGTH)?.min(ENOUGH - rows.len());
        if count == 0 {
            return Ok(false);
        }
        let (records, _) = input.at_least(0)?.as_chunks::<LENGTH>();
        let ids = records[..count].iter().map(|record| number(record, 4));
        rows.extend(ids.map(item));
        input.consume(count * LENGTH);
    }
    Ok(true)
}
