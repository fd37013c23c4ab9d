//! Decodes a block of rows without repeated iterations: a [`Repeat`] is recorded in their place.
//!
//! `decode` passes a [`RepeatSink`] to `decode_rows` if a consumer asked for
//! [`Projection::Repeats`](reuselens_trace::Projection::Repeats). Iterations of a predicted run
//! (`predicted_runs`) are then not written; the repeat refers to the iteration before them, and its
//! numbers are the steps. Blocks of templates do the same in `decode_templates::repeats`.
//!
//! *Invariant:* the rows in the columns, with the repeats expanded, are all rows of the block.

use std::ops::Range;

use crate::decode_rows::{RowDecoder, RowPosition, RowSink, SiteState};
use crate::predicted_runs;
use crate::processor::Processor;
use reuselens_io::varint::Damage;
use reuselens_trace::{Columns, Kind, Repeat, RepeatOf, Repeats};

/// Iterations with fewer rows in all are written: a repeat would not be worth its entry.
const MIN_OMITTED_ROWS: usize = 64;

/// Writes rows into columns, and repeated iterations into repeats.
pub(super) struct RepeatSink<'a> {
    columns: Columns<'a>,
    repeats: &'a mut Repeats,
    /// Rows that were omitted so far. A row is written that many places before its place in the
    /// block.
    omitted: usize,
}

impl<'a> RepeatSink<'a> {
    pub(super) fn new(columns: Columns<'a>, repeats: &'a mut Repeats) -> Self {
        RepeatSink {
            columns,
            repeats,
            omitted: 0,
        }
    }

    /// The number of omitted rows.
    pub(super) fn omitted(&self) -> usize {
        self.omitted
    }
}

impl RowSink for RepeatSink<'_> {
    #[inline(always)]
    fn put(&mut self, (at, row): (usize, usize), site: (usize, &SiteState), addr: u64) {
        self.columns.put((at - self.omitted, row), site, addr);
    }

    #[inline(always)]
    fn end_group(&mut self, _: impl Processor, _: usize, _: &[SiteState]) {}

    #[inline(always)]
    fn end_block(&mut self, _: impl Processor, _: &[SiteState]) {}

    fn iterations(
        &mut self,
        _: impl Processor,
        rows: &mut RowDecoder,
        position: &mut RowPosition,
        length: usize,
        range: Range<usize>,
    ) -> Result<(), Damage> {
        let end = range.start - self.omitted;
        let first = end - length;
        let can_repeat = can_repeat(self.columns.kinds[first..end].iter().copied());
        if range.len() < MIN_OMITTED_ROWS || !can_repeat {
            let range = end..range.end - self.omitted;
            let columns = &mut self.columns;
            predicted_runs::write_iterations(rows, position.site, length, columns, range);
            return Ok(());
        }
        let times = range.len() / length;
        rows.advance_iterations(position.site, length, times, &mut self.repeats.numbers);
        self.repeats.entries.push(Repeat {
            before: end as u32,
            rows: length as u32,
            what: RepeatOf::Loop {
                first: first as u32,
                times: times as u32,
            },
        });
        self.repeats.rows += range.len() as u64;
        self.omitted += range.len();
        Ok(())
    }
}

/// Whether rows of these kinds may be omitted, as [`Repeats`] demands: they have all of their
/// operands, no operand of a row before, and name no structure.
pub(super) fn can_repeat(kinds: impl IntoIterator<Item = Kind>) -> bool {
    let mut operands_due = 0;
    for kind in kinds {
        match (kind, operands_due) {
            (Kind::Data, _) | (Kind::Operand, 0) => return false,
            (Kind::Operand, _) => operands_due -= 1,
            (kind, 0) => operands_due = kind.operands(),
            _ => return false,
        }
    }
    operands_due == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn can_repeat_demands_all_operands_and_no_others() {
        use Kind::{Data, Enter, Exit, Load, Named, Operand, RangeLoad, Store};
        let complete: [&[Kind]; 4] = [
            &[],
            &[Load, Store],
            &[Named, Operand, Load],
            &[Enter, Operand, RangeLoad, Operand, Exit],
        ];
        for kinds in complete {
            assert!(can_repeat(kinds.iter().copied()), "{kinds:?}");
        }
        let others: [&[Kind]; 5] = [
            &[Operand, Load],
            &[Load, Operand],
            &[Load, RangeLoad],
            &[Named, Load, Operand],
            &[Data, Operand, Operand, Operand],
        ];
        for kinds in others {
            assert!(!can_repeat(kinds.iter().copied()), "{kinds:?}");
        }
    }
}
