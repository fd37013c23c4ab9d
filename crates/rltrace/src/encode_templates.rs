//! Encodes a block of templates: executions and operands to tokens and differences.
//!
//! `encode` calls [`TemplateEncoder::block`] for each block. It works in three steps, each a loop
//! over the whole block without branches that a processor would mispredict: which token each
//! execution has, and which predictors its operands have; how far each operand is from its
//! predictor's last address; then the numbers are packed, eight at once where the processor can.
//! What is stored is described in `templates`.
//!
//! *Invariant:* `decode_templates` rebuilds the same templates, successors and last addresses from
//! the streams. A block that does not fit its templates leaves them unusable, and the writer stops.

use std::hint::select_unpredictable;

use crate::MAX_TEMPLATE_BLOCK_OPERANDS;
use crate::compress::Output;
#[cfg(target_arch = "x86_64")]
use crate::processor::{Avx2, Avx512};
use crate::processor::{PACK_SLACK, level};
use crate::templates::{
    FULL_TEMPLATES, NEW_TEMPLATE, OLDER_SUCCESSOR, PredictorTable, START_TEMPLATE, Successors,
    TemplateOperand,
};
use reuselens_io::varint::{LONGEST, Portable, pack_here};
use reuselens_simd::{Level, entry_point};
use reuselens_trace::summary::KINDS;
use reuselens_trace::{Kind, OPERANDS_AT_ONCE, Templates};

/// Operands that are copied for every execution: few have more, except superblocks.
const FEW_OPERANDS: usize = 4;

/// A template in the chunk: what each execution needs of it, in two cache lines.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct EncodedTemplate {
    successors: Successors,
    /// Where all of its operands begin in [`TemplateEncoder::operands`].
    first: u32,
    operands: u16,
    rows: u16,
    /// How many executions there were of it.
    uses: u32,
    /// The predictors and displacements of its first operands. Beyond `operands` they are 0.
    predictors: [u32; OPERANDS_AT_ONCE],
    displacements: [u64; OPERANDS_AT_ONCE],
}

impl EncodedTemplate {
    /// Copies the predictors and displacements of its operands to place `at`. Copies have constant
    /// lengths; the next execution's overwrite what is too much.
    #[inline(always)]
    fn copy_operands(
        &self,
        all: &OperandColumns,
        (predictors, displacements): (&mut [u32], &mut [u64]),
        at: usize,
    ) -> Option<()> {
        let count = usize::from(self.operands);
        let to: &mut [_; OPERANDS_AT_ONCE] = predictors.get_mut(at..)?.first_chunk_mut()?;
        let far: &mut [_; OPERANDS_AT_ONCE] = displacements.get_mut(at..)?.first_chunk_mut()?;
        to[..FEW_OPERANDS].copy_from_slice(&self.predictors[..FEW_OPERANDS]);
        far[..FEW_OPERANDS].copy_from_slice(&self.displacements[..FEW_OPERANDS]);
        if count > FEW_OPERANDS {
            to[FEW_OPERANDS..].copy_from_slice(&self.predictors[FEW_OPERANDS..]);
            far[FEW_OPERANDS..].copy_from_slice(&self.displacements[FEW_OPERANDS..]);
        }
        if count > OPERANDS_AT_ONCE {
            let own = self.first as usize..self.first as usize + count;
            let predictors = predictors.get_mut(at..at + count)?;
            let displacements = displacements.get_mut(at..at + count)?;
            predictors.copy_from_slice(all.predictors.get(own.clone())?);
            displacements.copy_from_slice(all.displacements.get(own)?);
        }
        Some(())
    }
}

/// Who numbers the templates of a block. Each counts from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplateOwner {
    /// The source that delivers template blocks; `superblocks` renumbers its templates.
    Source,
    /// `template_inference`, which makes templates of rows.
    Inference,
}

/// Where a template in the chunk comes from.
#[derive(Clone, Copy)]
struct TemplateOrigin {
    owner: TemplateOwner,
    /// Its number there.
    template: u32,
    /// Where the kinds of its rows begin in [`TemplateEncoder::kinds`].
    first_row: u32,
}

