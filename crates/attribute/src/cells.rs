//! The smallest groups of accesses, numbered as they turn up.

use std::fmt;

use reuselens_hugepages::{Huge, random_key};

use crate::hash::GOLDEN;
use crate::objects::Objects;

/// What the accesses of a cell have in common: indices into the tables of the same
/// [`Tables`](crate::Tables).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellKey {
    /// Index into the sites; 0 = unknown.
    pub site: u32,
    /// Index into the objects; 0 = unknown.
    pub object: u32,
    /// Index into the contexts; 0 = root. While the trace is read also with a bit of coarse cells.
    pub context: u32,
    /// Index into the threads.
    pub thread: u32,
}

impl CellKey {
    /// The key of all other objects with the same code, context and thread.
    pub(crate) fn of_other_objects(self) -> CellKey {
        CellKey {
            object: Objects::OTHER,
            ..self
        }
    }
}

/// A bit of the context in the key of a cell that was made for several groups: its accesses were
/// made anywhere below that context.
pub(crate) const COARSE: u32 = 1 << 21;
/// The thread of cells for several threads: no thread has this number.
pub(crate) const OTHER_THREADS: u32 = (1 << 30) - 1;
/// The site of numbers that are of no cell for now.
const FREE: u32 = u32::MAX;

/// Bits of a context in the first word of a packed key, and of an object: see [`MAX_OBJECTS`].
///
/// [`MAX_OBJECTS`]: crate::shadow::MAX_OBJECTS
const CONTEXT_BITS: u32 = 20;
const OBJECT_BITS: u32 = 24;

/// A key in twelve bytes: sites have numbers below 2²⁰, objects below 2²⁴, contexts below 2²¹ (and
/// [`COARSE`]), threads below 2³⁰.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedKey {
    /// Site, object, and all but two of the bits of the context, from the top.
    word: u64,
    /// Thread, and the upper two bits of the context.
    rest: u32,
}

impl PackedKey {
    /// A key; `owner` is its context and, below, its thread.
    #[inline(always)]
    pub fn new(site: u32, object: u32, owner: u64) -> Self {
        let (context, thread) = ((owner >> 32) as u32, owner as u32);
        let object = u64::from(object) << CONTEXT_BITS;
        let low = u64::from(context & ((1 << CONTEXT_BITS) - 1));
        PackedKey {
            word: u64::from(site) << (CONTEXT_BITS + OBJECT_BITS) | object | low,
            rest: thread << 2 | context >> CONTEXT_BITS,
        }
    }

    /// The key in two words; the lower half of the second is 0.
    #[inline(always)]
    pub fn words(self) -> [u64; 2] {
        [self.word, u64::from(self.rest) << 32]
    }

    #[inline(always)]
    pub fn key(self) -> CellKey {
        let mask = |bits: u32| (1_u64 << bits) - 1;
        let low = self.word & mask(CONTEXT_BITS);
        CellKey {
            site: (self.word >> (CONTEXT_BITS + OBJECT_BITS)) as u32,
            object: (self.word >> CONTEXT_BITS & mask(OBJECT_BITS)) as u32,
            context: low as u32 | (self.rest & 3) << CONTEXT_BITS,
            thread: self.rest >> 2,
        }
    }

    /// Context and, below, thread.
    #[inline(always)]
    pub fn owner(self) -> u64 {
        let key = self.key();
        u64::from(key.context) << 32 | u64::from(key.thread)
    }

    /// Sites that follow each other are mostly of one function, so four of them share a line of the
    /// table: what one call touches lies close together.
    #[inline(always)]
    pub fn hash(self) -> u64 {
        let word = self.word & !(3 << (CONTEXT_BITS + OBJECT_BITS));
        let product = u128::from(word ^ u64::from(self.rest).rotate_left(40)) * u128::from(GOLDEN);
        (product >> 64) as u64 ^ product as u64
    }
}

impl From<CellKey> for PackedKey {
    fn from(key: CellKey) -> Self {
        let owner = u64::from(key.context) << 32 | u64::from(key.thread);
        PackedKey::new(key.site, key.object, owner)
    }
}

/// Entries that are looked at together: a cache line.
const LINE: usize = 4;

/// Four entries of two words: the first of the key; the rest of the key and, below, the number of
/// the cell plus one. 0 is free, and what is free comes last.
type Line = [u64; 2 * LINE];

fn entry(key: PackedKey, cell: u32) -> [u64; 2] {
    let [word, rest] = key.words();
    [word, rest | (u64::from(cell) + 1)]
}

