//! A table of last accesses for ids that lie anywhere: a hash table of cache lines.

use std::collections::HashSet;

use reuselens_memory::Huge;

use super::compare::{Compare, Portable};
use super::dense::PAGE;
use super::line::{ITEMS, Line, NEVER};
use super::live_bits::LiveBits;
use super::table::Table;
use crate::prefetch::prefetch;

/// Lines of an empty table.
const SMALLEST: usize = 256;

/// The last step of every item seen: lines of five items, 12.8 bytes a place, up to four fifths of the
/// places in use, overflow into the next line, nothing ever removed. 16 to 24 bytes per item.
///
/// Which line is a strong mix of all bits of the item, so that no stride and no alignment of real addresses
/// crowds one part of the table. (Whoever may write the trace and knows the mix can still make a slow one; a
/// wrong result they cannot make.) Lines keep the order of the mixed items, so that growing is one sweep
/// over the old table and one over the new.
#[derive(Default)]
pub(crate) struct Sparse {
    lines: Huge<Line>,
    used: usize,
    /// Whether it has grown since it was last asked.
    has_grown: bool,
}

impl Sparse {
    pub(crate) fn new() -> Self {
        Self::with_lines(SMALLEST)
    }

    fn with_lines(lines: usize) -> Self {
        Sparse {
            lines: Huge::new(lines),
            used: 0,
            has_grown: false,
        }
    }

    /// Half as large again.
    #[cold]
    fn grow(&mut self) {
        let larger = Self::with_lines(self.lines.len() + self.lines.len() / 2);
        let old = std::mem::replace(self, larger);
        old.for_each(|item, step| {
            let home = self.home(item);
            self.replace(Portable, item, home, step);
        });
        self.has_grown = true;
    }

    /// Whether shadow pages would be smaller: whether at least a quarter of the ids of the pages that are
    /// touched occur. If so, the number of low bits that all items share. Known anew each time the table has
    /// grown; costs two passes over it.
    pub(crate) fn is_crowded(&mut self) -> Option<u32> {
        if !std::mem::take(&mut self.has_grown) {
            return None;
        }
        let (mut any, mut all) = (0, u64::MAX);
        self.for_each(|item, _| (any, all) = (any | item, all & item));
        // Bits that are set in some and not in others.
        let shift = (any ^ all).trailing_zeros() % u64::BITS;
        let most = self.used >> (PAGE - 2);
        let mut pages = HashSet::new();
        for line in self.lines.iter() {
            let items = line.items.iter().zip(line.steps);
            let items = items.filter(|(_, step)| *step != NEVER);
            pages.extend(items.map(|(item, _)| item.rotate_right(shift) >> PAGE));
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

    #[inline(always)]
    fn make_room(&mut self, more: usize) -> bool {
        if (self.used + more) * 5 <= self.lines.len() * ITEMS * 4 {
            return false;
        }
        self.grow();
        true
    }

    #[inline(always)]
    fn home(&mut self, item: u64) -> usize {
        (u128::from(mix(item)) * self.lines.len() as u128 >> 64) as usize
    }

    #[inline(always)]
    fn prefetch(&self, home: usize) {
        prefetch(&self.lines, home);
    }

    #[inline(always)]
    fn replace(&mut self, compare: impl Compare, item: u64, home: usize, step: u32) -> u32 {
        let mut home = home;
        let lines: &mut [Line] = &mut self.lines;
        loop {
            if home >= lines.len() {
                home = 0;
            }
            let line = &mut lines[home];
            let equal = compare.equal(line, item);
            if equal != 0 {
                let place = equal.trailing_zeros() as usize % ITEMS;
                let previous = std::mem::replace(&mut line.steps[place], step);
                self.used += usize::from(previous == NEVER);
                return previous;
            }
            if line.steps[ITEMS - 1] == NEVER {
                let place = line.steps.iter().take_while(|step| **step != NEVER).count() % ITEMS;
                line.items[place] = item;
                line.steps[place] = step;
                self.used += 1;
                return NEVER;
            }
            home += 1;
        }
    }

    #[inline(always)]
    fn renumber(&mut self, bits: &LiveBits) {
        const AHEAD: usize = 8;
        let lines: &mut [Line] = &mut self.lines;
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
        self.has_grown
    }

    fn for_each(&self, mut visit: impl FnMut(u64, u32)) {
        for line in self.lines.iter() {
            for (item, step) in line.items.iter().zip(line.steps) {
                if step != NEVER {
                    visit(*item, step);
                }
            }
        }
    }
}

/// A bijection of 64-bit numbers in which every bit of the input reaches every high bit of the output.
/// The constants and shifts are those of MurmurHash3's finaliser (public domain).
#[inline(always)]
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (number ^ (number >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}

#[cfg(test)]
mod tests {
    use super::Portable;
    use super::*;

    fn replace(table: &mut Sparse, item: u64, step: u32) -> u32 {
        table.make_room(1);
        let home = table.home(item);
        table.replace(Portable, item, home, step)
    }

    #[test]
    fn every_number_can_be_an_item() {
        let mut table = Sparse::new();
        for (item, step) in [(0, 1), (u64::MAX, 2), (1 << 63, 3)] {
            assert_eq!(replace(&mut table, item, step), NEVER);
        }
        assert_eq!(replace(&mut table, 0, 4), 1);
        assert_eq!(replace(&mut table, u64::MAX, 5), 2);
        assert_eq!(table.len(), 3);
    }

    /// All in one line to begin with, item 0 in the middle: it must not be taken for an empty place.
    #[test]
    fn overflow_goes_to_the_next_line_and_round_the_end() {
        let mut table = Sparse::with_lines(4);
        let items = [9, 8, 7, 0, 6, 5, 4, 3, 2, 1, 10, 11];
        for (step, item) in (1..).zip(items) {
            assert_eq!(table.replace(Portable, item, 3, step), NEVER);
        }
        for (step, item) in (1..).zip(items) {
            assert_eq!(table.replace(Portable, item, 3, step), step);
        }
        assert_eq!(table.len(), items.len());
    }

    #[test]
    fn growth_keeps_every_step() {
        let mut table = Sparse::new();
        for item in 0..50_000_u64 {
            replace(&mut table, item << 40, item as u32 + 1);
        }
        assert_eq!(table.len(), 50_000);
        assert!(table.bytes() < 50_000 * 25);
        for item in 0..50_000_u64 {
            assert_eq!(replace(&mut table, item << 40, 1), item as u32 + 1);
        }
    }

    /// Strided ids are what real traces are made of: no stride may make probes long.
    #[test]
    fn strides_do_not_crowd() {
        for stride in
            (0..62)
                .map(|log2| 1_u64 << log2)
                .chain([3, 24, 4096 + 64, 0x9E37_79B9_7F4A_7C15])
        {
            let mut table = Sparse::with_lines(4096);
            let mut beyond = 0;
            for step in 1..=16_000_u32 {
                let item = u64::from(step).wrapping_mul(stride);
                let home = table.home(item);
                table.replace(Portable, item, home, step);
                beyond += usize::from(Portable.equal(&table.lines[home], item) == 0);
            }
            assert!(beyond < 16_000 / 4, "stride {stride}: {beyond} not at home");
        }
    }
}
