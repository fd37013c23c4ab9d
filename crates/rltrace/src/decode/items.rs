//! Decodes blocks to item accesses.
//!
//! `ChunkDecoder::next` calls [`ChunkDecoder::item_batch`], which decodes consecutive blocks of a
//! thread into one: an item access takes a third of the memory of a row, and each block that is
//! delivered costs something.
//!
//! *Invariant:* a block is appended completely or not at all. If one is damaged, the accesses of
//! those before it are delivered first, and its error next.

use super::{BlockHead, ChunkDecoder, is_block};
use crate::decode_rows::decode_rows;
use crate::decode_templates::{TemplateHead, decode_templates_to_items};
use crate::item_extractor::ItemExtractor;
use crate::processor::level;
use crate::row_classifier::ItemSink;
use reuselens_io::varint::{Cursor, Damage};
use reuselens_trace::Block;

/// Rows of the blocks from which on no more blocks are appended.
const FULL_BATCH: u64 = 1 << 17;

impl ChunkDecoder {
    /// Fills `out` with the item accesses of one or more blocks of a thread.
    pub(super) fn item_batch(
        &mut self,
        plain: &[u8],
        extractor: &mut ItemExtractor,
        out: &mut Block,
    ) -> Result<(), Damage> {
        out.clear();
        extractor.begin_block();
        while !self.heads.is_at_end() && out.item_batch.rows < FULL_BATCH {
            let mut heads = self.heads.cursor(plain);
            let tag = heads.byte()?;
            let is_further = out.item_batch.is_used();
            if is_further
                && !(is_block(tag) && self.is_same_thread(heads, out) && !extractor.sort_changes())
            {
                break;
            }
            let checkpoint = Checkpoint::of(out);
            match self.append_items(plain, extractor, (tag, &mut heads), out) {
                Ok(()) => self.heads.at = heads.at(),
                Err(damage) => {
                    extractor.forget();
                    self.batch.clear();
                    checkpoint.restore(out);
                    self.deferred = Some(damage);
                    return if is_further { Ok(()) } else { Err(damage) };
                }
            }
        }
        Ok(())
    }

    /// Whether the block whose head comes is of the thread of `out`.
    fn is_same_thread(&self, mut heads: Cursor<'_>, out: &Block) -> bool {
        let (process, thread) = (heads.small::<u16>(), heads.small::<u32>());
        process == Ok(out.process.0) && thread == Ok(out.thread.0)
    }

    /// Appends the item accesses of one block.
    fn append_items(
        &mut self,
        plain: &[u8],
        extractor: &mut ItemExtractor,
        (tag, heads): (u8, &mut Cursor<'_>),
        out: &mut Block,
    ) -> Result<(), Damage> {
        let begun = out.item_batch.is_used().then_some(out.first_stamp);
        let head = self.head(tag, heads, out);
        // Of several blocks the first stamp is that of the first.
        out.first_stamp = begun.unwrap_or(out.first_stamp);
        let BlockHead { rows, executions } = head?;
        let mut streams = self.streams(plain);
        let batch = &mut *self.batch;
        let read = match executions {
            None if extractor.is_by_name() => {
                let mut to = ItemSink::<true> {
                    extractor,
                    batch,
                    out,
                };
                decode_rows(level(), &mut self.rows, &mut streams, rows, &mut to)
            }
            None => {
                let mut to = ItemSink::<false> {
                    extractor,
                    batch,
                    out,
                };
                decode_rows(level(), &mut self.rows, &mut streams, rows, &mut to)
            }
            Some(executions) => {
                let head = TemplateHead { executions, rows };
                let to = (&mut *extractor, &mut *out);
                decode_templates_to_items(level(), &mut self.templates, &mut streams, head, to)
            }
        };
        read?;
        self.advance_to(&streams);
        extractor.end_block(out);
        out.item_batch.blocks += 1;
        out.item_batch.rows += rows as u64;
        Ok(())
    }
}

/// What was in a block of item accesses before another was appended.
struct Checkpoint {
    rows: usize,
    items: usize,
    bases: usize,
    before: usize,
    named: bool,
    elements_straddle: bool,
    references: u64,
    last_stamp: u64,
}

impl Checkpoint {
    fn of(block: &Block) -> Checkpoint {
        let batch = &block.item_batch;
        Checkpoint {
            rows: block.len(),
            items: batch.items.len(),
            bases: batch.bases.len(),
            before: batch.before.len(),
            named: batch.named,
            elements_straddle: batch.elements_straddle,
            references: batch.references,
            last_stamp: block.last_stamp,
        }
    }

    /// Removes what was appended since.
    fn restore(self, block: &mut Block) {
        block.truncate(self.rows);
        block.last_stamp = self.last_stamp;
        let batch = &mut block.item_batch;
        batch.items.truncate(self.items);
        batch.bases.truncate(self.bases);
        batch.before.truncate(self.before);
        batch.named = self.named;
        batch.elements_straddle = self.elements_straddle;
        batch.references = self.references;
    }
}
