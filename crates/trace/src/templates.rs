//! Rows as the code made them that was captured: *shapes*, which pieces of code have once and
//! for all, and the words that only the running program knew.
//!
//! A piece of code without a way in does the same accesses each time, at addresses that are a few
//! registers plus constants. Who captures it learns the registers only. [`ShapedBlock`] hands them
//! on without making rows of them, for who does not need rows either: a trace file is written
//! several times as fast from them.

use std::ops::Range;

use crate::{Block, Kind, ProcessId, ThreadId};

/// The most rows of a shape.
pub const SHAPE_ROWS_MOST: usize = 256;
/// The most words of a shape.
pub const SHAPE_WORDS_MOST: usize = 64;

/// A row of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeRow {
    /// What happens.
    pub kind: Kind,
    /// Bytes accessed, as in [`crate::Row`].
    pub size: u8,
    /// The program counter, as in [`crate::Row`].
    pub pc: u64,
    /// The word that its address is relative to, by its place among those of the shape; `None`: the
    /// address is always the displacement.
    pub word: Option<u8>,
    /// What is added to the word.
    pub displacement: u64,
}

/// All shapes that a source has named, each known by its number. There are never fewer.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    rows: Vec<ShapeRow>,
    shapes: Vec<Shape>,
}

/// Where a shape's rows are, and how many words it has.
#[derive(Clone, Copy, Debug)]
struct Shape {
    first: usize,
    rows: u16,
    words: u16,
}

impl Shapes {
    /// None yet.
    pub fn new() -> Shapes {
        Shapes::default()
    }

    /// Adds a shape of these rows; its number. `None` if there are none or more than
    /// [`SHAPE_ROWS_MOST`], or if a word is beyond [`SHAPE_WORDS_MOST`]. It has as many words as
    /// the largest place among its rows says.
    pub fn add(&mut self, rows: &[ShapeRow]) -> Option<u32> {
        let words = rows.iter().filter_map(|row| row.word);
        let words = words.map(|word| usize::from(word) + 1).max().unwrap_or(0);
        let fits = (1..=SHAPE_ROWS_MOST).contains(&rows.len()) && words <= SHAPE_WORDS_MOST;
        let number = u32::try_from(self.shapes.len()).ok().filter(|_| fits)?;
        self.shapes.push(Shape {
            first: self.rows.len(),
            rows: rows.len() as u16,
            words: words as u16,
        });
        self.rows.extend_from_slice(rows);
        Some(number)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// The rows of shape `number`; none if there is no such shape.
    pub fn rows(&self, number: u32) -> &[ShapeRow] {
        let of = |shape: &Shape| shape.first..shape.first + usize::from(shape.rows);
        let range: Range<usize> = self.shapes.get(number as usize).map_or(0..0, of);
        &self.rows[range]
    }

    /// How many words shape `number` has.
    pub fn words(&self, number: u32) -> usize {
        let shape = self.shapes.get(number as usize);
        shape.map_or(0, |shape| usize::from(shape.words))
    }
}

/// Consecutive rows of one thread, as shapes and their words. Says the same as a [`Block`].
#[derive(Clone, Debug, Default)]
pub struct ShapedBlock {
    /// The process that ran.
    pub process: ProcessId,
    /// The thread that ran.
    pub thread: ThreadId,
    /// As [`Block::first_stamp`].
    pub first_stamp: u64,
    /// As [`Block::last_stamp`].
    pub last_stamp: u64,
    shapes: Vec<u32>,
    /// Those from `used` on are anything.
    words: Vec<u64>,
    used: usize,
    rows: usize,
}

/// Words that are copied at once.
pub const WORDS_AT_ONCE: usize = 8;

impl ShapedBlock {
    /// An empty block.
    pub fn new() -> ShapedBlock {
        ShapedBlock::default()
    }

    /// Forgets what happened and keeps the memory.
    pub fn clear(&mut self) {
        self.shapes.clear();
        self.used = 0;
        self.rows = 0;
    }

