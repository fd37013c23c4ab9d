//! [`PathTable`]: distances by instruction and path, counted in one pass for all lengths of paths,
//! in bounded memory.

mod admission;
mod ahead;
mod count;
mod gather;
mod nodes;
mod overflow_bins;
mod shortening;
#[cfg(test)]
mod tests;
mod uniting;

use std::collections::HashMap;
use std::ops::Range;

use admission::Admission;
use ahead::ROOM;
use count::Count;
use nodes::FREE;
use overflow_bins::OverflowBins;
use reuselens_hugepages::random_key;
use reuselens_units::{Bytes, Distance};

use crate::PatternRule;
use crate::path::{Path, PathShares, Traces};
use crate::path_cells::{PathCell, PathShareCounter};

/// Lengths of paths: where one is too rare, the next shorter is kept.
const LENGTHS: [u32; 7] = [0, 1, 2, 4, 8, 16, Path::LONGEST];

/// The first instructions of a block on a path are searched one after the other, the others by a
/// hash. Few basic blocks have more; so does the code that runs before any block is known.
const LISTED: u32 = 64;

/// Successive item accesses in one basic block.
#[derive(Clone, Copy, Debug)]
pub struct PathStep {
    /// The block: any number that identifies it.
    pub block: u64,
    /// The path to it.
    pub path: Path,
    /// The index of the access after its last one.
    pub until: u32,
    /// Whether it is the rest of its thread's step before, which was cut in two. It is counted with
    /// that step, so that results do not depend on where a trace is cut.
    pub continued: bool,
}

/// A basic block that was reached on a path, with its list of instructions. One cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct PathNode {
    block: u64,
    outcomes: u32,
    /// Where its instructions begin in `counts`.
    first: u32,
    traces: Traces,
    /// How many instructions there are, in the order in which they first came.
    length: u32,
    /// How many there is room for.
    room: u32,
}

impl PathNode {
    /// Its instructions.
    #[inline(always)]
    fn range(&self) -> Range<usize> {
        let first = self.first as usize;
        first..first + self.length as usize
    }
}

/// Where an access is: an instruction in the list of its node.
#[derive(Clone, Copy)]
struct ListPosition {
    node: u32,
    /// `usize::MAX` before the first.
    at: usize,
}

/// Distances by instruction and path. A shorter path is the end of a longer one, so one look-up is
/// enough for all lengths: the longest is counted, the others are sums. And all instructions of a
/// basic block are reached on one path, so there is one look-up per block that runs; its
/// instructions follow from there in their order.
///
/// Memory is bounded by the number of pairs of an instruction in a block and a path. When a pair
/// would be too many, the rarest paths are *shortened*: they are counted with all other paths that
/// end in the same outcomes, of which there are fewer (16 of 32, then 8, 4, 2, 1, 0). Blocks with
/// few pairs keep them, so that code that seldom runs is not lost beside code that often does. Of
/// new paths that end like shortened ones only one in N is inserted into the table: frequent ones
/// soon are, and rare ones are not. No access is dropped: one whose path is not in the table is
/// counted under the longest end of the path that is. At length 0 there is one pair per
/// instruction, bound or not.
///
/// Source: Fang et al. 2006, section 3.2, for paths; counting all lengths in one pass is ours.
/// Which paths stay follows lossy counting (Manku & Motwani 2002), and which are inserted, sample
/// and hold (Estan & Varghese 2002).
#[derive(Clone, Debug)]
pub struct PathTable {
    most: usize,
    length: u32,
    admission: Admission,
    nodes: Vec<PathNode>,
    /// The counts of each node, one after the other. Between those of two nodes there may be free
    /// places: room to grow, or places that a node has left.
    counts: Vec<Count>,
    overflow_bins: OverflowBins,
    /// Pairs of an instruction and a path.
    pairs: usize,
    /// Open addressing: part of the hash of a node, and its number. At most half full.
    slots: Vec<u64>,
    /// A random key of the hash, so that nobody can choose block addresses that collide.
    key: u64,
    /// The places of instructions after the first [`LISTED`] of a node, by node and instruction.
    behind: HashMap<(u32, u32), u32>,
}