/// Encodes the template blocks of a chunk.
pub(super) struct TemplateEncoder {
    /// By an owner's number of a template its number in the chunk, or 0; for each
    /// [`TemplateOwner`].
    numbers: [Vec<u32>; 2],
    /// The templates of the chunk; the first is [`START_TEMPLATE`].
    templates: Vec<EncodedTemplate>,
    /// Of all templates but the first.
    origins: Vec<TemplateOrigin>,
    /// The operands of all templates.
    operands: OperandColumns,
    predictors: PredictorTable,
    /// The last address of each predictor.
    last_addrs: Vec<u64>,
    /// The kinds of all rows described.
    kinds: Vec<Kind>,
    /// Memory for the operands of a template that is described.
    described: Vec<TemplateOperand>,
    /// The operands of a block's executions.
    plan: OperandColumns,
    /// For each execution of a block whether its token is not 0, as bytes and as bits.
    flags: Vec<u8>,
    bits: Vec<u8>,
    /// The numbers of a block: its tokens that are not 0, and the differences of its operands.
    tokens: Vec<u64>,
    differences: Vec<u64>,
}

/// Predictors and displacements of operands, in columns.
#[derive(Default)]
struct OperandColumns {
    predictors: Vec<u32>,
    displacements: Vec<u64>,
}

impl OperandColumns {
    fn resize(&mut self, count: usize) {
        self.predictors.resize(count, 0);
        self.displacements.resize(count, 0);
    }
}

impl TemplateEncoder {
    pub(super) fn new() -> TemplateEncoder {
        TemplateEncoder {
            numbers: [Vec::new(), Vec::new()],
            templates: vec![EncodedTemplate::default()],
            origins: Vec::new(),
            operands: OperandColumns::default(),
            predictors: PredictorTable::default(),
            last_addrs: Vec::new(),
            kinds: Vec::new(),
            described: Vec::new(),
            plan: OperandColumns::default(),
            flags: Vec::new(),
            bits: Vec::new(),
            tokens: Vec::new(),
            differences: Vec::new(),
        }
    }

    /// Whether the chunk describes so much that it should be written.
    pub(super) fn is_full(&self) -> bool {
        let operands = self.operands.predictors.len();
        self.kinds.len() >= FULL_TEMPLATES || operands >= FULL_TEMPLATES
    }

    /// A chunk is over: adds the rows of each kind that its executions stand for to `kinds`, and
    /// forgets all templates.
    pub(super) fn finish(&mut self, kinds: &mut [u64; KINDS]) {
        for (template, origin) in self.templates[1..].iter().zip(&self.origins) {
            let first = origin.first_row as usize;
            for kind in &self.kinds[first..first + usize::from(template.rows)] {
                kinds[*kind as usize % KINDS] += u64::from(template.uses);
            }
            self.numbers[origin.owner as usize][origin.template as usize] = 0;
        }
        self.templates.truncate(1);
        self.templates[START_TEMPLATE] = EncodedTemplate::default();
        self.origins.clear();
        self.operands.resize(0);
        self.predictors.clear();
        self.last_addrs.clear();
        self.kinds.clear();
    }

    /// Encodes the executions of a block. Returns how many rows they stand for. `None` if they do
    /// not fit `templates`, or have too many operands; the streams are of no use any more then.
    pub(super) fn block(
        &mut self,
        (executions, values): (&[u32], &[u64]),
        (templates, owner): (&Templates, TemplateOwner),
        (descriptions, tokens, addrs): (&mut Vec<u8>, &mut Output, &mut Output),
    ) -> Option<usize> {
        let numbers = &mut self.numbers[owner as usize];
        if numbers.len() < templates.len() {
            numbers.resize(templates.len().next_power_of_two(), 0);
        }
        let (count, operands) = (executions.len(), values.len());
        if operands > MAX_TEMPLATE_BLOCK_OPERANDS {
            return None;
        }
        at_least(&mut self.tokens, count + 1);
        at_least(&mut self.flags, count.next_multiple_of(8));
        at_least(&mut self.differences, operands);
        if self.plan.predictors.len() < operands + OPERANDS_AT_ONCE {
            self.plan
                .resize((operands + OPERANDS_AT_ONCE).next_power_of_two());
        }
        let owned = (templates, owner);
        let (rows, stored) = self.plan_block((executions, operands), owned, descriptions)?;
        self.subtract_last_addrs(values)?;
        self.bits.clear();
        self.flags[count..count.next_multiple_of(8)].fill(0);
        let eights = self.flags[..count.next_multiple_of(8)].as_chunks().0;
        self.bits.extend(eights.iter().map(|&eight| bits_of(eight)));
        tokens.room(self.bits.len()).copy_from_slice(&self.bits);
        tokens.advance(self.bits.len());
        append(&self.tokens[..stored], tokens, pack_tokens);
        append(&self.differences[..operands], addrs, pack_differences);
        Some(rows)
    }

