//! Item accesses of the iterations of a predicted run, without their rows.
//!
//! `row_classifier` calls [`extract`] for the iterations that `predicted_runs` found. If all rows
//! of an iteration are accesses that become item accesses, or count for nothing, only the accesses
//! are kept ([`IterationAccesses`]), and each iteration is made by adding steps to addresses, many
//! at once. Otherwise the rows are decoded and classified like any others.

use std::ops::Range;

use crate::decode_rows::{RowDecoder, RowPosition};
use crate::item_extractor::{APPEND_ROOM, COUNTED, NAMED, OPERAND, RANGE, SPECIAL};
use crate::predicted_runs::COPY_ROWS;
use crate::processor::Processor;
use crate::row_classifier::ItemSink;
use crate::sites::START_SITE;
use reuselens_io::varint::Damage;
use reuselens_trace::{Kind, Row};

/// Accesses that are checked together where some of [`APPEND_ROOM`] are to several items.
const FEW_ACCESSES: usize = 16;

/// The accesses of one iteration, or of several: address, step to the next iteration, bytes, kind.
#[derive(Default)]
pub(super) struct IterationAccesses {
    addrs: Vec<u64>,
    steps: Vec<u64>,
    sizes: Vec<u64>,
    kinds: Vec<Kind>,
}

impl IterationAccesses {
    fn clear(&mut self) {
        self.addrs.clear();
        self.steps.clear();
        self.sizes.clear();
        self.kinds.clear();
    }

    fn push(&mut self, addr: u64, step: u64, (kind, size): (Kind, u64)) {
        self.addrs.push(addr);
        self.steps.push(step);
        self.kinds.push(kind);
        self.sizes.push(size);
    }

    /// Replaces the accesses of one iteration by those of the `times` iterations after it. Steps
    /// are then from one such set of iterations to the next.
    fn unroll(&mut self, times: usize) {
        let one = self.addrs.len();
        for at in 0..one {
            self.addrs[at] = self.addrs[at].wrapping_add(self.steps[at]);
        }
        for at in one..one * times {
            let addr = self.addrs[at - one].wrapping_add(self.steps[at - one]);
            let site = (self.kinds[at - one], self.sizes[at - one]);
            self.push(addr, self.steps[at - one], site);
        }
        for step in &mut self.steps {
            *step = step.wrapping_mul(times as u64);
        }
    }
}

/// Appends the item accesses of the rows `range`, which are iterations of `length` rows, all as
/// predicted (see [`iterations`](crate::decode_rows::RowSink::iterations)). `BY_NAME`: see
/// [`ItemSink`].
pub(super) fn extract<const BY_NAME: bool>(
    squeeze: impl Processor,
    rows: &mut RowDecoder,
    position: &mut RowPosition,
    length: usize,
    to: &mut ItemSink<'_, BY_NAME>,
    range: Range<usize>,
) -> Result<(), Damage> {
    let Range { mut start, end } = range;
    to.classify_rest(squeeze, &rows.sites);
    if !to.extractor.is_closed() && start < end {
        // The row before the iterations waits for its operand, which is their first row. One row
        // more on its own, and iterations begin after that.
        rows.decode_predicted(squeeze, position, to, start..start + 1)?;
        to.classify_rest(squeeze, &rows.sites);
        start += 1;
    }
    let iterations = (end - start) / length;
    let mut accesses = std::mem::take(&mut rows.iteration);
    let item = to.extractor.mask() + 1;
    if iterations > 1
        && to.extractor.is_closed()
        && collect::<BY_NAME>(rows, (position.site, length), item, &mut accesses)
    {
        let mut site = position.site;
        for _ in 0..length {
            site = rows.sites[site].successor as usize;
            rows.sites[site].predictor.repeat_step(iterations as u64);
        }
        append_iterations(squeeze, &mut accesses, iterations, to);
        start += iterations * length;
    }
    rows.iteration = accesses;
    rows.decode_predicted(squeeze, position, to, start..end)
}

