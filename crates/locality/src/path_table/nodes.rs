//! The nodes of the table, which are blocks on paths, and the hash table that finds a node by block
//! and outcomes.

use super::{LENGTHS, PathNode, PathStep, PathTable};
use crate::path::{Path, Traces};

/// A block, outcomes before it, and how many those are.
pub(super) type Key = (u64, u32, u8);

impl PathNode {
    /// The key that finds it.
    #[inline(always)]
    pub fn key(&self) -> Key {
        (self.block, self.outcomes, self.traces.length() as u8)
    }
}

impl PathTable {
    /// The key of a step whose path is cut to `length` outcomes.
    #[inline(always)]
    fn key(step: &PathStep, length: u32) -> Key {
        (
            step.block,
            Path::newest(step.path.outcomes, length),
            length as u8,
        )
    }

    /// The slot where a step belongs, if it is free.
    #[inline(always)]
    pub(super) fn home(&self, step: &PathStep) -> usize {
        self.home_of(step, self.length)
    }

    /// The slot where a step belongs whose path is cut to `length` outcomes.
    #[inline(always)]
    pub(super) fn home_of(&self, step: &PathStep, length: u32) -> usize {
        self.hash(Self::key(step, length)) as usize & (self.slots.len() - 1)
    }

    /// The node of a step whose path is cut to `length` outcomes, if it is in its first slot, as
    /// most are; 0 if another node or none is there.
    #[inline(always)]
    pub(super) fn guess(&self, step: &PathStep, length: u32) -> u32 {
        let hash = self.hash(Self::key(step, length));
        let found = self.slots[hash as usize & (self.slots.len() - 1)];
        if tag(found) == tag(hash) {
            number(found)
        } else {
            0
        }
    }

    /// Whether the table may have shortened paths.
    #[inline(always)]
    pub(super) fn has_shortened(&self) -> bool {
        !self.admission.is_open()
    }

    /// The node of a step, which may be the guessed one.
    #[inline(always)]
    pub(super) fn enter(&mut self, step: &PathStep, guess: u32) -> u32 {
        let key = Self::key(step, self.length);
        let node = match self.nodes.get((guess as usize).wrapping_sub(1)) {
            Some(node) if node.key() == key => guess,
            _ => self.find(step),
        };
        self.nodes[node as usize - 1].traces.add(&step.path.trace);
        node
    }

    /// The node of the longest end of the path that the table has, or a new node if the path is
    /// inserted. A step that continues another is never inserted.
    #[inline(never)]
    pub(super) fn find(&mut self, step: &PathStep) -> u32 {
        let slot = self.slot(Self::key(step, self.length));
        if self.slots[slot] != FREE {
            return number(self.slots[slot]);
        }
        let shorter = LENGTHS
            .into_iter()
            .rev()
            .filter(|length| *length < self.length);
        let known = if self.admission.is_open() {
            None
        } else {
            shorter.clone().find_map(|length| {
                let found = self.slots[self.slot(Self::key(step, length))];
                (found != FREE).then(|| (length, number(found)))
            })
        };
        // As long as no path was shortened there is room for more.
        let Some((known, node)) = known else {
            return self.push(Self::key(step, self.length), slot, step);
        };
        let longer = [self.length].into_iter().chain(shorter);
        let mut longer = longer.take_while(|length| *length > known);
        match longer.find(|length| !step.continued && self.admission.admits(*length)) {
            Some(length) => {
                let key = Self::key(step, length);
                self.push(key, self.slot(key), step)
            }
            None => node,
        }
    }

    /// Puts a new node in a free slot.
    fn push(&mut self, key: Key, slot: usize, step: &PathStep) -> u32 {
        reuselens_hugepages::reserve(&mut self.nodes, 1);
        self.nodes.push(PathNode {
            block: key.0,
            outcomes: key.1,
            first: self.counts.len() as u32,
            traces: Traces::new(step.path.trace, u32::from(key.2)),
            length: 0,
            room: 0,
        });
        let node = self.nodes.len() as u32;
        self.slots[slot] = self.entry(key, node);
        if self.nodes.len() * 2 > self.slots.len() {
            self.index(self.slots.len() * 2);
        }
        node
    }

    /// The slot of a key, or the free one where it belongs.
    fn slot(&self, key: Key) -> usize {
        let mask = self.slots.len() - 1;
        let hash = self.hash(key);
        let mut slot = hash as usize & mask;
        loop {
            #[cfg(test)]
            super::tests::step();
            let found = self.slots[slot];
            // Most other nodes differ in their tag, which needs no look at the node.
            let same = tag(found) == tag(hash)
                && found != FREE
                && self.nodes[number(found) as usize - 1].key() == key;
            if same || found == FREE {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    pub(super) fn index(&mut self, slots: usize) {
        self.slots.clear();
        reuselens_hugepages::reserve(&mut self.slots, slots);
        self.slots.resize(slots, FREE);
        for at in 0..self.nodes.len() {
            let key = self.nodes[at].key();
            let slot = self.slot(key);
            self.slots[slot] = self.entry(key, at as u32 + 1);
        }
    }

    /// The hash of a key. The table's random key changes bits of the block, so that the carries of
    /// the products differ. The slot is chosen by the highest bits of the second product, which
    /// depend on all bits.
    #[inline(always)]
    fn hash(&self, (block, outcomes, length): Key) -> u64 {
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        let path = u64::from(length) << 32 | u64::from(outcomes);
        let block = (block ^ self.key).wrapping_mul(GOLDEN);
        (block ^ path).wrapping_mul(GOLDEN).swap_bytes()
    }

    /// What is in the slot of a node: the upper half of its hash, and its number, counted from 1.
    fn entry(&self, key: Key, number: u32) -> u64 {
        tag(self.hash(key)) << 32 | u64::from(number)
    }
}

/// A slot without a node.
pub(super) const FREE: u64 = 0;

fn tag(hash: u64) -> u64 {
    hash >> 32
}

/// The number of the node in a slot.
#[inline(always)]
pub(super) fn number(entry: u64) -> u32 {
    entry as u32
}
