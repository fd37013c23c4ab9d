//! Decodes a block of templates: tokens and operands (see `templates`) to rows.
//!
//! `decode` calls one of three entry points: [`decode_templates`] for rows,
//! [`decode_templates_to_repeats`] for rows and repeats, [`decode_templates_to_items`] for item
//! accesses. Each first calls [`TemplateDecoder::read`], in two steps: which template each
//! *execution* is of ([`Execution`]), and then all operands of the block at once. Then each writes
//! what it is for, execution by execution.
//!
//! In this decoder an operand is the address of the first row that is relative to it, not the value
//! that capture delivered: [`TemplateDecoder::describe`] makes displacements relative to that row.
//! The addresses of all rows are the same.
//!
//! *Invariant:* between blocks, templates, their successors and the last addresses are what the
//! encoder's were between the same blocks.

use crate::access_group::{AccessGroup, NO_ACCESSES};
use crate::decode_rows::{NO_SUCH_SITE, Streams};
use crate::encode::FULL_ROWS;
use crate::processor::Processor;
#[cfg(target_arch = "x86_64")]
use crate::processor::{Avx2, Avx512};
use crate::repeat_sink::can_repeat;
use crate::templates::{
    MAX_CHUNK_OPERANDS, MAX_CHUNK_TEMPLATE_ROWS, NEW_TEMPLATE, OLDER_SUCCESSOR, OperandPlan,
    OperandTable, PredictorTable, START_TEMPLATE, SUCCESSOR, Successors, TemplateOperand,
    set_successor,
};
use crate::{MAX_TEMPLATE_BLOCK_OPERANDS, MAX_TEMPLATE_BLOCK_ROWS};
use items::ItemPath;
use reuselens_io::varint::{Cursor, Damage, END, Portable, unzigzag};
use reuselens_simd::entry_point;
use reuselens_trace::{
    Columns, ItemProjection, MAX_TEMPLATE_OPERANDS, MAX_TEMPLATE_ROWS, TemplateRow,
};
use row_group::{GROUP_ROWS, MIN_GROUPS, NO_ROWS, RowGroup, fill};

mod items;
mod repeats;
mod row_group;

pub(super) use items::decode_templates_to_items;
pub(super) use repeats::decode_templates_to_repeats;

/// How much longer columns must be than the rows of a block: whole groups are written.
pub(super) const COLUMN_SLACK: usize = MAX_TEMPLATE_ROWS + MIN_GROUPS * GROUP_ROWS;
/// The most rows that template blocks of a writer's chunk stand for.
const MAX_CHUNK_ROWS: usize = FULL_ROWS as usize + MAX_TEMPLATE_BLOCK_ROWS;

/// An execution of a template: where the template's rows are, and where its operands are.
#[derive(Clone, Copy, Default)]
struct Execution {
    /// In [`TemplateDecoder::groups`].
    first_group: u32,
    /// In [`TemplateDecoder::access_groups`].
    first_access_group: u32,
    /// In [`TemplateDecoder::values`]; of an execution in a [`KnownTemplate`], in
    /// [`TemplateDecoder::operands`].
    first_operand: u32,
    /// How many rows are in groups: all of the template's, or, for [`ItemPath::Plain`], its
    /// accesses that count.
    rows: u16,
    item_path: ItemPath,
    /// Whether later executions may be repeats.
    can_repeat: bool,
}

/// A template of the chunk: all that an execution needs, in half a cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct KnownTemplate {
    successors: Successors,
    /// What an execution of it is, apart from its operands.
    execution: Execution,
    operands: u16,
    rows: u16,
}

/// What the head of a template block says.
#[derive(Clone, Copy)]
pub(super) struct TemplateHead {
    pub(super) executions: usize,
    /// How many rows they stand for.
    pub(super) rows: usize,
}

/// Decodes the template blocks of a chunk. What a forged chunk can cost is bounded by what writers
/// put into one ([`MAX_CHUNK_TEMPLATE_ROWS`], [`MAX_CHUNK_OPERANDS`]) and into a block: 110 MiB at
/// most, 180 for item accesses, for each thread that decodes.
pub(super) struct TemplateDecoder {
    /// The templates of the chunk by number; the first is [`START_TEMPLATE`].
    templates: Vec<KnownTemplate>,
    operands: OperandTable,
    /// The rows of all templates, and [`MIN_GROUPS`] empty groups.
    groups: Vec<RowGroup>,
    /// The accesses of templates that become items by groups, and an empty group.
    access_groups: Vec<AccessGroup>,
    /// The executions of a block, their operands' predictors, and the operands themselves.
    executions: Vec<Execution>,
    plan: OperandPlan,
    values: Vec<u64>,
    predictors: PredictorTable,
    /// The last address of each predictor.
    last_addrs: Vec<u64>,
    /// Memory for the rows and the operands of a template that is described.
    described: Vec<TemplateRow>,
    own_operands: Vec<TemplateOperand>,
    /// Rows of the chunk so far.
    rows: usize,
    /// Groups that all rows of the chunk's templates would take.
    all_groups: usize,
    /// Which accesses become items, if items are asked for.
    projection: Option<ItemProjection>,
    /// By a template's first group the number of its repeat template, and how many there are.
    repeat_numbers: Vec<u32>,
    repeat_templates: u32,
    /// Memory for the addresses of repeats.
    repeat_addrs: Vec<u64>,
}

