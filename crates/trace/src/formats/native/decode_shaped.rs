//! Tokens and words of shapes to rows.

use crate::formats::native::bytes::{Cursor, Damage, unzigzag};
use crate::formats::native::encode::ENOUGH_ROWS;
use crate::formats::native::rows::{SITE, Streams};
use crate::formats::native::shapes::{AGAIN, NEW, Nexts, OTHER, START, Trails, Word, follow};
use crate::formats::native::{MAX_SHAPED_ROWS, dispatch::Squeeze};
use crate::shaped::{SHAPE_ROWS_MOST, SHAPE_WORDS_MOST, ShapeRow};
use crate::{Columns, Kind};

/// Rows are written so many at a time.
const GROUP: usize = 4;
/// Columns must be that much longer than the rows that are wanted.
pub(super) const SLACK: usize = SHAPE_ROWS_MOST + GROUP;
/// The most rows of shapes that a writer's chunk has. What a forged chunk can cost: about 200 MiB.
const MOST_ROWS: usize = ENOUGH_ROWS as usize + MAX_SHAPED_ROWS;
/// Words, and behind them one that is always 0.
const WORDS: usize = 128;
const NO_WORD: u8 = SHAPE_WORDS_MOST as u8;

/// Rows as words complete them.
#[derive(Clone, Copy)]
struct Group {
    pcs: [u64; GROUP],
    displacements: [u64; GROUP],
    kinds: [Kind; GROUP],
    sizes: [u8; GROUP],
    words: [u8; GROUP],
}

#[derive(Clone, Copy, Default)]
struct Site {
    nexts: Nexts,
    first_word: u32,
    first_group: u32,
    words: u16,
    rows: u16,
}

/// What the notes of a chunk have shown so far.
pub(super) struct ShapeDecoder {
    sites: Vec<Site>,
    words: Vec<Word>,
    groups: Vec<Group>,
    trails: Trails,
    described: Vec<ShapeRow>,
    /// Rows of the chunk so far.
    rows: usize,
}

impl ShapeDecoder {
    pub(super) fn new() -> ShapeDecoder {
        ShapeDecoder {
            sites: vec![Site::default()],
            words: Vec::new(),
            groups: Vec::new(),
            trails: Trails::default(),
            described: Vec::new(),
            rows: 0,
        }
    }

    /// Forgets everything: a chunk begins.
    pub(super) fn clear(&mut self) {
        self.sites.truncate(1);
        self.sites[START] = Site::default();
        self.words.clear();
        self.groups.clear();
        self.trails.clear();
        self.rows = 0;
    }

    /// Fills the columns of a block with the rows of `notes` notes, `rows` in all. The columns are longer by [`SLACK`].
    #[inline(always)]
    pub(super) fn block_here(
        &mut self,
        _: impl Squeeze,
        streams: &mut Streams<'_>,
        (notes, rows): (usize, usize),
        columns: &mut Columns<'_>,
    ) -> Result<(), Damage> {
        self.rows += rows;
        if self.rows > MOST_ROWS {
            return Err(Damage(
                "a chunk has more rows than any writer puts into one",
            ));
        }
        let (mut before, mut step, mut at) = (START, 0, 0);
        let mut words = [0_u64; WORDS];
        for _ in 0..notes {
            let token = streams.tokens.number()?;
            let number = self.number(token, before, &mut streams.described)?;
            before = number as usize;
            let site = self.sites[before];
            let first = site.first_word as usize;
            let own = &self.words[first..first + usize::from(site.words)];
            for (word, into) in own.iter().zip(&mut words) {
                let difference = unzigzag(streams.addrs.number()?);
                let trail = &mut self.trails.trails[word.trail as usize];
                step = trail.advance(difference, step);
                *into = trail.last.wrapping_sub(word.displacement);
            }
            let end = at + usize::from(site.rows);
            if end > rows {
                return Err(ROWS);
            }
            let first = site.first_group as usize;
            let groups = usize::from(site.rows).div_ceil(GROUP);
            fill(&self.groups[first..first + groups], &words, at, columns);
            at = end;
        }
        if at == rows { Ok(()) } else { Err(ROWS) }
    }

    /// The number of the shape that a token stands for.
    #[inline(always)]
    fn number(
        &mut self,
        token: u64,
        before: usize,
        described: &mut Cursor<'_>,
    ) -> Result<u32, Damage> {
        let nexts = self.sites[before].nexts;
        if token == AGAIN && nexts[0] != 0 {
            return Ok(nexts[0]);
        }
        let number = match token {
            NEW => self.describe(described)?,
            OTHER => nexts[1],
            AGAIN => 0,
            token => u32::try_from(token - OTHER).unwrap_or(0),
        };
        if number == 0 || number as usize >= self.sites.len() {
            return Err(SITE);
        }
        follow(&mut self.sites[before].nexts, number);
        Ok(number)
    }

    #[cold]
    #[inline(never)]
    fn describe(&mut self, from: &mut Cursor<'_>) -> Result<u32, Damage> {
        let words = self.trails.get(from, &mut self.described)?;
        let rows = self.described.len();
        if self.groups.len() + rows > MOST_ROWS {
            return Err(Damage(
                "a chunk has more sites than any writer puts into one",
            ));
        }
        self.sites.push(Site {
            first_word: self.words.len() as u32,
            first_group: self.groups.len() as u32,
            words: words as u16,
            rows: rows as u16,
            ..Site::default()
        });
        self.trails
            .words_of(&self.described, words, &mut self.words);
        let groups = self.described.chunks(GROUP).map(|rows| {
            let row = |lane: usize| rows.get(lane).unwrap_or(&rows[0]);
            Group {
                pcs: std::array::from_fn(|lane| row(lane).pc),
                displacements: std::array::from_fn(|lane| row(lane).displacement),
                kinds: std::array::from_fn(|lane| row(lane).kind),
                sizes: std::array::from_fn(|lane| row(lane).size),
                words: std::array::from_fn(|lane| row(lane).word.unwrap_or(NO_WORD)),
            }
        });
        self.groups.extend(groups);
        Ok(self.sites.len() as u32 - 1)
    }
}

/// Writes the rows of a note, whole groups at a time: what is too much is written over, or taken off at the end.
#[inline(always)]
fn fill(groups: &[Group], words: &[u64; WORDS], at: usize, columns: &mut Columns<'_>) {
    let kinds = columns.kinds[at..].as_chunks_mut::<GROUP>().0;
    let sizes = columns.sizes[at..].as_chunks_mut::<GROUP>().0;
    let pcs = columns.pcs[at..].as_chunks_mut::<GROUP>().0;
    let addrs = columns.addrs[at..].as_chunks_mut::<GROUP>().0;
    let into = kinds.iter_mut().zip(sizes).zip(pcs).zip(addrs);
    for (group, (((kinds, sizes), pcs), addrs)) in groups.iter().zip(into) {
        *kinds = group.kinds;
        *sizes = group.sizes;
        *pcs = group.pcs;
        *addrs = std::array::from_fn(|lane| {
            let word = words[usize::from(group.words[lane]) % WORDS];
            word.wrapping_add(group.displacements[lane])
        });
    }
}

const ROWS: Damage = Damage("a block has other rows than it claims");
