//! Infers templates from rows: pieces of code that run again and again are stored once.
//!
//! Instrumentation by hooks delivers rows. Which row follows which, and how addresses within a few
//! lines of code depend on each other, is the same each time that the code runs; a block of rows
//! says it for each row, and a reader must go through it row by row. The `Writer` hands each block
//! to [`TemplateInference::block`]. It cuts the rows into *fragments* ([`fragments`]), each known
//! by its rows without addresses. Each fragment has a few *variants* ([`variants`]): templates that
//! say how its addresses depend on each other. The block becomes an execution of a variant for each
//! fragment, with an operand for each address that does not follow from another.
//!
//! A fragment that is not known is *unmatched*: each of its rows is an execution of a template of
//! one row ([`single_rows`]).
//!
//! The block is stored as templates only if it is then cheaper to read. It is not where fragments
//! do not repeat, and not where rows are runs of zeros, which `predicted_runs` decodes faster than
//! anything. After blocks that do not pay, some blocks of the thread are not looked at.
//!
//! *Invariant:* the template block that [`TemplateInference::made`] returns expands to the rows of
//! the block, in order.

use std::ops::Range;

use crate::{MAX_TEMPLATE_BLOCK_OPERANDS, MAX_TEMPLATE_BLOCK_ROWS};
use fragments::{FragmentCut, Fragments, NO_FRAGMENT};
use reuselens_trace::{Block, Kind, TemplateBlock, TemplateRow, Templates};
use single_rows::SingleRows;
use variants::{FragmentAddrs, Variants};

mod fragments;
mod single_rows;
mod variants;

/// The most rows of a fragment.
const MAX_FRAGMENT_ROWS: usize = 64;
/// Blocks of fewer rows stay rows.
const MIN_BLOCK_ROWS: usize = 32;
/// Blocks of a thread that are not looked at after two that did not nearly pay. An even number, so
/// that of two sorts of blocks by turns both are looked at. A thread whose blocks nearly pay is
/// looked at each time: others of its blocks pay, and what saves time each time that a file is read
/// is worth what it takes once.
const PAUSED_BLOCKS: u32 = 2;
/// Pauses that are kept. Threads with the same remainder share one.
const PAUSES: usize = 64;
/// The most rows of known fragments. It bounds memory.
const MAX_KNOWN_ROWS: usize = 1 << 17;
/// The most rows of variants. It bounds memory.
const MAX_VARIANT_ROWS: usize = 1 << 18;
/// A run of predicted rows counts as predicted from this length on: it would be a run of zeros.
const MIN_PREDICTED_RUN: usize = 128;
/// After this many rows a block is given up if it does not pay, unless too few rows were matched to
/// tell.
const TRIED_ROWS: usize = 512;

/// The fragments and variants that are known, and the block that was made last.
pub(super) struct TemplateInference {
    fragments: Fragments,
    variants: Variants,
    single_rows: SingleRows,
    templates: Templates,
    out: TemplateBlock,
    /// By thread: templates that do not pay for one thread may pay for another.
    pauses: [Pause; PAUSES],
}

/// How many blocks of a thread are not to be looked at, and whether the last one that was did not
/// nearly pay.
#[derive(Clone, Copy, Default)]
struct Pause {
    left: u32,
    failed: bool,
}

impl Pause {
    /// After a block was looked at. One block alone that does not pay is no reason to pass over
    /// others, nor are blocks that nearly pay.
    fn after(self, costs: &ReadCosts) -> Pause {
        let failed = !costs.nearly_pay();
        let left = if failed && self.failed {
            PAUSED_BLOCKS
        } else {
            0
        };
        Pause { left, failed }
    }
}

/// How long a block takes to read, in tenths of a row.
struct ReadCosts {
    as_rows: usize,
    /// `None` if it cannot be stored as templates.
    as_templates: Option<usize>,
}

impl ReadCosts {
    /// Whether it is read no slower as templates.
    fn pay(&self) -> bool {
        self.as_templates
            .is_some_and(|templates| templates <= self.as_rows)
    }

