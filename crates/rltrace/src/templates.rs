//! Blocks of templates: what encoder and decoder both know of the templates of a chunk, and how a
//! template is described.
//!
//! Templates come from capture, several joined into one where they often follow each other
//! (`superblocks`), or are inferred from rows (`template_inference`). In a chunk all are numbered
//! together, from 1 as they appear.
//!
//! A block lists *executions* of templates. An execution is stored as a *token* (of which template)
//! and an *address* for each of its operands:
//!
//! - token 0: the template that followed the previous execution's template the last time; 1: a new
//!   template, described in the stream of sites; 2: the template that followed it before the one
//!   that did last; n ≥ 3: template n − 2.
//! - A block's tokens begin with a bit for each execution, the lowest of a byte first: whether its
//!   token is not 0. Only those tokens follow. Most are 0, and zstd packs eight bits sooner than
//!   eight bytes.
//! - The address of an operand is that of the first row that is relative to it. It is stored as the
//!   zig-zag difference from the last address of that row's site (kind, size, program counter), in
//!   whatever template: templates overlap, because code is entered at many places. Strides are not
//!   predicted: a site with equal steps repeats its bytes, which zstd finds, and on most programs
//!   finds better than what a stride leaves over.
//!
//! ```text
//! template = number of rows, then for each: kind u8, size u8, program counter from the one before,
//!            0 or its operand + 1 u8, displacement from the one before with that operand
//! ```
//!
//! [`PredictorTable`] numbers the sites whose last addresses are kept: they are the *predictors* of
//! operands. *Invariant:* encoder and decoder number templates and predictors alike.

use std::collections::HashMap;

use crate::{MAX_TEMPLATE_BLOCK_OPERANDS, MAX_TEMPLATE_BLOCK_ROWS};
use reuselens_io::varint::{Cursor, Damage, put, put_signed};
use reuselens_trace::{
    Kind, MAX_TEMPLATE_OPERANDS, MAX_TEMPLATE_ROWS, OPERANDS_AT_ONCE, TemplateRow,
};

/// Whether rows of a kind are accesses to few bytes, or mean nothing to readers that want item
/// accesses. Such readers take a template with any other rows row by row, so whoever makes
/// templates keeps the other kinds apart.
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

/// The template before the first execution of every block.
pub(super) const START_TEMPLATE: usize = 0;
/// Token: the template that followed the last time.
pub(super) const SUCCESSOR: u64 = 0;
/// Token: a template not seen before in this chunk.
pub(super) const NEW_TEMPLATE: u64 = 1;
/// Token: the template that followed before the last one did.
pub(super) const OLDER_SUCCESSOR: u64 = 2;

/// A chunk is written when its templates have this many rows, or this many operands. `gzip` and
/// `sort` have about ten thousand rows.
pub(super) const FULL_TEMPLATES: usize = 1 << 17;
/// The most rows that the templates of a writer's chunk have: the last block executes all templates
/// that it describes.
pub(super) const MAX_CHUNK_TEMPLATE_ROWS: usize = FULL_TEMPLATES + MAX_TEMPLATE_BLOCK_ROWS;
/// The most operands that they have.
pub(super) const MAX_CHUNK_OPERANDS: usize = FULL_TEMPLATES + MAX_TEMPLATE_BLOCK_OPERANDS;

/// The templates that followed one: the last, and the last other than that; 0 for none yet.
pub(super) type Successors = [u32; 2];

/// Enters the template that followed, for tokens other than [`SUCCESSOR`].
#[inline(always)]
pub(super) fn set_successor(successors: &mut Successors, number: u32) {
    *successors = [number, successors[0]];
}

/// An operand of a template: its predictor, and how far its first row's address is from it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TemplateOperand {
    pub(super) predictor: u32,
    pub(super) displacement: u64,
}

/// The predictors of the operands of all templates of a chunk, one template's after the other's,
/// and [`OPERANDS_AT_ONCE`] more.
pub(super) struct OperandTable(Vec<u32>);

impl OperandTable {
    pub(super) fn new() -> OperandTable {
        OperandTable(vec![0; OPERANDS_AT_ONCE])
    }

    /// Forgets all: a chunk begins.
    pub(super) fn clear(&mut self) {
        self.0.truncate(OPERANDS_AT_ONCE);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len() - OPERANDS_AT_ONCE
    }

    /// Adds the operands of a template. Returns where they begin.
    pub(super) fn add(&mut self, operands: &[TemplateOperand]) -> usize {
        let first = self.len();
        self.0.truncate(first);
        self.0
            .extend(operands.iter().map(|operand| operand.predictor));
        self.0.resize(first + operands.len() + OPERANDS_AT_ONCE, 0);
        first
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<u32>()
    }
}

/// The predictors of the operands of a block's executions, one execution's after the other's: what
/// the decoder needs to read all operands of a block in one loop.
#[derive(Default)]
pub(super) struct OperandPlan {
    /// From `used` on the numbers are arbitrary.
    predictors: Vec<u32>,
    used: usize,
}