entry_point! {
    /// Fills the columns of a block with the rows of its executions. The columns must be longer
    /// than the rows by [`COLUMN_SLACK`].
    ///
    /// # Errors
    /// If the chunk is damaged. The columns are arbitrary then.
    pub(super) fn decode_templates(
        level,
        decoder: &mut TemplateDecoder,
        streams: &mut Streams<'_>,
        head: TemplateHead,
        columns: &mut Columns<'_>,
    ) -> Result<(), Damage> {
        Icelake(proof) => decoder.rows_here(Avx512::with(proof), streams, head, columns),
        V3(proof) => decoder.rows_here(Avx2::with(proof), streams, head, columns),
        _ => decoder.rows_here(Portable, streams, head, columns),
    }
}

impl TemplateDecoder {
    pub(super) fn new(projection: Option<ItemProjection>) -> TemplateDecoder {
        TemplateDecoder {
            templates: vec![KnownTemplate::default()],
            operands: OperandTable::new(),
            groups: vec![NO_ROWS; MIN_GROUPS],
            access_groups: vec![NO_ACCESSES],
            executions: Vec::new(),
            plan: OperandPlan::default(),
            values: Vec::new(),
            predictors: PredictorTable::default(),
            last_addrs: Vec::new(),
            described: Vec::new(),
            own_operands: Vec::new(),
            rows: 0,
            all_groups: 0,
            projection,
            repeat_numbers: Vec::new(),
            repeat_templates: 0,
            repeat_addrs: Vec::new(),
        }
    }

    /// Forgets all templates: a chunk begins.
    pub(super) fn clear(&mut self) {
        self.templates.truncate(1);
        self.templates[START_TEMPLATE] = KnownTemplate::default();
        self.operands.clear();
        self.groups.truncate(MIN_GROUPS);
        self.access_groups.truncate(1);
        self.predictors.clear();
        self.last_addrs.clear();
        (self.rows, self.all_groups) = (0, 0);
        // Groups will be those of other templates.
        self.repeat_numbers.clear();
        self.repeat_templates = 0;
    }

    #[inline(always)]
    fn rows_here(
        &mut self,
        squeeze: impl Processor,
        streams: &mut Streams<'_>,
        head: TemplateHead,
        columns: &mut Columns<'_>,
    ) -> Result<(), Damage> {
        self.read(squeeze, streams, head)?;
        let mut at = 0;
        for execution in &self.executions {
            let first = execution.first_group as usize;
            let operands = self.values[execution.first_operand as usize..].first_chunk();
            let few: Option<&[RowGroup; MIN_GROUPS]> = self.groups[first..].first_chunk();
            let (Some(operands), Some(few)) = (operands, few) else {
                return Err(ROWS);
            };
            // A constant number of groups, so that there is no loop for most executions.
            fill(few, operands, at, columns);
            let rows = usize::from(execution.rows);
            if rows > MIN_GROUPS * GROUP_ROWS {
                let last = first + rows.div_ceil(GROUP_ROWS);
                let others = &self.groups[first + MIN_GROUPS..last];
                fill(others, operands, at + MIN_GROUPS * GROUP_ROWS, columns);
            }
            at += rows;
        }
        Ok(())
    }

    /// Reads the executions of a block and their operands.
    #[inline(always)]
    fn read(
        &mut self,
        squeeze: impl Processor,
        streams: &mut Streams<'_>,
        TemplateHead { executions, rows }: TemplateHead,
    ) -> Result<(), Damage> {
        self.rows += rows;
        if self.rows > MAX_CHUNK_ROWS {
            return Err(Damage(
                "a chunk has more rows than any writer puts into one",
            ));
        }
        self.read_executions(streams, executions, rows)?;
        self.read_operands(squeeze, &mut streams.addrs)
    }

    /// Reads the tokens of a block: fills `executions`, and `plan` with the predictors of their
    /// operands.
    #[inline(always)]
    fn read_executions(
        &mut self,
        streams: &mut Streams<'_>,
        count: usize,
        rows: usize,
    ) -> Result<(), Damage> {
        // Every operand has at least one byte, and every execution a row.
        let most = streams.addrs.left().min(MAX_TEMPLATE_BLOCK_OPERANDS);
        if count > rows {
            return Err(ROWS);
        }
        let bits = streams.tokens.some(count.div_ceil(8))?;
        let (mut plan, mut executions) = (
            std::mem::take(&mut self.plan),
            std::mem::take(&mut self.executions),
        );
        plan.clear();
        executions.resize(count, Execution::default());
        let (mut before, mut found) = (START_TEMPLATE, 0);
        for (place, execution) in executions.iter_mut().enumerate() {
            // Most tokens are 0 and have no more than their bit: the template's number is that of
            // the last successor, and nothing changes.
            let is_zero = (bits[place / 8] >> (place % 8)) & 1 == 0;
            let next = self.templates[before].successors[0];
            before = if is_zero && next != 0 {
                next
            } else {
                let token = if is_zero {
                    SUCCESSOR
                } else {
                    streams.tokens.number()?
                };
                self.number(token, before, &mut streams.descriptions)?
            } as usize;
            let known = &self.templates[before];
            found += usize::from(known.rows);
            *execution = known.execution;
            execution.first_operand = plan.len() as u32;
            let first = known.execution.first_operand as usize;
            let count = usize::from(known.operands);
            plan.push(&self.operands, first, count, most).ok_or(END)?;
        }
        (self.plan, self.executions) = (plan, executions);
        if found != rows {
            Err(ROWS)
        } else if self.plan.len() <= most {
            Ok(())
        } else {
            Err(END)
        }
    }

