//! Long runs of zeros to rows, in bulk.
//!
//! A zero token stands for the site that followed the last time. As long as there are only zeros
//! that never changes, so the sites come round in a cycle: the body of a loop. Zero differences
//! make each site go on as expected. After two laps every step is the one of a lap ago: a site with
//! a stride keeps it, and one that follows others follows what is constant by then. From there on a
//! lap is the lap before with constants added.

use std::ops::Range;

use crate::decode_rows::{Here, Rows, Sink};
use crate::processor::Processor;
use reuselens_io::varint::Damage;
use reuselens_trace::Columns;

/// The longest cycle that is looked for.
const LONGEST: usize = 2048;
/// Rows that are copied at once, at least: shorter cycles are copied several at a time.
pub(super) const COPIED: usize = 64;

/// Makes the rows `range`, of which tokens and differences are zeros.
pub(super) fn calm(
    rows: &mut Rows,
    squeeze: impl Processor,
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
            rows.expected(squeeze, here, sink, at..next)?;
            (at, look) = (next, (2 * look).min(LONGEST));
            continue;
        };
        rows.expected(squeeze, here, sink, at..at + 2 * lap)?;
        at += 2 * lap;
        let whole = at + (end - at) / lap * lap;
        sink.laps(squeeze, rows, here, lap, at..whole)?;
        rows.expected(squeeze, here, sink, whole..end)?;
        return Ok(());
    }
    Ok(())
}

/// After how many rows the sites that come after `site` come again, if that is at most `most`.
fn lap(rows: &Rows, site: usize, most: usize) -> Option<usize> {
    let first = rows.sites[site].next;
    let mut site = first;
    for length in 1..=most {
        site = rows.sites[site as usize].next;
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
        site = rows.sites[site].next as usize;
        let trail = &mut rows.sites[site].trail;
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
