//! Chunks: a checked head, then checked and compressed bytes.

use crate::{Input, TraceError};

/// Bytes of a chunk's head.
pub(super) const HEAD: usize = 24;
/// The most bytes that a chunk decodes to: what a forged length can cost.
pub(super) const MAX_PLAIN: usize = 256 << 20;

/// What is in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Content {
    /// Blocks and events.
    Pieces = 1,
    /// The totals; nothing comes after them.
    Ending = 2,
}

/// The head of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) content: Content,
    /// Number of the chunk in its file (wraps): a chunk that is lost or doubled shows.
    pub(super) number: u32,
    pub(super) plain: u32,
}

impl Head {
    pub(super) fn bytes(self, stored: &[u8]) -> [u8; HEAD] {
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

/// Reads chunks one after the other into memory that is used again.
pub(super) struct Chunks {
    unpacker: zstd::bulk::Decompressor<'static>,
    stored: Vec<u8>,
    number: u32,
}

impl Chunks {
    pub(super) fn new(input: &Input) -> Result<Chunks, TraceError> {
        let unpacker = zstd::bulk::Decompressor::new();
        let unpacker = unpacker.map_err(|error| TraceError::io("unpack", input.path(), error))?;
        Ok(Chunks {
            unpacker,
            stored: Vec::new(),
            number: 0,
        })
    }

    /// Puts the bytes of the next chunk into `plain`.
    pub(super) fn next(
        &mut self,
        input: &mut Input,
        plain: &mut Vec<u8>,
    ) -> Result<Content, TraceError> {
        let start = input.offset();
        let bytes = input.at_least(HEAD)?;
        if bytes.is_empty() {
            let what = "the trace has no ending: its recording was cut off";
            return Err(input.bad_bytes(start, what));
        }
        let Some(&bytes) = bytes.first_chunk::<HEAD>() else {
            return Err(input.bad_bytes(start, CUT));
        };
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let head = self
            .check(&bytes, word)
            .map_err(|what| input.bad_bytes(start, what))?;
        input.consume(HEAD);
        let length = word(8) as usize;
        input.take(length, &mut self.stored)?;
        if self.stored.len() < length {
            return Err(input.bad_bytes(start, CUT));
        }
        if crc32fast::hash(&self.stored) != word(16) {
            return Err(
                input.bad_bytes(start, "the checksum of a chunk is wrong: its bytes changed")
            );
        }
        self.unpack(head, plain)
            .map_err(|what| input.bad_bytes(start, what))?;
        self.number = self.number.wrapping_add(1);
        Ok(head.content)
    }

    fn check(&self, bytes: &[u8; HEAD], word: impl Fn(usize) -> u32) -> Result<Head, &'static str> {
        if crc32fast::hash(&bytes[..HEAD - 4]) != word(20) {
            return Err("the checksum of a chunk's head is wrong: its bytes changed");
        }
        let content = match word(0) {
            1 => Content::Pieces,
            2 => Content::Ending,
            _ => return Err("a chunk is of a kind that this version does not know"),
        };
        if word(4) != self.number {
            return Err("a chunk is missing, doubled or out of order");
        }
        if word(8) as usize > MAX_PLAIN || word(12) as usize > MAX_PLAIN {
            return Err("a chunk claims to be larger than any chunk is");
        }
        Ok(Head {
            content,
            number: word(4),
            plain: word(12),
        })
    }

    fn unpack(&mut self, head: Head, plain: &mut Vec<u8>) -> Result<(), &'static str> {
        const BAD: &str = "the compressed bytes of a chunk are damaged";
        let expected = head.plain as usize;
        // The frame names its size too; only where both agree is memory set aside for it.
        if zstd::bulk::Decompressor::upper_bound(&self.stored) != Some(expected) {
            return Err(BAD);
        }
        plain.clear();
        plain.reserve(expected);
        let done = self.unpacker.decompress_to_buffer(&self.stored, plain);
        if done.is_ok_and(|length| length == expected) {
            Ok(())
        } else {
            Err(BAD)
        }
    }
}

const CUT: &str = "the trace is cut off in the middle of a chunk: its recording did not end";