    /// Fills `tokens`, `flags` and `plan`. Returns how many rows the executions stand for, and how
    /// many tokens are not 0.
    fn plan_block(
        &mut self,
        (executions, operands): (&[u32], usize),
        (templates, owner): (&Templates, TemplateOwner),
        descriptions: &mut Vec<u8>,
    ) -> Option<(usize, usize)> {
        let mut progress = BlockProgress::default();
        while progress.executions < executions.len() {
            self.plan_known((executions, owner), operands, &mut progress)?;
            if let Some(&template) = executions.get(progress.executions)
                && self.numbers[owner as usize].get(template as usize) == Some(&0)
            {
                self.describe(template, (templates, owner), descriptions)?;
            }
        }
        (progress.operands == operands).then_some((progress.rows, progress.stored))
    }

    /// Goes on to the first execution of a template that is not in the chunk yet, or to the end.
    /// State that changes with each execution is in local variables, so that it stays in registers.
    #[inline(never)]
    fn plan_known(
        &mut self,
        (executions, owner): (&[u32], TemplateOwner),
        most: usize,
        progress: &mut BlockProgress,
    ) -> Option<()> {
        let (numbers, templates) = (
            self.numbers[owner as usize].as_slice(),
            self.templates.as_mut_slice(),
        );
        let into_predictors = self.plan.predictors.as_mut_slice();
        let into_displacements = self.plan.displacements.as_mut_slice();
        let BlockProgress {
            executions: mut done,
            operands: mut at,
            mut rows,
            mut stored,
            mut before,
            mut is_new,
        } = *progress;
        let tokens = self.tokens.as_mut_slice();
        let flags = self.flags.get_mut(done..)?;
        for (&template, flag) in executions[done..].iter().zip(flags) {
            let number = *numbers.get(template as usize)?;
            if number == 0 {
                is_new = true;
                break;
            }
            let (token, is_last) = token(&mut templates[before].successors, number, is_new);
            // A token of 0 is written too, and overwritten by the next.
            *tokens.get_mut(stored)? = token;
            *flag = u8::from(!is_last);
            stored += usize::from(!is_last);
            is_new = false;

            // The operands of the execution, in the order in which their values come.
            before = number as usize;
            let known = &mut templates[before];
            known.uses += 1;
            rows += usize::from(known.rows);
            let count = usize::from(known.operands);
            known.copy_operands(&self.operands, (into_predictors, into_displacements), at)?;
            at += count;
            if at > most {
                return None;
            }
            done += 1;
        }
        *progress = BlockProgress {
            executions: done,
            operands: at,
            rows,
            stored,
            before,
            is_new,
        };
        Some(())
    }

    /// Fills `differences`: how far the operands of a block are from the last addresses of their
    /// predictors.
    fn subtract_last_addrs(&mut self, values: &[u64]) -> Option<()> {
        let predictors = self.plan.predictors.get(..values.len())?;
        let displacements = self.plan.displacements.get(..values.len())?;
        let into = self.differences.get_mut(..values.len())?;
        let last_addrs = self.last_addrs.as_mut_slice();
        let of = predictors.iter().zip(displacements).zip(values).zip(into);
        for (((&predictor, &displacement), &value), difference) in of {
            // The address of the operand's first row is what is stored.
            let addr = value.wrapping_add(displacement);
            let last = last_addrs.get_mut(predictor as usize)?;
            *difference = addr.wrapping_sub(*last);
            *last = addr;
        }
        Some(())
    }

