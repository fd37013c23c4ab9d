//! [`DistinctLists`]: distinct lists of appearances, each with the number of items that have it.
//! Lists that are equal up to a shift in time are one.

use hashbrown::HashTable;

/// Distinct lists and how many items have each. A list is kept with its positions relative to its
/// first.
#[derive(Default)]
pub(super) struct DistinctLists {
    table: HashTable<u32>,
    lists: Vec<Kept>,
    entries: Vec<(u32, u32)>,
}

struct Kept {
    hash: u64,
    start: usize,
    length: u32,
    weight: u64,
}

impl DistinctLists {
    /// Adds a list, `weight` times.
    pub(super) fn add(&mut self, list: &[(u32, u32)], weight: u64) {
        let Some(&(first, _)) = list.first() else {
            return;
        };
        let hash = list.iter().fold(list.len() as u64, |hash, &(at, count)| {
            mix(hash, u64::from(at - first) << 32 | u64::from(count))
        });
        let (lists, entries) = (&self.lists, &self.entries);
        let same = |&kept: &u32| {
            let kept: &Kept = &lists[kept as usize];
            kept.hash == hash
                && kept.length as usize == list.len()
                && entries[kept.start..kept.start + list.len()]
                    .iter()
                    .zip(list)
                    .all(|(kept, new)| *kept == (new.0 - first, new.1))
        };
        if let Some(&known) = self.table.find(hash, same) {
            self.lists[known as usize].weight += weight;
            return;
        }
        let number = self.lists.len() as u32;
        self.table
            .insert_unique(hash, number, |&kept| self.lists[kept as usize].hash);
        self.lists.push(Kept {
            hash,
            start: self.entries.len(),
            length: list.len() as u32,
            weight,
        });
        let relative = list.iter().map(|&(at, count)| (at - first, count));
        self.entries.extend(relative);
    }

    /// Distinct lists.
    pub(super) fn len(&self) -> usize {
        self.lists.len()
    }

    /// Entries of all distinct lists: 8 bytes each.
    pub(super) fn entries(&self) -> usize {
        self.entries.len()
    }

    /// A list and its weight.
    pub(super) fn get(&self, at: usize) -> (&[(u32, u32)], u64) {
        let kept = &self.lists[at];
        let end = kept.start + kept.length as usize;
        (&self.entries[kept.start..end], kept.weight)
    }
}

/// A multiplication and a shift: enough to spread lists over a table; equality is checked.
#[inline]
fn mix(hash: u64, value: u64) -> u64 {
    let product = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 29)
}
