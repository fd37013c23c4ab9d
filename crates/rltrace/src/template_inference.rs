//! Rows to shapes: pieces of rows that code makes again and again are stored once.
//!
//! Hooks hand over rows. Which site follows which, and how addresses within a few lines of code
//! hang together, is the same each time that code runs; a file of rows says it for each row, and a
//! reader has to go through it row by row. Here rows are cut into pieces ([`paths`]), each known
//! by its rows without their addresses. For each there are a few shapes ([`variants`]), which say
//! what the addresses have to do with each other. The file then has a note for each piece and a
//! number for each address that does not follow from another; what it has in it, see
//! [`super::templates`].
//!
//! A block becomes shapes only if they are cheaper to read: not where pieces do not repeat, and
//! not where rows are runs of zeros, which [`super::predicted_runs`] reads faster than anything. If not,
//! some of the blocks behind it are not looked at.

use std::ops::Range;

use crate::{MAX_SHAPED_ROWS, MAX_SHAPED_WORDS};
use fragments::{Cut, Paths, START};
use reuselens_trace::{Block, Kind, ShapeRow, ShapedBlock, Shapes};
use single_rows::Singles;
use variants::{Addrs, Variants};

mod fragments;
mod single_rows;
mod variants;

/// The most rows of a piece.
const MOST: usize = 64;
/// Blocks of fewer rows stay rows.
const LEAST_BLOCK: usize = 32;
/// Blocks of a thread that are not looked at after two that did not nearly become shapes. They are
/// even, so that of two sorts by turns both are looked at. Who nearly pays is looked at each time:
/// of such a thread others pay, and what is read faster each time that a file is read is worth what
/// it takes once.
const PAUSE: u32 = 2;
/// Threads whose pauses are told apart.
const PAUSES: usize = 64;
/// The most rows of pieces that are known. It bounds how many pieces there are, and memory.
const MOST_PATH_ROWS: usize = 1 << 17;
/// The same of shapes.
const MOST_SHAPE_ROWS: usize = 1 << 18;
/// Notes that go on as the last time, for so many rows, would be a run of zeros.
const LONG_RUN: usize = 128;
/// After so many rows of a block it is given up if they do not pay, though they are known.
const TRIED: usize = 512;

/// What is known of rows, and the block that was made of the last.
pub(super) struct Shaper {
    paths: Paths,
    variants: Variants,
    singles: Singles,
    shapes: Shapes,
    out: ShapedBlock,
    /// By thread: what does not pay for one pays for another, whose blocks come in between.
    pauses: [Pause; PAUSES],
}

/// Blocks that are not to be looked at, and whether the last that was did not nearly become shapes.
#[derive(Clone, Copy, Default)]
struct Pause {
    left: u32,
    failed: bool,
}

impl Pause {
    /// After a block was looked at. One alone that does not become shapes is no reason to pass over
    /// others, nor are those that nearly did.
    fn after(self, costs: &Costs) -> Pause {
        let failed = !costs.nearly_pay();
        let left = if failed && self.failed { PAUSE } else { 0 };
        Pause { left, failed }
    }
}

/// How long a block takes to read, in tenths of a row.
struct Costs {
    rows: usize,
    /// `None` if it cannot be shapes.
    shapes: Option<usize>,
}

impl Costs {
    /// Whether shapes are read sooner.
    fn pay(&self) -> bool {
        self.shapes.is_some_and(|shapes| shapes <= self.rows)
    }

    /// Whether they are not far from it.
    fn nearly_pay(&self) -> bool {
        self.shapes.is_some_and(|shapes| shapes <= 2 * self.rows)
    }
}

/// What was seen of a block.
#[derive(Default)]
struct Seen {
    /// Rows that were of no known piece.
    strange: usize,
    /// Rows whose numbers would be runs of zeros.
    calm: usize,
    /// The same in the run that goes on.
    run: usize,
    /// Whether there is no room for a row's shape.
    full: bool,
}

impl Seen {
    /// A note of `rows` rows, which came as expected or not.
    #[inline(always)]
    fn note(&mut self, rows: usize, expected: bool) {
        self.run = if expected { self.run + rows } else { 0 };
        self.calm += match self.run {
            0..LONG_RUN => 0,
            run if run - rows < LONG_RUN => run,
            _ => rows,
        };
    }
}

impl Shaper {
    pub(super) fn new() -> Shaper {
        Shaper {
            paths: Paths::new(),
            variants: Variants::default(),
            singles: Singles::new(),
            shapes: Shapes::new(),
            out: ShapedBlock::new(),
            pauses: [Pause::default(); PAUSES],
        }
    }

    /// What was made of the last block, and the shapes that it is of.
    pub(super) fn made(&self) -> (&ShapedBlock, &Shapes) {
        (&self.out, &self.shapes)
    }

    /// A chunk was written. If no more fits in, all is forgotten, numbers of shapes too.
    pub(super) fn chunk_ended(&mut self) {
        let full = self.paths.is_full() || self.shapes_full() || self.singles.is_full();
        if full {
            self.paths.clear();
            self.variants.clear();
            self.singles.clear();
            self.shapes = Shapes::new();
        }
    }