impl PathTable {
    /// An empty table of at most `most` pairs.
    pub fn new(most: usize) -> Self {
        PathTable {
            most: most.clamp(1, 1 << 28),
            length: Path::LONGEST,
            admission: Admission::default(),
            nodes: Vec::new(),
            counts: Vec::new(),
            overflow_bins: OverflowBins::new(),
            pairs: 0,
            slots: vec![FREE; 1024],
            key: random_key(),
            behind: HashMap::new(),
        }
    }

    /// The length of the longest paths that may be kept: 32, or 0 if there is no room for any.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Pairs of an instruction in a block and a path to it.
    pub fn len(&self) -> usize {
        self.pairs
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.pairs == 0
    }

    /// Bytes held.
    pub fn memory(&self) -> Bytes {
        let counts = self.counts.capacity() * size_of::<Count>();
        let nodes = self.nodes.capacity() * size_of::<PathNode>();
        // A key, a value and a byte of control.
        let behind = self.behind.capacity() * 13;
        self.overflow_bins.memory() + Bytes((counts + nodes + behind + 8 * self.slots.len()) as u64)
    }

    /// Shortens rare paths until at most `most` bytes are held; the number of pairs is bounded by
    /// what is left. Returns whether that was possible. Meanwhile it holds twice as much. Cost:
    /// linear in the pairs, for each time that their number is halved.
    pub fn shrink(&mut self, most: Bytes) -> bool {
        while self.memory() > most && self.length > 0 {
            self.most = self.pairs.max(1);
            self.shorten_rare();
            self.slots = Vec::new();
            self.index((self.nodes.len() * 4).next_power_of_two().max(1024));
        }
        self.memory() <= most
    }

    /// Counts an access of an instruction on a path, as in a block of its own.
    pub fn add(&mut self, site: u32, path: &Path, distance: Distance) {
        let block = u64::from(site);
        let (path, until) = (*path, 1);
        self.add_steps(
            &[PathStep {
                block,
                path,
                until,
                continued: false,
            }],
            &[0],
            &[site],
            &[distance],
        );
    }

    /// Counts item accesses: those of the first step, up to where it ends, then those of the next.
    /// `cells[i]` is of the instruction `sites[cells[i]]`.
    ///
    /// Cost: a hashed look-up per step, whose memory is prefetched, and per access a look at the
    /// instruction that came next the first time; memory is only allocated for new pairs.
    ///
    /// # Panics
    /// If a step ends after the last access, or a cell has no instruction (a fault of the caller).
    pub fn add_steps(
        &mut self,
        steps: &[PathStep],
        cells: &[u32],
        sites: &[u32],
        distances: &[Distance],
    ) {
        let mut guesses = [0_u32; ROOM];
        let mut from = 0;
        for (at, step) in steps.iter().enumerate() {
            self.ask(steps, at, &mut guesses);
            let until = (step.until as usize).max(from);
            if until == from {
                continue;
            }
            let mut place = ListPosition {
                node: self.enter(step, guesses[at % ROOM]),
                at: usize::MAX,
            };
            let touches = cells[from..until].iter().zip(&distances[from..until]);
            let mut touches = touches.map(|(cell, distance)| (sites[*cell as usize], *distance));
            while let Some((site, distance)) = self.follow(&mut place, &mut touches) {
                place.node = self.make_room(place.node, step, site);
                place.at = self.seek(place.node, site);
                let first = self.nodes[place.node as usize - 1].first as usize;
                self.counts[first + place.at].add(distance, &mut self.overflow_bins);
            }
            from = until;
        }
        self.overflow_bins.flush();
    }

