//! Tokens and differences to rows.
//!
//! Rows are decoded a few dozen at a time, one step after the other: the numbers of both streams,
//! then which site each row is of, then its columns. So no step waits for a branch of another that
//! nothing foretells. Where both streams are zeros the sites repeat in a cycle, see
//! [`super::predicted_runs`].

use std::ops::Range;

use crate::encode::ENOUGH_ROWS;
use crate::iterations::Laps;
use crate::processor::Processor;
use crate::sites::{AGAIN, NEW, START, Trail};
use crate::{MAX_BLOCK_ROWS, predicted_runs};
use reuselens_io::varint::{Cursor, Damage, unzigzag};
use reuselens_trace::{Columns, Kind};

/// Rows that are decoded together: as many as there are bytes in a word.
pub(super) const TOGETHER: usize = 8;

/// The most sites that a writer's chunk can have, one for each row: it is written once it has
/// enough rows, and one last block may go beyond. What a forged chunk can cost: 240 MiB, and more
/// while they grow.
pub(super) const MOST_SITES: usize = ENOUGH_ROWS as usize + MAX_BLOCK_ROWS;

/// What is known of a site: all in one place, as all of it is needed for each row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) trail: Trail,
    pub(super) pc: u64,
    /// The site that followed it last time.
    pub(super) next: u32,
    pub(super) kind: Kind,
    pub(super) size: u8,
    /// What touches are made of its rows.
    pub(super) class: u8,
}

/// The site before the first row of every block.
const BEGIN: Entry = Entry {
    trail: Trail::NONE,
    pc: 0,
    next: START as u32,
    kind: Kind::Load,
    size: 0,
    class: 0,
};

/// What the rows of a chunk have shown so far.
pub(super) struct Rows {
    pub(super) sites: Vec<Entry>,
    /// The program counter of the site last described.
    pc: u64,
    /// See [`predicted_runs`].
    pub(super) steps: Vec<u64>,
    pub(super) laps: Laps,
    /// By number of a kind.
    classes: [u8; 16],
}

/// Where a block is being read: the site and the step of the row before.
#[derive(Clone, Copy)]
pub(super) struct Here {
    pub(super) site: usize,
    pub(super) step: u64,
}

/// The streams that rows are made of.
pub(super) struct Streams<'a> {
    pub(super) described: Cursor<'a>,
    pub(super) tokens: Cursor<'a>,
    pub(super) addrs: Cursor<'a>,
}

/// Where rows go. They come in order, each by its place in the block; up to [`TOGETHER`] of them
/// are then taken together.
pub(super) trait Sink {
    /// A row: its place, and how many came since [`Sink::take`]; its site by its number, and its
    /// address.
    fn put(&mut self, at: (usize, usize), site: (usize, &Entry), addr: u64);

    /// The last so many rows, up to [`TOGETHER`], are whole. All are of these sites.
    fn take(&mut self, squeeze: impl Processor, rows: usize, sites: &[Entry]);

    /// No more rows come, or what comes next are laps.
    fn end(&mut self, squeeze: impl Processor, sites: &[Entry]);

    /// Whole laps of `lap` rows, for `range`; see [`predicted_runs`]. Those that come after each other from
    /// `here` on.
    fn laps(
        &mut self,
        squeeze: impl Processor,
        rows: &mut Rows,
        here: &mut Here,
        lap: usize,
        range: Range<usize>,
    ) -> Result<(), Damage>;
}

impl Sink for Columns<'_> {
    #[inline(always)]
    fn put(&mut self, (at, _): (usize, usize), (_, site): (usize, &Entry), addr: u64) {
        self.kinds[at] = site.kind;
        self.sizes[at] = site.size;
        self.pcs[at] = site.pc;
        self.addrs[at] = addr;
    }

    #[inline(always)]
    fn take(&mut self, _: impl Processor, _: usize, _: &[Entry]) {}

    #[inline(always)]
    fn end(&mut self, _: impl Processor, _: &[Entry]) {}

    fn laps(
        &mut self,
        _: impl Processor,
        rows: &mut Rows,
        here: &mut Here,
        lap: usize,
        range: Range<usize>,
    ) -> Result<(), Damage> {
        predicted_runs::repeat(rows, here.site, lap, self, range);
        Ok(())
    }
}

impl Rows {
    /// `classes` are those of kinds.
    pub(super) fn new(classes: [u8; 16]) -> Rows {
        Rows {
            sites: vec![BEGIN],
            pc: 0,
            steps: Vec::new(),
            laps: Laps::default(),
            classes,
        }
    }

    /// Forgets everything: a chunk begins.
    pub(super) fn clear(&mut self) {
        self.sites.clear();
        self.sites.push(BEGIN);
        self.pc = 0;
    }

    /// Makes the `count` rows of a block.
    #[inline(always)]
    pub(super) fn block_here(
        &mut self,
        squeeze: impl Processor,
        streams: &mut Streams<'_>,
        count: usize,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        let mut here = Here {
            site: START,
            step: 0,
        };
        let mut at = 0;
        while at + TOGETHER <= count {
            let calm = calm(streams, count - at);
            if calm > TOGETHER {
                predicted_runs::calm(self, squeeze, &mut here, sink, at..at + calm)?;
                streams.tokens.skip(calm);
                streams.addrs.skip(calm);
                at += calm;
                continue;
            }
            self.together(squeeze, streams, &mut here, sink, at)?;
            at += TOGETHER;
        }
        let rest = count - at;
        let (mut tokens, mut differences) = ([0; TOGETHER], [0; TOGETHER]);
        streams.tokens.numbers(squeeze, &mut tokens[..rest])?;
        streams.addrs.numbers(squeeze, &mut differences[..rest])?;
        let numbers = Numbers::<false, false>(&tokens, &differences);
        let described = &mut streams.described;
        self.write(squeeze, numbers, described, &mut here, (sink, at, rest))?;
        sink.end(squeeze, &self.sites);
        Ok(())
    }

