//! Blocks of a chunk as touches.

use super::{Decoder, Head, is_block};
use crate::decode_templates::Notes;
use crate::item_extractor::Toucher;
use crate::processor;
use crate::row_classifier::Touching;
use reuselens_io::varint::{Cursor, Damage};
use reuselens_trace::Block;

/// Rows beyond which no more blocks are put together.
const ENOUGH_TOUCHED: u64 = 1 << 17;

impl Decoder {
    /// Some blocks of a thread as touches, as many as are enough: at least one. What comes before
    /// one that is damaged is handed over.
    pub(super) fn touch(
        &mut self,
        plain: &[u8],
        toucher: &mut Toucher,
        out: &mut Block,
    ) -> Result<(), Damage> {
        out.clear();
        toucher.begin();
        while !self.heads.is_at_end() && out.item_batch.rows < ENOUGH_TOUCHED {
            let mut heads = self.heads.cursor(plain);
            let tag = heads.byte()?;
            let more = out.item_batch.is_used();
            if more && !(is_block(tag) && self.goes_on(heads, out) && !toucher.changes()) {
                break;
            }
            let mark = Mark::of(out);
            match self.touch_one(plain, toucher, (tag, &mut heads), out) {
                Ok(()) => self.heads.at = heads.at(),
                Err(damage) => {
                    toucher.forget();
                    self.stage.clear();
                    mark.back(out);
                    self.failed = Some(damage);
                    return if more { Ok(()) } else { Err(damage) };
                }
            }
        }
        Ok(())
    }

    /// Whether the block whose head comes is of the same thread.
    fn goes_on(&self, mut heads: Cursor<'_>, out: &Block) -> bool {
        let (process, thread) = (heads.small::<u16>(), heads.small::<u32>());
        process == Ok(out.process.0) && thread == Ok(out.thread.0)
    }

    /// A block as touches, appended to those before.
    fn touch_one(
        &mut self,
        plain: &[u8],
        toucher: &mut Toucher,
        (tag, heads): (u8, &mut Cursor<'_>),
        out: &mut Block,
    ) -> Result<(), Damage> {
        let begun = out.item_batch.is_used().then_some(out.first_stamp);
        let head = self.head(tag, heads, out);
        out.first_stamp = begun.unwrap_or(out.first_stamp);
        let Head { count, notes } = head?;
        let mut streams = self.streams(plain);
        let read = match notes {
            None if toucher.is_by_name() => {
                let mut to = Touching::<true> {
                    toucher,
                    stage: &mut self.stage,
                    out,
                };
                processor::block(&mut self.rows, &mut streams, count, &mut to)
            }
            None => {
                let mut to = Touching::<false> {
                    toucher,
                    stage: &mut self.stage,
                    out,
                };
                processor::block(&mut self.rows, &mut streams, count, &mut to)
            }
            Some(notes) => {
                let notes = Notes { notes, rows: count };
                let mut to = Touching::<false> {
                    toucher,
                    stage: &mut self.stage,
                    out,
                };
                processor::touch(&mut self.shapes, &mut streams, notes, &mut to)
            }
        };
        read?;
        self.went_on(&streams);
        toucher.end(out);
        out.item_batch.blocks += 1;
        out.item_batch.rows += count as u64;
        Ok(())
    }
}

/// How much there was of touches before a block.
struct Mark {
    rows: usize,
    items: usize,
    bases: usize,
    before: usize,
    flags: (bool, bool),
    references: u64,
    last_stamp: u64,
}

impl Mark {
    fn of(block: &Block) -> Mark {
        let touches = &block.item_batch;
        Mark {
            rows: block.len(),
            items: touches.items.len(),
            bases: touches.bases.len(),
            before: touches.before.len(),
            flags: (touches.named, touches.uneven),
            references: touches.references,
            last_stamp: block.last_stamp,
        }
    }

    /// Takes off what came since.
    fn back(self, block: &mut Block) {
        block.truncate(self.rows);
        block.last_stamp = self.last_stamp;
        let touches = &mut block.item_batch;
        touches.items.truncate(self.items);
        touches.bases.truncate(self.bases);
        touches.before.truncate(self.before);
        (touches.named, touches.uneven) = self.flags;
        touches.references = self.references;
    }
}
