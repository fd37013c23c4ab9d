//! Long runs of zeros to rows, in bulk.
//!
//! A zero token stands for the site that followed the last time. As long as there are only zeros that never
//! changes, so the sites come round in a cycle: the body of a loop. Zero differences make each site go on
//! as expected. After two laps every step is the one of a lap ago: a site with a stride keeps it, and one
//! that follows others follows what is constant by then. From there on a lap is the lap before with constants added.

use std::ops::Range;

use crate::formats::native::bytes::Damage;
use crate::formats::native::rows::{Here, Rows, Sink, Touching};
use crate::formats::native::touching::AT_ONCE;
use crate::{Columns, Kind};

/// The longest cycle that is looked for.
const LONGEST: usize = 2048;
/// Rows that are copied at once, at least: shorter cycles are copied several at a time.
const COPIED: usize = 64;

/// Makes the rows `range`, of which tokens and differences are zeros.
pub(super) fn calm(
    rows: &mut Rows,
    here: &mut Here,
    sink: &mut impl Sink,
    range: Range<usize>,
) -> Result<(), Damage> {
    let Range { start: mut at, end } = range;
    let mut look = COPIED / 4;
    while at < end {
        // Looking costs no more steps than rows are written next.
        let lap = lap(rows, here.site, look.min((end - at) / 4));
        let Some(lap) = lap else {
            let next = (at + look).min(end);
            rows.expected(here, sink, at..next)?;
            (at, look) = (next, (2 * look).min(LONGEST));
            continue;
        };
        rows.expected(here, sink, at..at + 2 * lap)?;
        at += 2 * lap;
        let whole = at + (end - at) / lap * lap;
        sink.laps(rows, here, lap, at..whole)?;
        rows.expected(here, sink, whole..end)?;
        return Ok(());
    }
    Ok(())
}

/// After how many rows the sites that come after `site` come again, if that is at most `most`.
fn lap(rows: &Rows, site: usize, most: usize) -> Option<usize> {
    let first = rows.nexts[site];
    let mut site = first;
    for length in 1..=most {
        site = rows.nexts[site as usize];
        if site == first {
            return Some(length);
        }
    }
    None
}

/// Writes whole laps, each the one before and a step further. `site` ends a lap.
pub(super) fn repeat(
    rows: &mut Rows,
    site: usize,
    lap: usize,
    columns: &mut Columns<'_>,
    range: Range<usize>,
) {
    let laps = range.len() / lap;
    if laps == 0 {
        return;
    }
    // As many laps as fill the least, if there are several times as many.
    let copied = (COPIED / lap).clamp(1, (laps / 4).max(1)) * lap;
    let Range { start, end } = range;
    let mut steps = std::mem::take(&mut rows.steps);
    steps.clear();
    let mut site = site;
    for _ in 0..lap {
        site = rows.nexts[site] as usize;
        let trail = &mut rows.trails[site];
        steps.push(trail.step);
        trail.go_on(laps as u64);
    }
    let first = start + copied - lap;
    columns.again(lap, &steps, start..first);
    let times = (copied / lap) as u64;
    steps
        .iter_mut()
        .for_each(|step| *step = step.wrapping_mul(times));
    for at in lap..copied {
        steps.push(steps[at - lap]);
    }
    columns.again(copied, &steps, first..end);
    rows.steps = steps;
}

/// The accesses of a lap, or of some of them: where the last lap's was, how far it is from one to the next, of what kind and size it is.
#[derive(Default)]
pub(super) struct Laps {
    addrs: Vec<u64>,
    steps: Vec<u64>,
    sites: Vec<(Kind, u8)>,
}

impl Laps {
    fn clear(&mut self) {
        self.addrs.clear();
        self.steps.clear();
        self.sites.clear();
    }

    fn push(&mut self, addr: u64, step: u64, site: (Kind, u8)) {
        self.addrs.push(addr);
        self.steps.push(step);
        self.sites.push(site);
    }

