//! [`SharedPairs`]: the counts of invalidations, by pairs of accesses and by cells.

use std::collections::{HashMap, HashSet};

use reuselens_profile::{CellCauses, SharedData, SharedEnd, UnlistedPairs};

use crate::table_memory::table_memory;
use crate::{CauseCell, CellPlace, NO_OFFSET};

/// Of a thread without an invalidation so far.
pub(crate) const NO_PAIR: u32 = u32::MAX;

/// Most pairs that are counted by themselves at one time: as many as 16 bits can number.
const MOST_PAIRS: usize = 1 << 16;
/// The number of all pairs that are not. No slot has the generation that is in it.
const OTHERS: u32 = u32::MAX - 1;
/// The generation of a slot that is not used again.
const LAST_GENERATION: u16 = u16::MAX;
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

/// A slot: a pair of accesses, and its invalidations.
#[derive(Clone, Debug)]
struct Pair {
    key: PairKey,
    /// A cell of each.
    cells: [u32; 2],
    /// How often the slot was given to another pair.
    generation: u16,
    /// Those whose kind is not known yet among them.
    invalidations: u64,
    true_sharing: u64,
    false_sharing: u64,
}

/// Counts invalidations.
///
/// Up to 65,536 pairs of accesses are counted by themselves. When there are more, the rarer half of
/// them counts for one more pair, of the unknown instruction and object, and gives its slots to new
/// ones: no invalidation is missing from a sum. A pair that turns up again lacks what it had
/// before, which is at most the sum, over the times when slots were given up, of the most
/// invalidations of a pair that gave its slot up ([`UnlistedPairs::most_of_a_pair`]).
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
    /// Slots that were given up.
    free: Vec<u16>,
    /// By pair, its number.
    numbers: HashMap<PairKey, u32>,
    /// The number of a pair, and the number of an item.
    lines: HashSet<(u32, u32)>,
    /// By true and by false sharing, invalidations of other pairs.
    others: [u64; 2],
    most_of_a_pair: u64,
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
            free: Vec::new(),
            numbers: HashMap::new(),
            lines: HashSet::new(),
            others: [0; 2],
            most_of_a_pair: 0,
            most_pairs,
        }
    }

    pub fn add_cell(&mut self, cell: CauseCell) {
        self.cells.push((cell.site, cell.object));
        self.counts.push([0; 2]);
    }

    /// An access finds its line lost. `before` is the pair of the same thread's invalidation before
    /// of the same line, or [`NO_PAIR`]. Returns the number of the pair. What kind of sharing it is
    /// must be counted once, later.
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
        if let Some(pair) = self.pair(before).filter(|pair| pair.key == key) {
            pair.invalidations += 1;
            return before;
        }
        let number = self.number(key, [writer.cell, victim.cell]);
        match self.pair(number) {
            Some(pair) => pair.invalidations += 1,
            // Without a slot that could be used again, a pair may lack each of them.
            None => self.most_of_a_pair += 1,
        }
        let room = FREE_LINES + self.pairs.len() * LINES_PER_PAIR;
        if self.lines.len() < room {
            self.lines.insert((number, item));
        }
        number
    }

    /// The pair with this number, if it still has a slot.
    fn pair(&mut self, number: u32) -> Option<&mut Pair> {
        let (slot, generation) = (number as u16, (number >> 16) as u16);
        let pair = self.pairs.get_mut(slot as usize);
        pair.filter(|pair| pair.generation == generation && generation != LAST_GENERATION)
    }

    /// The number of a pair, which gets a slot if it has none.
    fn number(&mut self, key: PairKey, cells: [u32; 2]) -> u32 {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        if self.free.is_empty() && self.pairs.len() >= self.most_pairs {
            self.drop_rare();
        }
        let mut new = Pair {
            key,
            cells,
            generation: 0,
            invalidations: 0,
            true_sharing: 0,
            false_sharing: 0,
        };
        let slot = match self.free.pop() {
            Some(slot) => slot as usize,
            None if self.pairs.len() < self.most_pairs => self.pairs.len(),
            None => return OTHERS,
        };
        match self.pairs.get_mut(slot) {
            Some(pair) => {
                new.generation = pair.generation;
                *pair = new;
            }
            None => self.pairs.push(new),
        }
        let number = number_of(slot, self.pairs[slot].generation);
        self.numbers.insert(key, number);
        number
    }

    /// Counts the rarer half of the pairs for the others. Their numbers are of no pair from now on,
    /// so that what is counted for them later counts for the others too.
    #[cold]
    fn drop_rare(&mut self) {
        // By the keys too, so that equal traces drop equal pairs.
        let rarity = |pair: &Pair| (pair.invalidations, pair.key);
        let mut slots: Vec<usize> = (0..self.pairs.len()).collect();
        slots.retain(|slot| self.pairs[*slot].generation != LAST_GENERATION);
        slots.sort_unstable_by_key(|slot| rarity(&self.pairs[*slot]));
        slots.truncate(slots.len().div_ceil(2));
        if let Some(slot) = slots.last() {
            self.most_of_a_pair += self.pairs[*slot].invalidations;
        }
        for slot in slots {
            let pair = &mut self.pairs[slot];
            self.numbers.remove(&pair.key);
            self.others[0] += pair.true_sharing;
            self.others[1] += pair.false_sharing;
            pair.generation += 1;
            if pair.generation != LAST_GENERATION {
                self.free.push(slot as u16);
            }
        }
        let lines = std::mem::take(&mut self.lines);
        let lines = lines.into_iter().map(|(number, item)| {
            let is_listed = self.pair(number).is_some();
            (if is_listed { number } else { OTHERS }, item)
        });
        self.lines = lines.collect();
    }

    /// Counts an invalidation of a pair, and of the cell of the access that found it.
    pub fn count_true(&mut self, number: u32, cell: u32) {
        match self.pair(number) {
            Some(pair) => pair.true_sharing += 1,
            None => self.others[0] += 1,
        }
        self.counts[cell as usize][0] += 1;
    }

    /// Counts an invalidation of a pair, and of the cell of the access that found it.
    pub fn count_false(&mut self, number: u32, cell: u32) {
        match self.pair(number) {
            Some(pair) => pair.false_sharing += 1,
            None => self.others[1] += 1,
        }
        self.counts[cell as usize][1] += 1;
    }

    /// The memory held.
    pub fn memory(&self) -> u64 {
        let bytes = self.cells.capacity() * 8
            + self.counts.capacity() * 16
            + self.pairs.capacity() * size_of::<Pair>()
            + self.free.capacity() * 2
            + table_memory::<(PairKey, u32)>(self.numbers.capacity())
            + table_memory::<(u32, u32)>(self.lines.capacity());
        bytes as u64
    }

    /// Adds the counts to those of the cells, and returns the pairs, the most invalidations first,
    /// and what is not listed by pair.
    pub fn finish(
        self,
        cells: &mut [CellCauses],
        places: &[CellPlace],
    ) -> (Vec<SharedData>, Option<UnlistedPairs>) {
        for (cell, counts) in cells.iter_mut().zip(&self.counts) {
            [cell.true_sharing, cell.false_sharing] = *counts;
        }
        let mut lines: HashMap<u32, u64> = HashMap::new();
        for (number, _) in &self.lines {
            *lines.entry(*number).or_default() += 1;
        }
        let lines_of = |number: u32| lines.get(&number).copied().unwrap_or_default();
        let listed = self.numbers.values().map(|&number| {
            let pair = &self.pairs[usize::from(number as u16)];
            let end = |which: usize| {
                let place = places[pair.cells[which] as usize];
                SharedEnd {
                    site: place.site,
                    object: place.object,
                    offset: Some(pair.key[which].2).filter(|offset| *offset != NO_OFFSET),
                }
            };
            SharedData {
                writer: end(0),
                victim: end(1),
                true_sharing: pair.true_sharing,
                false_sharing: pair.false_sharing,
                lines: lines_of(number),
            }
        });
        let others = SharedData {
            true_sharing: self.others[0],
            false_sharing: self.others[1],
            lines: lines_of(OTHERS),
            ..SharedData::default()
        };
        let unlisted = UnlistedPairs {
            invalidations: self.others[0] + self.others[1],
            most_of_a_pair: self.most_of_a_pair,
        };
        let unlisted = Some(unlisted).filter(|it| it.invalidations > 0);
        let mut shared: Vec<SharedData> = listed.collect();
        shared.extend(unlisted.map(|_| others));
        // Sorts by keys, so that the order of the table does not show.
        SharedData::unite(&mut shared);
        (shared, unlisted)
    }
}

