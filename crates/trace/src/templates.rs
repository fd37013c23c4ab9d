//! Rows in the form in which captured code makes them: templates and their operands.
//!
//! A straight-line piece of code does the same accesses each time that it runs, at addresses that
//! are registers plus constants. A [`TemplateRow`] is one of these accesses, and a template is all
//! of them; [`Templates`] keeps each template once, under a number. Only the registers change from
//! run to run. They are the *operands* of an execution (not to be confused with operand rows,
//! [`Kind::Operand`]). A [`TemplateBlock`] lists the executions of a thread as template numbers and
//! operands.
//!
//! Crate `capture` makes template blocks, and the `Writer` of crate `rltrace` stores them: that is
//! several times as fast as to make rows and to store those. Everything else reads rows;
//! [`TemplateBlock::expand`] makes them.

use std::ops::Range;

use crate::{Block, Kind, ProcessId, ThreadId};

/// The most rows of a template.
pub const MAX_TEMPLATE_ROWS: usize = 256;
/// The most operands of a template.
pub const MAX_TEMPLATE_OPERANDS: usize = 64;

/// A row of a template: all of a [`Row`](crate::Row) but its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateRow {
    /// What happens.
    pub kind: Kind,
    /// Bytes accessed, as in [`crate::Row`].
    pub size: u8,
    /// The program counter, as in [`crate::Row`].
    pub pc: u64,
    /// The operand that the address is relative to, by its place among those of the template. With
    /// `None` the address is the displacement.
    pub operand: Option<u8>,
    /// What is added to the operand, wrapping.
    pub displacement: u64,
}

/// All templates that a source has named, by number. Templates are added and never removed.
#[derive(Clone, Debug, Default)]
pub struct Templates {
    rows: Vec<TemplateRow>,
    extents: Vec<TemplateExtent>,
}

/// Where a template's rows are, and how many operands it has.
#[derive(Clone, Copy, Debug)]
struct TemplateExtent {
    first: usize,
    rows: u16,
    operands: u16,
}

impl Templates {
    /// None yet.
    pub fn new() -> Templates {
        Templates::default()
    }

    /// Adds a template of these rows and returns its number. It has as many operands as the largest
    /// [`TemplateRow::operand`] demands. `None`, and nothing is added, if there are no rows, more
    /// than [`MAX_TEMPLATE_ROWS`], or more operands than [`MAX_TEMPLATE_OPERANDS`].
    pub fn add(&mut self, rows: &[TemplateRow]) -> Option<u32> {
        let operands = rows.iter().filter_map(|row| row.operand);
        let operands = operands.map(|operand| usize::from(operand) + 1).max();
        let operands = operands.unwrap_or(0);
        let fits =
            (1..=MAX_TEMPLATE_ROWS).contains(&rows.len()) && operands <= MAX_TEMPLATE_OPERANDS;
        let number = u32::try_from(self.extents.len()).ok().filter(|_| fits)?;
        self.extents.push(TemplateExtent {
            first: self.rows.len(),
            rows: rows.len() as u16,
            operands: operands as u16,
        });
        self.rows.extend_from_slice(rows);
        Some(number)
    }

    /// The number of templates.
    pub fn len(&self) -> usize {
        self.extents.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// The rows of template `number`; empty if there is no such template.
    pub fn rows(&self, number: u32) -> &[TemplateRow] {
        let of = |extent: &TemplateExtent| extent.first..extent.first + usize::from(extent.rows);
        let range: Range<usize> = self.extents.get(number as usize).map_or(0..0, of);
        &self.rows[range]
    }

    /// The number of operands of template `number`; 0 if there is no such template.
    pub fn operands(&self, number: u32) -> usize {
        let extent = self.extents.get(number as usize);
        extent.map_or(0, |extent| usize::from(extent.operands))
    }
}

/// Consecutive rows of one thread, as executions of templates. Says the same as a [`Block`], in
/// fewer bytes.
#[derive(Clone, Debug, Default)]
pub struct TemplateBlock {
    /// The process that ran.
    pub process: ProcessId,
    /// The thread that ran.
    pub thread: ThreadId,
    /// As [`Block::first_stamp`].
    pub first_stamp: u64,
    /// As [`Block::last_stamp`].
    pub last_stamp: u64,
    templates: Vec<u32>,
    /// The operands. From `used` on the values are arbitrary: [`Self::push_few`] writes too many.
    operands: Vec<u64>,
    used: usize,
    rows: usize,
}

/// Operands that [`TemplateBlock::push_few`] copies at once, in one vector of 512 bits. Few
/// executions have more.
pub const OPERANDS_AT_ONCE: usize = 8;

impl TemplateBlock {
    /// An empty block.
    pub fn new() -> TemplateBlock {
        TemplateBlock::default()
    }