    /// Makes `times` laps of one, each a step further than the one before: the first of `times` further ones, from where it was.
    fn unfold(&mut self, times: usize) {
        let one = self.addrs.len();
        for at in 0..one {
            self.addrs[at] = self.addrs[at].wrapping_add(self.steps[at]);
        }
        for at in one..one * times {
            let addr = self.addrs[at - one].wrapping_add(self.steps[at - one]);
            self.push(addr, self.steps[at - one], self.sites[at - one]);
        }
        for step in &mut self.steps {
            *step = step.wrapping_mul(times as u64);
        }
    }

    /// Goes on to the laps that come next.
    fn go_on(&mut self) {
        for (addr, step) in self.addrs.iter_mut().zip(&self.steps) {
            *addr = addr.wrapping_add(*step);
        }
    }
}

/// Touches of whole laps, each the one before and a step further; row by row, if one of the rows is not an access to an item, or
/// nothing.
pub(super) fn touch(
    rows: &mut Rows,
    here: &mut Here,
    lap: usize,
    to: &mut Touching<'_>,
    range: Range<usize>,
) -> Result<(), Damage> {
    let laps = range.len() / lap;
    let mut of = std::mem::take(&mut rows.laps);
    let found = laps > 1 && to.toucher.is_closed() && accesses(rows, here.site, lap, to, &mut of);
    if found {
        let mut site = here.site;
        for _ in 0..lap {
            site = rows.nexts[site] as usize;
            rows.trails[site].go_on(laps as u64);
        }
        append_laps(&mut of, laps, to);
    }
    rows.laps = of;
    if found {
        return Ok(());
    }
    rows.expected(here, to, range)
}

/// Finds the accesses of a lap that counts; false if there are rows that are more than that. Named ones have their base
/// behind them.
fn accesses(rows: &Rows, site: usize, lap: usize, to: &Touching<'_>, of: &mut Laps) -> bool {
    of.clear();
    let named = to.toucher.is_named();
    if !named && !to.toucher.is_calm() {
        return false;
    }
    let (mut site, mut before) = (site, Kind::Statement);
    for _ in 0..lap {
        site = rows.nexts[site] as usize;
        let (kind, size) = (rows.sites[site].kind, rows.sites[site].size);
        let trail = &rows.trails[site];
        let waits = before == Kind::Named;
        match kind {
            Kind::Operand if waits => of.push(trail.last, trail.step, (kind, size)),
            Kind::Named if named && !waits => of.push(trail.last, trail.step, (kind, size)),
            _ if waits => return false,
            Kind::Load | Kind::Store | Kind::Atomic if !to.toucher.counts(kind) => {}
            Kind::Load | Kind::Store | Kind::Atomic if !named => {
                of.push(trail.last, trail.step, (kind, size));
            }
            Kind::Enter | Kind::Exit | Kind::Statement | Kind::BasicBlock | Kind::Operand => {}
            _ => return false,
        }
        before = kind;
    }
    before != Kind::Named
}

/// Appends the touches of `laps` laps.
fn append_laps(of: &mut Laps, laps: usize, to: &mut Touching<'_>) {
    let one = of.addrs.len();
    if one == 0 {
        return;
    }
    let times = (COPIED / one).clamp(1, (laps / 4).max(1));
    of.unfold(times);
    for _ in 0..laps / times {
        append(of, one * times, to);
        of.go_on();
    }
    append(of, laps % times * one, to);
}

/// Appends the first `count` of some accesses.
fn append(of: &Laps, count: usize, to: &mut Touching<'_>) {
    let (addrs, sites) = (&of.addrs[..count], &of.sites[..count]);
    for (addrs, sites) in addrs.chunks(AT_ONCE).zip(sites.chunks(AT_ONCE)) {
        if to.toucher.is_named() {
            to.toucher.append_pairs(addrs, to.out);
        } else {
            to.toucher.append_plain(addrs, sites, to.out);
        }
    }
}
