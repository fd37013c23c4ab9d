//! The smallest groups of accesses, numbered as they turn up.

use crate::hash::FastMap;

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

impl CellKey {
    fn packed(self) -> u128 {
        let high = u128::from(self.site) << 32 | u128::from(self.object);
        high << 64 | u128::from(self.context) << 32 | u128::from(self.thread)
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

/// The cells so far.
#[derive(Debug)]
pub(crate) struct CellTable {
    keys: Vec<CellKey>,
    numbers: FastMap<u128, u32>,
    max: usize,
}

impl CellTable {
    /// Contexts fold from `max` cells on, everything from twice that.
    pub fn new(max: usize) -> Self {
        let max = max.clamp(1, 1 << 30);
        CellTable {
            keys: Vec::new(),
            numbers: FastMap::default(),
            max,
        }
    }

    /// The number of a cell that exists.
    pub fn get(&self, key: CellKey) -> Option<u32> {
        self.numbers.get(&key.packed()).copied()
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
        let next = self.keys.len() as u32;
        let number = *self.numbers.entry(key.packed()).or_insert(next);
        if number == next {
            self.keys.push(key);
        }
        number
    }

    /// The keys, by number.
    pub fn keys(&self) -> &[CellKey] {
        &self.keys
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        (self.keys.capacity() * 16 + self.numbers.capacity() * 33) as u64
    }
}
