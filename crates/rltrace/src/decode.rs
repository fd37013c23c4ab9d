//! Decodes a chunk: its four streams to blocks and events.
//!
//! `decoders` calls [`ChunkDecoder::begin`] with the unpacked bytes of a chunk, then
//! [`ChunkDecoder::next`] until it returns [`ChunkPiece::End`]. Blocks are delivered in the
//! [`BlockForm`] that the reader was asked for: rows, rows with repeats, or item accesses (`items`,
//! which merges blocks). What is in a block is decoded by `decode_rows` and `decode_templates`.
//!
//! *Invariant:* a chunk is decoded without any other: all predictors begin anew. Each stream is
//! read up to where the last complete block left it, and lengths are checked before memory is
//! taken.

use crate::decode_rows::{RowDecoder, Streams, decode_rows};
use crate::decode_templates::{
    COLUMN_SLACK, TemplateDecoder, TemplateHead, decode_templates, decode_templates_to_repeats,
};
use crate::decoders::BlockForm;
use crate::encode::{BLOCK, TEMPLATE_BLOCK, Totals};
use crate::item_extractor::ItemExtractor;
use crate::processor::level;
use crate::repeat_sink::RepeatSink;
use crate::row_classifier::{RowBatch, classes};
use crate::{MAX_BLOCK_ROWS, MAX_TEMPLATE_BLOCK_ROWS, events};
use reuselens_io::varint::{Cursor, Damage};
use reuselens_trace::{Block, Event, MAX_TEMPLATE_ROWS, ProcessId, Repeats, ThreadId};
use reuselens_units::Bytes;

mod items;

/// What comes next in a chunk.
pub(super) enum ChunkPiece {
    /// A block; it is in the caller's.
    Block,
    Event(Event),
    End,
}

/// A stream: where in the chunk it is read on, and where it ends.
#[derive(Clone, Copy, Default)]
struct Stream {
    at: usize,
    end: usize,
}

impl Stream {
    fn cursor(self, plain: &[u8]) -> Cursor<'_> {
        Cursor::new(&plain[..self.end], self.at)
    }

    fn is_at_end(self) -> bool {
        self.at >= self.end
    }
}

/// Decodes chunks, one at a time.
pub(super) struct ChunkDecoder {
    rows: RowDecoder,
    templates: TemplateDecoder,
    /// The last stamp of the block before.
    stamp: u64,
    heads: Stream,
    descriptions: Stream,
    tokens: Stream,
    addrs: Stream,
    /// Makes item accesses of rows, if those were asked for.
    extractor: Option<ItemExtractor>,
    batch: Box<RowBatch>,
    /// Whether repeated rows are left out.
    with_repeats: bool,
    /// Memory for the rows of a block with repeats. How many there are is known only at the end, so
    /// it is longer than they are, and never shrinks.
    scratch: Block,
    /// The error of a block, if the item accesses of the blocks before it were delivered in its
    /// place.
    deferred: Option<Damage>,
}

/// How many rows a block has, and how many executions if it is one of templates.
struct BlockHead {
    rows: usize,
    executions: Option<usize>,
}

impl ChunkDecoder {
    /// A decoder that is at its end.
    pub(super) fn new(form: BlockForm) -> ChunkDecoder {
        let projection = form.projection();
        ChunkDecoder {
            with_repeats: form.with_repeats(),
            scratch: Block::new(),
            rows: RowDecoder::new(projection.as_ref().map_or([0; 16], classes)),
            templates: TemplateDecoder::new(projection),
            stamp: 0,
            heads: Stream::default(),
            descriptions: Stream::default(),
            tokens: Stream::default(),
            addrs: Stream::default(),
            extractor: projection.map(ItemExtractor::new),
            batch: Box::new(RowBatch::new()),
            deferred: None,
        }
    }

    /// Bytes of the rows of a block that are held.
    pub(super) fn memory(&self) -> Bytes {
        self.scratch.memory()
    }

