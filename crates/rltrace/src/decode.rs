//! Streams to rows and events.

use crate::decode_rows::{Rows, Streams};
use crate::decode_templates::{Notes, SLACK, ShapeDecoder};
use crate::decoders::BlockForm;
use crate::encode::{BLOCK, SHAPED, Totals};
use crate::item_extractor::Toucher;
use crate::repeat_sink::Folding;
use crate::row_classifier::{Stage, classes};
use crate::{MAX_BLOCK_ROWS, MAX_SHAPED_ROWS, events, processor};
use reuselens_io::varint::{Cursor, Damage};
use reuselens_trace::SHAPE_ROWS_MOST;
use reuselens_trace::{Block, Event, ProcessId, Repeats, ThreadId};

mod items;

/// What comes next in a chunk.
pub(super) enum Piece {
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

/// The state of a chunk being read.
pub(super) struct Decoder {
    rows: Rows,
    shapes: ShapeDecoder,
    stamp: u64,
    heads: Stream,
    described: Stream,
    tokens: Stream,
    addrs: Stream,
    /// Makes touches of rows, if they are wished for.
    toucher: Option<Toucher>,
    stage: Box<Stage>,
    /// Whether rows that come again are left out, and memory for those that are there: longer than
    /// they are, and not made anew.
    is_folded: bool,
    there: Block,
    /// What was wrong with the block behind the touches that were handed over.
    failed: Option<Damage>,
}

/// A block: how many rows it has, and how many notes, if it is one of shapes.
struct Head {
    count: usize,
    notes: Option<usize>,
}

impl Decoder {
    /// A decoder that is at its end.
    pub(super) fn new(form: BlockForm) -> Decoder {
        let projection = form.projection();
        Decoder {
            is_folded: form.is_folded(),
            there: Block::new(),
            rows: Rows::new(projection.as_ref().map_or([0; 16], classes)),
            shapes: ShapeDecoder::new(projection),
            stamp: 0,
            heads: Stream::default(),
            described: Stream::default(),
            tokens: Stream::default(),
            addrs: Stream::default(),
            toucher: projection.map(Toucher::new),
            stage: Box::new(Stage::new()),
            failed: None,
        }
    }