impl OperandPlan {
    /// Forgets all and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    #[inline(always)]
    pub(super) fn predictors(&self) -> &[u32] {
        &self.predictors[..self.used]
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Appends `count` operands of `table`, from `first` on. `None` if memory for more than `most`
    /// would be needed. As long as there is memory the length is not compared with `most`: the
    /// caller does that at the end of a block.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        table: &OperandTable,
        first: usize,
        count: usize,
        most: usize,
    ) -> Option<()> {
        let end = self.used + count;
        if end + OPERANDS_AT_ONCE > self.predictors.len() {
            grow(&mut self.predictors, end, most)?;
        }
        // A copy of constant length, which is enough for most. The next one overwrites what is too
        // much.
        let few: Option<&[u32; OPERANDS_AT_ONCE]> = table.0[first..].first_chunk();
        if let (Some(few), Some(into)) = (few, self.predictors[self.used..].first_chunk_mut()) {
            *into = *few;
        }
        if count > OPERANDS_AT_ONCE {
            self.predictors[self.used..end].copy_from_slice(&table.0[first..first + count]);
        }
        self.used = end;
        Some(())
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.predictors.capacity() * size_of::<u32>()
    }
}

/// Makes room for `used` operands, unless that is more than `most`. A function of the list alone,
/// so that the number of used ones can stay in a register.
#[cold]
#[inline(never)]
fn grow(predictors: &mut Vec<u32>, used: usize, most: usize) -> Option<()> {
    let most = most.min(MAX_TEMPLATE_BLOCK_OPERANDS);
    if used > most {
        return None;
    }
    let length = used.next_power_of_two().max(OPERANDS_AT_ONCE);
    let length = length.min(MAX_TEMPLATE_BLOCK_OPERANDS) + OPERANDS_AT_ONCE;
    predictors.resize(length, 0);
    Some(())
}

/// Numbers the sites of a chunk that predict operands, and codes descriptions of templates.
#[derive(Default)]
pub(super) struct PredictorTable {
    by_site: HashMap<(u64, Kind, u8), u32>,
    /// The program counter last described.
    pc: u64,
}

impl PredictorTable {
    /// Forgets all: a chunk begins.
    pub(super) fn clear(&mut self) {
        self.by_site.clear();
        self.pc = 0;
    }

    /// Appends the `count` operands of a template of these rows to `operands`. Operands that no row
    /// has share a predictor of their own.
    pub(super) fn operands_of(
        &mut self,
        rows: &[TemplateRow],
        count: usize,
        operands: &mut Vec<TemplateOperand>,
    ) {
        let first = operands.len();
        let none = TemplateOperand {
            predictor: u32::MAX,
            displacement: 0,
        };
        operands.resize(first + count, none);
        // An operand row has no program counter of its own: its site is that of the row before.
        let mut pc = 0;
        for row in rows {
            pc = if row.kind == Kind::Operand {
                pc
            } else {
                row.pc
            };
            let operand = row.operand.map(usize::from);
            let Some(operand) = operand.map(|place| &mut operands[first + place]) else {
                continue;
            };
            if operand.predictor == u32::MAX {
                *operand = TemplateOperand {
                    predictor: self.predictor((pc, row.kind, row.size)),
                    displacement: row.displacement,
                };
            }
        }
        for operand in &mut operands[first..] {
            if operand.predictor == u32::MAX {
                operand.predictor = self.predictor((0, Kind::Operand, 0));
            }
        }
    }

    fn predictor(&mut self, site: (u64, Kind, u8)) -> u32 {
        let next = self.by_site.len() as u32;
        *self.by_site.entry(site).or_insert(next)
    }

    /// The number of predictors.
    pub(super) fn len(&self) -> usize {
        self.by_site.len()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        // A map has a byte for each slot besides, and an eighth of them stays free.
        let slot = size_of::<((u64, Kind, u8), u32)>() + 1;
        self.by_site.capacity() * slot * 8 / 7
    }

    /// Appends the description of a template.
    pub(super) fn put(&mut self, out: &mut Vec<u8>, rows: &[TemplateRow]) {
        let mut displacements = [0_u64; MAX_TEMPLATE_OPERANDS + 1];
        put(out, rows.len() as u64);
        for row in rows {
            let operand = row.operand.map_or(0, |operand| operand + 1);
            out.extend([row.kind as u8, row.size]);
            put_signed(out, row.pc.wrapping_sub(self.pc));
            out.push(operand);
            let before = &mut displacements[usize::from(operand)];
            put_signed(out, row.displacement.wrapping_sub(*before));
            (self.pc, *before) = (row.pc, row.displacement);
        }
    }

    /// Reads what [`Self::put`] wrote into `rows`. Returns how many operands the template has.
    ///
    /// # Errors
    /// If it has no rows, more rows or operands than [`Templates`](reuselens_trace::Templates)
    /// takes, or a kind that this version does not know.
    pub(super) fn get(
        &mut self,
        from: &mut Cursor<'_>,
        rows: &mut Vec<TemplateRow>,
    ) -> Result<usize, Damage> {
        let mut displacements = [0_u64; MAX_TEMPLATE_OPERANDS + 1];
        let count: usize = from.small()?;
        if !(1..=MAX_TEMPLATE_ROWS).contains(&count) {
            return Err(Damage("a shape has no rows, or more than any"));
        }
        rows.clear();
        let mut operands = 0;
        for _ in 0..count {
            let kind = Kind::from_u8(from.byte()?);
            let size = from.byte()?;
            self.pc = self.pc.wrapping_add(from.signed()?);
            let operand = from.byte()?;
            let before = displacements
                .get_mut(usize::from(operand))
                .ok_or(Damage("a shape has more words than any"))?;
            *before = before.wrapping_add(from.signed()?);
            operands = operands.max(usize::from(operand));
            rows.push(TemplateRow {
                kind: kind.ok_or(Damage("a row is of a kind that this version does not know"))?,
                size,
                pc: self.pc,
                operand: operand.checked_sub(1),
                displacement: *before,
            });
        }
        Ok(operands)
    }
}
