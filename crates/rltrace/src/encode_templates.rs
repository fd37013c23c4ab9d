//! Shapes and words to streams.
//!
//! Three steps for each block: which token each note has, and which words; how far each word is
//! from what is expected of it; then the numbers are packed, several at once where the processor
//! can. No step has a branch over what nothing foretells.

use std::hint::select_unpredictable;

use crate::MAX_SHAPED_WORDS;
use crate::compress::Output;
use crate::processor::{self, ROOM};
use crate::templates::{ENOUGH_DESCRIBED, NEW, Nexts, OTHER, START, Trails, Word};
use reuselens_io::varint::LONGEST;
use reuselens_trace::WORDS_AT_ONCE;
use reuselens_trace::summary::KINDS;
use reuselens_trace::{Kind, Shapes};

/// Words that are copied of every note: few have more, but for shapes that were made of several.
const FEW: usize = 4;

/// A shape in the chunk: what each note needs of it, in two lines of a cache.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Site {
    nexts: Nexts,
    /// Where all of its words are.
    first: u32,
    words: u16,
    rows: u16,
    /// How many notes there were of it.
    uses: u32,
    /// Its first words, as many as most have; what is too much is anything.
    trails: [u32; WORDS_AT_ONCE],
    displacements: [u64; WORDS_AT_ONCE],
}

impl Site {
    /// Writes its words from place `at` on. What is too much is written over.
    #[inline(always)]
    fn plan(
        &self,
        all: &Columns,
        (trails, displacements): (&mut [u32], &mut [u64]),
        at: usize,
    ) -> Option<()> {
        let count = usize::from(self.words);
        let few: &mut [_; WORDS_AT_ONCE] = trails.get_mut(at..)?.first_chunk_mut()?;
        let far: &mut [_; WORDS_AT_ONCE] = displacements.get_mut(at..)?.first_chunk_mut()?;
        few[..FEW].copy_from_slice(&self.trails[..FEW]);
        far[..FEW].copy_from_slice(&self.displacements[..FEW]);
        if count > FEW {
            few[FEW..].copy_from_slice(&self.trails[FEW..]);
            far[FEW..].copy_from_slice(&self.displacements[FEW..]);
        }
        if count > WORDS_AT_ONCE {
            let own = self.first as usize..self.first as usize + count;
            let trails = trails.get_mut(at..at + count)?;
            let displacements = displacements.get_mut(at..at + count)?;
            trails.copy_from_slice(all.trails.get(own.clone())?);
            displacements.copy_from_slice(all.displacements.get(own)?);
        }
        Some(())
    }
}

/// Who numbers the shapes of a block. Each counts from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Who adds it; what [`Fuser`](super::superblocks::Fuser) makes of it.
    Source,
    /// What made it of rows.
    Shaper,
}

/// The rest of it.
#[derive(Clone, Copy)]
struct Origin {
    whose: Whose,
    /// Its number in the source.
    shape: u32,
    /// Where the kinds of its rows are.
    first_row: u32,
}

/// What the notes of a chunk have shown so far.
pub(super) struct ShapeEncoder {
    /// By a shape's number in the source that in the chunk, or 0; for each [`Whose`].
    places: [Vec<u32>; 2],
    sites: Vec<Site>,
    /// Of all sites but the first.
    origins: Vec<Origin>,
    /// The words of all sites.
    words: Columns,
    trails: Trails,
    /// The last address of each trail.
    lasts: Vec<u64>,
    /// The kinds of all rows described.
    kinds: Vec<Kind>,
    /// Those of a shape.
    described: Vec<Word>,
    /// The words of a block's notes.
    plan: Columns,
    /// For each note of a block whether its token is not 0, as bytes and as bits.
    flags: Vec<u8>,
    bits: Vec<u8>,
    /// The numbers of a block: its tokens that are not 0, and the differences of its words.
    tokens: Vec<u64>,
    differences: Vec<u64>,
}

/// Words, each field by itself.
#[derive(Default)]
struct Columns {
    trails: Vec<u32>,
    displacements: Vec<u64>,
}

impl Columns {
    fn resize(&mut self, count: usize) {
        self.trails.resize(count, 0);
        self.displacements.resize(count, 0);
    }
}