    /// Whether it takes at most twice as long as templates.
    fn nearly_pay(&self) -> bool {
        self.as_templates
            .is_some_and(|templates| templates <= 2 * self.as_rows)
    }
}

/// Counts of rows of a block.
#[derive(Default)]
struct BlockCounts {
    /// Rows of unmatched fragments.
    unmatched: usize,
    /// Rows in predicted runs: stored as rows, their numbers would be runs of zeros.
    predicted: usize,
    /// Rows in the run that goes on.
    run: usize,
    /// Whether there is no room for the template of a row.
    is_full: bool,
}

impl BlockCounts {
    /// Counts an execution of `rows` rows, which came as predicted or not.
    #[inline(always)]
    fn add(&mut self, rows: usize, is_predicted: bool) {
        self.run = if is_predicted { self.run + rows } else { 0 };
        self.predicted += match self.run {
            0..MIN_PREDICTED_RUN => 0,
            // The run has just become long enough: all of it counts.
            run if run - rows < MIN_PREDICTED_RUN => run,
            _ => rows,
        };
    }
}

impl TemplateInference {
    pub(super) fn new() -> TemplateInference {
        TemplateInference {
            fragments: Fragments::new(),
            variants: Variants::default(),
            single_rows: SingleRows::new(),
            templates: Templates::new(),
            out: TemplateBlock::new(),
            pauses: [Pause::default(); PAUSES],
        }
    }

    /// The template block that was made last, and its templates.
    pub(super) fn made(&self) -> (&TemplateBlock, &Templates) {
        (&self.out, &self.templates)
    }

    /// A chunk was written. If there is no room for more all is forgotten, and templates are
    /// numbered from 0 again.
    pub(super) fn chunk_ended(&mut self) {
        let full = self.fragments.is_full() || self.variants_full() || self.single_rows.is_full();
        if full {
            self.fragments.clear();
            self.variants.clear();
            self.single_rows.clear();
            self.templates = Templates::new();
        }
    }

    fn variants_full(&self) -> bool {
        self.variants.rows() > MAX_VARIANT_ROWS
    }

    /// Looks at a block. Returns whether it is better stored as templates; [`Self::made`] has it
    /// then.
    pub(super) fn block(&mut self, block: &Block) -> bool {
        if !(MIN_BLOCK_ROWS..=MAX_TEMPLATE_BLOCK_ROWS).contains(&block.len()) {
            return false;
        }
        let thread = block.thread.0.wrapping_add(u32::from(block.process.0) << 3) as usize;
        let place = thread % PAUSES;
        if self.pauses[place].left > 0 {
            self.pauses[place].left -= 1;
            return false;
        }
        let (counts, rows) = self.infer(block, TRIED_ROWS);
        let costs = self.costs(&counts, rows);
        let good = rows == block.len() && costs.pay();
        self.pauses[place] = self.pauses[place].after(&costs);
        good
    }

    /// The costs of the first `rows` rows. Measured on a processor with AVX-512: an execution takes
    /// about as long as 1.2 rows, an operand as 0.2, a row of a template or in a run of zeros as
    /// 0.1. An unmatched row is an execution with an operand, and mostly has to be described too.
    fn costs(&self, counts: &BlockCounts, rows: usize) -> ReadCosts {
        let (executions, operands) = (self.out.templates().len(), self.out.operands().len());
        let fits = !counts.is_full && operands <= MAX_TEMPLATE_BLOCK_OPERANDS;
        let templates = rows + 12 * executions + 2 * operands + 18 * counts.unmatched;
        ReadCosts {
            as_rows: 10 * rows - 9 * counts.predicted,
            as_templates: fits.then_some(templates),
        }
    }

