//! Long runs of zeros to touches: laps as in [`super::predicted_runs`], of which only the accesses are
//! looked at.

use std::ops::Range;

use crate::decode_rows::{Here, Rows, Sink};
use crate::item_extractor::{AT_ONCE, COUNTED, NAMED, OPERAND, RANGE, SPECIAL};
use crate::predicted_runs::COPIED;
use crate::processor::Processor;
use crate::row_classifier::Touching;
use crate::sites::START;
use reuselens_io::varint::Damage;
use reuselens_trace::{Kind, Row};

/// Accesses that are looked at together where some of more are not to one item.
const FEW: usize = 16;

/// The accesses of a lap, or of some of them: where the last lap's was, how far it is from one to
/// the next, of what kind and size it is.
#[derive(Default)]
pub(super) struct Laps {
    addrs: Vec<u64>,
    steps: Vec<u64>,
    sizes: Vec<u64>,
    kinds: Vec<Kind>,
}

impl Laps {
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

    /// Makes `times` laps of one, each a step further than the one before: the first of `times`
    /// further ones, from where it was.
    fn expand(&mut self, times: usize) {
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

/// Item accesses of whole iterations, each the one before and a step further; row by row, if one of
/// the rows is not an access to an item, or nothing.
pub(super) fn touch<const BY_NAME: bool>(
    squeeze: impl Processor,
    rows: &mut Rows,
    here: &mut Here,
    lap: usize,
    to: &mut Touching<'_, BY_NAME>,
    range: Range<usize>,
) -> Result<(), Damage> {
    let Range { mut start, end } = range;
    to.end(squeeze, &rows.sites);
    if !to.toucher.is_closed() && start < end {
        // What waits for an operand gets it, so that a lap begins behind it.
        rows.expected(squeeze, here, to, start..start + 1)?;
        to.end(squeeze, &rows.sites);
        start += 1;
    }
    let laps = (end - start) / lap;
    let mut of = std::mem::take(&mut rows.laps);
    if laps > 1
        && to.toucher.is_closed()
        && accesses::<BY_NAME>(rows, (here.site, lap), to.toucher.mask() + 1, &mut of)
    {
        let mut site = here.site;
        for _ in 0..lap {
            site = rows.sites[site].next as usize;
            rows.sites[site].trail.go_on(laps as u64);
        }
        append_laps(squeeze, &mut of, laps, to);
        start += laps * lap;
    }
    rows.laps = of;
    rows.expected(squeeze, here, to, start..end)
}

/// Finds the accesses of a lap that counts; false if there are rows that are more than that. Named
/// ones have their base behind them, those to ranges their length, which is the same in each lap,
/// and no more than fits into an `item`.
fn accesses<const BY_NAME: bool>(
    rows: &Rows,
    (site, lap): (usize, usize),
    item: u64,
    of: &mut Laps,
) -> bool {
    of.clear();
    let own = if BY_NAME { NAMED } else { RANGE };
    let others = match BY_NAME {
        true => SPECIAL | COUNTED | RANGE,
        false => SPECIAL | NAMED,
    };
    let (mut site, mut before) = (site, rows.sites[START]);
    for _ in 0..lap {
        site = rows.sites[site].next as usize;
        let entry = rows.sites[site];
        let (last, step) = (entry.trail.last, entry.trail.step);
        let is_second = before.class & own != 0;
        if entry.class & others != 0 || is_second && entry.class & OPERAND == 0 {
            return false;
        }
        if is_second && !BY_NAME {
            if step != 0 || !(1..=item).contains(&last) {
                return false;
            }
            of.push(before.trail.last, before.trail.step, (before.kind, last));
        } else if is_second || entry.class & (NAMED | COUNTED) != 0 {
            of.push(last, step, (entry.kind, entry.size.into()));
        }
        before = entry;
    }
    before.class & own == 0
}

/// Appends the touches of `laps` laps.
fn append_laps<const BY_NAME: bool>(
    squeeze: impl Processor,
    of: &mut Laps,
    laps: usize,
    to: &mut Touching<'_, BY_NAME>,
) {
    let one = of.addrs.len();
    if one == 0 {
        return;
    }
    let times = (COPIED / one).clamp(1, (laps / 4).max(1));
    of.expand(times);
    for _ in 0..laps / times {
        append(squeeze, of, one * times, to);
        squeeze.step(&mut of.addrs, &of.steps);
    }
    append(squeeze, of, laps % times * one, to);
}

/// Appends the first `count` of some accesses.
fn append<const BY_NAME: bool>(
    squeeze: impl Processor,
    of: &Laps,
    count: usize,
    to: &mut Touching<'_, BY_NAME>,
) {
    for start in (0..count).step_by(AT_ONCE) {
        let part = start..count.min(start + AT_ONCE);
        if BY_NAME {
            to.toucher.append_pairs(&of.addrs[part], to.out);
        } else if !append_plain(squeeze, of, part.clone(), to) {
            for start in part.clone().step_by(FEW) {
                let few = start..part.end.min(start + FEW);
                if !append_plain(squeeze, of, few.clone(), to) {
                    few.for_each(|at| one(to, of.kinds[at], of.addrs[at], of.sizes[at]));
                }
            }
        }
    }
}

/// Appends some accesses if each is to one item; whether it did.
#[inline(always)]
fn append_plain<const BY_NAME: bool>(
    squeeze: impl Processor,
    of: &Laps,
    part: Range<usize>,
    to: &mut Touching<'_, BY_NAME>,
) -> bool {
    let (addrs, sizes) = (&of.addrs[part.clone()], &of.sizes[part]);
    to.toucher.append_plain(squeeze, addrs, sizes, to.out)
}

/// Appends an access as a row; one to a range has another row behind it.
fn one<const BY_NAME: bool>(to: &mut Touching<'_, BY_NAME>, kind: Kind, addr: u64, bytes: u64) {
    let is_range = matches!(kind, Kind::RangeLoad | Kind::RangeStore);
    let mut row = Row {
        kind,
        size: if is_range { 0 } else { bytes as u8 },
        pc: 0,
        addr,
    };
    to.toucher.row(row, to.out);
    if is_range {
        (row.kind, row.addr) = (Kind::Operand, bytes);
        to.toucher.row(row, to.out);
    }
}
