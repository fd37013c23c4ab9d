//! Shapes that follow each other again and again, as one.
//!
//! Who captures names a shape for each piece of code without a way in or out: three or four
//! accesses. A reader takes as long over a note of such a shape as over one of five times as many.
//! Where a shape has come behind another often enough, both are one from then on, and that one can
//! go on with a third. Words stay as they are, as those of a note lie behind those of the note
//! before; so only the list of notes becomes another, and a shorter one.
//!
//! Of each shape, made or not, it is known with which two it goes on. What comes is taken as far as
//! that leads, and where it ends is where the next is learnt: as in the code of Welch (1984), but
//! for the numbers, which are those of shapes here. Each chunk describes anew what it has notes of,
//! so what counts is how often two come in a chunk; and what no longer comes makes room.

use crate::templates::is_plain;
use reuselens_trace::{Kind, Shapes};
use reuselens_trace::{ShapeRow, WORDS_AT_ONCE};

/// How often one must have come behind another; with each chunk what came before counts half.
const ENOUGH: u32 = 256;
/// The most words of one that is made: those of a note that are copied at once.
const MOST_WORDS: usize = WORDS_AT_ONCE;
/// The most rows of one that is made.
const MOST_ROWS: usize = 32;
/// Rows of all shapes beyond which none is made, and all are forgotten with the chunk. It bounds
/// memory: to some 10 MiB with what one more chunk can describe.
const MOST_OF_ALL: usize = 1 << 17;
/// How many of those that come behind one are known.
const WAYS: usize = 2;

/// What comes behind a shape.
#[derive(Clone, Copy, Default)]
struct Way {
    /// The number of a shape in the source.
    behind: u32,
    /// What both are; 0 if it is not made.
    made: u32,
    /// How often it came lately. Halved, too, when another comes that is none of those known; 0 if
    /// there is no such way.
    times: u32,
}

/// What is known of a shape.
#[derive(Clone, Copy, Default)]
struct Node {
    ways: [Way; WAYS],
}

impl Node {
    /// The way that leads on to a shape.
    #[inline(always)]
    fn way(&mut self, next: u32) -> Option<&mut Way> {
        let mut ways = self.ways.iter_mut();
        ways.find(|way| way.behind == next && way.times > 0)
    }

    /// A shape came behind it that is none of those known: it takes the place of one that came
    /// seldom.
    #[inline(always)]
    fn begin(&mut self, next: u32) {
        let ways = self.ways.iter_mut().filter(|way| way.made == 0);
        if let Some(way) = ways.min_by_key(|way| way.times) {
            way.times /= 2;
            if way.times == 0 {
                (way.behind, way.times) = (next, 1);
            }
        }
    }
}

/// What is known of shapes, and the notes that were made of the last block.
pub(super) struct Fuser {
    /// By the number of a source's shape its number here; 0 if it is not known yet.
    places: Vec<u32>,
    /// Those of the source that came, and those that were made. The first is none.
    shapes: Shapes,
    /// Of each shape here.
    nodes: Vec<Node>,
    /// Rows of all shapes here.
    rows: usize,
    notes: Vec<u32>,
}

impl Fuser {
    pub(super) fn new() -> Fuser {
        let mut fuser = Fuser {
            places: Vec::new(),
            shapes: Shapes::new(),
            nodes: Vec::new(),
            rows: 0,
            notes: Vec::new(),
        };
        fuser.clear();
        fuser
    }

    /// Forgets everything.
    fn clear(&mut self) {
        let none = ShapeRow {
            kind: Kind::Load,
            size: 0,
            pc: 0,
            word: None,
            displacement: 0,
        };
        self.places.clear();
        self.nodes.clear();
        self.shapes = Shapes::new();
        self.rows = 0;
        self.add(&[none]);
    }

    fn add(&mut self, rows: &[ShapeRow]) -> Option<u32> {
        let number = self.shapes.add(rows)?;
        self.nodes.push(Node::default());
        self.rows += rows.len();
        Some(number)
    }

    /// What was made of the last notes, and the shapes that they are of.
    pub(super) fn made(&self) -> (&[u32], &Shapes) {
        (&self.notes, &self.shapes)
    }

