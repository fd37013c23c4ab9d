//! The head of a native file: magic, version, flags, description, checksum (see the crate's page).
//!
//! `Writer::new` writes it, `Reader::new` reads it, and refuses files of other versions.
//! *Invariant:* a head that is read has the right checksum.

use std::io::Write;

use reuselens_io::Input;
use reuselens_trace::TraceError;

/// Not text, with both kinds of line end, so that a transfer that mangles bytes shows at once.
pub(super) const MAGIC: &[u8; 8] = b"\x89RLT\r\n\x1a\n";
/// The version of files that are written, and the only one that is read.
pub const VERSION: u16 = 5;
const ADDRESSES: u16 = 1;
const FIXED: usize = 16;
const MAX_DESCRIPTION: usize = 64 << 10;

/// What a native file says about itself as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether addresses are byte addresses; see [`reuselens_trace::Source::has_addresses`].
    pub has_addresses: bool,
    /// Where the accesses come from; see [`reuselens_trace::Source::describe`]. Cut after 64 KiB.
    pub description: String,
}

impl Header {
    /// Writes the head. Returns how many bytes it has.
    pub(super) fn write(&self, out: &mut impl Write) -> std::io::Result<usize> {
        let mut end = self.description.len().min(MAX_DESCRIPTION);
        while !self.description.is_char_boundary(end) {
            end -= 1;
        }
        let mut bytes = Vec::with_capacity(FIXED + end + 4);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(ADDRESSES * u16::from(self.has_addresses)).to_le_bytes());
        bytes.extend_from_slice(&(end as u32).to_le_bytes());
        bytes.extend_from_slice(&self.description.as_bytes()[..end]);
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        out.write_all(&bytes)?;
        Ok(bytes.len())
    }

    /// Reads the head, and leaves `input` after it.
    ///
    /// # Errors
    /// If it is no native file, of another version, damaged or cut off.
    pub(super) fn read(input: &mut Input) -> Result<Header, TraceError> {
        let fixed = fixed(input)?;
        let length = u32::from_le_bytes([fixed[12], fixed[13], fixed[14], fixed[15]]) as usize;
        if length > MAX_DESCRIPTION {
            return Err(input
                .bad_bytes(12, "the head of the trace is damaged")
                .into());
        }
        let complete = FIXED + length + 4;
        let bytes = input.at_least(complete)?;
        let Some((head, check)) = bytes
            .get(..complete)
            .and_then(<[u8]>::split_last_chunk::<4>)
        else {
            return Err(cut(input));
        };
        let description = std::str::from_utf8(&head[FIXED..]).map(str::to_owned);
        if crc32fast::hash(head) != u32::from_le_bytes(*check) {
            return Err(input
                .bad_bytes(0, "the checksum of the trace's head is wrong")
                .into());
        }
        let Ok(description) = description else {
            return Err(input.bad_bytes(16, "the description is no UTF-8").into());
        };
        input.consume(complete);
        let word = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
        Ok(Header {
            has_addresses: word(10) & ADDRESSES != 0,
            description,
        })
    }
}

/// The part of fixed length, with the magic and the version checked.
fn fixed(input: &mut Input) -> Result<[u8; FIXED], TraceError> {
    let bytes = input.at_least(FIXED)?;
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        let what = "it does not begin like a native trace".to_owned();
        return Err(TraceError::UnknownFormat {
            path: input.path().to_owned(),
            what,
        });
    }
    let Some(&fixed) = bytes.first_chunk::<FIXED>() else {
        return Err(cut(input));
    };
    let version = u16::from_le_bytes([fixed[8], fixed[9]]);
    if version != VERSION {
        let what = format!(
            "it is a native trace of version {version}, which another reuselens wrote, and this one reads version \
             {VERSION} only: record again with `reuselens record -o FILE -- PROGRAM`, or use the other"
        );
        return Err(TraceError::UnknownFormat {
            path: input.path().to_owned(),
            what,
        });
    }
    Ok(fixed)
}

fn cut(input: &Input) -> TraceError {
    input
        .bad_bytes(0, "the trace is cut off in its head: nothing was recorded")
        .into()
}
