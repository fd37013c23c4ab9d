//! Notes as shapes and words: what they are, without making rows of them.

use std::collections::HashMap;

use reuselens_trace::{Block, Kind, ShapeRow, ShapedBlock, Shapes};
use reuselens_wire::NO_WORD;

use super::descriptors::{Descriptor, Table};

/// Rows that came alone have so many shapes at most: a program that has written over its blocks
/// must not cost more.
const ALONE_MOST: usize = 1 << 20;
/// Rows of one look at notes: those of one, or one and its operands.
const SCRATCH_MOST: usize = 1 << 10;
/// Shapes of single rows that are found at once, by program counter.
const RECENT: usize = 1 << 10;

/// A row that came alone, and whether an operand belongs to it.
pub type Alone = (u64, Kind, u8, bool);

/// The shapes of a run.
pub struct Shaping {
    pub shapes: Shapes,
    alone: HashMap<Alone, u32>,
    recent: Vec<Option<(Alone, u32)>>,
    rows: Vec<ShapeRow>,
    /// Rows that were made of what has no shape.
    pub scratch: Block,
    /// Rows for which there was no room after all.
    pub lost: u64,
}

impl Default for Shaping {
    fn default() -> Shaping {
        Shaping {
            shapes: Shapes::new(),
            alone: HashMap::new(),
            recent: vec![None; RECENT],
            rows: Vec::new(),
            scratch: Block::new(),
            lost: 0,
        }
    }
}

impl Shaping {
    /// The shape of a descriptor whose rows are always there; and the places of its words in a
    /// note, in their order, appended to `places`.
    pub(super) fn of(
        &mut self,
        table: &Table,
        found: &Descriptor,
        places: &mut Vec<u8>,
    ) -> Option<u32> {
        let first = places.len();
        self.rows.clear();
        let count = usize::from(found.rows);
        let groups = table.groups_of(found).iter().flat_map(|group| group.words);
        let used = groups.take(count).filter(|place| *place != NO_WORD);
        places.extend(used.map(|place| place as u8));
        places[first..].sort_unstable();
        let own = places.split_off(first);
        for place in own {
            if places.len() == first || places.last() != Some(&place) {
                places.push(place);
            }
        }
        for row in 0..count {
            let (group, lane) = table.row_of(found, row)?;
            let place = |&known: &u8| u16::from(known) == group.words[lane];
            let word = places[first..]
                .iter()
                .position(place)
                .map(|word| word as u8);
            self.rows.push(ShapeRow {
                kind: group.kinds[lane],
                size: group.sizes[lane],
                pc: group.pcs[lane],
                word,
                displacement: group.displacements[lane],
            });
        }
        let added = self.shapes.add(&self.rows);
        if added.is_none() {
            places.truncate(first);
        }
        added
    }

    /// Appends a row that came alone, and its operand if it has one; whether there is room for its
    /// shape.
    #[inline(always)]
    pub fn one(
        &mut self,
        alone: Alone,
        address: u64,
        operand: Option<u64>,
        into: &mut ShapedBlock,
    ) -> bool {
        let place = (alone.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize;
        let number = match self.recent[place % RECENT] {
            Some((known, number)) if known == alone => number,
            _ => match self.enter(alone) {
                Some(number) => {
                    self.recent[place % RECENT] = Some((alone, number));
                    number
                }
                None => return false,
            },
        };
        let words = [0, operand.unwrap_or(0), 0, 0, 0, 0, 0, 0];
        let rows = 1 + usize::from(operand.is_some());
        into.push_few(number, rows, address, &words, rows);
        true
    }

    #[cold]
    #[inline(never)]
    fn enter(&mut self, alone: Alone) -> Option<u32> {
        if let Some(&number) = self.alone.get(&alone) {
            return Some(number);
        }
        if self.alone.len() >= ALONE_MOST {
            return None;
        }
        let (pc, kind, size, has_operand) = alone;
        let row = |word, kind, size, pc| ShapeRow {
            kind,
            size,
            pc,
            word: Some(word),
            displacement: 0,
        };
        let rows = [row(0, kind, size, pc), row(1, Kind::Operand, 0, 0)];
        let number = self.shapes.add(&rows[..1 + usize::from(has_operand)])?;
        self.alone.insert(alone, number);
        Some(number)
    }

    /// Whether there is room for what one look at notes makes in [`Self::scratch`].
    pub fn has_room(&self) -> bool {
        self.alone.len() + SCRATCH_MOST <= ALONE_MOST
    }

    /// Appends the rows in [`Self::scratch`]. There must have been room before they were made.
    pub fn rows(&mut self, into: &mut ShapedBlock) {
        let scratch = std::mem::take(&mut self.scratch);
        let mut rows = scratch.rows().peekable();
        while let Some(row) = rows.next() {
            let operand = (row.kind != Kind::Operand)
                .then(|| {
                    rows.next_if(|next| {
                        next.kind == Kind::Operand && next.pc == 0 && next.size == 0
                    })
                })
                .flatten();
            let alone = (row.pc, row.kind, row.size, operand.is_some());
            let fits = self.one(alone, row.addr, operand.map(|row| row.addr), into);
            debug_assert!(fits);
            if !fits {
                self.lost += 1 + u64::from(operand.is_some());
            }
        }
        drop(rows);
        self.scratch = scratch;
    }
}
