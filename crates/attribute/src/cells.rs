//! The smallest groups of accesses, numbered as they turn up.

use crate::hash::GOLDEN;

/// What the accesses of a cell have in common: indices into the tables of the same
/// [`Tables`](crate::Tables).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellKey {
    /// Index into the sites; 0 = unknown.
    pub site: u32,
    /// Index into the objects; 0 = unknown.
    pub object: u32,
    /// Index into the contexts; 0 = root.
    pub context: u32,
    /// Index into the threads.
    pub thread: u32,
}

/// Bits of a context in the first word of a packed key, and of an object: see [`MAX_OBJECTS`].
///
/// [`MAX_OBJECTS`]: crate::shadow::MAX_OBJECTS
const CONTEXT_BITS: u32 = 20;
const OBJECT_BITS: u32 = 24;

/// A key in twelve bytes: sites have numbers below 2²⁰, objects below 2²⁴, contexts below 2²¹.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    /// Site, object, and all but one of the bits of the context, from the top.
    word: u64,
    /// Thread, and the last bit of the context.
    rest: u32,
}

impl Packed {
    /// A key; `owner` is its context and, below, its thread.
    #[inline(always)]
    pub fn new(site: u32, object: u32, owner: u64) -> Self {
        let (context, thread) = ((owner >> 32) as u32, owner as u32);
        let object = u64::from(object) << CONTEXT_BITS;
        let low = u64::from(context & ((1 << CONTEXT_BITS) - 1));
        Packed {
            word: u64::from(site) << (CONTEXT_BITS + OBJECT_BITS) | object | low,
            rest: thread << 1 | context >> CONTEXT_BITS,
        }
    }

    #[inline(always)]
    pub fn key(self) -> CellKey {
        let mask = |bits: u32| (1_u64 << bits) - 1;
        let low = self.word & mask(CONTEXT_BITS);
        CellKey {
            site: (self.word >> (CONTEXT_BITS + OBJECT_BITS)) as u32,
            object: (self.word >> CONTEXT_BITS & mask(OBJECT_BITS)) as u32,
            context: low as u32 | (self.rest & 1) << CONTEXT_BITS,
            thread: self.rest >> 1,
        }
    }

    /// Context and, below, thread.
    #[inline(always)]
    pub fn owner(self) -> u64 {
        let key = self.key();
        u64::from(key.context) << 32 | u64::from(key.thread)
    }

    /// Sites that follow each other are mostly of one function, so four of them share a line of the table: what
    /// one call touches lies close together.
    #[inline(always)]
    pub fn hash(self) -> u64 {
        let word = self.word & !(3 << (CONTEXT_BITS + OBJECT_BITS));
        let product = u128::from(word ^ u64::from(self.rest).rotate_left(40)) * u128::from(GOLDEN);
        (product >> 64) as u64 ^ product as u64
    }
}

impl From<CellKey> for Packed {
    fn from(key: CellKey) -> Self {
        let owner = u64::from(key.context) << 32 | u64::from(key.thread);
        Packed::new(key.site, key.object, owner)
    }
}

/// Which limit a new cell ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crowded {
    /// There is room.
    No,
    /// Contexts fold.
    Contexts,
    /// Everything folds.
    All,
}

/// A key and its cell.
#[derive(Clone, Copy, Debug)]
struct Entry {
    word: u64,
    rest: u32,
    cell: u32,
}

/// No cell.
const NONE: u32 = u32::MAX;
const FREE: Entry = Entry {
    word: 0,
    rest: 0,
    cell: NONE,
};

impl Entry {
    fn new(key: Packed, cell: u32) -> Self {
        Entry {
            word: key.word,
            rest: key.rest,
            cell,
        }
    }

    #[inline(always)]
    fn is(&self, key: Packed) -> bool {
        self.word == key.word && self.rest == key.rest && self.cell != NONE
    }
}

/// Entries that are looked at together.
const LINE: usize = 4;

/// A cache line of entries.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([Entry; LINE]);

/// Keys of cells that are folded, and what they fold to: so many of them are remembered.
const FOLDED: usize = 1 << 16;

