//! The native trace file, `.rltrace`.
//!
//! ```text
//! file    = header pieces… index ending trailer
//! header  = magic (8 bytes)  version u16  flags u16 (1 = byte addresses)
//!           length u32  description (that many bytes of UTF-8)  crc32 of all that
//! chunk   = kind u32 (1 = pieces, 2 = ending, 3 = index)  number u32  stored u32  plain u32
//!           crc32 of the stored bytes u32  crc32 of the 20 bytes before u32
//!           stored bytes (one zstd frame of `plain` bytes)
//! pieces  = four lengths, then four streams: heads, sites, tokens, addresses (for rows see
//!           `sites`, for templates `templates`)
//! ending  = chunks, blocks, rows, events before it (varints)
//! index, trailer: see `index`
//! ```
//!
//! A block is stored as rows or as templates with operands, whichever is cheaper to read (see
//! `template_inference`); readers get the same rows.
//!
//! Numbers of fixed width are little endian. Every chunk decodes alone, so a file that was cut off
//! is read up to its last complete chunk; a file is known to be complete by its ending. All lengths
//! are bounded before anything is allocated, and every stored byte is under a checksum. The index
//! says what is where, so a part of a file is read without the rest; without it a part is found by
//! reading all.
//!
//! | what | modules |
//! |---|---|
//! | both sides | `sites` and `templates` (predictions), `header`, `events`, `index` |
//! | writing | `writer` → `template_inference` → `encode` → `compress` |
//! | | `encode` → `superblocks` → `encode_templates` |
//! | reading | `reader` → `decoders` → `decode` → `decode_rows` or `decode_templates` |
//! | forms of rows | columns, `repeat_sink`, or `row_classifier` → `item_extractor` |
//! | loops | `predicted_runs`, `iterations` |
//! | a part of a file | `find`, `part`, `reader::segment` |
//! | vectors | `processor`, `access_group` |
//!
//! An *execution* is one run of a template; its *operands* are what only the run knew. The *items*
//! of accesses are what analyses of whole programs need, in the place of rows.
//!
//! For: whoever records, keeps or copies traces, and the list of all formats (crate `formats`).
//! Not for: other formats, and not for what a trace means.

mod access_group;
mod compress;
mod decode;
mod decode_rows;
mod decode_templates;
mod decoders;
mod encode;
mod encode_templates;
mod events;
mod find;
mod header;
mod index;
mod item_extractor;
mod iterations;
mod part;
mod predicted_runs;
mod processor;
mod reader;
mod repeat_sink;
mod row_classifier;
mod sites;
mod superblocks;
mod template_inference;
mod templates;
mod writer;

pub use header::{Header, VERSION};
pub use index::{ChunkEntry, Index};
pub use reader::Reader;
pub use writer::Writer;

use reuselens_trace::Confidence;

/// What to type after `--format` or `--to`.
pub const NAME: &str = "native";
/// One line for `reuselens formats`.
pub const SUMMARY: &str =
    "the trace file of reuselens, .rltrace: compressed, checked, with modules and threads";

/// The most rows that one block of a native file has. A larger one is refused by the writer.
pub const MAX_BLOCK_ROWS: usize = 1 << 22;
/// The most rows that one template block of a native file stands for. Capture makes blocks of some
/// thousands.
pub const MAX_TEMPLATE_BLOCK_ROWS: usize = 1 << 17;
/// The most operands of one template block.
pub const MAX_TEMPLATE_BLOCK_OPERANDS: usize = 1 << 19;

/// Whether the file begins with the magic, or is too short to hold all of it.
pub fn detect(head: &[u8]) -> Confidence {
    let known = head.len().min(header::MAGIC.len());
    if known > 0 && head[..known] == header::MAGIC[..known] {
        Confidence::Certain
    } else {
        Confidence::No
    }
}
