//! Chunks, of which the files of traces (`.rltrace`) and of warp instructions (`.rlwarp`) consist:
//! a head of 24 bytes with a checksum ([`ChunkHead`]), then compressed bytes with a checksum.
//! [`Chunks`] reads them one after the other, [`Unpacker`] decompresses one.
//!
//! Chunks are numbered, so a missing or doubled one is found. A chunk decompresses to at most
//! [`MAX_PLAIN`] bytes, whatever its head claims.

use crate::varint::Damage;
use crate::{FileError, Input};

/// Bytes of a chunk's head.
pub const HEAD: usize = 24;
/// The most bytes that a chunk decompresses to; a head with a larger number is refused.
pub const MAX_PLAIN: usize = 256 << 20;

/// What is in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Content {
    /// Blocks and events.
    Pieces = 1,
    /// The totals of the file; nothing but a trailer may follow.
    Ending = 2,
    /// Where pieces are in the file.
    Index = 3,
}

/// The head of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHead {
    /// What is in the chunk.
    pub content: Content,
    /// Number of the chunk in its file, modulo 2^32.
    pub number: u32,
    /// Bytes before compression.
    pub plain: u32,
}

impl ChunkHead {
    /// The bytes of the head, which are written before the chunk's compressed bytes `stored`.
    pub fn bytes(self, stored: &[u8]) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        let words = [
            self.content as u32,
            self.number,
            stored.len() as u32,
            self.plain,
            crc32fast::hash(stored),
        ];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let check = crc32fast::hash(&bytes[..HEAD - 4]);
        bytes[HEAD - 4..].copy_from_slice(&check.to_le_bytes());
        bytes
    }
}

/// A chunk as it is in the file: its head is checked, its compressed bytes are not.
pub struct Stored {
    /// What is in the chunk.
    pub content: Content,
    /// Where it begins in the file.
    pub start: u64,
    plain: usize,
    check: u32,
    bytes: Vec<u8>,
}

/// Reads chunks one after the other.
pub struct Chunks {
    number: u32,
}

impl Chunks {
    /// Reads from an input that is at the chunk with this number.
    pub fn from(number: u32) -> Chunks {
        Chunks { number }
    }

    /// The next chunk.
    ///
    /// # Errors
    /// [`FileError::Corrupt`] if there is none, or if its head is damaged or out of order;
    /// [`FileError::Io`].
    pub fn next(&mut self, input: &mut Input) -> Result<Stored, FileError> {
        let start = input.offset();
        let head = input.at_least(HEAD)?;
        if head.is_empty() && self.number > 0 {
            let what = "the trace has no ending: its recording was cut off, or a part of it copied";
            return Err(input.bad_bytes(start, what));
        }
        let Some(&head) = head.first_chunk::<HEAD>() else {
            return Err(input.bad_bytes(start, self.cut()));
        };
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let content = self.check(&head, word);
        let content = content.map_err(|what| input.bad_bytes(start, what))?;
        input.consume(HEAD);
        let length = word(8) as usize;
        let mut bytes = Vec::new();
        input.take(length, &mut bytes)?;
        if bytes.len() < length {
            return Err(input.bad_bytes(start, self.cut()));
        }
        self.number = self.number.wrapping_add(1);
        Ok(Stored {
            content,
            start,
            plain: word(12) as usize,
            check: word(16),
            bytes,
        })
    }

    /// What is said of a chunk that is not complete.
    fn cut(&self) -> &'static str {
        match self.number {
            0 => CUT_AT_FIRST,
            _ => CUT,
        }
    }

    fn check(
        &self,
        head: &[u8; HEAD],
        word: impl Fn(usize) -> u32,
    ) -> Result<Content, &'static str> {
        if crc32fast::hash(&head[..HEAD - 4]) != word(20) {
            return Err("the checksum of a chunk's head is wrong: its bytes changed");
        }
        let content = match word(0) {
            1 => Content::Pieces,
            2 => Content::Ending,
            3 => Content::Index,
            _ => return Err("a chunk is of a kind that this version does not know"),
        };
        if word(4) != self.number {
            return Err("a chunk is missing, doubled or out of order");
        }
        if word(8) as usize > MAX_PLAIN || word(12) as usize > MAX_PLAIN {
            return Err("a chunk claims to be larger than any chunk is");
        }
        Ok(content)
    }
}

/// Checks and decompresses chunks.
pub struct Unpacker(zstd::bulk::Decompressor<'static>);

impl Unpacker {
    /// Allocates the state of zstd, about 150 KiB.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new() -> std::io::Result<Unpacker> {
        zstd::bulk::Decompressor::new().map(Unpacker)
    }

    /// Decompresses `chunk` into `plain`.
    ///
    /// # Errors
    /// [`Damage`] if their checksum or their length is wrong.
    pub fn unpack(&mut self, chunk: &Stored, plain: &mut Vec<u8>) -> Result<(), Damage> {
        const BAD: Damage = Damage("the compressed bytes of a chunk are damaged");
        if crc32fast::hash(&chunk.bytes) != chunk.check {
            return Err(Damage(
                "the checksum of a chunk is wrong: its bytes changed",
            ));
        }
        // The compressed frame has its size, too. Memory is allocated only if both agree.
        if zstd::bulk::Decompressor::upper_bound(&chunk.bytes) != Some(chunk.plain) {
            return Err(BAD);
        }
        plain.clear();
        plain.reserve(chunk.plain);
        let done = self.0.decompress_to_buffer(&chunk.bytes, plain);
        if done.is_ok_and(|length| length == chunk.plain) {
            Ok(())
        } else {
            Err(BAD)
        }
    }
}

const CUT_AT_FIRST: &str = "the trace is cut off and has no complete chunk: its recording was ended before it wrote one, so there is nothing to \
                            analyse; record again";
const CUT: &str = "the trace is cut off in the middle of a chunk: its recording did not end, or a part of it was copied";
