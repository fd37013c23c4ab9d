//! Traces of DynamoRIO's drmemtrace, as its `raw2trace` writes them for 64-bit programs.
//!
//! Used by `lib.rs`, which lists it in `FORMATS`.
//!
//! Source: DynamoRIO, `clients/drcachesim/common/trace_entry.h` (`trace_entry_t`, `trace_type_t`).
//! Packed entries of 12 bytes, little endian: `u16` type, `u16` size, `u64` address; the same bytes
//! alone, compressed, or as the members `chunk.0000` … of a zip file. Data accesses follow their
//! instruction. A chunk does not say again which thread it is of; each instruction's encoding is
//! repeated in it, and encodings are passed over here (`raw2trace.cpp`, `open_new_chunk`,
//! `emit_new_chunk_header`).

mod entry;
mod folder;
mod reader;
mod segment;
mod threads;

pub use folder::FolderReader;
pub use reader::DrmemtraceReader as Reader;

use entry::{Class, Entry, LENGTH};
use reuselens_trace::Confidence;

/// What to type after `--format`.
pub const NAME: &str = "drmemtrace";
/// One line for `reuselens formats`.
pub const SUMMARY: &str = "DynamoRIO's drmemtrace, offline traces of 64-bit programs, also in .zip";

/// The largest version of the format that is believed to be one.
const MAX_VERSION: u64 = 100;

/// Whether the first entry is a header of some version, and the next one that follows a header.
pub fn detect(head: &[u8]) -> Confidence {
    let (entries, _) = head.as_chunks::<LENGTH>();
    match entries {
        [first, second, ..] => {
            let (first, second) = (Entry::of(first), Entry::of(second));
            let begins = first.kind == entry::HEADER && first.size == 0;
            let version = (1..=MAX_VERSION).contains(&first.addr);
            let goes_on = matches!(second.kind, entry::MARKER | entry::THREAD | entry::PID);
            if begins && version && goes_on {
                Confidence::Certain
            } else {
                Confidence::No
            }
        }
        _ => Confidence::No,
    }
}

/// The process that the first entries name.
fn first_process(head: &[u8]) -> u64 {
    let (entries, _) = head.as_chunks::<LENGTH>();
    let mut entries = entries.iter().map(Entry::of);
    let named = entries.find(|entry| {
        entry.kind == entry::PID || matches!(entry.class(), Class::Data | Class::Instruction)
    });
    named.map_or(0, |entry| {
        if entry.kind == entry::PID {
            entry.addr
        } else {
            0
        }
    })
}
