//! [`Dense`]: the table of last accesses for ids that are close together, as addresses are: shadow
//! pages, with 4 bytes for each id of a page.

use std::collections::HashMap;

use reuselens_hugepages::Huge;

use super::compare::Compare;
use super::line::NEVER;
use super::live_bits::LiveBits;
use super::sparse::TableStatistics;
use super::table::Table;
use crate::dense_ids::PAGE;
use crate::mix::Mixing;
use crate::prefetch::prefetch;

/// Steps that there is address space for at once at most, if that many are expected: 4 GiB.
const MOST_AT_ONCE: usize = 1 << 30;
/// Pages that are found without the directory.
const RECENT: usize = 256;

/// The last step of every item of the pages in use: 4 bytes each, whether the item occurs or not, 2
/// KiB a page. Neighbours in memory stay neighbours here, so that a sweep over an array is a sweep
/// over its steps.
///
/// Ids that are byte addresses of elements or of lines have the same low bits, all of them. Ids are
/// rotated to the right by those, so that such ids are close together too; any other id is just in
/// another place.
pub(crate) struct Dense {
    /// The low bits that are the same, as far as is known.
    shift: u32,
    /// Page after page.
    steps: Huge<u32>,
    /// What page of ids each is.
    pages: Vec<u64>,
    directory: HashMap<u64, u32, Mixing>,
    /// The pages last found, each where its number says: number and place.
    recent: [(u64, usize); RECENT],
    used: usize,
    /// Items that were expected at the beginning; 0 if that was unknown.
    expected: usize,
    /// What the hash table before knew of the stream, for the one that may follow.
    statistics: TableStatistics,
}

impl Dense {
    /// An empty table for ids with the same `shift` low bits.
    pub(crate) fn new(shift: u32, statistics: TableStatistics) -> Self {
        Dense {
            shift,
            steps: Huge::default(),
            pages: Vec::new(),
            directory: HashMap::default(),
            // No page has this number: it is a part of an id of 64 bits.
            recent: [(u64::MAX, 0); RECENT],
            used: 0,
            expected: 0,
            statistics,
        }
    }

    /// The same, if about `expected` items are expected, on pages of which they fill at least a
    /// quarter.
    pub(crate) fn expecting(expected: usize, shift: u32, statistics: TableStatistics) -> Self {
        Dense {
            expected,
            ..Self::new(shift, statistics)
        }
    }

    /// The low bits that are the same.
    pub(crate) fn shift(&self) -> u32 {
        self.shift
    }

    /// What is known of the stream, for a hash table that may follow.
    pub(crate) fn statistics(&self) -> TableStatistics {
        self.statistics
    }

    /// Whether so few of the items of its pages occur that a hash table is smaller: it takes up to
    /// 24 bytes for each that does. Items that are still expected count as if they had occurred.
    pub(crate) fn is_thin(&self) -> bool {
        let items = self.used.max(self.expected);
        self.pages.len() > 64 && items.saturating_mul(6) < self.pages.len() << PAGE
    }

    /// Shows all items of pages from `first` on, whose steps these are.
    fn show(&self, first: usize, steps: &[u32], mut visit: impl FnMut(u64, u32)) {
        let (steps, _) = steps.as_chunks::<{ 1 << PAGE }>();
        for (page, steps) in self.pages[first..].iter().zip(steps) {
            for (offset, step) in steps.iter().enumerate() {
                if *step != NEVER {
                    let item = page << PAGE | offset as u64;
                    visit(item.rotate_left(self.shift), *step);
                }
            }
        }
    }

    /// A page that was not among the recent.
    #[cold]
    fn find_page(&mut self, page: u64) -> usize {
        let next = self.pages.len();
        let index = *self.directory.entry(page).or_insert(next as u32) as usize;
        if index == next {
            self.pages.push(page);
        }
        let place = index << PAGE;
        self.recent[page as usize % RECENT] = (page, place);
        place
    }
}

impl Table for Dense {
    #[inline(always)]
    fn len(&self) -> usize {
        self.used
    }