    /// Makes executions of all rows. Gives up if the first `tried` rows do not pay. Returns how
    /// many rows were taken.
    fn infer(&mut self, block: &Block, tried: usize) -> (BlockCounts, usize) {
        self.out.clear();
        (self.out.process, self.out.thread) = (block.process, block.thread);
        (self.out.first_stamp, self.out.last_stamp) = (block.first_stamp, block.last_stamp);
        let (mut at, mut before, mut counts) = (0, NO_FRAGMENT, BlockCounts::default());
        let mut tried = tried;
        while at < block.len() {
            if at >= tried {
                tried = usize::MAX;
                // With many unmatched rows it is too early to tell: their fragments are learnt.
                if 8 * counts.unmatched < at && !self.costs(&counts, at).pay() {
                    break;
                }
            }
            // The fragment: one that followed the last one lately, or the one that a cut finds.
            let (fragment, is_expected) = match self.fragments.expected(before, block, at) {
                Some(found) => found,
                None => {
                    let cut = self.fragments.cut(block, at);
                    let Some(fragment) = self.fragments.find(block, at, &cut) else {
                        self.push_unmatched(block, at, &cut, &mut counts);
                        at += cut.rows;
                        before = NO_FRAGMENT;
                        continue;
                    };
                    (fragment, false)
                }
            };
            // Its variant: one that the addresses fit, or a new one.
            let rows = self.fragments.rows(fragment);
            let addrs = FragmentAddrs::of(&block.addrs()[at..at + rows.len()]);
            let own = &self.fragments.row_keys()[rows.clone()];
            let variant = match self.variants.fitting(fragment, &addrs) {
                Some(variant) => Some(variant),
                None if self.variants_full() => None,
                None => {
                    let of = (fragment, &rows);
                    self.variants.make(of, own, &addrs, &mut self.templates)
                }
            };
            match variant {
                Some(variant) => {
                    let out = &mut self.out;
                    let is_steady = self.variants.execute(variant, rows.len(), &addrs, out);
                    counts.add(rows.len(), is_expected && is_steady);
                }
                None => self.push_single_rows(block, at..at + rows.len(), &mut counts),
            }
            self.fragments.set_successor(before, fragment);
            at += rows.len();
            before = fragment;
        }
        (counts, at)
    }

    /// Takes a fragment that is not known. From its second time on it is.
    #[cold]
    #[inline(never)]
    fn push_unmatched(
        &mut self,
        block: &Block,
        at: usize,
        cut: &FragmentCut,
        counts: &mut BlockCounts,
    ) {
        let rows = at..at + cut.rows;
        if self.fragments.learn(block, at, cut) {
            self.variants.enter(&block.addrs()[rows.clone()]);
        }
        self.push_single_rows(block, rows, counts);
    }

    /// Makes an execution of each row.
    fn push_single_rows(&mut self, block: &Block, rows: Range<usize>, counts: &mut BlockCounts) {
        counts.unmatched += rows.len();
        counts.run = 0;
        if counts.is_full {
            return;
        }
        for at in rows {
            let key = RowKey::of(block, at);
            let Some(template) = self.single_rows.find(key, &mut self.templates) else {
                counts.is_full = true;
                return;
            };
            self.out.push(template, 1, &[block.addrs()[at]]);
        }
    }
}

/// What a row is, apart from its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RowKey {
    pc: u64,
    kind: Kind,
    size: u8,
}

impl RowKey {
    #[inline(always)]
    fn of(block: &Block, at: usize) -> RowKey {
        RowKey {
            pc: block.pcs()[at],
            kind: block.kinds()[at],
            size: block.sizes()[at],
        }
    }

    /// The row of a template.
    fn template_row(self, operand: Option<u8>, displacement: u64) -> TemplateRow {
        TemplateRow {
            kind: self.kind,
            size: self.size,
            pc: self.pc,
            operand,
            displacement,
        }
    }

    /// The hash of a list of rows, from that of all but the last, which is this.
    #[inline(always)]
    fn mix(self, hash: u64) -> u64 {
        let rest = (self.kind as u64) << 56 ^ u64::from(self.size) << 48;
        let mixed = (hash ^ self.pc ^ rest).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ mixed >> 29
    }
}

#[cfg(test)]
mod tests;