    /// Reads the operands that `plan` lists.
    #[inline(always)]
    fn read_operands(
        &mut self,
        squeeze: impl Processor,
        addrs: &mut Cursor<'_>,
    ) -> Result<(), Damage> {
        let predictors = self.plan.predictors();
        // Longer by the operands of one execution, so that a whole array of them can be borrowed
        // wherever one begins.
        at_least(&mut self.values, predictors.len() + MAX_TEMPLATE_OPERANDS);
        addrs.numbers(squeeze, &mut self.values[..predictors.len()])?;
        let last_addrs = self.last_addrs.as_mut_slice();
        for (predictor, value) in predictors.iter().zip(&mut self.values) {
            let last = &mut last_addrs[*predictor as usize];
            *last = last.wrapping_add(unzigzag(*value));
            *value = *last;
        }
        Ok(())
    }

    /// The number of the template that a token names, after template `before`.
    #[inline(always)]
    fn number(
        &mut self,
        token: u64,
        before: usize,
        descriptions: &mut Cursor<'_>,
    ) -> Result<u32, Damage> {
        let successors = self.templates[before].successors;
        if token == SUCCESSOR && successors[0] != 0 {
            return Ok(successors[0]);
        }
        let number = match token {
            NEW_TEMPLATE => self.describe(descriptions)?,
            OLDER_SUCCESSOR => successors[1],
            SUCCESSOR => 0,
            token => u32::try_from(token - OLDER_SUCCESSOR).unwrap_or(0),
        };
        if number == 0 || number as usize >= self.templates.len() {
            return Err(NO_SUCH_SITE);
        }
        set_successor(&mut self.templates[before].successors, number);
        Ok(number)
    }

    /// Reads the description of a template, and returns its number.
    #[cold]
    #[inline(never)]
    fn describe(&mut self, from: &mut Cursor<'_>) -> Result<u32, Damage> {
        let operands = self.predictors.get(from, &mut self.described)?;
        let rows = self.described.len();
        self.all_groups += rows.div_ceil(GROUP_ROWS);
        if self.all_groups > MAX_CHUNK_TEMPLATE_ROWS
            || self.operands.len() + operands > MAX_CHUNK_OPERANDS
        {
            return Err(Damage(
                "a chunk has more sites than any writer puts into one",
            ));
        }
        self.own_operands.clear();
        self.predictors
            .operands_of(&self.described, operands, &mut self.own_operands);
        let first_operand = self.operands.add(&self.own_operands);
        for row in &mut self.described {
            // An operand is from here on what is stored of it: the address of its first row.
            let operand = row
                .operand
                .map(|operand| &self.own_operands[usize::from(operand)]);
            let first = operand.map_or(0, |operand| operand.displacement);
            row.displacement = row.displacement.wrapping_sub(first);
        }
        self.last_addrs.resize(self.predictors.len(), 0);
        let can_repeat = can_repeat(self.described.iter().map(|row| row.kind));
        let projection = self.projection.as_ref();
        let (item_path, first_access_group) = projection
            .map_or((ItemPath::RowByRow, 0), |projection| {
                items::enter(&mut self.access_groups, &mut self.described, projection)
            });
        let groups = self.groups.len() - MIN_GROUPS;
        self.templates.push(KnownTemplate {
            execution: Execution {
                first_operand: first_operand as u32,
                first_group: groups as u32,
                first_access_group,
                rows: self.described.len() as u16,
                item_path,
                can_repeat,
            },
            operands: operands as u16,
            rows: rows as u16,
            ..KnownTemplate::default()
        });
        // The empty groups stay at the end.
        self.groups.truncate(groups);
        self.groups
            .extend(self.described.chunks(GROUP_ROWS).map(RowGroup::of));
        self.groups.resize(self.groups.len() + MIN_GROUPS, NO_ROWS);
        Ok(self.templates.len() as u32 - 1)
    }
}

/// Makes it that long, if it is not.
fn at_least(values: &mut Vec<u64>, count: usize) {
    if values.len() < count {
        values.resize(count, 0);
    }
}

const ROWS: Damage = Damage("a block has other rows than it claims");

#[cfg(test)]
mod tests;