/// The cell of a key in a line.
#[inline(always)]
fn find(line: &Line, key: PackedKey) -> Option<u32> {
    let (entries, _) = line.as_chunks::<2>();
    let same = |[word, rest]: &[u64; 2]| {
        *word == key.word && (rest >> 32) as u32 == key.rest && *rest as u32 != 0
    };
    let found = entries.iter().find(|entry| same(entry))?;
    Some(found[1] as u32 - 1)
}

/// Removes the entry of a key that the line has. Returns whether the line was full.
fn take_from(line: &mut Line, key: PackedKey) -> bool {
    let was_full = line[2 * LINE - 1] != 0;
    let (entries, _) = line.as_chunks_mut::<2>();
    let used = entries.iter().filter(|entry| entry[1] != 0).count();
    let of_key = |[word, rest]: &[u64; 2]| *word == key.word && (rest >> 32) as u32 == key.rest;
    if let Some(at) = entries[..used].iter().position(of_key) {
        entries.swap(at, used - 1);
        entries[used - 1] = [0; 2];
    }
    was_full
}

/// The cells so far: a hash table of lines, at most half full; what finds its line full is in the
/// next.
pub(crate) struct CellTable {
    keys: Vec<CellKey>,
    /// Numbers that are of no cell; the last is used first.
    free: Vec<u32>,
    /// By number, whether the cell is retired, as far as some are.
    retired: Vec<bool>,
    lines: Huge<Line>,
    max: usize,
    /// What makes the lines of keys unknown to whoever chose the accesses.
    line_key: u64,
}

impl fmt::Debug for CellTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CellTable")
            .field("cells", &self.len())
            .finish_non_exhaustive()
    }
}

impl CellTable {
    /// Any key gets a cell up to `max` cells: see [`Self::has_room`].
    pub fn new(max: usize) -> Self {
        CellTable {
            keys: Vec::new(),
            free: Vec::new(),
            retired: Vec::new(),
            lines: Huge::new(64),
            max: max.clamp(1, 1 << 30),
            line_key: random_key(),
        }
    }

    /// The line in which the search for a key with this hash begins.
    #[inline(always)]
    fn line(&self, hash: u64) -> usize {
        let spread = (hash ^ self.line_key).wrapping_mul(GOLDEN) >> 32;
        spread as usize & (self.lines.len() - 1)
    }

