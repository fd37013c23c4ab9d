//! Streams to rows and events.

use crate::formats::native::MAX_BLOCK_ROWS;
use crate::formats::native::bytes::{Cursor, Damage};
use crate::formats::native::columns::{AGAIN, NEW, START, Site};
use crate::formats::native::encode::{BLOCK, Totals};
use crate::formats::native::events;
use crate::formats::native::writer::ENOUGH_ROWS;
use crate::{Block, Columns, Event, Kind, ProcessId, ThreadId};

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
    sites: Vec<Site>,
    /// For each site the one that followed it last time; apart from them, as every row waits for it.
    nexts: Vec<u32>,
    pc: u64,
    stamp: u64,
    heads: Stream,
    described: Stream,
    tokens: Stream,
    addrs: Stream,
}

impl Decoder {
    /// A decoder that is at its end.
    pub(super) fn new() -> Decoder {
        Decoder {
            sites: vec![Site::start()],
            nexts: vec![START as u32],
            pc: 0,
            stamp: 0,
            heads: Stream::default(),
            described: Stream::default(),
            tokens: Stream::default(),
            addrs: Stream::default(),
        }
    }

    /// Begins with the chunk `plain`.
    pub(super) fn begin(&mut self, plain: &[u8]) -> Result<(), Damage> {
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
        self.sites.truncate(1);
        self.sites[START] = Site::start();
        self.nexts.clear();
        self.nexts.push(START as u32);
        self.pc = 0;
        self.stamp = 0;
        if at == plain.len() {
            Ok(())
        } else {
            Err(STREAMS)
        }
    }

    /// The next piece. `rows` is filled if it is a block.
    pub(super) fn next(&mut self, plain: &[u8], rows: &mut Block) -> Result<Piece, Damage> {
        if self.heads.is_at_end() {
            let rest = [self.described, self.tokens, self.addrs];
            let done = rest.into_iter().all(Stream::is_at_end);
            return if done { Ok(Piece::End) } else { Err(STREAMS) };
        }
        let mut heads = self.heads.cursor(plain);
        let piece = match heads.byte()? {
            BLOCK => {
                self.block(plain, &mut heads, rows)?;
                Piece::Block
            }
            tag => Piece::Event(events::get(tag, &mut heads)?),
        };
        self.heads.at = heads.at();
        Ok(piece)
    }

    fn block(
        &mut self,
        plain: &[u8],
        heads: &mut Cursor<'_>,
        rows: &mut Block,
    ) -> Result<(), Damage> {
        rows.process = ProcessId(heads.small()?);
        rows.thread = ThreadId(heads.small()?);
        rows.first_stamp = self.stamp.wrapping_add(heads.signed()?);
        rows.last_stamp = rows.first_stamp.wrapping_add(heads.signed()?);
        self.stamp = rows.last_stamp;
        let count: usize = heads.small()?;
        // Every row has at least one byte of tokens.
        if count > MAX_BLOCK_ROWS || count > self.tokens.end - self.tokens.at {
            return Err(Damage("a block claims more rows than its chunk can hold"));
        }
        self.rows(plain, count, rows)
    }

    fn rows(&mut self, plain: &[u8], count: usize, rows: &mut Block) -> Result<(), Damage> {
        let mut described = self.described.cursor(plain);
        let mut tokens = self.tokens.cursor(plain);
        let mut addrs = self.addrs.cursor(plain);
        let mut columns = rows.overwrite(count);
        let mut here = Here {
            site: START,
            step: 0,
        };
        let mut at = 0;
        while at < count {
            let calm = tokens.eight().zip(addrs.eight());
            if calm.is_some_and(|(tokens, addrs)| tokens | addrs == 0) && at + CALM <= count {
                self.calm(&mut here, &mut columns, at)?;
                tokens.skip(CALM);
                addrs.skip(CALM);
                at += CALM;
                continue;
            }
            let number = match tokens.number()? {
                AGAIN => self.nexts[here.site] as usize,
                token => self.other(token, here.site, &mut described)?,
            };
            let site = self.sites.get_mut(number).filter(|_| number != START);
            let site = site.ok_or(SITE)?;
            let step = site.advance(addrs.signed()?, here.step);
            write(&mut columns, at, site);
            here = Here { site: number, step };
            at += 1;
        }
        self.described.at = described.at();
        self.tokens.at = tokens.at();
        self.addrs.at = addrs.at();
        Ok(())
    }

    /// As many rows as eight zero bytes of both streams stand for: each from the site that followed
    /// the last time, at the address that was expected.
    #[inline(always)]
    fn calm(
        &mut self,
        here: &mut Here,
        columns: &mut Columns<'_>,
        from: usize,
    ) -> Result<(), Damage> {
        for at in from..from + CALM {
            let number = self.nexts[here.site] as usize;
            let site = self.sites.get_mut(number).filter(|_| number != START);
            let site = site.ok_or(SITE)?;
            let step = site.advance_as_expected(here.step);
            write(columns, at, site);
            *here = Here { site: number, step };
        }
        Ok(())
    }

    fn other(
        &mut self,
        token: u64,
        before: usize,
        described: &mut Cursor<'_>,
    ) -> Result<usize, Damage> {
        let number = if token == NEW {
            let kind = Kind::from_u8(described.byte()?);
            let size = described.byte()?;
            self.pc = self.pc.wrapping_add(described.signed()?);
            let kind = kind.ok_or(Damage("a row is of a kind that this version does not know"))?;
            if self.sites.len() > MOST_SITES {
                return Err(Damage(
                    "a chunk has more sites than any writer puts into one",
                ));
            }
            self.sites.push(Site::new(kind, size, self.pc, before));
            self.nexts.push(START as u32);
            self.sites.len() - 1
        } else {
            usize::try_from(token - NEW).map_err(|_| SITE)?
        };
        if number >= self.sites.len() {
            return Err(SITE);
        }
        self.nexts[before] = number as u32;
        Ok(number)
    }
}

/// The most sites that a writer's chunk can have, one for each row: it is written once it has enough
/// rows, and one last block may go beyond. What a forged chunk can cost: about 340 MiB.
const MOST_SITES: usize = ENOUGH_ROWS as usize + MAX_BLOCK_ROWS;

/// Where a block is being read: the site and the step of the row before.
#[derive(Clone, Copy)]
struct Here {
    site: usize,
    step: u64,
}

/// Rows of eight bytes of each stream, if all are 0.
const CALM: usize = 8;

#[inline(always)]
fn write(columns: &mut Columns<'_>, at: usize, site: &Site) {
    columns.kinds[at] = site.kind;
    columns.sizes[at] = site.size;
    columns.pcs[at] = site.pc;
    columns.addrs[at] = site.last();
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

const STREAMS: Damage = Damage("the lengths inside a chunk do not fit together");
const SITE: Damage = Damage("a row names a site that is not there");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::native::bytes::{put, put_signed};

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
        let (mut decoder, mut rows) = (Decoder::new(), Block::new());
        decoder.begin(&plain).unwrap();
        for _ in 0..MOST_SITES / ROWS {
            assert!(matches!(decoder.next(&plain, &mut rows), Ok(Piece::Block)));
            assert_eq!(rows.len(), ROWS);
        }
        let damage = decoder.next(&plain, &mut rows).map(|_| ()).unwrap_err();
        assert!(damage.0.contains("more sites"), "{}", damage.0);
        assert_eq!(decoder.sites.len(), MOST_SITES + 1);
    }
}
