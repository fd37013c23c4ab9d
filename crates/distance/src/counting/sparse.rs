//! [`Sparse`]: the table of last accesses for any ids: a hash table of cache lines. Nothing is ever
//! removed from it.

use std::collections::HashSet;

use reuselens_hugepages::{Huge, PIECE, random_key};

use super::compare::Compare;
use super::line::{ITEMS, NEVER, TableLine};
use super::live_bits::LiveBits;
use super::table::Table;
use crate::dense_ids::{low_bits, most_pages, page};
use crate::mix::mix;
use crate::prefetch::prefetch;

/// Lines of an empty table.
const SMALLEST: usize = 256;

/// The last step of every item seen: lines of five items, 12.8 bytes a place, up to four fifths of
/// the places in use, nothing ever removed. 16 to 24 bytes per item, 26 if as many as were expected
/// come, more if fewer do.
///
/// An item that does not fit into its line goes to the other line of the pair, and then to the
/// pairs after it. Processors fetch lines in pairs, and one item in ten to twenty is in the other
/// line: it need not wait for memory a second time.
///
/// Which line is a strong mix of all bits of the item, so that no stride and no alignment of real
/// addresses crowds one part of the table. Whoever writes a trace and knows the mix can make ids
/// that all belong into one line: when an item is found far from home, the table is made anew with
/// a random mix. No result depends on it. Lines keep the order of the mixed items, so that growing
/// is one sweep over the old table and one over the new.
#[derive(Default)]
pub(crate) struct Sparse {
    lines: Huge<TableLine>,
    used: usize,
    /// If it has grown since it was last asked: the bits that were set in any item, and in all.
    grown: Option<(u64, u64)>,
    /// Whether an item was found far from home.
    is_jammed: bool,
    statistics: TableStatistics,
}

impl TableLine {
    /// Makes `step` the step of `item` and returns the one before, or [`NEVER`]; `None` if the line
    /// is full of others.
    #[inline(always)]
    fn replace(&mut self, compare: impl Compare, item: u64, step: u32) -> Option<u32> {
        let equal = compare.equal(self, item);
        if equal != 0 {
            let place = equal.trailing_zeros() as usize % ITEMS;
            return Some(std::mem::replace(&mut self.steps[place], step));
        }
        if self.steps[ITEMS - 1] != NEVER {
            return None;
        }
        let place = self.len() % ITEMS;
        (self.items[place], self.steps[place]) = (item, step);
        Some(NEVER)
    }
}

/// What the tables know of the stream. It is handed on when one kind of table becomes the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableStatistics {
    /// The key of the mix; 0 until a random one is needed.
    key: u64,
    /// Lines that a table grows to, once it has more than a few.
    expected: usize,
}

impl TableStatistics {
    /// For a stream of about `items` items: half of the places in use, as far as [`AT_ONCE`]
    /// allows. Samples are wrong by a tenth easily, and where two thirds are in use, twice as many
    /// items are away from home as where three fifths are.
    pub(crate) fn expecting(items: usize) -> Self {
        TableStatistics {
            key: 0,
            expected: (items / 5 * 2).next_multiple_of(2),
        }
    }
}

/// Lines from which on a table grows to what is expected.
const FEW: usize = 1 << 13;
/// Lines that it grows to at once at most if it has few: 128 MiB.
const AT_ONCE: usize = 1 << 21;

/// The line to look at after `line`, which is `lines_past` lines after the first: the other of its
/// pair, then both of the next pair.
#[inline(always)]
fn after(line: usize, lines_past: u32, lines: usize) -> usize {
    // The first pair was entered at either line, all others at their first.
    let next = if lines_past.is_multiple_of(2) {
        line ^ 1
    } else {
        (line | 1) + 1
    };
    if next < lines { next } else { 0 }
}

/// Lines between an item and its home from which on something is wrong: chance alone makes runs of
/// full lines of up to 60 in a table of five million items, and a few more for each time as many.
const FAR_FROM_HOME: u32 = 400;

impl Sparse {
    pub(crate) fn new() -> Self {
        Self::with_lines(SMALLEST)
    }