    /// Asks for the lines of a key with this hash ahead of their use.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        reuselens_hugepages::prefetch(&self.lines, self.line(hash));
    }

    /// The number of a cell that exists; `hash` is the key's.
    #[inline(always)]
    pub fn look(&self, key: PackedKey, hash: u64) -> Option<u32> {
        let mask = self.lines.len() - 1;
        let mut home = self.line(hash);
        loop {
            let line = &self.lines[home];
            let found = find(line, key);
            if found.is_some() || line[2 * LINE - 1] == 0 {
                return found;
            }
            home = (home + 1) & mask;
        }
    }

    /// The number of a cell that exists.
    pub fn get(&self, key: CellKey) -> Option<u32> {
        let key = PackedKey::from(key);
        self.look(key, key.hash())
    }

    /// The most cells that are made as they come.
    pub fn max(&self) -> usize {
        self.max
    }

    /// The cells that there are.
    pub fn len(&self) -> usize {
        self.keys.len() - self.free.len()
    }

    /// Whether any key gets a cell.
    pub fn has_room(&self) -> bool {
        self.keys.len() < self.max
    }

    /// Whether a group of several threads gets a cell: as many as there are of single threads.
    pub fn has_room_for_threads(&self) -> bool {
        self.keys.len() < 2 * self.max
    }

    /// Whether there is room for lines, with whatever is accessed from wherever.
    pub fn has_room_for_lines(&self) -> bool {
        self.keys.len() < 16 * self.max
    }

    /// The number of a cell, made if it is new.
    pub fn get_or_add(&mut self, key: CellKey) -> u32 {
        self.get(key).unwrap_or_else(|| self.add(key))
    }

    /// The number of a new cell, for a key that has none.
    pub fn add(&mut self, key: CellKey) -> u32 {
        if 2 * (self.keys.len() + 1) > LINE * self.lines.len() {
            self.grow();
        }
        let number = match self.free.pop() {
            Some(number) => {
                self.keys[number as usize] = key;
                number
            }
            None => {
                self.keys.push(key);
                self.keys.len() as u32 - 1
            }
        };
        self.insert(number);
        number
    }

    /// Puts a cell that is not there into the first line with room, from its own on.
    fn insert(&mut self, number: u32) {
        let key = PackedKey::from(self.keys[number as usize]);
        let mask = self.lines.len() - 1;
        let mut home = self.line(key.hash());
        loop {
            let (entries, _) = self.lines[home].as_chunks_mut::<2>();
            if let Some(free) = entries.iter_mut().find(|entry| entry[1] == 0) {
                *free = entry(key, number);
                return;
            }
            home = (home + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.lines = Huge::new(2 * self.lines.len());
        let cells: Vec<u32> = self.numbers().collect();
        cells.into_iter().for_each(|number| self.insert(number));
    }

    /// Removes cells. Their numbers are given to the next new ones. Cost: a look at some lines for
    /// each cell.
    pub fn remove(&mut self, numbers: impl DoubleEndedIterator<Item = u32>) {
        for number in numbers.rev() {
            self.remove_entry(number);
            self.keys[number as usize].site = FREE;
            self.free.push(number);
        }
    }

    /// Retires the cells of an object: later accesses with their keys get cells of other numbers.
    /// Returns whether there were any. Cost: linear in all cells.
    pub fn retire(&mut self, object: u32) -> bool {
        let is_it = |number: &u32| self.keys[*number as usize].object == object;
        let old: Vec<u32> = self.numbers().filter(is_it).collect();
        if old.is_empty() {
            return false;
        }
        self.retired.resize(self.keys.len(), false);
        for number in &old {
            self.remove_entry(*number);
            self.retired[*number as usize] = true;
        }
        true
    }

    /// Whether a cell is retired.
    pub fn is_retired(&self, number: u32) -> bool {
        self.retired.get(number as usize).is_some_and(|it| *it)
    }

    /// Removes the entry of a cell from its line. If the line was full, entries of the lines after
    /// it may belong there: those up to the first line with room are put in anew.
    fn remove_entry(&mut self, number: u32) {
        let key = PackedKey::from(self.keys[number as usize]);
        let mask = self.lines.len() - 1;
        let mut home = self.line(key.hash());
        while find(&self.lines[home], key).is_none() {
            home = (home + 1) & mask;
        }
        let mut was_full = take_from(&mut self.lines[home], key);
        while was_full {
            home = (home + 1) & mask;
            let line = std::mem::replace(&mut self.lines[home], [0; 2 * LINE]);
            was_full = line[2 * LINE - 1] != 0;
            let (entries, _) = line.as_chunks::<2>();
            for [_, rest] in entries.iter().filter(|entry| entry[1] != 0) {
                self.insert(*rest as u32 - 1);
            }
        }
    }

    /// The numbers of the cells that there are, ascending, without those that are retired.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        let keys = (0..).zip(&self.keys);
        keys.filter(|(number, key)| key.site != FREE && !self.is_retired(*number))
            .map(|(number, _)| number)
    }

    /// The keys, by number. Numbers of no cell have keys without meaning.
    pub fn keys(&self) -> &[CellKey] {
        &self.keys
    }

    /// The keys, by number. A number of no cell has the key of a cell. The table is empty after
    /// that.
    pub fn take_keys(&mut self) -> Vec<CellKey> {
        let mut table = std::mem::replace(self, CellTable::new(1));
        let first = table.numbers().next();
        if let Some(first) = first {
            let first = table.keys[first as usize];
            for number in table.free {
                table.keys[number as usize] = first;
            }
        }
        table.keys
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        let numbers = self.free.capacity() * size_of::<u32>();
        (self.keys.capacity() * size_of::<CellKey>() + numbers + self.lines.bytes()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_packed_and_unpacked() {
        for site in [0, 1, 77, (1 << 20) - 1] {
            for object in [0, 5, (1 << 24) - 1] {
                for context in [0, 9, (1 << 20) - 1, 1 << 20, 9 | COARSE, 1 << 20 | COARSE] {
                    for thread in [0, 3, (1 << 30) - 1] {
                        let key = CellKey {
                            site,
                            object,
                            context,
                            thread,
                        };
                        let packed = PackedKey::from(key);
                        assert_eq!(packed.key(), key);
                        let owner = packed.owner();
                        assert_eq!((owner >> 32, owner as u32), (context.into(), thread));
                    }
                }
            }
        }
    }

    /// Keys whose hashes are the same in all bits that a small table looks at.
    #[test]
    fn cells_chosen_to_collide_do_not() {
        let all = (0..1 << 10).flat_map(|site| (0..1 << 10).map(move |object| (4 * site, object)));
        let key = |(site, object)| CellKey {
            site,
            object,
            ..CellKey::default()
        };
        let chosen = |key: &CellKey| PackedKey::from(*key).hash() & 0xfff == 0;
        let mut table = CellTable::new(1 << 20);
        for key in all.map(key).filter(chosen) {
            table.get_or_add(key);
        }
        assert!((150..1000).contains(&table.keys.len()));
        let full = |line: &&Line| line[2 * LINE - 1] != 0;
        let full = table.lines.iter().filter(full).count();
        // All in one run of full lines would be a fourth of the keys.
        assert!(
            full < table.keys.len() / 8,
            "{full} lines of {} keys",
            table.keys.len()
        );
    }

    #[test]
    fn numbers_of_removed_cells_are_used_again() {
        let mut table = CellTable::new(1 << 20);
        let key = |site: u32| CellKey {
            site,
            object: 7,
            context: site | COARSE,
            thread: 1,
        };
        (0..1000).for_each(|site| assert_eq!(table.get_or_add(key(site)), site));
        table.remove((0..1000).step_by(2));
        assert_eq!(table.len(), 500);
        let found: Vec<_> = (0..1000).filter_map(|site| table.get(key(site))).collect();
        assert_eq!(found, table.numbers().collect::<Vec<_>>());
        assert!(found.iter().all(|number| number % 2 == 1));
        for site in 1000..1600 {
            let number = match site {
                ..1500 => 2 * (site - 1000),
                _ => site - 500,
            };
            assert_eq!(table.get_or_add(key(site)), number);
        }
        table.remove([5, 3].into_iter());
        let keys = table.take_keys();
        assert_eq!((keys[3], keys[5]), (key(1000), key(1000)));
    }

    #[test]
    fn accesses_after_a_cell_is_retired_get_another() {
        let mut table = CellTable::new(1 << 20);
        let key = |site: u32| CellKey {
            site,
            object: site % 2,
            ..CellKey::default()
        };
        (0..10).for_each(|site| assert_eq!(table.get_or_add(key(site)), site));
        assert!(table.retire(1) && !table.retire(1) && !table.retire(7));
        assert_eq!(table.numbers().collect::<Vec<_>>(), [0, 2, 4, 6, 8]);
        assert_eq!(table.get_or_add(key(3)), 10);
        assert_eq!(table.get_or_add(key(4)), 4);
        // Retired cells stay retired while the table grows, and keep their keys.
        (100..1000).for_each(|site| {
            table.get_or_add(key(site));
        });
        assert_eq!(table.get_or_add(key(3)), 10);
        assert!(table.is_retired(3) && !table.is_retired(10));
        assert_eq!(table.take_keys()[3], key(3));
    }

    #[test]
    fn removed_cells_are_gone_and_all_others_are_found() {
        let mut table = CellTable::new(1 << 20);
        let mut model = std::collections::BTreeMap::new();
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % below
        };
        let key = |number: u64| CellKey {
            site: number as u32 % 64,
            object: number as u32 / 64,
            ..CellKey::default()
        };
        for _ in 0..200 {
            for _ in 0..next(300) {
                let key = key(next(4_000));
                let number = table.get_or_add(key);
                assert_eq!(*model.entry(key).or_insert(number), number);
            }
            let mut gone: Vec<(CellKey, u32)> = Vec::new();
            for _ in 0..next(300) {
                gone.extend(model.remove_entry(&key(next(4_000))));
            }
            table.remove(gone.iter().map(|(_, number)| *number));
            assert!(gone.iter().all(|(key, _)| table.get(*key).is_none()));
            assert!(
                model
                    .iter()
                    .all(|(key, number)| table.get(*key) == Some(*number))
            );
            assert_eq!(table.len(), model.len());
        }
    }

    #[test]
    fn cells_keep_their_numbers_while_the_table_grows() {
        let mut table = CellTable::new(1 << 20);
        let key = |number: u32| CellKey {
            site: number % 97,
            object: number / 97 % 11,
            context: number / 1067,
            thread: 0,
        };
        for round in 0..2 {
            for number in 0..20_000 {
                let found = table.get(key(number));
                assert_eq!(found, (round == 1).then_some(number));
                assert_eq!(table.get_or_add(key(number)), number);
            }
        }
        assert_eq!(table.keys().len(), 20_000);
        assert_eq!(
            table.get(CellKey {
                thread: 1,
                ..key(4)
            }),
            None
        );
    }
}
