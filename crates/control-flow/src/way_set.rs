//! [`WaySet`]: the ways that a thread took.

use crate::address_hash::AddressHash;

/// Pairs of numbers. Cost: a hashed look-up. Memory: 16 to 32 bytes per pair.
#[derive(Clone, Debug)]
pub(crate) struct WaySet {
    /// Open addressing: both numbers, or 0. At most half full.
    slots: Vec<u64>,
    count: usize,
    hash: AddressHash,
}

impl WaySet {
    /// No way.
    pub fn new() -> Self {
        WaySet {
            slots: vec![0; 256],
            count: 0,
            hash: AddressHash::new(),
        }
    }

    /// Adds a way to a place that is not 0; false if it was there.
    pub fn insert(&mut self, from: u32, to: u32) -> bool {
        let way = u64::from(from) << 32 | u64::from(to);
        let slot = self.slot(way);
        if self.slots[slot] == way {
            return false;
        }
        self.slots[slot] = way;
        self.count += 1;
        if self.count * 2 > self.slots.len() {
            let larger = vec![0; self.slots.len() * 2];
            for way in std::mem::replace(&mut self.slots, larger) {
                if way != 0 {
                    let slot = self.slot(way);
                    self.slots[slot] = way;
                }
            }
        }
        true
    }

    fn slot(&self, way: u64) -> usize {
        let mut slot = self.hash.slot(way, self.slots.len());
        while self.slots[slot] != 0 && self.slots[slot] != way {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }
}
