//! Requests to a virtual disk as VMware's vscsiStats logs them, in either of two versions.
//!
//! Source: the readers of libCacheSim (`traceReader/customizedReader/vscsi.h`) and of mimircache. Little
//! endian; version 1, 32 bytes: `u32` serial number, length, segments, `u16` command, version, `u64`
//! block, time. Version 2, 40 bytes: `u16` command, version, `u32` serial number, length, segments,
//! `u64` block, time, response time. The upper byte of the version field is 1 or 2.

use crate::formats::Confidence;
use crate::formats::feed::{ENOUGH, Feed, item};
use crate::formats::records::{number, whole, word};
use crate::{Block, Input, Process, Source, Step, TraceError};

/// What to type after `--format`.
pub const NAME: &str = "vscsi";
/// One line for `reuselens formats`.
pub const SUMMARY: &str = "requests to a virtual disk, vscsi1 and vscsi2: 32- and 40-byte records";

/// A record of a version: its length, and where the fields are that count.
struct Layout {
    length: usize,
    version: u16,
    command_at: usize,
    version_at: usize,
}

const LAYOUTS: [Layout; 2] = [
    Layout {
        length: FIRST,
        version: 1,
        command_at: 12,
        version_at: 14,
    },
    Layout {
        length: SECOND,
        version: 2,
        command_at: 0,
        version_at: 2,
    },
];

const FIRST: usize = 32;
const SECOND: usize = 40;
/// In both versions.
const BLOCK_AT: usize = 16;
/// Records that all have to look right before the format is guessed.
const SURE: usize = 16;

/// Whether there are some records, and in all of them the version is the same and the command one byte.
pub fn detect(head: &[u8]) -> Confidence {
    let fits = |layout: &Layout| {
        let mut records = head.chunks_exact(layout.length);
        records.len() >= SURE
            && records.all(|record| {
                word(record, layout.version_at) >> 8 == layout.version
                    && word(record, layout.command_at) < 0x100
            })
    };
    if LAYOUTS.iter().any(fits) {
        Confidence::Certain
    } else {
        Confidence::No
    }
}

/// Reads requests; the block at which one begins is the item, whatever the command and the length.
pub struct Reader {
    input: Input,
    feed: Feed,
    layout: &'static Layout,
}

impl Reader {
    /// A reader at the start of `input`, which is of the version that its first record names.
    ///
    /// # Errors
    /// [`TraceError::Corrupt`] if that is neither, [`TraceError::Empty`] or [`TraceError::Io`] if the
    /// first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<Reader, TraceError> {
        let head = input.head()?;
        let first = |layout: &&Layout| {
            let version = head.get(layout.version_at..layout.version_at + 2);
            version.is_some_and(|version| word(version, 0) >> 8 == layout.version)
        };
        // Where both could be meant, the one that the other records speak for as well.
        let surer = |layout: &&Layout| {
            let versions = head.chunks_exact(layout.length);
            let right =
                versions.filter(|record| word(record, layout.version_at) >> 8 == layout.version);
            right.count() * layout.length
        };
        let Some(layout) = LAYOUTS.iter().filter(first).max_by_key(surer) else {
            let what = "its first record is neither of version 1 nor of version 2";
            return Err(input.bad_bytes(0, what));
        };
        Ok(Reader {
            input,
            feed: Feed::new(Process::default()),
            layout,
        })
    }
}

impl Source for Reader {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        let (input, layout) = (&mut self.input, self.layout);
        self.feed.next(block, |rows| match layout.length {
            FIRST => fill::<FIRST>(input, layout, rows),
            _ => fill::<SECOND>(input, layout, rows),
        })
    }

    fn has_addresses(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        format!(
            "blocks of a virtual disk requested in {}",
            self.input.path().display()
        )
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }
}

fn fill<const N: usize>(
    input: &mut Input,
    layout: &Layout,
    rows: &mut Block,
) -> Result<bool, TraceError> {
    // To exactly that many, so that blocks are the same however the bytes come.
    while rows.len() < ENOUGH {
        let count = whole(input, N)?.min(ENOUGH - rows.len());
        if count == 0 {
            return Ok(false);
        }
        let (records, _) = input.at_least(0)?.as_chunks::<N>();
        let records = &records[..count];
        let wrong = |record: &[u8; N]| word(record, layout.version_at) >> 8 != layout.version;
        let right = records.iter().position(wrong).unwrap_or(count);
        let blocks = records[..right]
            .iter()
            .map(|record| number(record, BLOCK_AT));
        rows.extend(blocks.map(item));
        input.consume(right * N);
        if right < count {
            let version = layout.version;
            let what = format!("a record is not of version {version}, as those before it");
            return Err(input.bad_bytes(input.offset(), what));
        }
    }
    Ok(true)
}
