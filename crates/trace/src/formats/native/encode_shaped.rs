//! Shapes and words to streams.

use crate::formats::native::bytes::{LONGEST, put_at, zigzag};
use crate::formats::native::shapes::{NEW, Nexts, OTHER, START, Trails, Word, follow};
use crate::summary::KINDS;
use crate::{Kind, ShapedBlock, Shapes};

/// The most bytes of a token.
const TOKEN: usize = 5;

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
    words: Vec<Word>,
    trails: Trails,
    /// The kinds of all rows described.
    kinds: Vec<Kind>,
}

impl ShapeEncoder {
    pub(super) fn new() -> ShapeEncoder {
        ShapeEncoder {
            places: Vec::new(),
            sites: vec![Site::default()],
            words: Vec::new(),
            trails: Trails::default(),
            kinds: Vec::new(),
        }
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
    pub(super) fn block(
        &mut self,
        block: &ShapedBlock,
        shapes: &Shapes,
        [described, tokens, addrs]: [&mut Vec<u8>; 3],
    ) -> Option<usize> {
        if self.places.len() < shapes.len() {
            self.places.resize(shapes.len().next_power_of_two(), 0);
        }
        let (mut token_at, mut addr_at) = (tokens.len(), addrs.len());
        tokens.resize(token_at + block.shapes.len() * TOKEN, 0);
        addrs.resize(addr_at + block.words.len() * LONGEST, 0);
        let (mut before, mut step, mut rows) = (START, 0, 0);
        let mut words = block.words.as_slice();
        for &shape in &block.shapes {
            let mut number = *self.places.get(shape as usize)?;
            let nexts = &mut self.sites[before].nexts;
            if number == nexts[0] && number != 0 {
                // A zero, which is there already.
                token_at += 1;
            } else {
                let token = if number == 0 {
                    number = self.describe(shape, shapes, described)?;
                    NEW
                } else if number == nexts[1] {
                    OTHER
                } else {
                    u64::from(number) + OTHER
                };
                follow(&mut self.sites[before].nexts, number);
                put_at(tokens, &mut token_at, token);
            }
            before = number as usize;
            let site = &mut self.sites[before];
            site.uses += 1;
            rows += site.rows as usize;
            let (first, count) = (site.first as usize, site.words as usize);
            let (own, others) = words.split_at_checked(count)?;
            words = others;
            for (&value, word) in own.iter().zip(&self.words[first..first + count]) {
                let trail = &mut self.trails.trails[word.trail as usize];
                let (difference, made) = trail.learn(value.wrapping_add(word.displacement), step);
                put_at(addrs, &mut addr_at, zigzag(difference));
                step = made;
            }
        }
        tokens.truncate(token_at);
        addrs.truncate(addr_at);
        words.is_empty().then_some(rows)
    }

    #[cold]
    #[inline(never)]
    fn describe(&mut self, shape: u32, shapes: &Shapes, described: &mut Vec<u8>) -> Option<u32> {
        let rows = shapes.rows(shape);
        rows.first()?;
        let words = shapes.words(shape);
        self.trails.put(described, rows);
        let number = self.sites.len() as u32;
        self.sites.push(Site {
            first: self.words.len() as u32,
            words: words as u32,
            shape,
            first_row: self.kinds.len() as u32,
            rows: rows.len() as u32,
            ..Site::default()
        });
        self.trails.words_of(rows, words, &mut self.words);
        self.places[shape as usize] = number;
        self.kinds.extend(rows.iter().map(|row| row.kind));
        Some(number)
    }
}