impl ShapeEncoder {
    pub(super) fn new() -> ShapeEncoder {
        ShapeEncoder {
            places: [Vec::new(), Vec::new()],
            sites: vec![Site::default()],
            origins: Vec::new(),
            words: Columns::default(),
            trails: Trails::default(),
            lasts: Vec::new(),
            kinds: Vec::new(),
            described: Vec::new(),
            plan: Columns::default(),
            flags: Vec::new(),
            bits: Vec::new(),
            tokens: Vec::new(),
            differences: Vec::new(),
        }
    }

    /// Whether the chunk describes so much that it is to be written.
    pub(super) fn is_full(&self) -> bool {
        let words = self.words.trails.len();
        self.kinds.len() >= ENOUGH_DESCRIBED || words >= ENOUGH_DESCRIBED
    }

    /// Adds up the rows of each kind, and forgets everything.
    pub(super) fn finish(&mut self, kinds: &mut [u64; KINDS]) {
        for (site, origin) in self.sites[1..].iter().zip(&self.origins) {
            let first = origin.first_row as usize;
            for kind in &self.kinds[first..first + usize::from(site.rows)] {
                kinds[*kind as usize % KINDS] += u64::from(site.uses);
            }
            self.places[origin.whose as usize][origin.shape as usize] = 0;
        }
        self.sites.truncate(1);
        self.sites[START] = Site::default();
        self.origins.clear();
        self.words.resize(0);
        self.trails.clear();
        self.lasts.clear();
        self.kinds.clear();
    }

    /// Writes the notes of a block; how many rows they stand for. `None`, and the streams are of no
    /// use any more, if they do not fit `shapes`.
    pub(super) fn block(
        &mut self,
        (notes, values): (&[u32], &[u64]),
        (shapes, whose): (&Shapes, Whose),
        (described, tokens, addrs): (&mut Vec<u8>, &mut Output, &mut Output),
    ) -> Option<usize> {
        let places = &mut self.places[whose as usize];
        if places.len() < shapes.len() {
            places.resize(shapes.len().next_power_of_two(), 0);
        }
        let (all, words) = (notes.len(), values.len());
        if words > MAX_SHAPED_WORDS {
            return None;
        }
        at_least(&mut self.tokens, all + 1);
        at_least(&mut self.flags, all.next_multiple_of(8));
        at_least(&mut self.differences, words);
        if self.plan.trails.len() < words + WORDS_AT_ONCE {
            self.plan
                .resize((words + WORDS_AT_ONCE).next_power_of_two());
        }
        let (rows, named) = self.numbers((notes, words), (shapes, whose), described)?;
        self.differences_of(values)?;
        self.bits.clear();
        self.flags[all..all.next_multiple_of(8)].fill(0);
        let eights = self.flags[..all.next_multiple_of(8)].as_chunks().0;
        self.bits.extend(eights.iter().map(|&eight| bits_of(eight)));
        tokens.room(self.bits.len()).copy_from_slice(&self.bits);
        tokens.advance(self.bits.len());
        pack::<false>(&self.tokens[..named], tokens);
        pack::<true>(&self.differences[..words], addrs);
        Some(rows)
    }

    /// The tokens of a block's notes, and which words they have; how many rows they stand for, and
    /// how many tokens are not 0.
    fn numbers(
        &mut self,
        (notes, words): (&[u32], usize),
        (shapes, whose): (&Shapes, Whose),
        described: &mut Vec<u8>,
    ) -> Option<(usize, usize)> {
        let mut here = Here::default();
        while here.notes < notes.len() {
            self.known((notes, whose), words, &mut here)?;
            if let Some(&shape) = notes.get(here.notes)
                && self.places[whose as usize].get(shape as usize) == Some(&0)
            {
                self.describe(shape, (shapes, whose), described)?;
            }
        }
        (here.words == words).then_some((here.rows, here.named))
    }

