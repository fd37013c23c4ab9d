//! Tokens and differences to rows.
//!
//! Rows are decoded a few dozen at a time, one step after the other: the numbers of both streams, then which
//! site each row is of, then its columns. So no step waits for a branch of another that nothing foretells.
//! Where both streams are zeros the sites repeat in a cycle, see [`super::replay`].

use crate::formats::native::bytes::{Cursor, Damage, unzigzag};
use crate::formats::native::columns::{AGAIN, NEW, START, Site, Trail};
use crate::formats::native::dispatch::Squeeze;
use crate::formats::native::encode::ENOUGH_ROWS;
use crate::formats::native::{MAX_BLOCK_ROWS, replay};
use crate::{Columns, Kind};

/// Rows that are decoded together: as many as there are bytes in a word.
const TOGETHER: usize = 8;

/// The most sites that a writer's chunk can have, one for each row: it is written once it has enough
/// rows, and one last block may go beyond. What a forged chunk can cost: about 240 MiB.
pub(super) const MOST_SITES: usize = ENOUGH_ROWS as usize + MAX_BLOCK_ROWS;

/// What the rows of a chunk have shown so far.
pub(super) struct Rows {
    pub(super) sites: Vec<Site>,
    pub(super) trails: Vec<Trail>,
    /// For each site the one that followed it last time.
    pub(super) nexts: Vec<u32>,
    /// The program counter of the site last described.
    pc: u64,
    /// See [`replay`].
    pub(super) steps: Vec<u64>,
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

impl Rows {
    pub(super) fn new() -> Rows {
        Rows {
            sites: vec![Site::start()],
            trails: vec![Trail::default()],
            nexts: vec![START as u32],
            pc: 0,
            steps: Vec::new(),
        }
    }

    /// Forgets everything: a chunk begins.
    pub(super) fn clear(&mut self) {
        self.sites.truncate(1);
        self.trails.truncate(1);
        self.trails[START] = Trail::default();
        self.nexts.clear();
        self.nexts.push(START as u32);
        self.pc = 0;
    }

    /// Fills the columns of a block.
    #[inline(always)]
    pub(super) fn block_here(
        &mut self,
        squeeze: impl Squeeze,
        streams: &mut Streams<'_>,
        columns: &mut Columns<'_>,
    ) -> Result<(), Damage> {
        let count = columns.addrs.len();
        let mut here = Here {
            site: START,
            step: 0,
        };
        let mut at = 0;
        while at + TOGETHER <= count {
            let calm = calm(streams, count - at);
            if calm > TOGETHER {
                replay::calm(self, &mut here, columns, at..at + calm)?;
                streams.tokens.skip(calm);
                streams.addrs.skip(calm);
                at += calm;
                continue;
            }
            let mut rows = columns.part(at..at + TOGETHER);
            self.together(squeeze, streams, &mut here, &mut rows)?;
            at += TOGETHER;
        }
        let rest = count - at;
        let (mut tokens, mut differences) = ([0; TOGETHER], [0; TOGETHER]);
        streams.tokens.numbers(squeeze, &mut tokens[..rest])?;
        streams.addrs.numbers(squeeze, &mut differences[..rest])?;
        let numbers = Numbers::<false, false>(&tokens, &differences);
        self.write(
            numbers,
            &mut streams.described,
            &mut here,
            &mut columns.part(at..count),
        )
    }

    /// Fills a few rows. Most come after each other as before, and many lie where they are expected: what is
    /// not needed then is left out for all of them.
    #[inline(always)]
    fn together(
        &mut self,
        squeeze: impl Squeeze,
        streams: &mut Streams<'_>,
        here: &mut Here,
        rows: &mut Columns<'_>,
    ) -> Result<(), Damage> {
        let (mut tokens, mut differences) = ([0; TOGETHER], [0; TOGETHER]);
        let as_before = streams.tokens.eight(squeeze, &mut tokens)?;
        let expected = streams.addrs.eight(squeeze, &mut differences)?;
        let described = &mut streams.described;
        let (tokens, differences) = (&tokens, &differences);
        match (as_before, expected) {
            (true, true) => self.write(
                Numbers::<true, true>(tokens, differences),
                described,
                here,
                rows,
            ),
            (true, false) => self.write(
                Numbers::<true, false>(tokens, differences),
                described,
                here,
                rows,
            ),
            (false, true) => self.write(
                Numbers::<false, true>(tokens, differences),
                described,
                here,
                rows,
            ),
            (false, false) => self.write(
                Numbers::<false, false>(tokens, differences),
                described,
                here,
                rows,
            ),
        }
    }

    /// Fills up to [`TOGETHER`] rows.
    #[inline(always)]
    fn write<const AS_BEFORE: bool, const EXPECTED: bool>(
        &mut self,
        numbers: Numbers<'_, AS_BEFORE, EXPECTED>,
        described: &mut Cursor<'_>,
        here: &mut Here,
        rows: &mut Columns<'_>,
    ) -> Result<(), Damage> {
        let Numbers(tokens, differences) = numbers;
        for row in 0..rows.addrs.len() {
            let token = if AS_BEFORE { AGAIN } else { tokens[row] };
            let next = u64::from(self.nexts[here.site]);
            // 0 for a new site, and for one that nothing followed yet.
            let mut number = if token == AGAIN { next } else { token - NEW };
            if number.wrapping_sub(1) >= self.nexts.len() as u64 - 1 {
                number = self.unusual(token, described, here.site)?;
            }
            if !AS_BEFORE {
                self.nexts[here.site] = number as u32;
            }
            let number = number as usize;
            let trail = &mut self.trails[number];
            let step = if EXPECTED {
                trail.advance_as_expected(here.step)
            } else {
                trail.advance(unzigzag(differences[row]), here.step)
            };
            put(rows, row, &self.sites[number], trail.last);
            *here = Here { site: number, step };
        }
        Ok(())
    }

    /// The site of a row that is new, or damaged.
    #[cold]
    #[inline(never)]
    fn unusual(
        &mut self,
        token: u64,
        described: &mut Cursor<'_>,
        before: usize,
    ) -> Result<u64, Damage> {
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
        self.sites.push(Site::new(kind, size, self.pc, before));
        self.trails.push(Trail::default());
        self.nexts.push(START as u32);
        Ok(self.sites.len() as u64 - 1)
    }

    /// Writes rows of which each is of the site that followed last time, at the address that was expected.
    pub(super) fn expected(
        &mut self,
        here: &mut Here,
        columns: &mut Columns<'_>,
    ) -> Result<(), Damage> {
        for row in 0..columns.addrs.len() {
            let number = self.nexts[here.site] as usize;
            if number == START {
                return Err(SITE);
            }
            let trail = &mut self.trails[number];
            let step = trail.advance_as_expected(here.step);
            put(columns, row, &self.sites[number], trail.last);
            *here = Here { site: number, step };
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

#[inline(always)]
fn put(columns: &mut Columns<'_>, at: usize, site: &Site, addr: u64) {
    columns.kinds[at] = site.kind;
    columns.sizes[at] = site.size;
    columns.pcs[at] = site.pc;
    columns.addrs[at] = addr;
}

pub(super) const SITE: Damage = Damage("a row names a site that is not there");