    fn bytes(&self) -> usize {
        let directory = self.directory.capacity() * (size_of::<(u64, u32)>() + 1);
        // Only the pages in use have memory.
        let steps = (self.pages.len() << PAGE) * size_of::<u32>();
        steps + self.pages.capacity() * size_of::<u64>() + directory
    }

    /// The bytes now: pages come one by one, and nobody knows how many will.
    fn bytes_with(&self, _: usize) -> usize {
        self.bytes()
    }

    /// The homes stay what they are.
    #[inline(always)]
    fn make_room(&mut self, more: usize) -> bool {
        let needed = (self.pages.len() + more) << PAGE;
        if needed > self.steps.len() {
            // Address space: it becomes memory where it is written.
            let expected = self.expected.saturating_mul(2).min(MOST_AT_ONCE);
            self.steps.lengthen((needed + needed / 2).max(expected));
        }
        false
    }

    #[inline(always)]
    fn home(&mut self, item: u64) -> usize {
        let item = item.rotate_right(self.shift);
        let page = item >> PAGE;
        let (found, place) = self.recent[page as usize % RECENT];
        let place = if found == page {
            place
        } else {
            self.find_page(page)
        };
        place + (item as usize & ((1 << PAGE) - 1))
    }

    #[inline(always)]
    fn prefetch(&self, home: usize) {
        prefetch(&self.steps, home);
    }

    #[inline(always)]
    fn replace_at_home(&mut self, _: impl Compare, _: u64, home: usize, step: u32) -> Option<u32> {
        let previous = std::mem::replace(&mut self.steps[home], step);
        self.used += usize::from(previous == NEVER);
        Some(previous)
    }

    fn replace_elsewhere(&mut self, _: impl Compare, _: u64, _: usize, _: u32) -> u32 {
        unreachable!("every item has a place of its own")
    }

    #[inline(always)]
    fn renumber(&mut self, bits: &LiveBits) {
        const AHEAD: usize = 32;
        let used = self.pages.len() << PAGE;
        let steps = &mut self.steps[..used];
        for index in 0..steps.len() {
            if let Some(step) = steps.get(index + AHEAD) {
                bits.prefetch(*step);
            }
            let rank = bits.rank(steps[index]) as u32 + 1;
            steps[index] = if steps[index] == NEVER { NEVER } else { rank };
        }
    }

    fn may_be_unsuitable(&self) -> bool {
        self.is_thin()
    }

    fn for_each(&self, visit: impl FnMut(u64, u32)) {
        self.show(0, &self.steps, visit);
    }

    fn into_each(mut self, mut visit: impl FnMut(u64, u32)) {
        let mut first = 0;
        std::mem::take(&mut self.steps).into_pieces(|steps| {
            if first < self.pages.len() {
                self.show(first, steps, &mut visit);
            }
            first += steps.len() >> PAGE;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::Portable;
    use super::*;

    #[test]
    fn shadow_pages_are_made_when_used() {
        for shift in [0, 3, 12] {
            check(shift);
        }
    }

    fn check(shift: u32) {
        let mut table = Dense::new(shift, TableStatistics::default());
        let items = [
            0,
            511,
            512,
            u64::MAX,
            u64::MAX - 511,
            1 << 40,
            (1 << 40) + 9,
        ];
        // More pages than are found without the directory, some of which share a place there.
        let items = items.into_iter().chain((0..700).map(|i| i << 16));
        let mut known = HashMap::new();
        for (step, item) in (1..).zip(items.clone().chain(items)) {
            table.make_room(1);
            let home = table.home(item);
            let previous = table.replace(Portable, item, home, step);
            assert_eq!(previous, known.insert(item, step).unwrap_or(NEVER));
        }
        assert_eq!(table.len(), known.len());
        let mut seen = HashMap::new();
        table.for_each(|item, step| assert_eq!(seen.insert(item, step), None));
        assert_eq!(seen, known);
        assert!(shift > 0 || table.is_thin());
    }
}
