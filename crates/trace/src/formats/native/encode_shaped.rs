//! Shapes and words to streams.

use crate::formats::native::bytes::{LONGEST, put_any, zigzag};
use crate::formats::native::dispatch::Squeeze;
use crate::formats::native::shapes::{
    AGAIN, ENOUGH_DESCRIBED, NEW, Nexts, OTHER, Plan, START, Trails, Words,
};
use crate::summary::KINDS;
use crate::{Kind, ShapedBlock, Shapes};

/// The most bytes of a token.
const TOKEN: usize = 5;
/// The most bytes that are written behind the last.
const ROOM: usize = 8;

/// A shape in the chunk.
#[derive(Clone, Copy, Default)]
struct Site {
    nexts: Nexts,
    /// Its first word.
    first: u32,
    words: u32,
    /// How many notes there were of it.
    uses: u64,
    /// Its number in the source.
    shape: u32,
    /// Where the kinds of its rows are.
    first_row: u32,
    rows: u32,
}

/// What the notes of a chunk have shown so far.
pub(super) struct ShapeEncoder {
    /// By a shape's number in the source that in the chunk, or 0.
    places: Vec<u32>,
    sites: Vec<Site>,
    words: Words,
    plan: Plan,
    trails: Trails,
    /// The kinds of all rows described.
    kinds: Vec<Kind>,
}

impl ShapeEncoder {
    pub(super) fn new() -> ShapeEncoder {
        ShapeEncoder {
            places: Vec::new(),
            sites: vec![Site::default()],
            words: Words::new(),
            plan: Plan::default(),
            trails: Trails::default(),
            kinds: Vec::new(),
        }
    }

    /// Whether the chunk describes so much that it is to be written.
    pub(super) fn is_full(&self) -> bool {
        self.kinds.len() >= ENOUGH_DESCRIBED || self.words.len() >= ENOUGH_DESCRIBED
    }

    /// Adds up the rows of each kind, and forgets everything.
    pub(super) fn finish(&mut self, kinds: &mut [u64; KINDS]) {
        for site in &self.sites[1..] {
            let rows = site.first_row as usize..(site.first_row + site.rows) as usize;
            for kind in &self.kinds[rows] {
                kinds[*kind as usize % KINDS] += site.uses;
            }
            self.places[site.shape as usize] = 0;
        }
        self.sites.truncate(1);
        self.sites[START] = Site::default();
        self.words.clear();
        self.trails.clear();
        self.kinds.clear();
    }

    /// Writes the notes of a block; how many rows they stand for. `None`, and the streams are of no use any more, if they
    /// do not fit `shapes`.
    #[inline(always)]
    pub(super) fn block_here(
        &mut self,
        squeeze: impl Squeeze,
        block: &ShapedBlock,
        shapes: &Shapes,
        [described, tokens, addrs]: [&mut Vec<u8>; 3],
    ) -> Option<usize> {
        if self.places.len() < shapes.len() {
            self.places.resize(shapes.len().next_power_of_two(), 0);
        }
        let rows = self.tokens(squeeze, block, shapes, described, tokens)?;
        self.addresses(squeeze, block.words(), addrs);
        Some(rows)
    }

    /// Writes the tokens, and into `plan` which words there are. Without a branch over anything that nothing foretells:
    /// what comes next, and how many words it has.
    #[inline(always)]
    fn tokens(
        &mut self,
        squeeze: impl Squeeze,
        block: &ShapedBlock,
        shapes: &Shapes,
        described: &mut Vec<u8>,
        tokens: &mut Vec<u8>,
    ) -> Option<usize> {
        let mut at = tokens.len();
        tokens.resize(at + block.shapes().len() * TOKEN + ROOM, 0);
        let mut plan = std::mem::take(&mut self.plan);
        plan.clear();
        let most = block.words().len();
        let (mut before, mut rows) = (START, 0);
        for &shape in block.shapes() {
            let mut number = *self.places.get(shape as usize)?;
            let mut is_new = false;
            if number == 0 {
                number = self.describe(shape, shapes, described)?;
                is_new = true;
            }
            let nexts = &mut self.sites[before].nexts;
            let other = if number == nexts[1] {
                OTHER
            } else {
                u64::from(number) + OTHER
            };
            let again = number == nexts[0];
            let token = if again { AGAIN } else { other };
            put_any(squeeze, tokens, &mut at, if is_new { NEW } else { token });
            *nexts = [number, if again { nexts[1] } else { nexts[0] }];
            before = number as usize;
            let site = &mut self.sites[before];
            site.uses += 1;
            rows += site.rows as usize;
            let (first, count) = (site.first as usize, site.words as usize);
            plan.push(&self.words, first, count, most)?;
        }
        tokens.truncate(at);
        self.plan = plan;
        (self.plan.len() == most).then_some(rows)
    }

    /// Writes how far each word is from what is expected of it.
    #[inline(always)]
    fn addresses(&mut self, squeeze: impl Squeeze, words: &[u64], addrs: &mut Vec<u8>) {
        let mut at = addrs.len();
        addrs.resize(at + words.len() * LONGEST, 0);
        let mut step = 0;
        let trails = self.trails.trails.as_mut_slice();
        for (&value, word) in words.iter().zip(self.plan.words()) {
            let trail = &mut trails[word.trail as usize];
            let (difference, made) = trail.learn(value.wrapping_add(word.displacement), step);
            put_any(squeeze, addrs, &mut at, zigzag(difference));
            step = made;
        }
        addrs.truncate(at);
    }

    #[cold]
    #[inline(never)]
    fn describe(&mut self, shape: u32, shapes: &Shapes, described: &mut Vec<u8>) -> Option<u32> {
        let rows = shapes.rows(shape);
        rows.first()?;
        let words = shapes.words(shape);
        self.trails.put(described, rows);
        let number = self.sites.len() as u32;
        let first = self.words.add(&mut self.trails, rows, words);
        self.sites.push(Site {
            first: first as u32,
            words: words as u32,
            shape,
            first_row: self.kinds.len() as u32,
            rows: rows.len() as u32,
            ..Site::default()
        });
        self.places[shape as usize] = number;
        self.kinds.extend(rows.iter().map(|row| row.kind));
        Some(number)
    }
}