    /// Goes on up to a note of a shape that is not in the chunk yet, or to the end. What it looks
    /// at over and over again is in variables of its own.
    #[inline(never)]
    fn known(
        &mut self,
        (notes, whose): (&[u32], Whose),
        most: usize,
        here: &mut Here,
    ) -> Option<()> {
        let (places, sites) = (
            self.places[whose as usize].as_slice(),
            self.sites.as_mut_slice(),
        );
        let into_trails = self.plan.trails.as_mut_slice();
        let into_displacements = self.plan.displacements.as_mut_slice();
        let Here {
            notes: mut done,
            words: mut at,
            mut rows,
            mut named,
            mut before,
            mut fresh,
        } = *here;
        let tokens = self.tokens.as_mut_slice();
        let flags = self.flags.get_mut(done..)?;
        for (&shape, flag) in notes[done..].iter().zip(flags) {
            let number = *places.get(shape as usize)?;
            if number == 0 {
                fresh = true;
                break;
            }
            // Nothing foretells which, so there is no branch. A new one is neither.
            let [last, other] = sites[before].nexts;
            let again = number == last;
            let token = select_unpredictable(fresh, NEW, u64::from(number) + OTHER);
            *tokens.get_mut(named)? = select_unpredictable(number == other, OTHER, token);
            *flag = u8::from(!again);
            named += usize::from(!again);
            sites[before].nexts = [number, select_unpredictable(again, other, last)];
            fresh = false;

            before = number as usize;
            let site = &mut sites[before];
            site.uses += 1;
            rows += usize::from(site.rows);
            let count = usize::from(site.words);
            site.plan(&self.words, (into_trails, into_displacements), at)?;
            at += count;
            if at > most {
                return None;
            }
            done += 1;
        }
        *here = Here {
            notes: done,
            words: at,
            rows,
            named,
            before,
            fresh,
        };
        Some(())
    }

    /// How far the words of a block are from where their trails were last.
    fn differences_of(&mut self, words: &[u64]) -> Option<()> {
        let trails = self.plan.trails.get(..words.len())?;
        let displacements = self.plan.displacements.get(..words.len())?;
        let into = self.differences.get_mut(..words.len())?;
        let lasts = self.lasts.as_mut_slice();
        let of = trails.iter().zip(displacements).zip(words).zip(into);
        for (((&trail, &displacement), &value), difference) in of {
            let addr = value.wrapping_add(displacement);
            let last = lasts.get_mut(trail as usize)?;
            *difference = addr.wrapping_sub(*last);
            *last = addr;
        }
        Some(())
    }

    #[cold]
    #[inline(never)]
    fn describe(
        &mut self,
        shape: u32,
        (shapes, whose): (&Shapes, Whose),
        described: &mut Vec<u8>,
    ) -> Option<()> {
        let rows = shapes.rows(shape);
        rows.first()?;
        let words = shapes.words(shape);
        self.trails.put(described, rows);
        let number = self.sites.len() as u32;
        self.described.clear();
        self.trails.words_of(rows, words, &mut self.described);
        self.lasts.resize(self.trails.len(), 0);
        let mut site = Site {
            first: self.words.trails.len() as u32,
            words: words as u16,
            rows: rows.len() as u16,
            ..Site::default()
        };
        for (at, word) in self.described.iter().enumerate() {
            self.words.trails.push(word.trail);
            self.words.displacements.push(word.displacement);
            if at < WORDS_AT_ONCE {
                (site.trails[at], site.displacements[at]) = (word.trail, word.displacement);
            }
        }
        self.sites.push(site);
        self.origins.push(Origin {
            whose,
            shape,
            first_row: self.kinds.len() as u32,
        });
        self.places[whose as usize][shape as usize] = number;
        self.kinds.extend(rows.iter().map(|row| row.kind));
        Some(())
    }
}

/// How far in a block.
#[derive(Clone, Copy, Default)]
struct Here {
    notes: usize,
    words: usize,
    /// How many rows the notes so far stand for.
    rows: usize,
    /// How many of their tokens are not 0.
    named: usize,
    /// The site of the note before.
    before: usize,
    /// Whether the next note's shape has just been described.
    fresh: bool,
}

/// The lowest bit of each byte.
fn bits_of(bytes: [u8; 8]) -> u8 {
    /// Brings bit 0 of byte `n` to bit 56 + `n`, and no two bits to the same place.
    const TO_THE_TOP: u64 = 0x0102_0408_1020_4080;
    (u64::from_le_bytes(bytes).wrapping_mul(TO_THE_TOP) >> 56) as u8
}

/// Makes it that long, if it is not.
fn at_least<T: Copy + Default>(numbers: &mut Vec<T>, count: usize) {
    if numbers.len() < count {
        numbers.resize(count.next_power_of_two(), T::default());
    }
}

/// Adds numbers to a stream; `SIGNED` ones zig-zag.
fn pack<const SIGNED: bool>(numbers: &[u64], output: &mut Output) {
    let room = output.room(numbers.len() * LONGEST + ROOM);
    let written = processor::pack::<SIGNED>(numbers, room);
    output.advance(written);
}