    /// Adds a template to the chunk.
    #[cold]
    #[inline(never)]
    fn describe(
        &mut self,
        number: u32,
        (templates, owner): (&Templates, TemplateOwner),
        descriptions: &mut Vec<u8>,
    ) -> Option<()> {
        let rows = templates.rows(number);
        rows.first()?;
        let operands = templates.operands(number);
        self.predictors.put(descriptions, rows);
        let own_number = self.templates.len() as u32;
        self.described.clear();
        self.predictors
            .operands_of(rows, operands, &mut self.described);
        self.last_addrs.resize(self.predictors.len(), 0);
        let mut template = EncodedTemplate {
            first: self.operands.predictors.len() as u32,
            operands: operands as u16,
            rows: rows.len() as u16,
            ..EncodedTemplate::default()
        };
        for (at, operand) in self.described.iter().enumerate() {
            self.operands.predictors.push(operand.predictor);
            self.operands.displacements.push(operand.displacement);
            if at < OPERANDS_AT_ONCE {
                template.predictors[at] = operand.predictor;
                template.displacements[at] = operand.displacement;
            }
        }
        self.templates.push(template);
        self.origins.push(TemplateOrigin {
            owner,
            template: number,
            first_row: self.kinds.len() as u32,
        });
        self.numbers[owner as usize][number as usize] = own_number;
        self.kinds.extend(rows.iter().map(|row| row.kind));
        Some(())
    }
}

/// How far the first step is in a block.
#[derive(Clone, Copy, Default)]
struct BlockProgress {
    executions: usize,
    operands: usize,
    /// Rows that the executions so far stand for.
    rows: usize,
    /// How many of their tokens are not 0.
    stored: usize,
    /// The template of the execution before.
    before: usize,
    /// Whether the template of the next execution has just been described.
    is_new: bool,
}

/// The token of an execution of template `number` after one with these successors, which are
/// updated; and whether the token is 0. A template that was just described is neither successor.
///
/// Which token it is varies, so everything is selected without a branch.
#[inline(always)]
fn token(successors: &mut Successors, number: u32, is_new: bool) -> (u64, bool) {
    let [last, older] = *successors;
    let is_last = number == last;
    let named = u64::from(number) + OLDER_SUCCESSOR;
    let token = select_unpredictable(is_new, NEW_TEMPLATE, named);
    let token = select_unpredictable(number == older, OLDER_SUCCESSOR, token);
    *successors = [number, select_unpredictable(is_last, older, last)];
    (token, is_last)
}

/// The lowest bit of each byte.
fn bits_of(bytes: [u8; 8]) -> u8 {
    /// Brings bit 0 of byte `n` to bit 56 + `n`, and no two bits to the same place.
    const TO_THE_TOP: u64 = 0x0102_0408_1020_4080;
    (u64::from_le_bytes(bytes).wrapping_mul(TO_THE_TOP) >> 56) as u8
}

/// Makes it that long, if it is not.
fn at_least<T: Copy + Default>(numbers: &mut Vec<T>, count: usize) {
    if numbers.len() < count {
        numbers.resize(count.next_power_of_two(), T::default());
    }
}

/// Appends numbers to a stream, packed by one of the entry points below.
fn append(numbers: &[u64], output: &mut Output, pack: impl Fn(Level, &[u64], &mut [u8]) -> usize) {
    let room = output.room(numbers.len() * LONGEST + PACK_SLACK);
    let written = pack(level(), numbers, room);
    output.advance(written);
}

entry_point! {
    /// Packs numbers as they are. Returns how many bytes were written, out of `LONGEST` for each
    /// and [`PACK_SLACK`].
    fn pack_tokens(level, numbers: &[u64], bytes: &mut [u8]) -> usize {
        Icelake(proof) => Avx512::with(proof).pack::<false>(numbers, bytes),
        V3(proof) => pack_here::<false>(Avx2::with(proof), numbers, bytes),
        _ => pack_here::<false>(Portable, numbers, bytes),
    }
}

entry_point! {
    /// Packs numbers zig-zag, likewise.
    fn pack_differences(level, numbers: &[u64], bytes: &mut [u8]) -> usize {
        Icelake(proof) => Avx512::with(proof).pack::<true>(numbers, bytes),
        V3(proof) => pack_here::<true>(Avx2::with(proof), numbers, bytes),
        _ => pack_here::<true>(Portable, numbers, bytes),
    }
}
