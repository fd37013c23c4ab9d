//! [`Packing`]: detects by a file's first bytes how it is compressed (gzip, zstd, xz, snappy, zip),
//! and decompresses it on a thread while [`Input`](crate::Input) reads the result.
//!
//! Decompression is streamed, so a small file that decompresses to a thousand times its size takes
//! time but no memory. Bytes before a cut or a damaged place are delivered, then one error.

mod ahead;
mod raw;
mod zipped;

use std::io::{BufReader, Error, ErrorKind, Read, Result};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ahead::{PartSender, UnpackThread};
use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::Stream;
use raw::Counted;
pub(crate) use raw::{Raw, ReadSeek, Unreadable};
use snap::read::FrameDecoder;
pub(crate) use zipped::Members;

/// Compressed bytes that are read at once.
const PACKED: usize = 128 << 10;
/// The most memory that an xz file may ask for; `xz -9` asks for 65 MiB.
const XZ_MEMORY: u64 = 512 << 20;

/// Bytes in memory to decompress a zip archive: parts in the channel, compressed bytes, and the
/// decoder's window.
pub(crate) const MEMORY: u64 = (ahead::MOST_HELD + PACKED + (64 << 10)) as u64;

/// How a file is compressed, of the kinds that [`Input`](crate::Input) decompresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Packing {
    /// RFC 1952, one member or many.
    Gzip,
    /// RFC 8878, one frame or many.
    Zstd,
    /// The .xz format, one stream or many.
    Xz,
    /// Snappy's framing format, `framing_format.txt` of its sources.
    Snappy,
    /// An archive, of which the members are read in the order of their names.
    Zip,
}