    fn with_lines(lines: usize) -> Self {
        Sparse {
            lines: Huge::new(lines),
            used: 0,
            grown: None,
            is_jammed: false,
            statistics: TableStatistics::default(),
        }
    }

    /// An empty table for about `items` items. It begins small, since only when it grows is it
    /// known whether a hash table suits the ids.
    pub(crate) fn expecting(items: usize) -> Self {
        Sparse {
            statistics: TableStatistics::expecting(items),
            ..Self::new()
        }
    }

    /// An empty table for `items` items, or a few more.
    pub(crate) fn like(statistics: TableStatistics, items: usize) -> Self {
        Sparse {
            statistics,
            ..Self::with_lines((items / 3).next_multiple_of(2).max(SMALLEST))
        }
    }

    /// What is known of the stream, for the next table.
    pub(crate) fn statistics(&self) -> TableStatistics {
        self.statistics
    }

    /// As if an item were far from home.
    #[cfg(test)]
    pub(crate) fn jam(&mut self) {
        self.is_jammed = true;
    }

    /// The lines of the next larger table after one of `lines`: half as many again, or as many as
    /// are expected, but not at once more than [`AT_ONCE`] or four times as many: that may be
    /// wrong.
    fn larger(&self, lines: usize) -> usize {
        let expected = if lines < FEW {
            0
        } else {
            self.statistics.expected.min(AT_ONCE.max(4 * lines))
        };
        // Whole pairs.
        ((lines + lines / 2) & !1).max(expected)
    }

    /// Whether a table of `lines` lines is too small for `items` items.
    #[inline(always)]
    fn is_full(lines: usize, items: usize) -> bool {
        items * 5 > lines * ITEMS * 4
    }

    #[cold]
    fn grow(&mut self) {
        let larger = Self::with_lines(self.larger(self.lines.len()));
        let statistics = self.statistics;
        self.move_to(Sparse {
            statistics,
            ..larger
        });
    }

    /// The same size, another mix.
    #[cold]
    fn mix_anew(&mut self) {
        let mut other = Self::with_lines(self.lines.len());
        other.statistics = self.statistics;
        other.statistics.key = random_key();
        let grown = self.grown;
        self.move_to(other);
        self.grown = grown;
    }

    fn move_to(&mut self, other: Self) {
        let old = std::mem::replace(self, other);
        let (mut any, mut all) = (0, u64::MAX);
        self.used = old.used;
        let (step, mut ready, mut moved) = (self.lines.len() as f64 / old.lines.len() as f64, 0, 0);
        old.lines.into_pieces(|lines| {
            // Both tables are in order: the items of these lines go after those of the lines
            // before. (With another mix they go anywhere, and any piece is as good as another.)
            moved += lines.len();
            let end = ((moved as f64 * step) as usize).min(self.lines.len());
            self.lines.make_ready(ready..end);
            ready = end;
            show(lines, |item, step| {
                (any, all) = (any | item, all & item);
                self.put(item, step);
            });
        });
        self.grown = Some((any, all));
    }

    /// Inserts an item that is missing.
    #[inline(always)]
    fn put(&mut self, item: u64, step: u32) {
        let mut home = self.home(item);
        let lines: &mut [TableLine] = &mut self.lines;
        let mut lines_past = 0;
        loop {
            let line = &mut lines[home];
            let place = line.len();
            if place < ITEMS {
                (line.items[place], line.steps[place]) = (item, step);
                return;
            }
            home = after(home, lines_past, lines.len());
            lines_past += 1;
        }
    }

    /// Whether shadow pages would be smaller: whether at least a quarter of the ids of the pages
    /// that occur at all do. If so, the number of low bits that all items share, as far as the
    /// table held them when it grew. Looked at anew each time that it has grown; costs a pass over
    /// it at most.
    pub(crate) fn dense_shift(&mut self) -> Option<u32> {
        let (any, all) = self.grown.take()?;
        let shift = low_bits(any, all);
        let most = most_pages(self.used as u64) as usize;
        let mut pages = HashSet::new();
        for line in self.lines.iter() {
            let items = line.items.iter().zip(line.steps);
            let items = items.filter(|(_, step)| *step != NEVER);
            pages.extend(items.map(|(item, _)| page(*item, shift)));
            if pages.len() > most {
                return None;
            }
        }
        Some(shift)
    }
}

