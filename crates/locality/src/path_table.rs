//! Distances for each path to each instruction, in one pass for all lengths of paths.

mod ahead;
#[cfg(test)]
mod tests;
mod uniting;

use std::collections::HashMap;

use reuselens_units::{Bytes, Distance};

use crate::path::{LONGEST, Path, PathShares, Traces};
use crate::path_cells::{PathCell, all_shares, join};
use crate::{PatternBins, PatternRule};
use ahead::AHEAD;

/// Lengths of paths that are kept when those of longer ones become too many.
const LENGTHS: [u32; 7] = [0, 1, 2, 4, 8, 16, LONGEST];

/// Instructions of a block on a path that are looked for one after the other; those behind are hashed. More are in few
/// basic blocks, and in all that runs before any block is known.
const LISTED: u32 = 64;

/// Touches that follow each other in one basic block.
#[derive(Clone, Copy, Debug)]
pub struct PathStep {
    /// The block: any number that it is known by.
    pub block: u64,
    /// The path to it.
    pub path: Path,
    /// The touch after its last one.
    pub until: u32,
}

/// A block that was reached on a path: what the instructions in it have in common.
#[derive(Clone, Debug)]
struct Node {
    block: u64,
    outcomes: u32,
    /// The first and the last instruction in `counts`, and one; 0 is none.
    first: u32,
    last: u32,
    /// How many there are.
    length: u32,
    traces: Traces,
}

/// An instruction in a block that was reached on a path.
#[derive(Clone, Debug)]
struct Count {
    site: u32,
    /// The instruction that came after this one in the block, and one; 0 is none.
    next: u32,
    bins: PatternBins,
}

/// Distances by instruction and path. A shorter path is the end of a longer one, so one look-up is enough for all
/// lengths: the longest is counted, the others are sums. And all instructions of a basic block are reached on
/// one path, so there is one look-up per block that runs; its instructions follow from there in their order.
///
/// Memory is bounded by the number of pairs of an instruction in a block and a path: when there would be more, the
/// length that is kept goes down (32, 16, 8, 4, 2, 1, 0), by which pairs fall together; [`length`](Self::length)
/// says where it is. All that is kept is exact. At length 0 there is one pair per instruction, bound or not.
///
/// Source: Fang et al. 2006, section 3.2; the bound and the one pass are ours.
#[derive(Clone, Debug)]
pub struct PathTable {
    most: usize,
    length: u32,
    nodes: Vec<Node>,
    counts: Vec<Count>,
    /// Open addressing: index of a node and one, or 0. At most half full.
    slots: Vec<u32>,
    /// The counts of instructions behind the first [`LISTED`] of a node, by node and instruction.
    behind: HashMap<(u32, u32), u32>,
    bins: usize,
}

impl PathTable {
    /// An empty table of at most `most` pairs.
    pub fn new(most: usize) -> Self {
        PathTable {
            most: most.clamp(1, 1 << 30),
            length: LONGEST,
            nodes: Vec::new(),
            counts: Vec::new(),
            slots: vec![0; 1024],
            behind: HashMap::new(),
            bins: 0,
        }
    }

    /// The longest paths that are told apart.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Pairs of an instruction in a block and a path to it.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Bytes held.
    pub fn memory(&self) -> Bytes {
        // Bins that are not in the counts themselves: a list has room for twice what it holds.
        let bins = self.bins.saturating_sub(self.counts.len()) * 2 * PatternBins::BYTES;
        let counts = self.counts.capacity() * size_of::<Count>();
        let nodes = self.nodes.capacity() * size_of::<Node>();
        // A key, a value and a byte of control.
        let behind = self.behind.capacity() * 13;
        Bytes((bins + counts + nodes + behind + 4 * self.slots.len()) as u64)
    }

    /// Counts an access of an instruction on a path, as in a block of its own.
    pub fn add(&mut self, site: u32, path: &Path, distance: Distance) {
        let block = u64::from(site);
        let (path, until) = (*path, 1);
        self.add_steps(
            &[PathStep { block, path, until }],
            &[0],
            &[site],
            &[distance],
        );
    }

