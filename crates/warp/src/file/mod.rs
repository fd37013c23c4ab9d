//! The file of a stream of warp instructions, `.rlwarp`.
//!
//! ```text
//! file    = header chunk… ending            chunks as in the native trace file
//! header  = magic (8 bytes)  version u16  0 u16  length u32  description  crc32 of all that
//! pieces  = piece…                          after decompression
//! piece   = 0  launch: name, grid, block, sites          (varints, texts with their length)
//!         | 1  count  record…                            at most 1 Mi records
//! record  = tag  [site]  [block, warp]  [position]  [mask]  first address  [stride | differences]
//! ending  = chunks, launches, records, accesses before it (varints)
//! ```
//!
//! The tag's bits say what is not as foretold. Foretold are: the block and warp of the record
//! before, the next site, the next position, all lanes active, and addresses that rise by the
//! stride that this site had last. Each piece begins with nothing foretold, so that pieces can be
//! made on several threads ([`Records`]). Every chunk decodes alone, so a file that was cut off is
//! read up to its last whole chunk; all lengths are bounded before anything is allocated, and every
//! stored byte is under a checksum.

mod decode;
mod encode;
mod reader;
mod records;
mod writer;

pub use reader::Reader;
pub use records::Records;
pub use writer::Writer;

use reuselens_trace::Confidence;

/// Not text, with both kinds of line end, so that a transfer that mangles bytes shows at once.
const MAGIC: &[u8; 8] = b"\x89RLW\r\n\x1a\n";

/// Whether the file begins with the magic, or is too short to hold all of it.
pub fn detect(head: &[u8]) -> Confidence {
    let known = head.len().min(MAGIC.len());
    if known > 0 && head[..known] == MAGIC[..known] {
        Confidence::Certain
    } else {
        Confidence::No
    }
}