    /// Begins with the chunk `plain`. `address_only`: whether the items of named accesses follow
    /// from their addresses alone, until a structure of the chunk says otherwise.
    ///
    /// # Errors
    /// If the lengths of the streams are not those of the chunk.
    pub(super) fn begin(&mut self, plain: &[u8], address_only: bool) -> Result<(), Damage> {
        let mut cursor = Cursor::new(plain, 0);
        let mut lengths = [0_usize; 4];
        for length in &mut lengths {
            *length = cursor.small()?;
        }
        let mut at = cursor.at();
        let streams = [
            &mut self.heads,
            &mut self.descriptions,
            &mut self.tokens,
            &mut self.addrs,
        ];
        for (stream, length) in streams.into_iter().zip(lengths) {
            let end = at.checked_add(length).filter(|&end| end <= plain.len());
            *stream = Stream {
                at,
                end: end.ok_or(STREAMS)?,
            };
            at = stream.end;
        }
        self.rows.clear();
        self.templates.clear();
        self.stamp = 0;
        self.deferred = None;
        if let Some(extractor) = &mut self.extractor {
            extractor.begin_chunk(address_only);
        }
        if at == plain.len() {
            Ok(())
        } else {
            Err(STREAMS)
        }
    }

    /// The next piece. `block` is filled if it is a block. `plain` must be the bytes of
    /// [`Self::begin`].
    ///
    /// # Errors
    /// If the chunk is damaged there; the decoder must then not be asked for more of it.
    pub(super) fn next(&mut self, plain: &[u8], block: &mut Block) -> Result<ChunkPiece, Damage> {
        if let Some(damage) = self.deferred {
            return Err(damage);
        }
        if self.heads.is_at_end() {
            let rest = [self.descriptions, self.tokens, self.addrs];
            let done = rest.into_iter().all(Stream::is_at_end);
            return if done {
                Ok(ChunkPiece::End)
            } else {
                Err(STREAMS)
            };
        }
        let mut heads = self.heads.cursor(plain);
        let tag = heads.byte()?;
        if !is_block(tag) {
            let event = events::get(tag, &mut heads)?;
            self.heads.at = heads.at();
            return Ok(ChunkPiece::Event(event));
        }
        match self.extractor.take() {
            None => self.block(plain, tag, &mut heads, block)?,
            Some(mut extractor) => {
                let extracted = self.item_batch(plain, &mut extractor, block);
                self.extractor = Some(extractor);
                extracted?;
                return Ok(ChunkPiece::Block);
            }
        }
        self.heads.at = heads.at();
        Ok(ChunkPiece::Block)
    }

    /// Decodes a block to rows, with or without repeats.
    fn block(
        &mut self,
        plain: &[u8],
        tag: u8,
        heads: &mut Cursor<'_>,
        block: &mut Block,
    ) -> Result<(), Damage> {
        let head = self.head(tag, heads, block)?;
        let mut streams = self.streams(plain);
        if self.with_repeats {
            block.clear();
            let rows = self.rows_with_repeats(&mut streams, &head, &mut block.repeats);
            self.advance_to(&streams);
            block.append_first(&self.scratch, rows?);
            return Ok(());
        }
        let rows = head.rows;
        let read = match head.executions {
            None => {
                let columns = &mut block.overwrite(rows);
                decode_rows(level(), &mut self.rows, &mut streams, rows, columns)
            }
            Some(executions) => {
                let head = TemplateHead { executions, rows };
                let columns = &mut block.overwrite(rows + COLUMN_SLACK);
                decode_templates(level(), &mut self.templates, &mut streams, head, columns)
            }
        };
        block.truncate(rows);
        self.advance_to(&streams);
        read
    }

    /// Decodes a block to rows and repeats. Returns how many rows were written to `scratch`.
    fn rows_with_repeats(
        &mut self,
        streams: &mut Streams<'_>,
        head: &BlockHead,
        repeats: &mut Repeats,
    ) -> Result<usize, Damage> {
        let rows = head.rows;
        let needed = (rows + COLUMN_SLACK).max(self.scratch.len());
        let mut columns = self.scratch.overwrite(needed);
        match head.executions {
            None => {
                repeats.known = self.templates.repeat_templates();
                let mut sink = RepeatSink::new(columns, repeats);
                decode_rows(level(), &mut self.rows, streams, rows, &mut sink)?;
                Ok(rows - sink.omitted())
            }
            Some(executions) => {
                let head = TemplateHead { executions, rows };
                let to = (&mut columns, repeats);
                decode_templates_to_repeats(level(), &mut self.templates, streams, head, to)
            }
        }
    }