impl Packing {
    /// The packing of a file that begins with `head`; `None` if it is not compressed.
    ///
    /// Checks more bytes than the magic number, because raw numbers can begin with that.
    pub fn of(head: &[u8]) -> Option<Packing> {
        match head {
            // Deflate, no reserved flag; level and system, if `head` has them, must exist.
            [0x1f, 0x8b, 8, flags, rest @ ..] if flags & 0xe0 == 0 => {
                let level = rest.get(4).is_none_or(|&level| matches!(level, 0 | 2 | 4));
                let system = rest.get(5).is_none_or(|&from| from <= 13 || from == 255);
                (level && system).then_some(Packing::Gzip)
            }
            [0x1f, 0x8b] | [0x1f, 0x8b, 8] => Some(Packing::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Packing::Zstd),
            // A skippable frame, with which parallel compressors begin, and its length.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, rest @ ..] => {
                let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
                let next = rest.get(length..).unwrap_or_default();
                (next.first_chunk() == Some(&[0x28, 0xb5, 0x2f, 0xfd])).then_some(Packing::Zstd)
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Packing::Xz),
            [0xff, 6, 0, 0, b's', b'N', b'a', b'P', b'p', b'Y', ..] => Some(Packing::Snappy),
            // A member's head: the version needed and the method are small numbers.
            [b'P', b'K', 3, 4, 0..=99, 0, _, _, 0..=99, 0, ..] => Some(Packing::Zip),
            _ => None,
        }
    }

    /// Whether a file that begins with `begun` can be decompressed: one byte of it, or all of
    /// `begun` without an error.
    ///
    /// For xz, only the checksum of its head is checked; for snappy and zip, nothing more than the
    /// magic.
    pub(crate) fn opens(self, begun: &[u8]) -> bool {
        let mut byte = [0];
        let read = match self {
            Packing::Gzip => MultiGzDecoder::new(begun).read(&mut byte),
            Packing::Zstd => {
                zstd::Decoder::with_buffer(begun).and_then(|mut all| all.read(&mut byte))
            }
            Packing::Xz => {
                let Some(head) = begun.first_chunk::<12>() else {
                    return true;
                };
                return crc32fast::hash(&head[6..8]).to_le_bytes() == head[8..];
            }
            Packing::Snappy | Packing::Zip => return true,
        };
        // A window that is too large for us proves that it is compressed; reading reports it.
        read.map_or_else(
            |error| {
                error.kind() == ErrorKind::UnexpectedEof
                    || error.to_string().contains("too much memory")
            },
            |_| true,
        )
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
            Packing::Xz => "xz",
            Packing::Snappy => "snappy",
            Packing::Zip => "zip",
        }
    }

    /// The command that decompresses a file and keeps it, to be followed by the file's name.
    pub fn command(self) -> &'static str {
        match self {
            Packing::Gzip => "gunzip -k",
            Packing::Zstd => "zstd -d",
            Packing::Xz => "xz -dk",
            Packing::Snappy => "snzip -dk",
            Packing::Zip => "unzip",
        }
    }

    /// A reader of the decompressed bytes of `raw`, and the count of compressed bytes read so far.
    ///
    /// Costs a thread and about 1.5 MiB, and what the packing itself needs: up to 128 MiB for zstd
    /// with its longest window, `XZ_MEMORY` for xz.
    ///
    /// # Errors
    /// If no thread can be started. A zip archive that is not seekable is an error when it is read.
    pub(crate) fn unpack(self, raw: Raw) -> Result<(Box<dyn Read + Send>, Arc<AtomicU64>)> {
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Counted::new(raw, Arc::clone(&taken));
        let unpacked = UnpackThread::start(move |sink| self.run(counted, sink))?;
        Ok((Box::new(unpacked), taken))
    }

    /// A reader of the decompressed bytes of `members` of the zip archive in `file`, from byte
    /// `offset` on, and the count of compressed bytes read so far. Costs a thread and [`MEMORY`].
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn unpack_members(
        file: Box<dyn ReadSeek>,
        members: Arc<Members>,
        offset: u64,
    ) -> Result<(Box<dyn Read + Send>, Arc<AtomicU64>)> {
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Counted::new(Raw::File(file), Arc::clone(&taken));
        let job =
            move |sink: &PartSender| zipped::copy_from(counted, &members, offset, sink).map(drop);
        Ok((Box::new(UnpackThread::start(job)?), taken))
    }

    /// Decompresses `packed` into `sink`, on the thread.
    fn run(self, packed: Counted, sink: &PartSender) -> Result<()> {
        let buffered = |packed| BufReader::with_capacity(PACKED, packed);
        let there = match self {
            Packing::Gzip => sink.copy(&mut MultiGzDecoder::new(buffered(packed))),
            Packing::Zstd => sink.copy(&mut zstd::Decoder::with_buffer(buffered(packed))?),
            Packing::Xz => {
                let many = liblzma::stream::CONCATENATED;
                let stream = Stream::new_stream_decoder(XZ_MEMORY, many).map_err(Error::from)?;
                sink.copy(&mut XzDecoder::new_stream(buffered(packed), stream))
            }
            Packing::Snappy => sink.copy(&mut FrameDecoder::new(buffered(packed))),
            Packing::Zip => zipped::copy(packed, sink),
        };
        // Whether the reader is still there makes no difference to a thread that is done.
        there.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_detected_by_more_than_two_bytes() {
        for (head, expected) in [
            (&b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..], Some(Packing::Gzip)),
            (b"\x1f\x8b\x08\0", Some(Packing::Gzip)),
            (b"\x1f\x8b\x08\xff\0\0\0\0\0\x03", None),
            (b"\x1f\x8b\x08\0\0\0\0\0\x77\x03", None),
            (b"\x1f\x8b\x07\0\0\0\0\0\0\x03", None),
            (b"\x28\xb5\x2f\xfd\0", Some(Packing::Zstd)),
            (
                b"\x50\x2a\x4d\x18\x01\0\0\0\x07\x28\xb5\x2f\xfd",
                Some(Packing::Zstd),
            ),
            (b"\x50\x2a\x4d\x18\x01\0\0\0\x07", None),
            (b"\xfd7zXZ\0\0", Some(Packing::Xz)),
            (b"PK\x03\x04\x14\0\0\0\x08\0", Some(Packing::Zip)),
            (b"PK\x03\x04\x14\x09\0\0\x08\0", None),
            (b"\xfd7zXZ\0", Some(Packing::Xz)),
            (b"\xff\x06\0\0sNaPpY\0", Some(Packing::Snappy)),
            (b"\xff\x06\0\0sNaPp", None),
            (b"\x1f\x8b\x09\0", None),
            (b"a b c", None),
            (b"BZh9", None),
            (b"", None),
        ] {
            assert_eq!(Packing::of(head), expected, "{head:02x?}");
        }
    }
}
