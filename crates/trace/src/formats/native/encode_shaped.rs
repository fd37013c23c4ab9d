//! Shapes and words to streams.
//!
//! Two steps for each block: which token each note has and how far each word is from what is expected of it, one number each;
//! then the numbers are packed, several at once where the processor can. Neither step has a branch over what nothing
//! foretells, but for how many words a note has.

use std::hint::select_unpredictable;

use crate::formats::native::MAX_SHAPED_WORDS;
use crate::formats::native::bytes::LONGEST;
use crate::formats::native::dispatch::{self, ROOM};
use crate::formats::native::output::Output;
use crate::formats::native::shapes::{
    AGAIN, ENOUGH_DESCRIBED, NEW, Nexts, OTHER, START, Trails, Word, Words,
};
use crate::summary::KINDS;
use crate::{Kind, ShapedBlock, Shapes};

/// A shape in the chunk: what each note needs of it, as little as there is.
#[derive(Clone, Copy, Default)]
struct Site {
    nexts: Nexts,
    /// Its first word.
    first: u32,
    words: u16,
    rows: u16,
    /// How many notes there were of it.
    uses: u32,
}

/// The rest of it.
#[derive(Clone, Copy)]
struct Origin {
    /// Its number in the source.
    shape: u32,
    /// Where the kinds of its rows are.
    first_row: u32,
}

/// What the notes of a chunk have shown so far.
pub(super) struct ShapeEncoder {
    /// By a shape's number in the source that in the chunk, or 0.
    places: Vec<u32>,
    sites: Vec<Site>,
    /// Of all sites but the first.
    origins: Vec<Origin>,
    words: Words,
    trails: Trails,
    /// The last address of each trail.
    lasts: Vec<u64>,
    /// The kinds of all rows described.
    kinds: Vec<Kind>,
    /// The numbers of a block.
    tokens: Vec<u64>,
    differences: Vec<u64>,
}

impl ShapeEncoder {
    pub(super) fn new() -> ShapeEncoder {
        ShapeEncoder {
            places: Vec::new(),
            sites: vec![Site::default()],
            origins: Vec::new(),
            words: Words::new(),
            trails: Trails::default(),
            lasts: Vec::new(),
            kinds: Vec::new(),
            tokens: Vec::new(),
            differences: Vec::new(),
        }
    }

    /// Whether the chunk describes so much that it is to be written.
    pub(super) fn is_full(&self) -> bool {
        self.kinds.len() >= ENOUGH_DESCRIBED || self.words.len() >= ENOUGH_DESCRIBED
    }

    /// Adds up the rows of each kind, and forgets everything.
    pub(super) fn finish(&mut self, kinds: &mut [u64; KINDS]) {
        for (site, origin) in self.sites[1..].iter().zip(&self.origins) {
            let first = origin.first_row as usize;
            for kind in &self.kinds[first..first + usize::from(site.rows)] {
                kinds[*kind as usize % KINDS] += u64::from(site.uses);
            }
            self.places[origin.shape as usize] = 0;
        }
        self.sites.truncate(1);
        self.sites[START] = Site::default();
        self.origins.clear();
        self.words.clear();
        self.trails.clear();
        self.lasts.clear();
        self.kinds.clear();
    }

    /// Writes the notes of a block; how many rows they stand for. `None`, and the streams are of no use any more, if they
    /// do not fit `shapes`.
    pub(super) fn block(
        &mut self,
        block: &ShapedBlock,
        shapes: &Shapes,
        (described, tokens, addrs): (&mut Vec<u8>, &mut Output, &mut Output),
    ) -> Option<usize> {
        if self.places.len() < shapes.len() {
            self.places.resize(shapes.len().next_power_of_two(), 0);
        }
        let (notes, words) = (block.shapes().len(), block.words().len());
        if words > MAX_SHAPED_WORDS {
            return None;
        }
        let rows = self.numbers(block, shapes, described)?;
        pack::<false>(&self.tokens[..notes], tokens);
        pack::<true>(&self.differences[..words], addrs);
        Some(rows)
    }

    /// The tokens of a block's notes and the differences of its words; how many rows they stand for.
    fn numbers(
        &mut self,
        block: &ShapedBlock,
        shapes: &Shapes,
        described: &mut Vec<u8>,
    ) -> Option<usize> {
        let mut tokens = at_least(&mut self.tokens, block.shapes().len());
        let mut differences = at_least(&mut self.differences, block.words().len());
        let (mut words, mut into) = (block.words(), &mut differences[..]);
        let (mut before, mut rows) = (START, 0);
        for (&shape, token) in block.shapes().iter().zip(&mut tokens) {
            let mut number = *self.places.get(shape as usize)?;
            let mut named = u64::from(number) + OTHER;
            if number == 0 {
                number = self.describe(shape, shapes, described)?;
                named = NEW;
            }
            // Nothing foretells which, so there is no branch. A new one is neither.
            let nexts = &mut self.sites[before].nexts;
            let [last, other] = *nexts;
            let again = number == last;
            named = select_unpredictable(number == other, OTHER, named);
            *token = select_unpredictable(again, AGAIN, named);
            *nexts = [number, select_unpredictable(again, other, last)];

            before = number as usize;
            let site = &mut self.sites[before];
            site.uses += 1;
            rows += usize::from(site.rows);
            let count = usize::from(site.words);
            let (own, others) = words.split_at_checked(count)?;
            let (own_into, others_into) = into.split_at_mut_checked(count)?;
            (words, into) = (others, others_into);
            let own_words = self.words.some(site.first as usize, count);
            differences_of(own_words, own, own_into, &mut self.lasts);
        }
        let all = words.is_empty();
        (self.tokens, self.differences) = (tokens, differences);
        all.then_some(rows)
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
        self.lasts.resize(self.trails.len(), 0);
        self.sites.push(Site {
            first: first as u32,
            words: words as u16,
            rows: rows.len() as u16,
            ..Site::default()
        });
        self.origins.push(Origin {
            shape,
            first_row: self.kinds.len() as u32,
        });
        self.places[shape as usize] = number;
        self.kinds.extend(rows.iter().map(|row| row.kind));
        Some(number)
    }
}

/// How far the words of a note are from where their trails were last.
#[inline(always)]
fn differences_of(words: &[Word], values: &[u64], into: &mut [u64], lasts: &mut [u64]) {
    for ((word, &value), difference) in words.iter().zip(values).zip(into) {
        let addr = value.wrapping_add(word.displacement);
        let last = &mut lasts[word.trail as usize];
        *difference = addr.wrapping_sub(*last);
        *last = addr;
    }
}

/// Memory for that many numbers or more; there is anything in it.
fn at_least(numbers: &mut Vec<u64>, count: usize) -> Vec<u64> {
    let mut numbers = std::mem::take(numbers);
    if numbers.len() < count {
        numbers.resize(count.next_power_of_two(), 0);
    }
    numbers
}

/// Adds numbers to a stream; `SIGNED` ones zig-zag.
fn pack<const SIGNED: bool>(numbers: &[u64], output: &mut Output) {
    let room = output.room(numbers.len() * LONGEST + ROOM);
    let written = dispatch::pack::<SIGNED>(numbers, room);
    output.advance(written);
}