    /// Appends what happened once: a shape, how many rows it has, and its words.
    #[inline]
    pub fn push(&mut self, shape: u32, rows: usize, words: &[u64]) {
        let used = self.used + words.len();
        if used > self.words.len() {
            self.grow(used);
        }
        self.words[self.used..used].copy_from_slice(words);
        self.used = used;
        self.shapes.push(shape);
        self.rows += rows;
    }

    /// The same where the words are `word` and what is behind the first of `words`, `count` in all,
    /// as they lie in a note. All are copied, which takes less than to ask how many.
    #[inline(always)]
    pub fn push_few(
        &mut self,
        shape: u32,
        rows: usize,
        word: u64,
        words: &[u64; WORDS_AT_ONCE],
        count: usize,
    ) {
        let end = self.used + WORDS_AT_ONCE;
        if end > self.words.len() {
            self.grow(end);
        }
        if let Some(into) = self.words[self.used..].first_chunk_mut() {
            *into = *words;
            into[0] = word;
        }
        self.used += count.min(WORDS_AT_ONCE);
        self.shapes.push(shape);
        self.rows += rows;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, words: usize) {
        self.words.resize(words.next_power_of_two(), 0);
    }

    /// The numbers of shapes, in the order in which they happened.
    #[inline]
    pub fn shapes(&self) -> &[u32] {
        &self.shapes
    }

    /// The words of all of them, one shape's after the other's.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words[..self.used]
    }

    /// The number of rows that they stand for.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Makes rows of it. What is in `block` is written over.
    pub fn expand(&self, shapes: &Shapes, block: &mut Block) {
        block.clear();
        (block.process, block.thread) = (self.process, self.thread);
        (block.first_stamp, block.last_stamp) = (self.first_stamp, self.last_stamp);
        let mut words = self.words();
        for &shape in &self.shapes {
            let (own, others) = words.split_at(shapes.words(shape).min(words.len()));
            for row in shapes.rows(shape) {
                let word = row.word.and_then(|word| own.get(usize::from(word)));
                block.push(crate::Row {
                    kind: row.kind,
                    size: row.size,
                    pc: row.pc,
                    addr: word.map_or(0, |word| *word).wrapping_add(row.displacement),
                });
            }
            words = others;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(word: Option<u8>, displacement: u64) -> ShapeRow {
        ShapeRow {
            kind: Kind::Load,
            size: 8,
            pc: 0x40,
            word,
            displacement,
        }
    }

    #[test]
    fn rows_are_words_and_displacements() {
        let mut shapes = Shapes::new();
        let two = shapes.add(&[row(Some(1), 8), row(None, 77), row(Some(0), 0)]);
        let one = shapes.add(&[row(Some(0), 1_u64.wrapping_neg())]);
        assert_eq!((two, one), (Some(0), Some(1)));
        let mut shaped = ShapedBlock::new();
        shaped.push(1, 1, &[10]);
        shaped.push_few(0, 3, 20, &[9, 30, 7, 7, 7, 7, 7, 7], 2);
        shaped.push(1, 1, &[40]);
        assert_eq!((shaped.rows(), shaped.words().len()), (5, 4));
        let mut block = Block::new();
        shaped.expand(&shapes, &mut block);
        assert_eq!(block.addrs(), [9, 38, 77, 20, 39]);
    }

    #[test]
    fn what_is_too_large_is_no_shape() {
        let mut shapes = Shapes::new();
        assert_eq!(shapes.add(&[]), None);
        assert_eq!(shapes.add(&[row(None, 0); SHAPE_ROWS_MOST + 1]), None);
        assert_eq!(shapes.add(&[row(Some(SHAPE_WORDS_MOST as u8), 0)]), None);
        assert!(shapes.is_empty());
        assert!(shapes.rows(0).is_empty() && shapes.words(0) == 0);
    }
}