    /// Counts touches: those of the first step, up to where it ends, then those of the next. `cells[i]` stands for the
    /// instruction `sites[cells[i]]`.
    ///
    /// Cost: a hashed look-up per step, for which memory is asked ahead of time, and per touch a look at the instruction
    /// that came next the last time; nothing is allocated but for what was never seen.
    ///
    /// # Panics
    /// If a step ends behind the last touch, or a cell has no instruction (a fault of the caller).
    pub fn add_steps(
        &mut self,
        steps: &[PathStep],
        cells: &[u32],
        sites: &[u32],
        distances: &[Distance],
    ) {
        let mut guesses = [0_u32; AHEAD[1] + 1];
        let mut from = 0;
        for (at, step) in steps.iter().enumerate() {
            self.ask(steps, at, &mut guesses);
            let until = (step.until as usize).max(from);
            if until == from {
                continue;
            }
            let mut node = self.enter(step, guesses[at % guesses.len()]);
            let mut count = 0;
            let touches = cells[from..until].iter().zip(&distances[from..until]);
            for (cell, distance) in touches {
                let site = sites[*cell as usize];
                count = match self.coming(node, count, site) {
                    Some(count) => count,
                    None => {
                        node = self.make_room(node, step, site);
                        self.seek(node, site)
                    }
                };
                let bins = &mut self.counts[count as usize - 1].bins;
                let before = bins.len();
                bins.add(*distance, 1);
                self.bins += bins.len() - before;
            }
            from = until;
        }
    }

    fn key(&self, step: &PathStep) -> (u64, u32) {
        (step.block, Path::newest(step.path.outcomes, self.length))
    }

    /// The slot where a step belongs, if it is free.
    #[inline(always)]
    fn home(&self, step: &PathStep) -> usize {
        hash(self.key(step)) as usize & (self.slots.len() - 1)
    }

    /// The node of a step, which may be the guessed one.
    #[inline(always)]
    fn enter(&mut self, step: &PathStep, guess: u32) -> u32 {
        let key = self.key(step);
        let node = match self.nodes.get((guess as usize).wrapping_sub(1)) {
            Some(node) if (node.block, node.outcomes) == key => guess,
            _ => self.find(key, step),
        };
        self.nodes[node as usize - 1].traces.add(&step.path.trace);
        node
    }