    /// Reads the head of a block, and checks that its chunk can hold so many rows.
    fn head(
        &mut self,
        tag: u8,
        heads: &mut Cursor<'_>,
        block: &mut Block,
    ) -> Result<BlockHead, Damage> {
        self.thread_and_stamps(heads, block)?;
        let tokens = self.tokens.end - self.tokens.at;
        if tag != TEMPLATE_BLOCK {
            let rows: usize = heads.small()?;
            // Every row has at least one byte of tokens.
            if rows > MAX_BLOCK_ROWS || rows > tokens {
                return Err(MORE_ROWS);
            }
            return Ok(BlockHead {
                rows,
                executions: None,
            });
        }
        let (executions, rows): (usize, usize) = (heads.small()?, heads.small()?);
        // Every execution has at least one bit of tokens.
        let most = tokens.saturating_mul(8);
        let too_many_rows =
            rows > MAX_TEMPLATE_BLOCK_ROWS || rows > executions.saturating_mul(MAX_TEMPLATE_ROWS);
        if too_many_rows || executions > most {
            return Err(MORE_ROWS);
        }
        let executions = Some(executions);
        Ok(BlockHead { rows, executions })
    }

    /// Reads which thread made a block, and when.
    fn thread_and_stamps(
        &mut self,
        heads: &mut Cursor<'_>,
        block: &mut Block,
    ) -> Result<(), Damage> {
        block.process = ProcessId(heads.small()?);
        block.thread = ThreadId(heads.small()?);
        block.first_stamp = self.stamp.wrapping_add(heads.signed()?);
        block.last_stamp = block.first_stamp.wrapping_add(heads.signed()?);
        self.stamp = block.last_stamp;
        Ok(())
    }

    /// The streams of rows, from where the block before has left them.
    fn streams<'a>(&self, plain: &'a [u8]) -> Streams<'a> {
        Streams {
            descriptions: self.descriptions.cursor(plain),
            tokens: self.tokens.cursor(plain),
            addrs: self.addrs.cursor(plain),
        }
    }

    /// The next block begins where `streams` are.
    fn advance_to(&mut self, streams: &Streams<'_>) {
        self.descriptions.at = streams.descriptions.at();
        self.tokens.at = streams.tokens.at();
        self.addrs.at = streams.addrs.at();
    }
}

/// Whether a head of this tag is a block's, and not an event's.
fn is_block(tag: u8) -> bool {
    matches!(tag, BLOCK | TEMPLATE_BLOCK)
}

/// The totals in an ending.
///
/// # Errors
/// If these are not four numbers.
pub(super) fn totals(plain: &[u8]) -> Result<Totals, Damage> {
    let mut cursor = Cursor::new(plain, 0);
    let totals = Totals {
        chunks: cursor.number()?,
        blocks: cursor.number()?,
        rows: cursor.number()?,
        events: cursor.number()?,
    };
    if cursor.is_at_end() {
        Ok(totals)
    } else {
        Err(Damage("the ending is too long"))
    }
}

const MORE_ROWS: Damage = Damage("a block claims more rows than its chunk can hold");
const STREAMS: Damage = Damage("the lengths inside a chunk do not fit together");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode_rows::MAX_SITES;
    use crate::sites::NEW_SITE;
    use reuselens_io::varint::{put, put_signed};
    use reuselens_trace::Kind;

    /// A chunk of `blocks` blocks of [`ROWS`] rows, each row of a site of its own.
    fn chunk(blocks: usize) -> Vec<u8> {
        let mut heads = Vec::new();
        for _ in 0..blocks {
            heads.extend([BLOCK, 0, 0]);
            put_signed(&mut heads, 0);
            put_signed(&mut heads, 0);
            put(&mut heads, ROWS as u64);
        }
        let sites = blocks * ROWS;
        let streams = [
            heads,
            [Kind::Load as u8, 1, 2].repeat(sites),
            vec![NEW_SITE as u8; sites],
            vec![0; sites],
        ];
        let mut plain = Vec::new();
        for stream in &streams {
            put(&mut plain, stream.len() as u64);
        }
        plain.extend(streams.concat());
        plain
    }

    const ROWS: usize = MAX_BLOCK_ROWS / 4;

    #[test]
    fn decoder_refuses_more_sites_than_a_writer_makes() {
        let plain = chunk(MAX_SITES / ROWS + 1);
        let (mut decoder, mut rows) = (ChunkDecoder::new(BlockForm::Rows), Block::new());
        decoder.begin(&plain, true).unwrap();
        for _ in 0..MAX_SITES / ROWS {
            assert!(matches!(
                decoder.next(&plain, &mut rows),
                Ok(ChunkPiece::Block)
            ));
            assert_eq!(rows.len(), ROWS);
        }
        let damage = decoder.next(&plain, &mut rows).map(|_| ()).unwrap_err();
        assert!(damage.0.contains("more sites"), "{}", damage.0);
        assert_eq!(decoder.rows.sites.len(), MAX_SITES + 1);
    }
}
