//! Blocks on paths, by block and outcomes.

use super::{Node, PathStep, PathTable};
use crate::path::{Path, Traces};

impl PathTable {
    pub(super) fn key(&self, step: &PathStep) -> (u64, u32) {
        (step.block, Path::newest(step.path.outcomes, self.length))
    }

    /// The slot where a step belongs, if it is free.
    #[inline(always)]
    pub(super) fn home(&self, step: &PathStep) -> usize {
        hash(self.key(step)) as usize & (self.slots.len() - 1)
    }

    /// The node of a step, which may be the guessed one.
    #[inline(always)]
    pub(super) fn enter(&mut self, step: &PathStep, guess: u32) -> u32 {
        let key = self.key(step);
        let node = match self.nodes.get((guess as usize).wrapping_sub(1)) {
            Some(node) if (node.block, node.outcomes) == key => guess,
            _ => self.find(key, step),
        };
        self.nodes[node as usize - 1].traces.add(&step.path.trace);
        node
    }

    #[inline(never)]
    pub(super) fn find(&mut self, key: (u64, u32), step: &PathStep) -> u32 {
        let slot = self.slot(key);
        match self.slots[slot] {
            0 => {
                reuselens_memory::reserve(&mut self.nodes, 1);
                self.nodes.push(Node {
                    block: key.0,
                    outcomes: key.1,
                    first: self.counts.len() as u32,
                    traces: Traces::new(step.path.trace),
                    length: 0,
                    room: 0,
                });
                let node = self.nodes.len() as u32;
                self.slots[slot] = node;
                if self.nodes.len() * 2 > self.slots.len() {
                    self.index(self.slots.len() * 2);
                }
                node
            }
            node => node,
        }
    }

    /// The slot of a key, or the free one where it belongs.
    fn slot(&self, key: (u64, u32)) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash(key) as usize & mask;
        loop {
            match self.slots[slot].checked_sub(1) {
                Some(at) => {
                    let node = &self.nodes[at as usize];
                    if (node.block, node.outcomes) == key {
                        return slot;
                    }
                    slot = (slot + 1) & mask;
                }
                None => return slot,
            }
        }
    }

    pub(super) fn index(&mut self, slots: usize) {
        self.slots.clear();
        reuselens_memory::reserve(&mut self.slots, slots);
        self.slots.resize(slots, 0);
        for at in 0..self.nodes.len() {
            let slot = self.slot((self.nodes[at].block, self.nodes[at].outcomes));
            self.slots[slot] = at as u32 + 1;
        }
    }
}

/// Where a node is looked for.
#[inline(always)]
fn hash((block, outcomes): (u64, u32)) -> u64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    (block.wrapping_mul(GOLDEN) ^ u64::from(outcomes)).wrapping_mul(GOLDEN) >> 24
}