    #[inline(never)]
    fn find(&mut self, key: (u64, u32), step: &PathStep) -> u32 {
        let slot = self.slot(key);
        match self.slots[slot] {
            0 => {
                self.nodes.push(Node {
                    block: key.0,
                    outcomes: key.1,
                    first: 0,
                    last: 0,
                    length: 0,
                    traces: Traces::new(step.path.trace),
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

    /// The count of an instruction, if it is the one that came next the last time, or the one before once more.
    #[inline(always)]
    fn coming(&self, node: u32, before: u32, site: u32) -> Option<u32> {
        let next = match before {
            0 => self.nodes[node as usize - 1].first,
            before => self.counts[before as usize - 1].next,
        };
        let is = |count: &u32| *count != 0 && self.counts[*count as usize - 1].site == site;
        [next, before].into_iter().find(is)
    }

    /// The count of an instruction wherever it is in a block, or a new one behind all.
    #[inline(never)]
    fn seek(&mut self, node: u32, site: u32) -> u32 {
        if let Some(count) = self.search(node, site) {
            return count;
        }
        self.counts.push(Count {
            site,
            next: 0,
            bins: PatternBins::new(),
        });
        let count = self.counts.len() as u32;
        let number = node;
        let node = &mut self.nodes[node as usize - 1];
        match node.last {
            0 => node.first = count,
            last => self.counts[last as usize - 1].next = count,
        }
        node.last = count;
        node.length += 1;
        if node.length > LISTED {
            self.behind.insert((number, site), count);
        }
        count
    }

    /// Cost: at most [`LISTED`] steps and a look-up.
    fn search(&self, node: u32, site: u32) -> Option<u32> {
        let found = self.list(node).take(LISTED as usize).find(|count| {
            #[cfg(test)]
            tests::step();
            self.counts[*count as usize - 1].site == site
        });
        if found.is_some() || self.nodes[node as usize - 1].length <= LISTED {
            return found;
        }
        self.behind.get(&(node, site)).copied()
    }

    /// The counts of a node, in their order.
    fn list(&self, node: u32) -> impl Iterator<Item = u32> {
        let next = |count: &u32| {
            let count = self.counts.get((*count as usize).wrapping_sub(1))?;
            Some(count.next)
        };
        let first = Some(self.nodes[node as usize - 1].first);
        std::iter::successors(first, next).take_while(|count| *count != 0)
    }

    /// Finds the instructions behind the listed ones again when they have other numbers.
    fn hash_behind(&mut self) {
        let mut behind = std::mem::take(&mut self.behind);
        behind.clear();
        for node in (1..).take(self.nodes.len()) {
            for count in self.list(node).skip(LISTED as usize) {
                let site = self.counts[count as usize - 1].site;
                behind.entry((node, site)).or_insert(count);
            }
        }
        self.behind = behind;
    }

    /// Keeps shorter paths if an instruction would be one pair too many; the node of the step then.
    fn make_room(&mut self, node: u32, step: &PathStep, site: u32) -> u32 {
        let full = self.counts.len() >= self.most && self.length > 0;
        if !full || self.search(node, site).is_some() {
            return node;
        }
        self.shorten();
        self.find(self.key(step), step)
    }

    fn index(&mut self, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, 0);
        self.bins = self.counts.iter().map(|count| count.bins.len()).sum();
        for at in 0..self.nodes.len() {
            let slot = self.slot((self.nodes[at].block, self.nodes[at].outcomes));
            self.slots[slot] = at as u32 + 1;
        }
    }

    /// Gives the instructions other numbers. Those that get the same become one where cells are made.
    pub fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        for count in &mut self.counts {
            count.site = number(count.site);
        }
        self.hash_behind();
    }

    /// All cells, with their paths cut to a length.
    fn cells(&self, length: u32) -> Vec<PathCell> {
        let mut cells = Vec::with_capacity(self.counts.len());
        for node in &self.nodes {
            let mut next = node.first;
            while let Some(count) = self.counts.get((next as usize).wrapping_sub(1)) {
                cells.push(PathCell {
                    site: count.site,
                    outcomes: Path::newest(node.outcomes, length),
                    bins: count.bins.clone(),
                    traces: node.traces,
                });
                next = count.next;
            }
        }
        join(cells)
    }

    /// The distances by instruction and path of `length` outcomes, ascending by both; none if paths that long
    /// were not kept.
    pub fn at(&self, length: u32) -> Option<Vec<PathCell>> {
        (length <= self.length).then(|| self.cells(length))
    }

    /// What paths of a length say about the program; none if that was not kept. From a mean of `long` items on, a
    /// pattern is long. Source: Fang et al. 2006, section 4.2; aliasing is looked at for every length here.
    pub fn shares(&self, length: u32, rule: PatternRule, long: u64) -> Option<PathShares> {
        (length <= self.length).then(|| self.all_shares(&[length], rule, long).remove(0))
    }

    /// That of several lengths, ascending, without those that were not kept. Cost: a sort of the cells for each.
    pub fn all_shares(&self, lengths: &[u32], rule: PatternRule, long: u64) -> Vec<PathShares> {
        let kept = lengths.iter().copied();
        let kept: Vec<u32> = kept.filter(|length| *length <= self.length).collect();
        let longest = kept.last().copied().unwrap_or(0);
        all_shares(self.cells(longest), &kept, rule, long)
    }
}

/// Where a node is looked for.
#[inline(always)]
fn hash((block, outcomes): (u64, u32)) -> u64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    (block.wrapping_mul(GOLDEN) ^ u64::from(outcomes)).wrapping_mul(GOLDEN) >> 24
}
