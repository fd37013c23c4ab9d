//! [`SharedPairs`]: the counts of invalidations, by pairs of accesses and by cells.

use std::collections::{HashMap, HashSet};

use reuselens_locality::{CellCauses, SharedData, SharedEnd};

use crate::{CauseCell, CellPlace, NO_OFFSET};

/// Of a thread without an invalidation so far.
pub(crate) const NO_PAIR: u32 = u32::MAX;

/// Most pairs that are counted by themselves.
const MOST_PAIRS: usize = 1 << 16;
/// Lines of pairs that are kept in any case, and for each pair.
const FREE_LINES: usize = 1 << 20;
const LINES_PER_PAIR: usize = 64;

/// An access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessPlace {
    pub cell: u32,
    /// Its offset in its element, or [`NO_OFFSET`].
    pub offset: u32,
}

/// Instruction, object and offset of the last store, and of the access that finds the line lost.
type PairKey = [(u32, u32, u32); 2];

/// Invalidations of a pair of accesses.
#[derive(Clone, Debug)]
struct Pair {
    key: PairKey,
    /// A cell of each.
    cells: [u32; 2],
    true_sharing: u64,
    false_sharing: u64,
    lines: u64,
}

/// Counts invalidations.
///
/// The first 65,536 pairs of accesses are counted by themselves. Beyond these, invalidations count
/// for one more pair, of the unknown instruction and object: none is missing from a sum.
///
/// Distinct lines of pairs are exact as long as pairs have fewer than 2²⁰ and 64 for each pair, all
/// together. Beyond that no more lines are added, so that a pair has at least as many.
///
/// Memory: 16 bytes per cell, about 160 bytes per pair, 9 to 18 bytes for each pair and line of it.
pub(crate) struct SharedPairs {
    /// By cell, its instruction and object.
    cells: Vec<(u32, u32)>,
    /// By cell, its invalidations by true and by false sharing.
    counts: Vec<[u64; 2]>,
    pairs: Vec<Pair>,
    numbers: HashMap<PairKey, u32>,
    /// The pair, and the number of an item.
    lines: HashSet<(u32, u32)>,
    most_pairs: usize,
}

impl SharedPairs {
    pub fn new() -> Self {
        Self::with_most(MOST_PAIRS)
    }

    fn with_most(most_pairs: usize) -> Self {
        SharedPairs {
            cells: Vec::new(),
            counts: Vec::new(),
            pairs: Vec::new(),
            numbers: HashMap::new(),
            lines: HashSet::new(),
            most_pairs,
        }
    }

    pub fn add_cell(&mut self, cell: CauseCell) {
        self.cells.push((cell.site, cell.object));
        self.counts.push([0; 2]);
    }

    /// An access finds its line lost. `before` is the pair of the same thread's invalidation before
    /// of the same line, or [`NO_PAIR`]. Returns the pair.
    pub fn invalidated(
        &mut self,
        before: u32,
        writer: AccessPlace,
        victim: AccessPlace,
        item: u32,
    ) -> u32 {
        let key = [writer, victim].map(|access| {
            let (site, object) = self.cells[access.cell as usize];
            (site, object, access.offset)
        });
        // Mostly it is the same pair again, which has the line already.
        if (self.pairs.get(before as usize)).is_some_and(|pair| pair.key == key) {
            return before;
        }
        let pair = self.number(key, [writer.cell, victim.cell]);
        let room = FREE_LINES + self.pairs.len() * LINES_PER_PAIR;
        if self.lines.len() < room && self.lines.insert((pair, item)) {
            self.pairs[pair as usize].lines += 1;
        }
        pair
    }

    /// The number of a pair; of those beyond the limit that of the last one.
    fn number(&mut self, key: PairKey, cells: [u32; 2]) -> u32 {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.pairs.len().min(self.most_pairs);
        if number == self.pairs.len() {
            // No access has the key of the pair of all others.
            let key = match number == self.most_pairs {
                true => [(u32::MAX, u32::MAX, 0); 2],
                false => key,
            };
            self.pairs.push(Pair {
                key,
                cells,
                true_sharing: 0,
                false_sharing: 0,
                lines: 0,
            });
        }
        if number < self.most_pairs {
            self.numbers.insert(key, number as u32);
        }
        number as u32
    }

