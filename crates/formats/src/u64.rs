//! Raw items: little-endian 64-bit numbers, nothing else.
//!
//! Used by `lib.rs`, which lists it in `FORMATS`. The user or the file's ending (`extension`)
//! chooses it, never the content. `raw_items` has the layout.

use crate::raw_items::RawItems;
use crate::records::RecordReader;
use reuselens_trace::Confidence;

/// What to type after `--format`.
pub const NAME: &str = "u64";
/// One line for `reuselens formats`.
pub const SUMMARY: &str =
    "raw little-endian 64-bit items, nothing between them (ending .u64 or .bin)";

/// Never: any bytes could be raw numbers, so the format must be named.
pub fn detect(_head: &[u8]) -> Confidence {
    Confidence::No
}

/// Reads raw 64-bit items; each is a load of one byte whose address is the item.
pub type Reader = RecordReader<RawItems<8>>;