/// The cells so far: a hash table of lines, at most half full; what finds its line full is in the next.
#[derive(Debug)]
pub(crate) struct CellTable {
    keys: Vec<CellKey>,
    lines: Vec<Line>,
    max: usize,
    /// By hash; empty before anything folds.
    folded: Vec<Entry>,
}

impl CellTable {
    /// Contexts fold from `max` cells on, everything from twice that.
    pub fn new(max: usize) -> Self {
        CellTable {
            keys: Vec::new(),
            lines: vec![Line([FREE; LINE]); 16],
            max: max.clamp(1, 1 << 30),
            folded: Vec::new(),
        }
    }

    /// Asks for the line of a key with this hash ahead of its use.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        reuselens_memory::prefetch(&self.lines, hash as usize & (self.lines.len() - 1));
    }

    /// The number of a cell that exists; `hash` is the key's.
    #[inline(always)]
    pub fn look(&self, key: Packed, hash: u64) -> Option<u32> {
        let mask = self.lines.len() - 1;
        let mut home = hash as usize & mask;
        loop {
            let line = &self.lines[home].0;
            if let Some(entry) = line.iter().find(|entry| entry.is(key)) {
                return Some(entry.cell);
            }
            if line[LINE - 1].cell == NONE {
                return None;
            }
            home = (home + 1) & mask;
        }
    }

    /// The number of a cell that exists.
    pub fn get(&self, key: CellKey) -> Option<u32> {
        let key = Packed::from(key);
        self.look(key, key.hash())
    }

    /// What a key is known to fold to.
    pub fn folded(&self, key: Packed, hash: u64) -> Option<u32> {
        let entry = self.folded.get(hash as usize % FOLDED)?;
        entry.is(key).then_some(entry.cell)
    }

    /// Remembers what a key folds to.
    pub fn fold(&mut self, key: Packed, hash: u64, cell: u32) {
        self.folded.resize(FOLDED, FREE);
        self.folded[hash as usize % FOLDED] = Entry::new(key, cell);
    }

    /// What a new cell would run into.
    pub fn crowded(&self) -> Crowded {
        match self.keys.len() {
            count if count < self.max => Crowded::No,
            count if count < 2 * self.max => Crowded::Contexts,
            _ => Crowded::All,
        }
    }

    /// The number of a cell, made if it is new.
    pub fn get_or_add(&mut self, key: CellKey) -> u32 {
        if let Some(number) = self.get(key) {
            return number;
        }
        if 2 * (self.keys.len() + 1) > LINE * self.lines.len() {
            self.grow();
        }
        let number = self.keys.len() as u32;
        self.keys.push(key);
        self.insert(number);
        number
    }

    /// Puts a cell that is not there into the first line with room, from its own on.
    fn insert(&mut self, number: u32) {
        let key = Packed::from(self.keys[number as usize]);
        let mask = self.lines.len() - 1;
        let mut home = key.hash() as usize & mask;
        loop {
            let mut entries = self.lines[home].0.iter_mut();
            if let Some(free) = entries.find(|entry| entry.cell == NONE) {
                *free = Entry::new(key, number);
                return;
            }
            home = (home + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.lines = vec![Line([FREE; LINE]); 2 * self.lines.len()];
        for number in 0..self.keys.len() as u32 {
            self.insert(number);
        }
    }

    /// The keys, by number.
    pub fn keys(&self) -> &[CellKey] {
        &self.keys
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        let entries = self.lines.len() * LINE + self.folded.len();
        (self.keys.capacity() * size_of::<CellKey>() + entries * size_of::<Entry>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_packed_and_unpacked() {
        for site in [0, 1, 77, (1 << 20) - 1] {
            for object in [0, 5, (1 << 24) - 1] {
                for context in [0, 9, (1 << 20) - 1, 1 << 20] {
                    for thread in [0, 3, 1 << 30] {
                        let key = CellKey {
                            site,
                            object,
                            context,
                            thread,
                        };
                        let packed = Packed::from(key);
                        assert_eq!(packed.key(), key);
                        let owner = packed.owner();
                        assert_eq!((owner >> 32, owner as u32), (context.into(), thread));
                    }
                }
            }
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
