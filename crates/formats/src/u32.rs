//! Raw items: little-endian 32-bit numbers, nothing else.
//!
//! Used by `lib.rs`, which lists it in `FORMATS`. The user or the file's ending (`extension`)
//! chooses it, never the content. `records::RecordReader` reads the items.

use std::path::Path;

use crate::delivery::item;
use crate::records::{RecordLayout, RecordReader};
use reuselens_io::Input;
use reuselens_trace::Confidence;
use reuselens_trace::{Block, ItemProjection, TraceError};

/// What to type after `--format`.
pub const NAME: &str = "u32";
/// One line for `reuselens formats`.
pub const SUMMARY: &str = "raw little-endian 32-bit items, nothing between them (ending .u32)";

const LENGTH: usize = 4;

/// Never: any bytes could be raw numbers, so the format must be named.
pub fn detect(_head: &[u8]) -> Confidence {
    Confidence::No
}

/// Reads raw 32-bit items; each is a load of one byte whose address is the item.
pub type Reader = RecordReader<ShortItems>;

/// A record is an item of 32 bits.
#[derive(Clone, Copy, Debug)]
pub struct ShortItems;

impl Reader {
    /// A reader at the start of `input`.
    ///
    /// # Errors
    /// `FileError::Empty` or `FileError::Io` if the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<Reader, TraceError> {
        input.head()?;
        Ok(RecordReader::of(input, ShortItems))
    }
}

impl RecordLayout for ShortItems {
    const HAS_ADDRESSES: bool = false;
    const HAS_KINDS: bool = false;
    const MOST_ACCESSES: usize = 1;

    fn length(&self) -> usize {
        LENGTH
    }

    fn describe(&self, path: &Path) -> String {
        format!("32-bit items of {}", path.display())
    }

    fn rows(&mut self, records: &[u8], rows: &mut Block) -> usize {
        let (records, _) = records.as_chunks::<LENGTH>();
        let items = records
            .iter()
            .map(|&record| u64::from(u32::from_le_bytes(record)));
        rows.extend(items.map(item));
        records.len()
    }

    fn items(&mut self, records: &[u8], _: ItemProjection, items: &mut Vec<u64>) -> usize {
        let (records, _) = records.as_chunks::<LENGTH>();
        items.extend(
            records
                .iter()
                .map(|&record| u64::from(u32::from_le_bytes(record))),
        );
        records.len()
    }

    fn cut_off(&self, bytes: usize) -> String {
        format!(
            "the last {bytes} bytes are no whole 32-bit item: the length of the input is not a multiple of 4"
        )
    }
}
