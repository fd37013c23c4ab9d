//! [`TemplateBuilder`]: makes templates of descriptors and of single rows, and numbers them for a
//! run. A block record is then delivered as a template's number and operands, and needs no rows.

use std::collections::HashMap;

use reuselens_trace::{Block, Kind, TemplateBlock, TemplateRow, Templates};
use reuselens_wire::NO_WORD;

use super::descriptors::{Descriptor, Descriptors};

/// Limit on templates of lone rows, so that a program that writes over its blocks cannot make more.
const LONE_MOST: usize = 1 << 20;
/// Rows that one call of `BlockRecords::expand` makes at most, where one row is wanted.
const SCRATCH_MOST: usize = 1 << 10;
/// Entries of the cache of lone rows, by program counter. A power of two.
const RECENT: usize = 1 << 10;

/// A row that belongs to no descriptor, without its address: the key of its template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoneRow {
    pub pc: u64,
    pub kind: Kind,
    pub size: u8,
    pub has_operand: bool,
}

/// The templates of a run.
pub struct TemplateBuilder {
    pub templates: Templates,
    lone: HashMap<LoneRow, u32>,
    recent: Vec<Option<(LoneRow, u32)>>,
    rows: Vec<TemplateRow>,
    /// Rows of block records that have no template.
    pub scratch: Block,
    /// Rows that were lost because there was no room for their templates.
    pub lost: u64,
}

impl Default for TemplateBuilder {
    fn default() -> TemplateBuilder {
        TemplateBuilder {
            templates: Templates::new(),
            lone: HashMap::new(),
            recent: vec![None; RECENT],
            rows: Vec::new(),
            scratch: Block::new(),
            lost: 0,
        }
    }
}

impl TemplateBuilder {
    /// Adds the template of a descriptor whose rows are unconditional, and appends to `places`
    /// where in a block record its operands are, in ascending order. `None` if there is no room for
    /// it.
    pub(super) fn add(
        &mut self,
        descriptors: &Descriptors,
        found: &Descriptor,
        places: &mut Vec<u8>,
    ) -> Option<u32> {
        let first = places.len();
        self.rows.clear();
        let count = usize::from(found.rows);
        let groups = descriptors
            .groups_of(found)
            .iter()
            .flat_map(|group| group.operands);
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
            let (group, lane) = descriptors.row_of(found, row)?;
            let place = |&known: &u8| u16::from(known) == group.operands[lane];
            let operand = places[first..]
                .iter()
                .position(place)
                .map(|place| place as u8);
            self.rows.push(TemplateRow {
                kind: group.kinds[lane],
                size: group.sizes[lane],
                pc: group.pcs[lane],
                operand,
                displacement: group.displacements[lane],
            });
        }
        let added = self.templates.add(&self.rows);
        if added.is_none() {
            places.truncate(first);
        }
        added
    }

    /// Appends a lone row, and its operand if it has one. Returns false, and appends nothing, if
    /// there is no room for its template.
    #[inline(always)]
    pub fn push_row(
        &mut self,
        lone: LoneRow,
        address: u64,
        operand: Option<u64>,
        into: &mut TemplateBlock,
    ) -> bool {
        let place = (lone.pc.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize;
        let number = match self.recent[place % RECENT] {
            Some((known, number)) if known == lone => number,
            _ => match self.add_lone(lone) {
                Some(number) => {
                    self.recent[place % RECENT] = Some((lone, number));
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
    fn add_lone(&mut self, lone: LoneRow) -> Option<u32> {
        if let Some(&number) = self.lone.get(&lone) {
            return Some(number);
        }
        if self.lone.len() >= LONE_MOST {
            return None;
        }
        let LoneRow {
            pc,
            kind,
            size,
            has_operand,
        } = lone;
        let row = |operand, kind, size, pc| TemplateRow {
            kind,
            size,
            pc,
            operand: Some(operand),
            displacement: 0,
        };
        let rows = [row(0, kind, size, pc), row(1, Kind::Operand, 0, 0)];
        let number = self.templates.add(&rows[..1 + usize::from(has_operand)])?;
        self.lone.insert(lone, number);
        Some(number)
    }

    /// Whether there is room for templates of all rows that one call can put into
    /// [`Self::scratch`].
    pub fn has_room(&self) -> bool {
        self.lone.len() + SCRATCH_MOST <= LONE_MOST
    }

    /// Appends the rows in [`Self::scratch`]. Check [`Self::has_room`] before they are made.
    pub fn push_scratch(&mut self, into: &mut TemplateBlock) {
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
            let lone = LoneRow {
                pc: row.pc,
                kind: row.kind,
                size: row.size,
                has_operand: operand.is_some(),
            };
            let fits = self.push_row(lone, row.addr, operand.map(|row| row.addr), into);
            debug_assert!(fits);
            if !fits {
                self.lost += 1 + u64::from(operand.is_some());
            }
        }
        drop(rows);
        self.scratch = scratch;
    }
}
