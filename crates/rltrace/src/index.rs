//! The index of a file: where each chunk is, how much of each thread is in it, and all events.
//!
//! The `Writer` builds an [`Index`] while it writes, and stores it before the ending. Readers take
//! it (`find`) to read a part of a file (`part`), or segments of it (`reader::segment`), without
//! the rest. `reader::ending` checks that it matches the chunks.
//!
//! ```text
//! index   = chunks: number of them, then for each: bytes from the one before to its head, blocks,
//!           rows, accesses, whether it has stamps (0 or 1), if so the smallest from the one before
//!           and the largest from that, number of threads, then for each: its number, its rows
//!           kinds: number of them, then for each: its number, its rows
//!           events: number of them, then for each: chunks from the one before, the event
//! trailer = magic (8 bytes)  offset of the index's chunk u64  its number u32  crc32 of all that
//! ```
//!
//! Events are in the chunks too, among the blocks. Whoever begins in the middle of a file needs
//! those before it, and takes them from the index.
//!
//! *Invariant:* in an index that [`Index::get`] returns, the rows of all kinds add up to those of
//! all chunks, and each event is in one of the chunks.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::encode::Totals;
use crate::events;
use reuselens_io::varint::{Cursor, Damage, put, put_signed};
use reuselens_trace::summary::{BlockTotals, KINDS, Summary, joined, stamps};
use reuselens_trace::{Block, Event, Kind, Selection, TemplateBlock, ThreadId};

/// Bytes of a trailer.
pub(super) const TRAILER: usize = 24;
const MAGIC: &[u8; 8] = b"\x89RLTEND\n";

/// A chunk of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkEntry {
    /// Where its head begins in the file.
    pub offset: u64,
    /// Blocks in it.
    pub blocks: u64,
    /// Rows in them.
    pub rows: u64,
    /// Rows that are accesses.
    pub accesses: u64,
    /// The smallest and the largest stamp of its blocks, if they have any.
    pub stamps: Option<(u64, u64)>,
    /// The threads that made its rows, and how many each.
    pub threads: BTreeMap<ThreadId, u64>,
}

impl ChunkEntry {
    /// Adds a block, but not how many of its rows are accesses.
    fn add(&mut self, block: BlockTotals) {
        let (blocks, rows) = (&mut self.blocks, &mut self.rows);
        block.add_to(blocks, rows, &mut self.stamps, &mut self.threads);
    }
}

/// The chunks of a native file, and what they add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// The chunks, in their order.
    pub chunks: Vec<ChunkEntry>,
    /// The sums of all chunks, and all events.
    pub summary: Summary,
    /// For each event of the summary the number of its chunk.
    pub event_chunks: Vec<u32>,
}

impl Index {
    /// Adds a block of rows to the chunk that is being written.
    pub(super) fn block(&mut self, chunk: &mut ChunkEntry, block: &Block) {
        let accesses = self.summary.accesses();
        self.summary.block(block);
        chunk.accesses += self.summary.accesses() - accesses;
        chunk.add(BlockTotals::of(block));
    }

    /// Adds a block of templates to the chunk that is being written. The kinds of its rows are
    /// added by [`Self::template_rows`].
    pub(super) fn template_block(
        &mut self,
        chunk: &mut ChunkEntry,
        block: &TemplateBlock,
        rows: usize,
    ) {
        let totals = BlockTotals {
            thread: block.thread,
            rows: rows as u64,
            stamps: stamps(block.first_stamp, block.last_stamp),
        };
        self.summary.add(totals);
        chunk.add(totals);
    }

    /// Adds the rows of each kind that template blocks stand for in the chunk that is being
    /// written.
    pub(super) fn template_rows(&mut self, chunk: &mut ChunkEntry, kinds: &[u64; KINDS]) {
        let accesses = self.summary.accesses();
        for (sum, rows) in self.summary.kinds.iter_mut().zip(kinds) {
            *sum += rows;
        }
        chunk.accesses += self.summary.accesses() - accesses;
    }

    /// Adds an event. `number` is that of the chunk that is being written.
    pub(super) fn event(&mut self, number: usize, event: &Event) {
        self.summary.events.push(event.clone());
        self.event_chunks.push(number as u32);
    }

    /// The totals of the file, as the index has them.
    pub(super) fn totals(&self) -> Totals {
        Totals {
            chunks: self.chunks.len() as u64,
            blocks: self.summary.blocks,
            rows: self.summary.rows,
            events: self.summary.events.len() as u64,
        }
    }

    /// The events of some chunks.
    pub(super) fn events_of(&self, chunks: Range<usize>) -> &[Event] {
        let place = |chunk: usize| {
            self.event_chunks
                .partition_point(|&of| (of as usize) < chunk)
        };
        &self.summary.events[place(chunks.start)..place(chunks.end)]
    }

    /// Whether chunk `number`, whose first row is `first`, may have rows that are wanted.
    pub(super) fn wants(&self, selection: &Selection, number: usize, first: u64) -> bool {
        let chunk = &self.chunks[number];
        let rows = first..first + chunk.rows;
        let has_state = self.summary.kinds().any(|(kind, _)| kind.is_state());
        let threads = chunk.threads.keys().copied();
        selection.wants(rows, chunk.stamps, threads, has_state)
    }

