//! [`InvertedIndex`]: for each item of a range, the memory instructions that touch it, and how
//! often each does. [`Census`] counts the entries first, so that ranges fit into memory.

use crate::scenario::ReferenceStream;

/// The lists of a range of items.
pub(super) struct InvertedIndex {
    /// Where each list begins, and where the last ends.
    starts: Vec<u32>,
    /// Position and multiplicity, positions rising within a list.
    entries: Vec<(u32, u32)>,
}

/// How many entries each item's list will have.
pub(super) struct Census {
    /// By item.
    pub(super) entries: Vec<u32>,
    /// Touches in all.
    pub(super) touches: u64,
}

const NEVER: u32 = u32::MAX;

impl Census {
    /// Counts, in one pass over the stream and 8 bytes an item.
    pub(super) fn take(stream: &(impl ReferenceStream + ?Sized)) -> Census {
        let count = stream.items() as usize;
        let (mut entries, mut last) = (vec![0_u32; count], vec![NEVER; count]);
        let mut touches = 0;
        stream.visit(&mut |position, items| {
            touches += items.len() as u64;
            for &item in items {
                let item = item as usize;
                if last[item] != position as u32 {
                    last[item] = position as u32;
                    entries[item] += 1;
                }
            }
        });
        Census { entries, touches }
    }

    /// Cuts the items into ranges with at most `limit` entries each, or one item if it has more.
    pub(super) fn ranges(&self, limit: u64) -> Vec<std::ops::Range<u32>> {
        let (mut ranges, mut start, mut held) = (Vec::new(), 0, 0);
        for (item, &count) in self.entries.iter().enumerate() {
            let item = item as u32;
            if held + u64::from(count) > limit && item > start {
                ranges.push(start..item);
                (start, held) = (item, 0);
            }
            held += u64::from(count);
        }
        if (start as usize) < self.entries.len() {
            ranges.push(start..self.entries.len() as u32);
        }
        ranges
    }
}

impl InvertedIndex {
    /// Reads the lists of the items in `range`, in one pass over the stream.
    pub(super) fn read(
        stream: &(impl ReferenceStream + ?Sized),
        census: &Census,
        range: std::ops::Range<u32>,
    ) -> InvertedIndex {
        let (first, end) = (range.start as usize, range.end as usize);
        let mut starts = Vec::with_capacity(end - first + 1);
        let mut total = 0_u32;
        for &count in &census.entries[first..end] {
            starts.push(total);
            total += count;
        }
        let mut next = starts.clone();
        starts.push(total);
        let mut entries = vec![(NEVER, 0_u32); total as usize];
        stream.visit_range(range, &mut |position, items| {
            let position = position as u32;
            for &item in items {
                let at = (item as usize).wrapping_sub(first);
                let Some(place) = next.get_mut(at) else {
                    continue;
                };
                if *place > starts[at] && entries[*place as usize - 1].0 == position {
                    entries[*place as usize - 1].1 += 1;
                } else {
                    entries[*place as usize] = (position, 1);
                    *place += 1;
                }
            }
        });
        InvertedIndex { starts, entries }
    }

    /// The lists, item by item.
    pub(super) fn lists(&self) -> impl Iterator<Item = &[(u32, u32)]> {
        let ends = self.starts.windows(2);
        ends.map(|ends| &self.entries[ends[0] as usize..ends[1] as usize])
    }
}