impl Table for Sparse {
    #[inline(always)]
    fn len(&self) -> usize {
        self.used
    }

    fn bytes(&self) -> usize {
        self.lines.bytes()
    }

    fn bytes_with(&self, more: usize) -> usize {
        let mut lines = self.lines.len();
        while Self::is_full(lines, self.used + more) {
            lines = self.larger(lines);
        }
        // The old lines are given back as they are moved; with another mix none has its place in
        // order.
        let moving = match (lines > self.lines.len(), self.is_jammed) {
            (true, _) => PIECE.min(self.lines.bytes()),
            (false, true) => self.lines.bytes(),
            (false, false) => 0,
        };
        lines * size_of::<TableLine>() + moving
    }

    #[inline(always)]
    fn make_room(&mut self, more: usize) -> bool {
        if Self::is_full(self.lines.len(), self.used + more) {
            self.grow();
            return true;
        }
        if self.is_jammed {
            self.mix_anew();
            return true;
        }
        false
    }

    #[inline(always)]
    fn home(&mut self, item: u64) -> usize {
        ((u128::from(mix(item ^ self.statistics.key)) * self.lines.len() as u128) >> 64) as usize
    }

    #[inline(always)]
    fn prefetch(&self, home: usize) {
        prefetch(&self.lines, home);
    }

    #[inline(always)]
    fn replace_at_home(
        &mut self,
        compare: impl Compare,
        item: u64,
        home: usize,
        step: u32,
    ) -> Option<u32> {
        if let Some(previous) = self.lines[home].replace(compare, item, step) {
            self.used += usize::from(previous == NEVER);
            return Some(previous);
        }
        // A full line stays full: whatever else is done with the item will be done there.
        prefetch(&self.lines, after(home, 0, self.lines.len()));
        None
    }

    #[inline(always)]
    fn replace_elsewhere(
        &mut self,
        compare: impl Compare,
        item: u64,
        home: usize,
        step: u32,
    ) -> u32 {
        let (mut home, mut lines_past) = (home, 0);
        let lines: &mut [TableLine] = &mut self.lines;
        loop {
            home = after(home, lines_past, lines.len());
            lines_past += 1;
            self.is_jammed |= lines_past == FAR_FROM_HOME;
            if let Some(previous) = lines[home].replace(compare, item, step) {
                self.used += usize::from(previous == NEVER);
                return previous;
            }
        }
    }

    #[inline(always)]
    fn renumber(&mut self, bits: &LiveBits) {
        const AHEAD: usize = 8;
        let lines: &mut [TableLine] = &mut self.lines;
        for index in 0..lines.len() {
            if let Some(line) = lines.get(index + AHEAD) {
                for step in &line.steps[..ITEMS] {
                    bits.prefetch(*step);
                }
            }
            for step in lines[index].steps[..ITEMS].iter_mut() {
                // The rank of an empty place is asked for and thrown away: no processor could guess
                // which places are empty.
                let rank = bits.rank(*step) as u32 + 1;
                *step = if *step == NEVER { NEVER } else { rank };
            }
        }
    }

    fn may_be_unsuitable(&self) -> bool {
        self.grown.is_some()
    }

    fn for_each(&self, visit: impl FnMut(u64, u32)) {
        show(&self.lines, visit);
    }

    fn into_each(self, mut visit: impl FnMut(u64, u32)) {
        self.lines.into_pieces(|lines| show(lines, &mut visit));
    }
}

/// Shows all items of some lines.
#[inline(always)]
fn show(lines: &[TableLine], mut visit: impl FnMut(u64, u32)) {
    for line in lines {
        // Lines are filled from the front: one guess of the processor for all that is in one.
        for place in 0..line.len() {
            visit(line.items[place], line.steps[place]);
        }
    }
}

#[cfg(test)]
mod tests;