    /// Forgets the executions and keeps the memory.
    pub fn clear(&mut self) {
        self.templates.clear();
        self.used = 0;
        self.rows = 0;
    }

    /// Appends an execution: the template's number, how many rows it has, and all its operands.
    #[inline]
    pub fn push(&mut self, template: u32, rows: usize, operands: &[u64]) {
        let used = self.used + operands.len();
        if used > self.operands.len() {
            self.grow(used);
        }
        self.operands[self.used..used].copy_from_slice(operands);
        self.used = used;
        self.templates.push(template);
        self.rows += rows;
    }

    /// Appends an execution with `count` operands, at most [`OPERANDS_AT_ONCE`]: the first is
    /// `first`, the others are `operands[1..count]`. Copies all of `operands` in any case, which
    /// takes less time than a copy of variable length.
    #[inline(always)]
    pub fn push_few(
        &mut self,
        template: u32,
        rows: usize,
        first: u64,
        operands: &[u64; OPERANDS_AT_ONCE],
        count: usize,
    ) {
        let end = self.used + OPERANDS_AT_ONCE;
        if end > self.operands.len() {
            self.grow(end);
        }
        if let Some(into) = self.operands[self.used..].first_chunk_mut() {
            *into = *operands;
            into[0] = first;
        }
        self.used += count.min(OPERANDS_AT_ONCE);
        self.templates.push(template);
        self.rows += rows;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, operands: usize) {
        self.operands.resize(operands.next_power_of_two(), 0);
    }

    /// The template of each execution, in order.
    #[inline]
    pub fn templates(&self) -> &[u32] {
        &self.templates
    }

    /// The operands of all executions, one after the other.
    #[inline]
    pub fn operands(&self) -> &[u64] {
        &self.operands[..self.used]
    }

    /// The number of rows that the executions stand for, as the callers of [`Self::push`] and
    /// [`Self::push_few`] counted them.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Replaces the contents of `block` with the rows of all executions.
    pub fn expand(&self, templates: &Templates, block: &mut Block) {
        block.clear();
        (block.process, block.thread) = (self.process, self.thread);
        (block.first_stamp, block.last_stamp) = (self.first_stamp, self.last_stamp);
        let mut operands = self.operands();
        for &template in &self.templates {
            let count = templates.operands(template).min(operands.len());
            let (own, others) = operands.split_at(count);
            for row in templates.rows(template) {
                let operand = row.operand.and_then(|place| own.get(usize::from(place)));
                let base = operand.map_or(0, |operand| *operand);
                block.push(crate::Row {
                    kind: row.kind,
                    size: row.size,
                    pc: row.pc,
                    addr: base.wrapping_add(row.displacement),
                });
            }
            operands = others;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(operand: Option<u8>, displacement: u64) -> TemplateRow {
        TemplateRow {
            kind: Kind::Load,
            size: 8,
            pc: 0x40,
            operand,
            displacement,
        }
    }

    #[test]
    fn expand_adds_displacements_to_operands() {
        let mut templates = Templates::new();
        let two = templates.add(&[row(Some(1), 8), row(None, 77), row(Some(0), 0)]);
        let one = templates.add(&[row(Some(0), 1_u64.wrapping_neg())]);
        assert_eq!((two, one), (Some(0), Some(1)));
        let mut executions = TemplateBlock::new();
        executions.push(1, 1, &[10]);
        executions.push_few(0, 3, 20, &[9, 30, 7, 7, 7, 7, 7, 7], 2);
        executions.push(1, 1, &[40]);
        assert_eq!((executions.rows(), executions.operands().len()), (5, 4));
        let mut block = Block::new();
        executions.expand(&templates, &mut block);
        assert_eq!(block.addrs(), [9, 38, 77, 20, 39]);
    }

    #[test]
    fn add_refuses_too_many_rows_or_operands() {
        let mut templates = Templates::new();
        assert_eq!(templates.add(&[]), None);
        assert_eq!(templates.add(&[row(None, 0); MAX_TEMPLATE_ROWS + 1]), None);
        assert_eq!(
            templates.add(&[row(Some(MAX_TEMPLATE_OPERANDS as u8), 0)]),
            None
        );
        assert!(templates.is_empty());
        assert!(templates.rows(0).is_empty() && templates.operands(0) == 0);
    }
}