    /// Fills a few rows. Most come after each other as before, and many lie where they are
    /// expected: what is not needed then is left out for all of them.
    #[inline(always)]
    fn together(
        &mut self,
        squeeze: impl Processor,
        streams: &mut Streams<'_>,
        here: &mut Here,
        sink: &mut impl Sink,
        at: usize,
    ) -> Result<(), Damage> {
        let (mut tokens, mut differences) = ([0; TOGETHER], [0; TOGETHER]);
        let as_before = streams.tokens.eight(squeeze, &mut tokens)?;
        let expected = streams.addrs.eight(squeeze, &mut differences)?;
        let described = &mut streams.described;
        let (tokens, differences) = (&tokens, &differences);
        match (as_before, expected) {
            (true, true) => self.write(
                squeeze,
                Numbers::<true, true>(tokens, differences),
                described,
                here,
                (sink, at, TOGETHER),
            ),
            (true, false) => self.write(
                squeeze,
                Numbers::<true, false>(tokens, differences),
                described,
                here,
                (sink, at, TOGETHER),
            ),
            (false, true) => self.write(
                squeeze,
                Numbers::<false, true>(tokens, differences),
                described,
                here,
                (sink, at, TOGETHER),
            ),
            (false, false) => self.write(
                squeeze,
                Numbers::<false, false>(tokens, differences),
                described,
                here,
                (sink, at, TOGETHER),
            ),
        }
    }

    /// Fills up to [`TOGETHER`] rows.
    #[inline(always)]
    fn write<const AS_BEFORE: bool, const EXPECTED: bool>(
        &mut self,
        squeeze: impl Processor,
        numbers: Numbers<'_, AS_BEFORE, EXPECTED>,
        described: &mut Cursor<'_>,
        here: &mut Here,
        (sink, at, rows): (&mut impl Sink, usize, usize),
    ) -> Result<(), Damage> {
        let Numbers(tokens, differences) = numbers;
        let Here { mut site, mut step } = *here;
        let mut next = self.sites[site].next as usize;
        let mut sites = self.sites.as_mut_slice();
        for row in 0..rows.min(TOGETHER) {
            let token = if AS_BEFORE { AGAIN } else { tokens[row] };
            // 0 for a new site, and for one that nothing followed yet. Without a branch, as nothing
            // foretells which.
            let again = u64::from(token == AGAIN).wrapping_neg();
            let named = token.wrapping_sub(NEW) & !again;
            let mut number = (next as u64 & again | named) as usize;
            if number == START || number >= sites.len() {
                number = self.unusual(token, described)?;
                sites = self.sites.as_mut_slice();
            }
            if !AS_BEFORE {
                sites[site].next = number as u32;
            }
            let entry = &mut sites[number];
            step = if EXPECTED {
                entry.trail.advance_as_expected(step)
            } else {
                entry.trail.advance(unzigzag(differences[row]), step)
            };
            let addr = entry.trail.last;
            next = entry.next as usize;
            sink.put((at + row, row), (number, entry), addr);
            site = number;
        }
        *here = Here { site, step };
        sink.take(squeeze, rows, sites);
        Ok(())
    }

    /// The site of a row that is new, or damaged.
    #[cold]
    #[inline(never)]
    fn unusual(&mut self, token: u64, described: &mut Cursor<'_>) -> Result<usize, Damage> {
        if token != NEW {
            return Err(SITE);
        }
        let kind = Kind::from_u8(described.byte()?);
        let size = described.byte()?;
        self.pc = self.pc.wrapping_add(described.signed()?);
        let kind = kind.ok_or(Damage("a row is of a kind that this version does not know"))?;
        if self.sites.len() > MOST_SITES {
            return Err(Damage(
                "a chunk has more sites than any writer puts into one",
            ));
        }
        self.sites.push(Entry {
            pc: self.pc,
            kind,
            size,
            class: self.classes[kind as usize % 16],
            ..BEGIN
        });
        Ok(self.sites.len() - 1)
    }

    /// Writes rows of which each is of the site that followed last time, at the address that was
    /// expected.
    pub(super) fn expected(
        &mut self,
        squeeze: impl Processor,
        here: &mut Here,
        sink: &mut impl Sink,
        range: Range<usize>,
    ) -> Result<(), Damage> {
        let Range { mut start, end } = range;
        let sites = self.sites.as_mut_slice();
        while start < end {
            let rows = TOGETHER.min(end - start);
            for row in 0..rows {
                let number = sites[here.site].next as usize;
                if number == START {
                    return Err(SITE);
                }
                let entry = &mut sites[number];
                let step = entry.trail.advance_as_expected(here.step);
                let addr = entry.trail.last;
                sink.put((start + row, row), (number, entry), addr);
                *here = Here { site: number, step };
            }
            sink.take(squeeze, rows, sites);
            start += rows;
        }
        Ok(())
    }
}

/// The tokens and differences of some rows, and whether it is known that all are 0.
struct Numbers<'a, const AS_BEFORE: bool, const EXPECTED: bool>(
    &'a [u64; TOGETHER],
    &'a [u64; TOGETHER],
);

/// For how many rows both streams go on with zeros, if they are many.
#[inline(always)]
fn calm(streams: &Streams<'_>, rows: usize) -> usize {
    let Streams { tokens, addrs, .. } = streams;
    if rows < 32 || !(tokens.begins_with_zeros() && addrs.begins_with_zeros()) {
        return 0;
    }
    addrs.zeros(tokens.zeros(rows))
}

pub(super) const SITE: Damage = Damage("a row names a site that is not there");