    /// Replaces `out` by the bytes of the index.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.clear();
        put(out, self.chunks.len() as u64);
        let (mut offset, mut stamp) = (0, 0);
        for chunk in &self.chunks {
            put(out, chunk.offset - offset);
            offset = chunk.offset;
            for number in [chunk.blocks, chunk.rows, chunk.accesses] {
                put(out, number);
            }
            put(out, chunk.stamps.is_some().into());
            if let Some((first, last)) = chunk.stamps {
                put_signed(out, first.wrapping_sub(stamp));
                put_signed(out, last.wrapping_sub(first));
                stamp = first;
            }
            put(out, chunk.threads.len() as u64);
            for (thread, rows) in &chunk.threads {
                put(out, thread.0.into());
                put(out, *rows);
            }
        }
        put(out, self.summary.kinds().count() as u64);
        for (kind, rows) in self.summary.kinds() {
            put(out, kind as u64);
            put(out, rows);
        }
        put(out, self.summary.events.len() as u64);
        let mut before = 0;
        for (chunk, event) in self.event_chunks.iter().zip(&self.summary.events) {
            put(out, u64::from(chunk - before));
            events::put(out, event);
            before = *chunk;
        }
    }

    /// Reads what [`Self::put`] wrote.
    ///
    /// # Errors
    /// If it is cut off, or its numbers do not match.
    pub(super) fn get(plain: &[u8]) -> Result<Index, Damage> {
        let (mut from, mut index) = (Cursor::new(plain, 0), Index::default());
        let (mut offset, mut stamp) = (0, 0);
        for _ in 0..count(&mut from, plain)? {
            let chunk = chunk(&mut from, plain, (&mut offset, &mut stamp))?;
            let summary = &mut index.summary;
            summary.blocks = added(summary.blocks, chunk.blocks)?;
            summary.rows = added(summary.rows, chunk.rows)?;
            summary.stamps = joined(summary.stamps, chunk.stamps);
            for (thread, rows) in &chunk.threads {
                let sum = summary.threads.entry(*thread).or_default();
                *sum = added(*sum, *rows)?;
            }
            index.chunks.push(chunk);
        }
        for _ in 0..count(&mut from, plain)? {
            let kind = Kind::from_u8(from.small()?).ok_or(WRONG)?;
            index.summary.kinds[kind as usize] = from.number()?;
        }
        let rows = index
            .summary
            .kinds
            .iter()
            .try_fold(0, |sum, rows| added(sum, *rows))?;
        if rows != index.summary.rows {
            return Err(WRONG);
        }
        let mut chunk = 0_u32;
        for _ in 0..count(&mut from, plain)? {
            chunk = chunk.checked_add(from.small()?).ok_or(WRONG)?;
            if chunk as usize >= index.chunks.len() {
                return Err(WRONG);
            }
            let tag = from.byte()?;
            index.summary.events.push(events::get(tag, &mut from)?);
            index.event_chunks.push(chunk);
        }
        if from.is_at_end() {
            Ok(index)
        } else {
            Err(WRONG)
        }
    }
}

fn chunk(
    from: &mut Cursor<'_>,
    plain: &[u8],
    (offset, stamp): (&mut u64, &mut u64),
) -> Result<ChunkEntry, Damage> {
    *offset = added(*offset, from.number()?)?;
    let mut chunk = ChunkEntry {
        offset: *offset,
        blocks: from.number()?,
        rows: from.number()?,
        accesses: from.number()?,
        ..ChunkEntry::default()
    };
    if from.number()? != 0 {
        let first = stamp.wrapping_add(from.signed()?);
        chunk.stamps = Some((first, first.wrapping_add(from.signed()?)));
        *stamp = first;
    }
    for _ in 0..count(from, plain)? {
        let thread = ThreadId(from.small()?);
        chunk.threads.insert(thread, from.number()?);
    }
    Ok(chunk)
}

/// Reads how many of something follow. Each takes a byte or more, so a number larger than the rest
/// is refused before memory is taken for it.
fn count(from: &mut Cursor<'_>, plain: &[u8]) -> Result<usize, Damage> {
    let count: usize = from.small()?;
    if count > plain.len() - from.at() {
        return Err(WRONG);
    }
    Ok(count)
}

fn added(one: u64, other: u64) -> Result<u64, Damage> {
    one.checked_add(other).ok_or(WRONG)
}

/// The last bytes of a file: where its index is, and the number of the index's chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    pub(super) offset: u64,
    pub(super) number: u32,
}

impl Trailer {
    pub(super) fn bytes(self) -> [u8; TRAILER] {
        let mut bytes = [0; TRAILER];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.number.to_le_bytes());
        let check = crc32fast::hash(&bytes[..20]);
        bytes[20..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// `None` if these bytes are no trailer.
    pub(super) fn of(bytes: &[u8; TRAILER]) -> Option<Trailer> {
        let offset = u64::from_le_bytes(*bytes[8..].first_chunk()?);
        let number = u32::from_le_bytes(*bytes[16..].first_chunk()?);
        let trailer = Trailer { offset, number };
        (trailer.bytes() == *bytes).then_some(trailer)
    }
}

const WRONG: Damage = Damage("the index is damaged");
