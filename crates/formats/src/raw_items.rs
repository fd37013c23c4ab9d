//! What the formats of raw numbers share (u32, u64): [`RawItems`], the layout of little-endian
//! items of a number of bytes, nothing between them. `records::RecordReader` reads them.

use std::path::Path;

use crate::delivery::item;
use crate::records::{RecordLayout, RecordReader};
use reuselens_io::Input;
use reuselens_trace::{Block, ItemProjection, TraceError};

/// A record is an item of `LENGTH` bytes, at most 8. Each is a load of one byte whose address is
/// the item.
#[derive(Clone, Copy, Debug)]
pub struct RawItems<const LENGTH: usize>;

impl<const LENGTH: usize> RecordReader<RawItems<LENGTH>> {
    /// A reader at the start of `input`.
    ///
    /// # Errors
    /// `FileError::Empty` or `FileError::Io` if the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<Self, TraceError> {
        input.head()?;
        Ok(RecordReader::of(input, RawItems))
    }
}

/// The item of a record. The length is constant, so this compiles to one load.
#[inline(always)]
fn item_of<const LENGTH: usize>(record: &[u8; LENGTH]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..LENGTH].copy_from_slice(record);
    u64::from_le_bytes(bytes)
}

impl<const LENGTH: usize> RecordLayout for RawItems<LENGTH> {
    const HAS_ADDRESSES: bool = false;
    const HAS_KINDS: bool = false;
    const MOST_ACCESSES: usize = 1;

    fn length(&self) -> usize {
        LENGTH
    }

    fn describe(&self, path: &Path) -> String {
        format!("{}-bit items of {}", 8 * LENGTH, path.display())
    }

    fn rows(&mut self, records: &[u8], rows: &mut Block) -> usize {
        let (records, _) = records.as_chunks::<LENGTH>();
        rows.extend(records.iter().map(item_of).map(item));
        records.len()
    }

    fn items(&mut self, records: &[u8], _: ItemProjection, items: &mut Vec<u64>) -> usize {
        let (records, _) = records.as_chunks::<LENGTH>();
        items.extend(records.iter().map(item_of));
        records.len()
    }

    fn cut_off(&self, bytes: usize) -> String {
        format!(
            "the last {bytes} bytes are no whole {}-bit item: the length of the input is not a \
             multiple of {LENGTH}",
            8 * LENGTH
        )
    }
}
