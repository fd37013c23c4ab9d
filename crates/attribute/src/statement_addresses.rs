//! The addresses that the present statement has accessed.

use reuselens_hugepages::random_key;

use crate::hash::GOLDEN;

/// A set of addresses that each statement empties in constant time.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatementAddresses {
    /// An address, and the number of the statement that accessed it last.
    slots: Vec<(u64, u64)>,
    /// The number of the present statement; 0 before the first.
    statement: u64,
    used: usize,
    /// A random key, drawn with the first slots: a thread without statements costs nothing.
    key: u64,
}

/// Most addresses kept per statement (16 MiB). Later addresses always count as new.
const MAX_ADDRESSES: usize = 1 << 19;

impl StatementAddresses {
    /// Begins a statement.
    pub fn begin(&mut self) {
        self.statement += 1;
        self.used = 0;
    }

    /// Adds an address. Returns false if the statement has accessed it before.
    pub fn insert(&mut self, address: u64) -> bool {
        if self.statement == 0 || self.used >= MAX_ADDRESSES {
            return true;
        }
        if 2 * (self.used + 1) > self.slots.len() {
            self.grow();
        }
        let index = self.find(address);
        if self.slots[index] == (address, self.statement) {
            return false;
        }
        self.slots[index] = (address, self.statement);
        self.used += 1;
        true
    }

    /// The slot of an address, or the slot where it belongs. Slots of earlier statements are free.
    fn find(&self, address: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut index = ((address ^ self.key).wrapping_mul(GOLDEN) >> 32) as usize & mask;
        while self.slots[index].1 == self.statement && self.slots[index].0 != address {
            index = (index + 1) & mask;
        }
        index
    }

    fn grow(&mut self) {
        if self.slots.is_empty() {
            self.key = random_key();
        }
        let len = (2 * self.slots.len()).max(16);
        let old = std::mem::replace(&mut self.slots, vec![(0, 0); len]);
        for (address, _) in old.into_iter().filter(|slot| slot.1 == self.statement) {
            let index = self.find(address);
            self.slots[index] = (address, self.statement);
        }
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        (self.slots.capacity() * 16) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insert_reports_repeats_within_a_statement_only() {
        let mut addresses = StatementAddresses::default();
        assert!(
            addresses.insert(5) && addresses.insert(5),
            "no statement yet"
        );
        for _ in 0..3 {
            addresses.begin();
            for address in 0..100 {
                assert!(addresses.insert(address));
            }
            for address in 0..100 {
                assert!(!addresses.insert(address));
            }
        }
    }
}
