//! The file format of a stream of warp instructions, `.rlwarp`: [`WarpWriter`] writes it,
//! [`WarpReader`] reads it, and [`Records`] are records in the format that are not in a file yet.
//!
//! ```text
//! file    = header chunk… ending            chunks as in the native trace file
//! header  = magic (8 bytes)  version u16  0 u16  length u32  description  crc32 of all that
//! pieces  = piece…                          after decompression
//! piece   = 0  launch: name, grid, block, sites          (varints, texts with their length)
//!         | 1  count  record…                            at most 1 Mi records
//!         | 2  launch, as 0: each site with the calls of device functions that lead there
//!         | 3  count  changes  change…  record…          as 1, with the records' phases
//!         | 4  launch, as 2, with what a block uses before the sites:
//!              static and dynamic bytes of shared memory, 1 if its threads exchange data,
//!              and the arrays in shared memory: count, name  start  bytes + 1, 0 if not known
//! change  = records since the last change  step of the phase
//! record  = tag  [site]  [block, warp]  [position]  [mask]  first address  [stride | differences]
//! ending  = chunks, launches, records, accesses before it (varints)
//! ```
//!
//! The tag has a bit for each field that is as predicted and is left out. Predicted are: the block
//! and warp of the record before, the next site, the next position, all lanes active, and, by the
//! last record of the same site, space, kind and size, the stride of addresses, and the step of the
//! first address. Predictions are reset with each piece, so that pieces can be made on several
//! threads ([`Records`]). The phase of a record is that of the record before it in the piece, and 0
//! in the first, unless there is a change; where it changes, each warp's next position is predicted
//! to be 1. Version 2 has no phases, and is read as if all were 0; what a block uses is known from
//! version 4 on.
//!
//! Each chunk can be decoded alone, so a file that was cut off is read up to its last complete
//! chunk. All lengths are bounded before memory is allocated, and all stored
//! bytes have checksums.

mod decode;
mod encode;
mod reader;
mod records;
mod writer;

pub use reader::WarpReader;
pub use records::Records;
pub use writer::WarpWriter;

use reuselens_trace::Confidence;

/// Not text, with both kinds of line ends, so that a transfer that changes these is detected.
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