    fn shapes_full(&self) -> bool {
        self.variants.rows() > MOST_SHAPE_ROWS
    }

    /// Looks at a block; whether it is better written as shapes, which [`Self::made`] has then.
    pub(super) fn block(&mut self, block: &Block) -> bool {
        if !(LEAST_BLOCK..=MAX_SHAPED_ROWS).contains(&block.len()) {
            return false;
        }
        let thread = block.thread.0.wrapping_add(u32::from(block.process.0) << 3) as usize;
        let place = thread % PAUSES;
        if self.pauses[place].left > 0 {
            self.pauses[place].left -= 1;
            return false;
        }
        let (seen, rows) = self.shape(block, TRIED);
        let costs = self.costs(&seen, rows);
        let good = rows == block.len() && costs.pay();
        self.pauses[place] = self.pauses[place].after(&costs);
        good
    }

    /// What takes how long to read, measured on a processor with AVX-512: a note about as long as
    /// one row and a fifth, a word a fifth of one, a row of a shape or in a run of zeros a tenth.
    /// One that is not known is a note and a word, and mostly to be described too.
    fn costs(&self, seen: &Seen, rows: usize) -> Costs {
        let (notes, words) = (self.out.shapes().len(), self.out.words().len());
        let fits = !seen.full && words <= MAX_SHAPED_WORDS;
        Costs {
            rows: 10 * rows - 9 * seen.calm,
            shapes: fits.then_some(rows + 12 * notes + 2 * words + 18 * seen.strange),
        }
    }

    /// Makes notes of all rows; of how many it did, as it gives up if the first `tried` do not pay.
    fn shape(&mut self, block: &Block, tried: usize) -> (Seen, usize) {
        self.out.clear();
        (self.out.process, self.out.thread) = (block.process, block.thread);
        (self.out.first_stamp, self.out.last_stamp) = (block.first_stamp, block.last_stamp);
        let (mut at, mut before, mut seen) = (0, START, Seen::default());
        let mut tried = tried;
        while at < block.len() {
            if at >= tried {
                tried = usize::MAX;
                if 8 * seen.strange < at && !self.costs(&seen, at).pay() {
                    break;
                }
            }
            let (path, expected) = match self.paths.expected(before, block, at) {
                Some(found) => found,
                None => {
                    let cut = self.paths.cut(block, at);
                    let Some(path) = self.paths.find(block, at, &cut) else {
                        self.strange(block, at, &cut, &mut seen);
                        at += cut.rows;
                        before = START;
                        continue;
                    };
                    (path, false)
                }
            };
            let rows = self.paths.rows(path);
            let addrs = Addrs::of(&block.addrs()[at..at + rows.len()]);
            let own = &self.paths.sites()[rows.clone()];
            let note = match self.variants.fitting(path, &addrs) {
                Some(variant) => Some(variant),
                None if self.shapes_full() => None,
                None => self
                    .variants
                    .make((path, &rows), own, &addrs, &mut self.shapes),
            };
            match note {
                Some(variant) => {
                    let steady = self
                        .variants
                        .note(variant, rows.len(), &addrs, &mut self.out);
                    seen.note(rows.len(), expected && steady);
                }
                None => self.alone(block, at..at + rows.len(), &mut seen),
            }
            self.paths.follow(before, path);
            at += rows.len();
            before = path;
        }
        (seen, at)
    }

    /// A piece that is not known. If it was seen before, it is from now on.
    #[cold]
    #[inline(never)]
    fn strange(&mut self, block: &Block, at: usize, cut: &Cut, seen: &mut Seen) {
        let rows = at..at + cut.rows;
        if self.paths.learn(block, at, cut) {
            self.variants.enter(&block.addrs()[rows.clone()]);
        }
        self.alone(block, rows, seen);
    }

    /// Makes a note of each row.
    fn alone(&mut self, block: &Block, rows: Range<usize>, seen: &mut Seen) {
        seen.strange += rows.len();
        seen.run = 0;
        if seen.full {
            return;
        }
        for at in rows {
            let site = Site::of(block, at);
            let Some(shape) = self.singles.find(site, &mut self.shapes) else {
                seen.full = true;
                return;
            };
            self.out.push(shape, 1, &[block.addrs()[at]]);
        }
    }
}

/// What a row is, but for its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Site {
    pc: u64,
    kind: Kind,
    size: u8,
}

impl Site {
    #[inline(always)]
    fn of(block: &Block, at: usize) -> Site {
        Site {
            pc: block.pcs()[at],
            kind: block.kinds()[at],
            size: block.sizes()[at],
        }
    }

    /// It as a row of a shape.
    fn row(self, word: Option<u8>, displacement: u64) -> ShapeRow {
        ShapeRow {
            kind: self.kind,
            size: self.size,
            pc: self.pc,
            word,
            displacement,
        }
    }

    /// Goes on to a number for a row more.
    #[inline(always)]
    fn mix(self, hash: u64) -> u64 {
        let rest = (self.kind as u64) << 56 ^ u64::from(self.size) << 48;
        let mixed = (hash ^ self.pc ^ rest).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ mixed >> 29
    }
}

#[cfg(test)]
mod tests;
