//! Rows without those that come again: long runs of zeros are laps, as in [`super::predicted_runs`], which
//! need not be made.

use std::ops::Range;

use crate::decode_rows::{Entry, Here, Rows, Sink};
use crate::predicted_runs;
use crate::processor::Processor;
use reuselens_io::varint::Damage;
use reuselens_trace::{Columns, Kind, Repeat, RepeatOf, Repeats};

/// Rows from which on they are worth leaving out.
const WORTH: usize = 64;

/// Where rows go that are there, and where it is said of the others.
pub(super) struct Folding<'a> {
    pub(super) columns: Columns<'a>,
    pub(super) repeats: &'a mut Repeats,
    /// Rows that are not there.
    folded: usize,
}

impl<'a> Folding<'a> {
    pub(super) fn new(columns: Columns<'a>, repeats: &'a mut Repeats) -> Self {
        Folding {
            columns,
            repeats,
            folded: 0,
        }
    }

    /// How many rows are not there.
    pub(super) fn folded(&self) -> usize {
        self.folded
    }
}

impl Sink for Folding<'_> {
    #[inline(always)]
    fn put(&mut self, (at, row): (usize, usize), site: (usize, &Entry), addr: u64) {
        self.columns.put((at - self.folded, row), site, addr);
    }

    #[inline(always)]
    fn take(&mut self, _: impl Processor, _: usize, _: &[Entry]) {}

    #[inline(always)]
    fn end(&mut self, _: impl Processor, _: &[Entry]) {}

    fn laps(
        &mut self,
        _: impl Processor,
        rows: &mut Rows,
        here: &mut Here,
        lap: usize,
        range: Range<usize>,
    ) -> Result<(), Damage> {
        let end = range.start - self.folded;
        let first = end - lap;
        let is_whole = is_whole(self.columns.kinds[first..end].iter().copied());
        if range.len() < WORTH || !is_whole {
            let range = end..range.end - self.folded;
            predicted_runs::repeat(rows, here.site, lap, &mut self.columns, range);
            return Ok(());
        }
        let laps = range.len() / lap;
        let mut site = here.site;
        for _ in 0..lap {
            site = rows.sites[site].next as usize;
            let trail = &mut rows.sites[site].trail;
            self.repeats.numbers.push(trail.step);
            trail.go_on(laps as u64);
        }
        self.repeats.entries.push(Repeat {
            before: end as u32,
            rows: lap as u32,
            what: RepeatOf::Loop {
                first: first as u32,
                times: laps as u32,
            },
        });
        self.repeats.rows += range.len() as u64;
        self.folded += range.len();
        Ok(())
    }
}

/// Whether rows of these kinds have all of their operands, and no others, and name no structure.
pub(super) fn is_whole(kinds: impl IntoIterator<Item = Kind>) -> bool {
    let mut wanted = 0;
    for kind in kinds {
        match (kind, wanted) {
            (Kind::Data, _) | (Kind::Operand, 0) => return false,
            (Kind::Operand, _) => wanted -= 1,
            (kind, 0) => wanted = kind.operands(),
            _ => return false,
        }
    }
    wanted == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_rows_have_all_their_operands_and_no_others() {
        use Kind::{Data, Enter, Exit, Load, Named, Operand, RangeLoad, Store};
        let whole: [&[Kind]; 4] = [
            &[],
            &[Load, Store],
            &[Named, Operand, Load],
            &[Enter, Operand, RangeLoad, Operand, Exit],
        ];
        for kinds in whole {
            assert!(is_whole(kinds.iter().copied()), "{kinds:?}");
        }
        let others: [&[Kind]; 5] = [
            &[Operand, Load],
            &[Load, Operand],
            &[Load, RangeLoad],
            &[Named, Load, Operand],
            &[Data, Operand, Operand, Operand],
        ];
        for kinds in others {
            assert!(!is_whole(kinds.iter().copied()), "{kinds:?}");
        }
    }
}
