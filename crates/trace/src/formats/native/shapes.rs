//! Shapes in a chunk: what encoder and decoder both know of them, and how one is described.
//!
//! A note of a shape is stored as a *token*, which shape it is of, and an *address* for each of its words. Shapes are
//! numbered from 1 as they appear.
//!
//! - token 0: the shape that followed the note before's shape the last time; 1: a new shape, described in the stream of
//!   sites; 2: the shape that followed it before the one that did last; n ≥ 3: shape n − 2.
//! - A word is known by the address of the first row that is relative to it. What that row's site (kind, size, program
//!   counter) is expected to do next is in a [`Trail`], which all shapes share that have that site's address as a word.
//!
//! ```text
//! shape   = number of rows, then for each: kind u8, size u8, program counter from the one before,
//!           0 or its word + 1 u8, displacement from the one before with that word
//! ```

use std::collections::HashMap;

use crate::Kind;
use crate::formats::native::bytes::{Cursor, Damage, put, put_signed};
use crate::formats::native::columns::Trail;
use crate::shaped::{SHAPE_ROWS_MOST, SHAPE_WORDS_MOST, ShapeRow};

/// The shape before the first note of every block.
pub(super) const START: usize = 0;
/// Token: as last time.
pub(super) const AGAIN: u64 = 0;
/// Token: a shape not seen before in this chunk.
pub(super) const NEW: u64 = 1;
/// Token: as the time before last.
pub(super) const OTHER: u64 = 2;

/// Words that are copied at once: more than most shapes have.
pub(super) const FEW: usize = 8;

/// Which shapes came after one: the last, and the last that was another; 0 = none yet.
pub(super) type Nexts = [u32; 2];

/// Enters what came next.
#[inline(always)]
pub(super) fn follow(nexts: &mut Nexts, number: u32) {
    *nexts = [number, nexts[0]];
}

/// A word of a shape: where what is expected of it is kept, and how far its first row's address is from it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word {
    pub(super) trail: u32,
    pub(super) displacement: u64,
}

/// Which sites have trails.
#[derive(Default)]
pub(super) struct Trails {
    pub(super) trails: Vec<Trail>,
    by_site: HashMap<(u64, Kind, u8), u32>,
    /// The program counter last described.
    pc: u64,
}

impl Trails {
    /// Forgets everything: a chunk begins.
    pub(super) fn clear(&mut self) {
        self.trails.clear();
        self.by_site.clear();
        self.pc = 0;
    }

    /// The words of a shape of these rows, appended to `words`. Those that no row has come last, with a trail of their own.
    pub(super) fn words_of(&mut self, rows: &[ShapeRow], count: usize, words: &mut Vec<Word>) {
        let first = words.len();
        let none = Word {
            trail: u32::MAX,
            displacement: 0,
        };
        words.resize(first + count, none);
        // An operand is of the row before, and has no place of its own.
        let mut pc = 0;
        for row in rows {
            pc = if row.kind == Kind::Operand {
                pc
            } else {
                row.pc
            };
            let Some(word) = row.word.map(|word| &mut words[first + usize::from(word)]) else {
                continue;
            };
            if word.trail == u32::MAX {
                *word = Word {
                    trail: self.trail((pc, row.kind, row.size)),
                    displacement: row.displacement,
                };
            }
        }
        for word in &mut words[first..] {
            if word.trail == u32::MAX {
                word.trail = self.trail((0, Kind::Operand, 0));
            }
        }
    }

    fn trail(&mut self, site: (u64, Kind, u8)) -> u32 {
        let next = self.trails.len() as u32;
        let number = *self.by_site.entry(site).or_insert(next);
        if number == next {
            self.trails.push(Trail::default());
        }
        number
    }

    /// Describes a shape.
    pub(super) fn put(&mut self, out: &mut Vec<u8>, rows: &[ShapeRow]) {
        let mut displacements = [0_u64; SHAPE_WORDS_MOST + 1];
        put(out, rows.len() as u64);
        for row in rows {
            let word = row.word.map_or(0, |word| word + 1);
            out.extend([row.kind as u8, row.size]);
            put_signed(out, row.pc.wrapping_sub(self.pc));
            out.push(word);
            let before = &mut displacements[usize::from(word)];
            put_signed(out, row.displacement.wrapping_sub(*before));
            (self.pc, *before) = (row.pc, row.displacement);
        }
    }

    /// Reads what [`Self::put`] wrote; how many words the shape has.
    pub(super) fn get(
        &mut self,
        from: &mut Cursor<'_>,
        rows: &mut Vec<ShapeRow>,
    ) -> Result<usize, Damage> {
        let mut displacements = [0_u64; SHAPE_WORDS_MOST + 1];
        let count: usize = from.small()?;
        if !(1..=SHAPE_ROWS_MOST).contains(&count) {
            return Err(Damage("a shape has no rows, or more than any"));
        }
        rows.clear();
        let mut words = 0;
        for _ in 0..count {
            let kind = Kind::from_u8(from.byte()?);
            let size = from.byte()?;
            self.pc = self.pc.wrapping_add(from.signed()?);
            let word = from.byte()?;
            let before = displacements
                .get_mut(usize::from(word))
                .ok_or(Damage("a shape has more words than any"))?;
            *before = before.wrapping_add(from.signed()?);
            words = words.max(usize::from(word));
            rows.push(ShapeRow {
                kind: kind.ok_or(Damage("a row is of a kind that this version does not know"))?,
                size,
                pc: self.pc,
                word: word.checked_sub(1),
                displacement: *before,
            });
        }
        Ok(words)
    }
}
