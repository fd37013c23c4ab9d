//! Shapes in a chunk: what encoder and decoder both know of them, and how one is described.
//!
//! They come from who captures, several made one where they follow each other (`fuser`), or are
//! made of rows (`shaper`): all are numbered together.
//!
//! A note of a shape is stored as a *token*, which shape it is of, and an *address* for each of its
//! words. Shapes are numbered from 1 as they appear.
//!
//! - token 0: the shape that followed the note before's shape the last time; 1: a new shape,
//!   described in the stream of sites; 2: the shape that followed it before the one that did last;
//!   n ≥ 3: shape n − 2.
//! - Of a block's tokens there come first bits, one for each note, the lowest of a byte first:
//!   whether its token is not 0. Only those follow. Most are 0, and eight bits are packed sooner
//!   than eight bytes.
//! - A word is known by the address of the first row that is relative to it, and what is stored of
//!   it is how far that is from the address that the row's site (kind, size, program counter) had
//!   last, zig-zag. All shapes share it that have that site's address as a word: they overlap, as
//!   code is entered at many places. Nothing more is foretold: a site that goes on in equal steps
//!   repeats its bytes, which zstd finds, and on most programs finds better than what a stride
//!   leaves over.
//!
//! ```text
//! shape   = number of rows, then for each: kind u8, size u8, program counter from the one before,
//!           0 or its word + 1 u8, displacement from the one before with that word
//! ```

use std::collections::HashMap;

use crate::{MAX_SHAPED_ROWS, MAX_SHAPED_WORDS};
use reuselens_io::varint::{Cursor, Damage, put, put_signed};
use reuselens_trace::Kind;
use reuselens_trace::{SHAPE_ROWS_MOST, SHAPE_WORDS_MOST, ShapeRow, WORDS_AT_ONCE};

/// Whether rows of a kind are accesses to few bytes, or nothing to readers that want accesses only.
/// Those take the rows of a shape that has any others one by one, so who makes shapes keeps the
/// others apart.
pub(super) fn is_plain(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Load
            | Kind::Store
            | Kind::Atomic
            | Kind::Enter
            | Kind::Exit
            | Kind::Statement
            | Kind::BasicBlock
            | Kind::Operand
    )
}

/// The shape before the first note of every block.
pub(super) const START: usize = 0;
/// Token: as last time.
pub(super) const AGAIN: u64 = 0;
/// Token: a shape not seen before in this chunk.
pub(super) const NEW: u64 = 1;
/// Token: as the time before last.
pub(super) const OTHER: u64 = 2;

/// A chunk is written when its shapes have this many rows, or this many words. `gzip` and `sort`
/// have about ten thousand rows.
pub(super) const ENOUGH_DESCRIBED: usize = 1 << 17;
/// The most rows that the shapes of a writer's chunk have: whatever the last block describes, it
/// has notes of.
pub(super) const MOST_SHAPE_ROWS: usize = ENOUGH_DESCRIBED + MAX_SHAPED_ROWS;
/// The most words that they have.
pub(super) const MOST_SHAPE_WORDS: usize = ENOUGH_DESCRIBED + MAX_SHAPED_WORDS;

/// Which shapes came after one: the last, and the last that was another; 0 = none yet.
pub(super) type Nexts = [u32; 2];

/// Enters what came next.
#[inline(always)]
pub(super) fn follow(nexts: &mut Nexts, number: u32) {
    *nexts = [number, nexts[0]];
}

/// A word of a shape: where what is expected of it is kept, and how far its first row's address is
/// from it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word {
    pub(super) trail: u32,
    pub(super) displacement: u64,
}

/// The words of all shapes of a chunk, by their trails, and [`WORDS_AT_ONCE`] more.
pub(super) struct Words(Vec<u32>);

impl Words {
    pub(super) fn new() -> Words {
        Words(vec![0; WORDS_AT_ONCE])
    }

    /// Forgets everything: a chunk begins.
    pub(super) fn clear(&mut self) {
        self.0.truncate(WORDS_AT_ONCE);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len() - WORDS_AT_ONCE
    }

    /// Adds the words of a shape; where they begin.
    pub(super) fn add(&mut self, words: &[Word]) -> usize {
        let first = self.len();
        self.0.truncate(first);
        self.0.extend(words.iter().map(|word| word.trail));
        self.0.resize(first + words.len() + WORDS_AT_ONCE, 0);
        first
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<u32>()
    }
}

/// The trails of the words of a block's notes, one note's after the other's.
#[derive(Default)]
pub(super) struct Plan {
    /// Those from `used` on are anything.
    trails: Vec<u32>,
    used: usize,
}

impl Plan {
    /// Forgets everything and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    #[inline(always)]
    pub(super) fn trails(&self) -> &[u32] {
        &self.trails[..self.used]
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Appends `count` of `words`. `None` if memory for more than `most` would be needed, which is
    /// the caller's to check at the end: most calls are without a look at it.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        words: &Words,
        first: usize,
        count: usize,
        most: usize,
    ) -> Option<()> {
        let end = self.used + count;
        if end + WORDS_AT_ONCE > self.trails.len() {
            grow(&mut self.trails, end, most)?;
        }
        // As many as most have; what is too much is written over.
        let few: Option<&[u32; WORDS_AT_ONCE]> = words.0[first..].first_chunk();
        if let (Some(few), Some(into)) = (few, self.trails[self.used..].first_chunk_mut()) {
            *into = *few;
        }
        if count > WORDS_AT_ONCE {
            self.trails[self.used..end].copy_from_slice(&words.0[first..first + count]);
        }
        self.used = end;
        Some(())
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.trails.capacity() * size_of::<u32>()
    }
}

/// Makes room for so many words. Not of the plan as a whole, so that how many are used need not be
/// in memory.
#[cold]
#[inline(never)]
fn grow(trails: &mut Vec<u32>, used: usize, most: usize) -> Option<()> {
    let most = most.min(MAX_SHAPED_WORDS);
    if used > most {
        return None;
    }
    let length = used.next_power_of_two().max(WORDS_AT_ONCE);
    let length = length.min(MAX_SHAPED_WORDS) + WORDS_AT_ONCE;
    trails.resize(length, 0);
    Some(())
}

/// Which sites have trails: numbers them.
#[derive(Default)]
pub(super) struct Trails {
    by_site: HashMap<(u64, Kind, u8), u32>,
    /// The program counter last described.
    pc: u64,
}

impl Trails {
    /// Forgets everything: a chunk begins.
    pub(super) fn clear(&mut self) {
        self.by_site.clear();
        self.pc = 0;
    }

    /// The words of a shape of these rows, appended to `words`. Those that no row has come last,
    /// with a trail of their own.
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
        let next = self.by_site.len() as u32;
        *self.by_site.entry(site).or_insert(next)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.by_site.len()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        // A map has a byte for each slot besides, and an eighth of them stays free.
        let slot = size_of::<((u64, Kind, u8), u32)>() + 1;
        self.by_site.capacity() * slot * 8 / 7
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