    /// A chunk was written: no number that was given out stands for anything any more if all is
    /// forgotten.
    pub(super) fn chunk_ended(&mut self) {
        if self.rows >= MOST_OF_ALL {
            return self.clear();
        }
        for way in self.nodes.iter_mut().flat_map(|node| &mut node.ways) {
            way.times /= 2;
            if way.times == 0 {
                *way = Way::default();
            }
        }
    }

    /// Makes notes of others, which are of `source`. `None` if there is no such shape.
    pub(super) fn fuse(&mut self, notes: &[u32], source: &Shapes) -> Option<()> {
        if self.places.len() < source.len() {
            self.places.resize(source.len(), 0);
        }
        self.notes.clear();
        let mut at = 0;
        while let Some(&shape) = notes.get(at) {
            let mut node = match *self.places.get(shape as usize)? {
                0 => self.enter(shape, source)?,
                known => known,
            };
            at += 1;
            while let Some(&next) = notes.get(at) {
                let Some(way) = self.nodes[node as usize].way(next) else {
                    self.nodes[node as usize].begin(next);
                    break;
                };
                way.times = way.times.saturating_add(1);
                if way.made == 0 {
                    if way.times == ENOUGH {
                        self.make(node, next, source);
                    }
                    break;
                }
                node = way.made;
                at += 1;
            }
            self.notes.push(node);
        }
        Some(())
    }

    /// Enters a shape of the source.
    #[cold]
    #[inline(never)]
    fn enter(&mut self, shape: u32, source: &Shapes) -> Option<u32> {
        let number = self.add(source.rows(shape))?;
        self.places[shape as usize] = number;
        Some(number)
    }