/// The number of the pair that has a slot.
fn number_of(slot: usize, generation: u16) -> u32 {
    u32::from(generation) << 16 | slot as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of one writer and some victims, whose cells have their numbers.
    struct Victims {
        pairs: SharedPairs,
        cells: u32,
    }

    impl Victims {
        fn new(most: usize, cells: u32) -> Self {
            let mut pairs = SharedPairs::with_most(most);
            for site in 0..cells {
                pairs.add_cell(CauseCell {
                    site,
                    ..CauseCell::default()
                });
            }
            Victims { pairs, cells }
        }

        fn invalidated(&mut self, before: u32, victim: u32) -> u32 {
            let place = |cell| AccessPlace { cell, offset: 0 };
            (self.pairs).invalidated(before, place(0), place(victim), victim % 2)
        }

        /// Invalidations by victim, those of all others, and what is not listed.
        fn finish(self) -> (HashMap<u32, SharedData>, SharedData, Option<UnlistedPairs>) {
            let sites = 0..self.cells;
            // Cell 0 is at place 1: place 0 is unknown.
            let place = |site| CellPlace {
                site: site + 1,
                object: 1,
            };
            let places: Vec<CellPlace> = sites.map(place).collect();
            let mut cells = vec![CellCauses::default(); places.len()];
            let (shared, unlisted) = self.pairs.finish(&mut cells, &places);
            let others = shared.iter().find(|it| it.victim == SharedEnd::default());
            let listed = shared.iter().filter(|it| it.victim.object == 1);
            let listed = listed.map(|it| (it.victim.site - 1, *it)).collect();
            let sums = |of: fn(&CellCauses) -> u64| cells.iter().map(of).sum::<u64>();
            let all: u64 = shared.iter().map(|it| it.true_sharing).sum();
            assert_eq!(all, sums(|it| it.true_sharing));
            let all: u64 = shared.iter().map(|it| it.false_sharing).sum();
            assert_eq!(all, sums(|it| it.false_sharing));
            (listed, others.copied().unwrap_or_default(), unlisted)
        }
    }

    #[test]
    fn the_rarer_half_counts_for_one_pair() {
        let mut victims = Victims::new(4, 6);
        let mut numbers = Vec::new();
        for victim in 0..5 {
            // Later victims have more, so that the first two are given up for the last one.
            let mut number = NO_PAIR;
            for _ in 0..=victim {
                number = victims.invalidated(number, victim);
                numbers.push((number, victim));
            }
        }
        for (number, victim) in numbers {
            victims.pairs.count_true(number, victim);
        }
        // A victim without a slot counts for the others, and gets a slot as it turns up again.
        let again = victims.invalidated(NO_PAIR, 1);
        victims.pairs.count_false(again, 1);
        let (listed, others, unlisted) = victims.finish();
        let counts = |it: &SharedData| (it.true_sharing, it.false_sharing, it.lines);
        assert_eq!(counts(&others), (1 + 2, 0, 2));
        assert_eq!(counts(&listed[&1]), (0, 1, 1));
        for victim in 2..5 {
            assert_eq!(counts(&listed[&victim]), (u64::from(victim) + 1, 0, 1));
        }
        let expected = UnlistedPairs {
            invalidations: 3,
            most_of_a_pair: 2,
        };
        assert_eq!(unlisted, Some(expected));
    }

    /// Whatever turns up in whatever order: sums are exact, no pair has more than it should, and
    /// none lacks more than is stated, whether it is listed or not.
    #[test]
    fn no_pair_lacks_more_than_is_stated() {
        let mut state = 1_u64;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) % limit
        };
        for round in 0..300 {
            let (most, cells) = (2 + below(20) as usize, 2 + below(60));
            let mut victims = Victims::new(most, cells as u32);
            let mut known = vec![NO_PAIR; cells as usize];
            let mut waiting: Vec<(u32, u32)> = Vec::new();
            let mut exact = vec![0_u64; cells as usize];
            for _ in 0..below(2000) {
                let limit = 1 + below(cells);
                let victim = below(limit) as u32;
                let before = known[victim as usize];
                known[victim as usize] = victims.invalidated(before, victim);
                exact[victim as usize] += 1;
                waiting.push((known[victim as usize], victim));
                // Their kinds are known later, in any order.
                while waiting.len() > 5 {
                    let (number, victim) = waiting.swap_remove(below(5) as usize);
                    match below(2) {
                        0 => victims.pairs.count_true(number, victim),
                        _ => victims.pairs.count_false(number, victim),
                    }
                }
            }
            for (number, victim) in waiting {
                victims.pairs.count_true(number, victim);
            }
            let (listed, others, unlisted) = victims.finish();
            let sum = |it: &SharedData| it.true_sharing + it.false_sharing;
            let unlisted = unlisted.unwrap_or_default();
            assert_eq!(sum(&others), unlisted.invalidations);
            let all = listed.values().map(sum).sum::<u64>() + unlisted.invalidations;
            assert_eq!(all, exact.iter().sum::<u64>());
            for (victim, exact) in (0..).zip(exact) {
                let counted = listed.get(&victim).map_or(0, sum);
                let range = counted..=counted + unlisted.most_of_a_pair;
                assert!(range.contains(&exact), "{round}: {exact} not in {range:?}");
            }
            if cells as usize <= most {
                assert_eq!(unlisted, UnlistedPairs::default());
            }
        }
    }
}
