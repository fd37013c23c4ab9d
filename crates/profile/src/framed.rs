//! [`Framed`]: the form that the files of profiles and of parts have in common: a mark, a version,
//! a checksum, lengths, and a compressed body.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | the mark |
//! | 8 | 4 | version of the form |
//! | 12 | 4 | CRC-32 of everything after it |
//! | 16 | 8 | length of the body before compression |
//! | 24 | 8 | length of the body as it follows |
//! | 32 | | the body, compressed with Zstandard |
//!
//! Numbers are little endian.

use std::fmt;
use std::io::Read;

const HEAD: usize = 32;

/// The form of a kind of file: a mark, and a checked, compressed body.
#[derive(Clone, Copy, Debug)]
pub struct Framed {
    /// What every such file begins with.
    pub mark: [u8; 8],
    /// The version that is written, and the only one that is read.
    pub version: u32,
    /// Compression level of Zstandard.
    pub level: i32,
    /// Bodies of more bytes are not read: a small file could claim to hold any number.
    pub largest: u64,
}

/// Why bytes have no body. The reader of each kind of file makes an error of its own of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// They do not begin with the mark.
    NoMark,
    /// They are of another version.
    Version(u32),
    /// There are fewer bytes than there should be.
    Short {
        /// Bytes that there should be.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// Anything else, in words.
    Damaged(String),
}

impl fmt::Display for FrameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::NoMark => formatter.write_str("it does not begin with the mark of one"),
            FrameError::Version(found) => write!(formatter, "it has form {found}"),
            FrameError::Short { expected, found } => {
                write!(formatter, "it should have {expected} bytes and has {found}")
            }
            FrameError::Damaged(what) => formatter.write_str(what),
        }
    }
}

impl std::error::Error for FrameError {}

fn damaged(what: impl fmt::Display) -> FrameError {
    FrameError::Damaged(what.to_string())
}

/// A body that was found and checked, and is still compressed.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    bytes: &'a [u8],
    length: u64,
}

impl Framed {
    /// The bytes of a file with this body.
    ///
    /// # Panics
    /// If there is no memory to compress with. An empty body in its place would be a file that
    /// looks whole.
    pub fn to_bytes(&self, body: &[u8]) -> Vec<u8> {
        let packed = zstd::bulk::compress(body, self.level).expect("memory to compress with");
        let mut checked = Vec::with_capacity(packed.len() + 16);
        checked.extend((body.len() as u64).to_le_bytes());
        checked.extend((packed.len() as u64).to_le_bytes());
        checked.extend(packed);
        let mut bytes = Vec::with_capacity(checked.len() + 16);
        bytes.extend(self.mark);
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(crc32fast::hash(&checked).to_le_bytes());
        bytes.extend(checked);
        bytes
    }

    /// Whether bytes begin like such a file.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(&self.mark)
    }

    /// Checks the head of a file and the sum over the rest. Nothing is unpacked yet.
    ///
    /// # Errors
    /// If the bytes are not those of a complete file of this version.
    pub fn open<'a>(&self, bytes: &'a [u8]) -> Result<Packed<'a>, FrameError> {
        let found = bytes.len() as u64;
        if !self.is_in(bytes) {
            return Err(FrameError::NoMark);
        }
        let Some((head, packed)) = bytes.split_at_checked(HEAD) else {
            let expected = HEAD as u64;
            return Err(FrameError::Short { expected, found });
        };
        let [version, crc] = [8, 12].map(|at| number(&head[at..at + 4]));
        let [length, packed_length] = [16, 24].map(|at| number(&head[at..at + 8]));
        match version as u32 {
            0 => return Err(damaged("there is no form 0")),
            version if version != self.version => return Err(FrameError::Version(version)),
            _ => {}
        }
        let expected = packed_length.saturating_add(HEAD as u64);
        if found < expected {
            return Err(FrameError::Short { expected, found });
        }
        if found > expected {
            let more = found - expected;
            return Err(damaged(format!("{more} bytes too many follow it")));
        }
        if u64::from(crc32fast::hash(&bytes[16..])) != crc {
            return Err(damaged("its checksum does not match its content"));
        }
        self.packed(packed, length)
    }

    /// A compressed body that is said to unpack to `length` bytes.
    ///
    /// # Errors
    /// If those are more than any has.
    pub fn packed<'a>(&self, bytes: &'a [u8], length: u64) -> Result<Packed<'a>, FrameError> {
        if length > self.largest {
            return Err(damaged(format!("it claims to hold {length} bytes")));
        }
        Ok(Packed { bytes, length })
    }
}

impl Packed<'_> {
    /// The bytes that it unpacks to, by its head.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Unpacks it into `body`, whose capacity the caller has chosen: a file can claim to hold more
    /// than it does, and a vector that grows takes up to twice as much for a while.
    ///
    /// # Errors
    /// If it does not unpack to [`length`](Self::length) bytes.
    pub fn unpack(&self, mut body: Vec<u8>) -> Result<Vec<u8>, FrameError> {
        body.clear();
        zstd::stream::read::Decoder::new(self.bytes)
            // One byte more than its length, to notice if there is more.
            .and_then(|decoder| decoder.take(self.length + 1).read_to_end(&mut body))
            .map_err(damaged)?;
        if body.len() as u64 == self.length {
            Ok(body)
        } else {
            Err(damaged("its content has another length than it says"))
        }
    }
}

/// A little-endian number of up to eight bytes.
fn number(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
}
