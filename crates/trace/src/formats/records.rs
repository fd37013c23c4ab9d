//! Records of one length, one after the other.

use crate::{Input, TraceError};

/// How many whole records of `length` bytes are buffered; 0 at the end of the input.
///
/// # Errors
/// If the input ends in the middle of a record.
pub(super) fn whole(input: &mut Input, length: usize) -> Result<usize, TraceError> {
    let buffered = input.at_least(length)?.len();
    if buffered > 0 && buffered < length {
        let what = format!(
            "the last {buffered} bytes are no whole record of {length} bytes: was it cut off?"
        );
        return Err(input.bad_bytes(input.offset(), what));
    }
    Ok(buffered / length)
}

/// The little-endian 16-bit number at `at`.
#[inline(always)]
pub(super) fn word(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

/// The little-endian 64-bit number at `at`.
#[inline(always)]
pub(super) fn number<const N: usize>(record: &[u8; N], at: usize) -> u64 {
    let bytes = record[at..].first_chunk::<8>();
    bytes.map_or(0, |&bytes| u64::from_le_bytes(bytes))
}
