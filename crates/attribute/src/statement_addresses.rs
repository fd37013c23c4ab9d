//! The addresses that a statement has touched.

use reuselens_memory::random_key;

use crate::hash::GOLDEN;

/// A set that is emptied in constant time, at every statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// Address and the statement that touched it.
    slots: Vec<(u64, u64)>,
    /// Number of the statement; 0 = none began yet.
    statement: u64,
    used: usize,
    /// Drawn with the first slots, so that a thread without statements costs nothing.
    key: u64,
}

/// Addresses per statement beyond which repetitions are no longer seen: 16 MiB of table.
const MAX_ADDRESSES: usize = 1 << 19;

impl Touched {
    /// A statement begins.
    pub fn begin(&mut self) {
        self.statement += 1;
        self.used = 0;
    }

    /// Notes an address; false if the statement has touched it before.
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

    /// Where an address is or belongs: slots of earlier statements are free.
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
    fn repetitions_end_with_the_statement() {
        let mut touched = Touched::default();
        assert!(touched.insert(5) && touched.insert(5), "no statement yet");
        for _ in 0..3 {
            touched.begin();
            for address in 0..100 {
                assert!(touched.insert(address));
            }
            for address in 0..100 {
                assert!(!touched.insert(address));
            }
        }
    }
}