    /// Counts accesses as long as each is of the instruction that came next the first time, or of
    /// the one before once more. Returns the first that is not.
    #[inline(always)]
    fn follow(
        &mut self,
        place: &mut ListPosition,
        touches: &mut impl Iterator<Item = (u32, Distance)>,
    ) -> Option<(u32, Distance)> {
        let list = self.nodes[place.node as usize - 1].range();
        let list = &mut self.counts[list];
        for (site, distance) in touches {
            let next = place.at.wrapping_add(1);
            if list.get(next).is_some_and(|count| count.site == site) {
                place.at = next;
            } else if list.get(place.at).is_none_or(|count| count.site != site) {
                return Some((site, distance));
            }
            list[place.at].add(distance, &mut self.overflow_bins);
        }
        None
    }

    /// The place of an instruction in a block's list, or a new one at its end.
    #[inline(never)]
    fn seek(&mut self, node: u32, site: u32) -> usize {
        if let Some(at) = self.search(node, site) {
            return at;
        }
        let count = Count::new(site, self.pairs as u32);
        self.pairs += 1;
        let number = node;
        let node = &mut self.nodes[node as usize - 1];
        let at = node.length;
        reuselens_hugepages::reserve(&mut self.counts, (2 * at as usize).max(4));
        if at < node.room {
            self.counts[(node.first + at) as usize] = count;
        } else if (node.first + at) as usize == self.counts.len() {
            self.counts.push(count);
            node.room += 1;
        } else {
            let list = node.range();
            node.first = self.counts.len() as u32;
            node.room = (2 * at).max(4);
            self.counts.extend_from_within(list);
            self.counts.resize((node.first + node.room) as usize, count);
        }
        node.length += 1;
        if node.length > LISTED {
            self.behind.insert((number, site), at);
        }
        at as usize
    }

    /// Cost: at most [`LISTED`] steps and a look-up.
    fn search(&self, node: u32, site: u32) -> Option<usize> {
        let list = &self.counts[self.nodes[node as usize - 1].range()];
        let found = list.iter().take(LISTED as usize).position(|count| {
            #[cfg(test)]
            tests::step();
            count.site == site
        });
        if found.is_some() || list.len() <= LISTED as usize {
            return found;
        }
        self.behind.get(&(node, site)).map(|at| *at as usize)
    }

    /// Hashes the instructions after the first [`LISTED`] again, when their numbers have changed.
    fn hash_behind(&mut self) {
        self.behind.clear();
        for (number, node) in (1..).zip(&self.nodes) {
            let listed = (0..).zip(&self.counts[node.range()]);
            for (at, count) in listed.skip(LISTED as usize) {
                self.behind.entry((number, count.site)).or_insert(at);
            }
        }
    }

    /// Shortens rare paths if an instruction would be one pair too many. Returns the node that the
    /// step then has.
    fn make_room(&mut self, node: u32, step: &PathStep, site: u32) -> u32 {
        let full = self.pairs >= self.most && self.length > 0;
        if !full || self.search(node, site).is_some() {
            return node;
        }
        self.shorten_rare();
        self.find(step)
    }

    /// Gives the instructions other numbers. Those that get the same become one where cells are
    /// made.
    pub fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        for count in &mut self.counts {
            count.site = number(count.site);
        }
        self.hash_behind();
    }

    /// The distances by instruction and path of `length` outcomes, ascending by both; none if paths
    /// that long were not kept.
    pub fn at(&self, length: u32) -> Option<Vec<PathCell>> {
        (length <= self.length).then(|| {
            let mut all = Vec::with_capacity(self.pairs);
            self.for_each_site(length, |cells| all.append(cells));
            all
        })
    }

    /// The shares of paths of a length; `None` if that was not kept. From a mean of
    /// `long` items on, a pattern is long. Source: Fang et al. 2006, section 4.2; aliasing is
    /// looked at for every length here.
    pub fn shares(&self, length: u32, rule: PatternRule, long: u64) -> Option<PathShares> {
        (length <= self.length).then(|| {
            let mut shares = PathShareCounter::new(&[length], rule, long);
            self.for_each_site(length, |cells| shares.add(cells));
            shares.finish().remove(0)
        })
    }
}