    /// Counts an invalidation of a pair, and of the cell of the access that found it.
    pub fn count_true(&mut self, pair: u32, cell: u32) {
        self.pairs[pair as usize].true_sharing += 1;
        self.counts[cell as usize][0] += 1;
    }

    /// Counts an invalidation of a pair, and of the cell of the access that found it.
    pub fn count_false(&mut self, pair: u32, cell: u32) {
        self.pairs[pair as usize].false_sharing += 1;
        self.counts[cell as usize][1] += 1;
    }

    /// The memory held.
    pub fn memory(&self) -> u64 {
        // Slots of the tables have a byte more; at least half of them are used.
        let table = |capacity: usize, bytes: usize| capacity * 2 * (bytes + 1);
        let bytes = self.cells.capacity() * 8
            + self.counts.capacity() * 16
            + self.pairs.capacity() * size_of::<Pair>()
            + table(self.numbers.capacity(), size_of::<(PairKey, u32)>())
            + table(self.lines.capacity(), size_of::<(u32, u32)>());
        bytes as u64
    }

    /// Adds the counts to those of the cells, and returns the pairs, the most invalidations first.
    pub fn finish(self, cells: &mut [CellCauses], places: &[CellPlace]) -> Vec<SharedData> {
        for (cell, counts) in cells.iter_mut().zip(&self.counts) {
            [cell.true_sharing, cell.false_sharing] = *counts;
        }
        let pairs = self.pairs.iter().enumerate().map(|(number, pair)| {
            let end = |which: usize| match number == self.most_pairs {
                true => SharedEnd::default(),
                false => {
                    let place = places[pair.cells[which] as usize];
                    SharedEnd {
                        site: place.site,
                        object: place.object,
                        offset: Some(pair.key[which].2).filter(|offset| *offset != NO_OFFSET),
                    }
                }
            };
            SharedData {
                writer: end(0),
                victim: end(1),
                true_sharing: pair.true_sharing,
                false_sharing: pair.false_sharing,
                lines: pair.lines,
            }
        });
        let mut shared: Vec<SharedData> = pairs.collect();
        SharedData::unite(&mut shared);
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_beyond_the_limit_count_for_one_pair() {
        let mut pairs = SharedPairs::with_most(2);
        let cells = 0..5;
        for site in cells.clone() {
            pairs.add_cell(CauseCell {
                site,
                ..CauseCell::default()
            });
        }
        let place = |cell| AccessPlace { cell, offset: 0 };
        for victim in cells.clone() {
            let pair = pairs.invalidated(NO_PAIR, place(0), place(victim), victim % 2);
            let again = pairs.invalidated(pair, place(0), place(victim), victim % 2);
            assert_eq!((pair, again), (victim.min(2), pair));
            pairs.count_true(pair, victim);
            pairs.count_false(again, victim);
        }
        let places: Vec<CellPlace> = cells.map(|site| CellPlace { site, object: 0 }).collect();
        let mut cells = vec![CellCauses::default(); 5];
        let shared = pairs.finish(&mut cells, &places);
        assert!(
            cells
                .iter()
                .all(|cell| (cell.true_sharing, cell.false_sharing) == (1, 1))
        );
        let counts = |pair: &SharedData| (pair.true_sharing, pair.false_sharing, pair.lines);
        // The victims 2, 3 and 4 are others, on two lines.
        assert_eq!(counts(&shared[0]), (3, 3, 2));
        assert_eq!(shared[0].writer, SharedEnd::default());
        assert_eq!(
            shared[1..].iter().map(counts).collect::<Vec<_>>(),
            [(1, 1, 1); 2]
        );
    }
}
