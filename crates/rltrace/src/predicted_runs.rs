//! Decodes long runs of rows whose tokens and differences are all 0, in bulk.
//!
//! A token of 0 names the site that followed the last time. As long as tokens are 0 no site's
//! successor changes, so the sites go round in a cycle: the iterations of a loop. After two
//! iterations every site repeats its step of the iteration before: a site that predicts its stride
//! keeps it, and one that follows the previous row's step follows a step that is constant by then.
//! From there on an iteration is the one before with constants added.
//!
//! `decode_rows` calls [`decode_run`], which finds the cycle, decodes two iterations row by row,
//! and hands the iterations after them to [`RowSink::iterations`]. With it a stencil is decoded at
//! 1,858 M rows a second, without at 350.

use std::ops::Range;

use crate::decode_rows::{RowDecoder, RowPosition, RowSink};
use crate::processor::Processor;
use reuselens_io::varint::Damage;
use reuselens_trace::Columns;

/// The longest iteration that is looked for, in rows.
const MAX_ITERATION: usize = 2048;
/// Rows that are copied at once, at least: shorter iterations are copied several at a time.
pub(super) const COPY_ROWS: usize = 64;

/// Decodes the rows `range`, whose tokens and differences are all 0.
pub(super) fn decode_run(
    rows: &mut RowDecoder,
    squeeze: impl Processor,
    position: &mut RowPosition,
    sink: &mut impl RowSink,
    range: Range<usize>,
) -> Result<(), Damage> {
    let Range { start: mut at, end } = range;
    let mut look = COPY_ROWS / 4;
    while at < end {
        // The search looks at no more rows than are decoded next if it fails, so it costs little.
        let length = iteration_length(rows, position.site, look.min((end - at) / 4));
        let Some(length) = length else {
            let next = (at + look).min(end);
            rows.decode_predicted(squeeze, position, sink, at..next)?;
            (at, look) = (next, (2 * look).min(MAX_ITERATION));
            continue;
        };
        // After these two, steps are constant.
        rows.decode_predicted(squeeze, position, sink, at..at + 2 * length)?;
        at += 2 * length;
        let complete = at + (end - at) / length * length;
        sink.iterations(squeeze, rows, position, length, at..complete)?;
        return rows.decode_predicted(squeeze, position, sink, complete..end);
    }
    Ok(())
}

/// The length of the cycle of successors after `site`, if it is at most `most`.
fn iteration_length(rows: &RowDecoder, site: usize, most: usize) -> Option<usize> {
    let first = rows.sites[site].successor;
    let mut site = first;
    for length in 1..=most {
        site = rows.sites[site as usize].successor;
        if site == first {
            return Some(length);
        }
    }
    None
}

/// Writes the rows `range` of `columns`: iterations of `length` rows, each the one before and a
/// step further. The iteration before them is in the columns; `site` ends it.
pub(super) fn write_iterations(
    rows: &mut RowDecoder,
    site: usize,
    length: usize,
    columns: &mut Columns<'_>,
    range: Range<usize>,
) {
    let iterations = range.len() / length;
    if iterations == 0 {
        return;
    }
    // As many iterations as fill COPY_ROWS, if there are several times as many.
    let copied = (COPY_ROWS / length).clamp(1, (iterations / 4).max(1)) * length;
    let Range { start, end } = range;
    let mut steps = std::mem::take(&mut rows.steps);
    steps.clear();
    rows.advance_iterations(site, length, iterations, &mut steps);
    // First one iteration after the other, until there are `copied` rows; then that many at once,
    // whose steps are those of an iteration times the number of iterations.
    let first = start + copied - length;
    columns.repeat(length, &steps, start..first);
    let times = (copied / length) as u64;
    steps
        .iter_mut()
        .for_each(|step| *step = step.wrapping_mul(times));
    for at in length..copied {
        steps.push(steps[at - length]);
    }
    columns.repeat(copied, &steps, first..end);
    rows.steps = steps;
}
