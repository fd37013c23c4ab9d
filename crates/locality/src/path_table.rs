//! Distances for each path to each instruction, in one pass for all lengths of paths.

mod admission;
mod ahead;
mod count;
mod elsewhere;
mod folding;
mod gather;
mod nodes;
#[cfg(test)]
mod tests;
mod uniting;

use std::collections::HashMap;
use std::ops::Range;

use reuselens_hugepages::random_key;
use reuselens_units::{Bytes, Distance};

use crate::PatternRule;
use crate::path::{LONGEST, Path, PathShares, Traces};
use crate::path_cells::{PathCell, Shares};
use admission::Admission;
use ahead::ROOM;
use count::Count;
use elsewhere::Elsewhere;
use nodes::FREE;

/// Lengths of paths: where one is too rare, the next shorter is kept.
const LENGTHS: [u32; 7] = [0, 1, 2, 4, 8, 16, LONGEST];

/// Instructions of a block on a path that are looked for one after the other; those behind are
/// hashed. More are in few basic blocks, and in all that runs before any block is known.
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
    /// Whether it is the rest of the step before it of its thread, which was cut: it is counted as
    /// that is, so that it is the same where a trace is cut.
    pub continued: bool,
}

/// A block that was reached on a path: what the instructions in it have in common. One cache line.
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
/// Memory is bounded by the number of pairs of an instruction in a block and a path. When there
/// would be more, the rarest paths are *folded*: they are counted with all others that end in the
/// same outcomes, of which there are fewer (16 of 32, then 8, 4, 2, 1, 0). Blocks that have few
/// keep all, and code that seldom runs is not lost beside what often does. Of new paths that end
/// like folded ones only one in so many gets a place in the table, by which those that come often
/// are soon there, and those that come rarely are not. Nothing is dropped: an access whose path is
/// not told apart is counted under the longest end of it that is. At length 0 there is one pair per
/// instruction, bound or not.
///
/// Source: Fang et al. 2006, section 3.2, for paths, and the one pass is ours. What stays follows
/// lossy counting (Manku & Motwani 2002) and, where what is new gets a place, sample and hold
/// (Estan & Varghese 2002).
#[derive(Clone, Debug)]
pub struct PathTable {
    most: usize,
    length: u32,
    admission: Admission,
    nodes: Vec<PathNode>,
    /// Those of a node follow each other; in between are places that nodes have left, and room.
    counts: Vec<Count>,
    elsewhere: Elsewhere,
    /// Pairs of an instruction and a path.
    pairs: usize,
    /// Open addressing: part of the hash of a node, and its number. At most half full.
    slots: Vec<u64>,
    /// A random key: nobody can choose block addresses that all begin at one place.
    key: u64,
    /// The places of instructions after the first [`LISTED`] of a node, by node and instruction.
    behind: HashMap<(u32, u32), u32>,
}

impl PathTable {
    /// An empty table of at most `most` pairs.
    pub fn new(most: usize) -> Self {
        PathTable {
            most: most.clamp(1, 1 << 28),
            length: LONGEST,
            admission: Admission::default(),
            nodes: Vec::new(),
            counts: Vec::new(),
            elsewhere: Elsewhere::new(),
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
        self.elsewhere.memory() + Bytes((counts + nodes + behind + 8 * self.slots.len()) as u64)
    }

    /// Folds rare paths until no more than so much memory is held, and no more pairs than there are
    /// then; whether that was enough. While it does, it holds twice as much. Cost: linear in the
    /// pairs, for each time that their number is halved.
    pub fn shrink(&mut self, most: Bytes) -> bool {
        while self.memory() > most && self.length > 0 {
            self.most = self.pairs.max(1);
            self.fold();
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

    /// Counts touches: those of the first step, up to where it ends, then those of the next.
    /// `cells[i]` is of the instruction `sites[cells[i]]`.
    ///
    /// Cost: a hashed look-up per step, for which memory is asked ahead of time, and per touch a
    /// look at the instruction that came next the first time; nothing is allocated but for what was
    /// never seen.
    ///
    /// # Panics
    /// If a step ends after the last touch, or a cell has no instruction (a fault of the caller).
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
                self.counts[first + place.at].add(distance, &mut self.elsewhere);
            }
            from = until;
        }
        self.elsewhere.flush();
    }

    /// Counts touches as long as each is of the instruction that came next the first time, or of
    /// the one before once more; the first that is not.
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
            list[place.at].add(distance, &mut self.elsewhere);
        }
        None
    }

    /// The place of an instruction wherever it is in a block, or a new one after all others.
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

    /// Hashes the instructions after the listed ones anew when they have other numbers.
    fn hash_behind(&mut self) {
        self.behind.clear();
        for (number, node) in (1..).zip(&self.nodes) {
            let listed = (0..).zip(&self.counts[node.range()]);
            for (at, count) in listed.skip(LISTED as usize) {
                self.behind.entry((number, count.site)).or_insert(at);
            }
        }
    }

    /// Folds rare paths if an instruction would be one pair too many; the node of the step then.
    fn make_room(&mut self, node: u32, step: &PathStep, site: u32) -> u32 {
        let full = self.pairs >= self.most && self.length > 0;
        if !full || self.search(node, site).is_some() {
            return node;
        }
        self.fold();
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

    /// What paths of a length say about the program; none if that was not kept. From a mean of
    /// `long` items on, a pattern is long. Source: Fang et al. 2006, section 4.2; aliasing is
    /// looked at for every length here.
    pub fn shares(&self, length: u32, rule: PatternRule, long: u64) -> Option<PathShares> {
        (length <= self.length).then(|| {
            let mut shares = Shares::new(&[length], rule, long);
            self.for_each_site(length, |cells| shares.add(cells));
            shares.finish().remove(0)
        })
    }
}