/// Collects the accesses of the iteration that ends at the site, as its last one made them. Returns
/// `false` if a row needs to be looked at by itself.
///
/// With `BY_NAME` a named access and its base are two consecutive entries. Without, an access to a
/// range is one entry, if its length is the same in each iteration and at most an `item`.
fn collect<const BY_NAME: bool>(
    rows: &RowDecoder,
    (site, length): (usize, usize),
    item: u64,
    accesses: &mut IterationAccesses,
) -> bool {
    accesses.clear();
    // The class of rows that have an operand after them, and the classes that cannot be taken.
    let with_operand = if BY_NAME { NAMED } else { RANGE };
    let refused = if BY_NAME {
        SPECIAL | COUNTED | RANGE
    } else {
        SPECIAL | NAMED
    };
    let (mut site, mut before) = (site, rows.sites[START_SITE]);
    for _ in 0..length {
        site = rows.sites[site].successor as usize;
        let entry = rows.sites[site];
        let (last, step) = (entry.predictor.last, entry.predictor.step);
        let operand_due = before.class & with_operand != 0;
        if entry.class & refused != 0 || operand_due && entry.class & OPERAND == 0 {
            return false;
        }
        if operand_due && !BY_NAME {
            // `last` is the length of the range before.
            if step != 0 || !(1..=item).contains(&last) {
                return false;
            }
            let (addr, step) = (before.predictor.last, before.predictor.step);
            accesses.push(addr, step, (before.kind, last));
        } else if operand_due || entry.class & (NAMED | COUNTED) != 0 {
            accesses.push(last, step, (entry.kind, entry.size.into()));
        }
        before = entry;
    }
    before.class & with_operand == 0
}

/// Appends the item accesses of the next `iterations` iterations.
fn append_iterations<const BY_NAME: bool>(
    squeeze: impl Processor,
    accesses: &mut IterationAccesses,
    iterations: usize,
    to: &mut ItemSink<'_, BY_NAME>,
) {
    let one = accesses.addrs.len();
    if one == 0 {
        return;
    }
    // Short iterations are unrolled to about COPY_ROWS accesses, which vectors take at once, if
    // there are several times as many.
    let times = (COPY_ROWS / one).clamp(1, (iterations / 4).max(1));
    accesses.unroll(times);
    for _ in 0..iterations / times {
        append(squeeze, accesses, one * times, to);
        squeeze.add_steps(&mut accesses.addrs, &accesses.steps);
    }
    append(squeeze, accesses, iterations % times * one, to);
}

/// Appends the first `count` of the accesses.
fn append<const BY_NAME: bool>(
    squeeze: impl Processor,
    accesses: &IterationAccesses,
    count: usize,
    to: &mut ItemSink<'_, BY_NAME>,
) {
    for start in (0..count).step_by(APPEND_ROOM) {
        let part = start..count.min(start + APPEND_ROOM);
        if BY_NAME {
            to.extractor.append_pairs(&accesses.addrs[part], to.out);
        } else if !append_plain(squeeze, accesses, part.clone(), to) {
            // Some access is to several items. Those around it go a few at a time, and the few with
            // it one by one.
            for start in part.clone().step_by(FEW_ACCESSES) {
                let few = start..part.end.min(start + FEW_ACCESSES);
                if !append_plain(squeeze, accesses, few.clone(), to) {
                    few.for_each(|at| append_one(to, accesses, at));
                }
            }
        }
    }
}

/// Appends some accesses if each is to one item, else nothing. Returns whether it did.
#[inline(always)]
fn append_plain<const BY_NAME: bool>(
    squeeze: impl Processor,
    accesses: &IterationAccesses,
    part: Range<usize>,
    to: &mut ItemSink<'_, BY_NAME>,
) -> bool {
    let (addrs, sizes) = (&accesses.addrs[part.clone()], &accesses.sizes[part]);
    to.extractor.append_plain(squeeze, addrs, sizes, to.out)
}

/// Appends access `at` as a row, with the operand row of its length if it is to a range.
fn append_one<const BY_NAME: bool>(
    to: &mut ItemSink<'_, BY_NAME>,
    accesses: &IterationAccesses,
    at: usize,
) {
    let (kind, bytes) = (accesses.kinds[at], accesses.sizes[at]);
    let is_range = matches!(kind, Kind::RangeLoad | Kind::RangeStore);
    let mut row = Row {
        kind,
        size: if is_range { 0 } else { bytes as u8 },
        pc: 0,
        addr: accesses.addrs[at],
    };
    to.extractor.row(row, to.out);
    if is_range {
        (row.kind, row.addr) = (Kind::Operand, bytes);
        to.extractor.row(row, to.out);
    }
}