    /// Begins with the chunk `plain`. Its named accesses are `bare` touches until a structure calls
    /// for more.
    pub(super) fn begin(&mut self, plain: &[u8], bare: bool) -> Result<(), Damage> {
        let mut cursor = Cursor::new(plain, 0);
        let mut lengths = [0_usize; 4];
        for length in &mut lengths {
            *length = cursor.small()?;
        }
        let mut at = cursor.at();
        let streams = [
            &mut self.heads,
            &mut self.described,
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
        self.shapes.clear();
        self.stamp = 0;
        self.failed = None;
        if let Some(toucher) = &mut self.toucher {
            toucher.clear(bare);
        }
        if at == plain.len() {
            Ok(())
        } else {
            Err(STREAMS)
        }
    }

    /// The next piece. `rows` is filled if it is a block.
    pub(super) fn next(&mut self, plain: &[u8], rows: &mut Block) -> Result<Piece, Damage> {
        if let Some(damage) = self.failed {
            return Err(damage);
        }
        if self.heads.is_at_end() {
            let rest = [self.described, self.tokens, self.addrs];
            let done = rest.into_iter().all(Stream::is_at_end);
            return if done { Ok(Piece::End) } else { Err(STREAMS) };
        }
        let mut heads = self.heads.cursor(plain);
        let tag = heads.byte()?;
        if !is_block(tag) {
            let event = events::get(tag, &mut heads)?;
            self.heads.at = heads.at();
            return Ok(Piece::Event(event));
        }
        match self.toucher.take() {
            None => self.block(plain, tag, &mut heads, rows)?,
            Some(mut toucher) => {
                let touched = self.touch(plain, &mut toucher, rows);
                self.toucher = Some(toucher);
                touched?;
                return Ok(Piece::Block);
            }
        }
        self.heads.at = heads.at();
        Ok(Piece::Block)
    }

    /// A block as rows.
    fn block(
        &mut self,
        plain: &[u8],
        tag: u8,
        heads: &mut Cursor<'_>,
        rows: &mut Block,
    ) -> Result<(), Damage> {
        let Head { count, notes } = self.head(tag, heads, rows)?;
        let mut streams = self.streams(plain);
        let notes = notes.map(|notes| Notes { notes, rows: count });
        if self.is_folded {
            rows.clear();
            let there = self.folded(&mut streams, (count, notes), &mut rows.repeats);
            self.went_on(&streams);
            rows.append_first(&self.there, there?);
            return Ok(());
        }
        let read = match notes {
            None => {
                let mut columns = rows.overwrite(count);
                processor::block(&mut self.rows, &mut streams, count, &mut columns)
            }
            Some(notes) => {
                let columns = &mut rows.overwrite(count + SLACK);
                processor::shaped(&mut self.shapes, &mut streams, notes, columns)
            }
        };
        rows.truncate(count);
        self.went_on(&streams);
        read
    }

    /// A block without the rows that come again; how many are there.
    fn folded(
        &mut self,
        streams: &mut Streams<'_>,
        (count, notes): (usize, Option<Notes>),
        repeats: &mut Repeats,
    ) -> Result<usize, Damage> {
        let needed = (count + SLACK).max(self.there.len());
        let mut columns = self.there.overwrite(needed);
        match notes {
            None => {
                repeats.known = self.shapes.templates();
                let mut folding = Folding::new(columns, repeats);
                processor::block(&mut self.rows, streams, count, &mut folding)?;
                Ok(count - folding.folded())
            }
            Some(notes) => {
                processor::folded(&mut self.shapes, streams, notes, (&mut columns, repeats))
            }
        }
    }

    /// The head of a block.
    fn head(&mut self, tag: u8, heads: &mut Cursor<'_>, rows: &mut Block) -> Result<Head, Damage> {
        self.whose(heads, rows)?;
        let tokens = self.tokens.end - self.tokens.at;
        if tag != SHAPED {
            let count: usize = heads.small()?;
            // Every row has at least one byte of tokens.
            if count > MAX_BLOCK_ROWS || count > tokens {
                return Err(MORE_ROWS);
            }
            return Ok(Head { count, notes: None });
        }
        let (notes, count): (usize, usize) = (heads.small()?, heads.small()?);
        // Every note has at least one bit of tokens.
        let most = tokens.saturating_mul(8);
        if count > MAX_SHAPED_ROWS || notes > most || count > notes.saturating_mul(SHAPE_ROWS_MOST)
        {
            return Err(MORE_ROWS);
        }
        let notes = Some(notes);
        Ok(Head { count, notes })
    }

    /// Whose a block is, and when it was made.
    fn whose(&mut self, heads: &mut Cursor<'_>, rows: &mut Block) -> Result<(), Damage> {
        rows.process = ProcessId(heads.small()?);
        rows.thread = ThreadId(heads.small()?);
        rows.first_stamp = self.stamp.wrapping_add(heads.signed()?);
        rows.last_stamp = rows.first_stamp.wrapping_add(heads.signed()?);
        self.stamp = rows.last_stamp;
        Ok(())
    }

    /// What rows are made of, from where it is read on.
    fn streams<'a>(&self, plain: &'a [u8]) -> Streams<'a> {
        Streams {
            described: self.described.cursor(plain),
            tokens: self.tokens.cursor(plain),
            addrs: self.addrs.cursor(plain),
        }
    }

    fn went_on(&mut self, streams: &Streams<'_>) {
        self.described.at = streams.described.at();
        self.tokens.at = streams.tokens.at();
        self.addrs.at = streams.addrs.at();
    }
}

fn is_block(tag: u8) -> bool {
    matches!(tag, BLOCK | SHAPED)
}

/// The totals in an ending.
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
    use crate::decode_rows::MOST_SITES;
    use crate::sites::NEW;
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
            vec![NEW as u8; sites],
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
    fn a_forged_chunk_has_no_more_sites_than_a_writers() {
        let plain = chunk(MOST_SITES / ROWS + 1);
        let (mut decoder, mut rows) = (Decoder::new(BlockForm::Rows), Block::new());
        decoder.begin(&plain, true).unwrap();
        for _ in 0..MOST_SITES / ROWS {
            assert!(matches!(decoder.next(&plain, &mut rows), Ok(Piece::Block)));
            assert_eq!(rows.len(), ROWS);
        }
        let damage = decoder.next(&plain, &mut rows).map(|_| ()).unwrap_err();
        assert!(damage.0.contains("more sites"), "{}", damage.0);
        assert_eq!(decoder.rows.sites.len(), MOST_SITES + 1);
    }
}