    /// Makes one of two, if both are plain and few enough.
    #[cold]
    #[inline(never)]
    fn make(&mut self, node: u32, next: u32, source: &Shapes) {
        let words = self.shapes.words(node);
        let (first, second) = (self.shapes.rows(node), source.rows(next));
        let rows = first.len() + second.len();
        let fits = words + source.words(next) <= MOST_WORDS
            && rows <= MOST_ROWS
            && self.rows + rows <= MOST_OF_ALL
            && first.iter().chain(second).all(|row| is_plain(row.kind));
        if !fits {
            return;
        }
        let behind = second.iter().map(|row| ShapeRow {
            word: row.word.map(|word| word + words as u8),
            ..*row
        });
        let both: Vec<ShapeRow> = first.iter().copied().chain(behind).collect();
        let Some(made) = self.add(&both) else {
            return;
        };
        // The last word of a shape is one that a row has.
        debug_assert_eq!(self.shapes.words(made), words + source.words(next));
        if let Some(way) = self.nodes[node as usize].way(next) {
            way.made = made;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shapes of so many rows each with a word for each, of `kind`.
    fn source(rows: &[usize], kind: Kind) -> Shapes {
        let mut shapes = Shapes::new();
        for (shape, &rows) in (0..).zip(rows) {
            let row = |row: usize| ShapeRow {
                kind,
                size: 8,
                pc: 100 * shape + row as u64,
                word: Some(row as u8 / 2),
                displacement: row as u64,
            };
            let rows: Vec<ShapeRow> = (0..rows).map(row).collect();
            assert_eq!(shapes.add(&rows), Some(shape as u32));
        }
        shapes
    }

    /// The program counters and words of all rows of some notes, the words counted through.
    fn rows(notes: &[u32], shapes: &Shapes) -> Vec<(u64, Option<usize>)> {
        let (mut all, mut words) = (Vec::new(), 0);
        for &note in notes {
            let word = |row: &ShapeRow| row.word.map(|word| words + usize::from(word));
            all.extend(shapes.rows(note).iter().map(|row| (row.pc, word(row))));
            words += shapes.words(note);
        }
        all
    }

    fn fused(fuser: &mut Fuser, notes: &[u32], source: &Shapes) -> usize {
        fuser.fuse(notes, source).unwrap();
        let (made, shapes) = fuser.made();
        assert_eq!(rows(made, shapes), rows(notes, source));
        made.len()
    }

    #[test]
    fn what_comes_again_and_again_is_one() {
        let source = source(&[3, 1, 4, 2, 5, 1], Kind::Load);
        let lap = [0, 1, 2, 3, 2, 5];
        let notes: Vec<u32> = (0..600).map(|at| lap[at % lap.len()]).collect();
        let mut fuser = Fuser::new();
        assert_eq!(fused(&mut fuser, &notes, &source), 600);
        for _ in 0..100 {
            fused(&mut fuser, &notes, &source);
        }
        // Fifteen rows with eight words, at most, of a lap of fifteen with nine.
        assert!(fused(&mut fuser, &notes, &source) <= 210);
        let seldom: Vec<u32> = (0..600).map(|at| (at * at % 7 % 6) as u32).collect();
        fused(&mut fuser, &seldom, &source);
        // One that ends in the midst of a lap.
        for end in 0..20 {
            fused(&mut fuser, &notes[..end], &source);
        }
    }

    #[test]
    fn what_is_large_or_not_plain_is_left_alone() {
        let notes: Vec<u32> = (0..600).map(|at| at % 2).collect();
        let cases = [
            (source(&[15; 2], Kind::Load), "words"),
            (long(20), "rows"),
            (source(&[2; 2], Kind::Alloc), "allocations"),
            (source(&[2; 2], Kind::RangeLoad), "ranges"),
        ];
        for (source, what) in cases {
            let mut fuser = Fuser::new();
            for _ in 0..20 {
                assert_eq!(fused(&mut fuser, &notes, &source), 600, "{what}");
            }
        }
    }

    /// Two shapes of one word each and so many rows.
    fn long(rows: usize) -> Shapes {
        let mut shapes = Shapes::new();
        for _ in 0..2 {
            let row = |row: usize| ShapeRow {
                kind: Kind::Load,
                size: 8,
                pc: row as u64,
                word: Some(0),
                displacement: row as u64,
            };
            let rows: Vec<ShapeRow> = (0..rows).map(row).collect();
            shapes.add(&rows).unwrap();
        }
        shapes
    }

    #[test]
    fn of_few_rows_two_are_one() {
        let notes: Vec<u32> = (0..600).map(|at| at % 2).collect();
        let mut fuser = Fuser::new();
        let source = long(16);
        fused(&mut fuser, &notes, &source);
        assert_eq!(fused(&mut fuser, &notes, &source), 300);
    }

    #[test]
    fn what_no_longer_comes_makes_room() {
        let mut source = source(&[2; 4], Kind::Load);
        let apart = ShapeRow {
            kind: Kind::Alloc,
            size: 0,
            pc: 9,
            word: None,
            displacement: 0,
        };
        assert_eq!(source.add(&[apart]), Some(4));
        let laps = |of: [u32; 3]| -> Vec<u32> { (0..900).map(|at| of[at % 3]).collect() };
        let mut fuser = Fuser::new();
        for other in [1, 2] {
            fused(&mut fuser, &laps([0, other, 4]), &source);
            assert_eq!(fused(&mut fuser, &laps([0, other, 4]), &source), 600);
        }
        // Both ways are taken.
        fused(&mut fuser, &laps([0, 3, 4]), &source);
        assert_eq!(fused(&mut fuser, &laps([0, 3, 4]), &source), 900);
        (0..20).for_each(|_| fuser.chunk_ended());
        fused(&mut fuser, &laps([0, 3, 4]), &source);
        assert_eq!(fused(&mut fuser, &laps([0, 3, 4]), &source), 600);
    }

    #[test]
    fn there_are_not_ever_more() {
        let (shapes, notes): (Vec<usize>, Vec<u32>) = (0..40_000).map(|at| (7, at)).unzip();
        let source = source(&shapes, Kind::Store);
        let mut fuser = Fuser::new();
        fused(&mut fuser, &notes, &source);
        assert!(fuser.rows > MOST_OF_ALL);
        let lap: Vec<u32> = (0..600).map(|at| at % 2).collect();
        for _ in 0..2 {
            assert_eq!(fused(&mut fuser, &lap, &source), 600, "it is full");
        }
        fuser.chunk_ended();
        assert!(fuser.rows == 1 && fuser.shapes.len() == 1);
        fused(&mut fuser, &lap, &source);
        assert_eq!(fused(&mut fuser, &lap, &source), 300);
    }

    #[test]
    fn a_shape_that_is_not_there_is_no_note() {
        let source = source(&[1], Kind::Load);
        let mut fuser = Fuser::new();
        assert_eq!(fuser.fuse(&[0, 1], &source), None);
        assert_eq!(fuser.fuse(&[0, 0], &source), Some(()));
    }
}
