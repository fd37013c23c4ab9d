//! [`VisitedBlocks`]: the basic blocks that a thread has run, by address, with what the tracker
//! knows of each.

use std::collections::BTreeMap;

use crate::BasicBlock;
use crate::address_hash::AddressHash;

/// Neighbours of a block, by address, that are asked whether they overlap it. A rewriter's block
/// has at most 64 instructions, and each other block that overlaps it begins at one of them.
const MOST_NEIGHBOURS: usize = 64;

/// What is known of a block.
#[derive(Clone, Copy, Debug, Default)]
struct VisitedBlock<M> {
    start: u64,
    /// Address after the last edge that closed the loop that begins here; 0 if none does.
    high: u64,
    /// The call in which it ran last; 0 is none.
    activation: u32,
    /// The block that came next last time.
    next: u32,
    /// The most bytes that it had.
    length: u32,
    /// Its entry in `overlaps`; 0 is none.
    overlap: u32,
    /// How many blocks had run before it ran last, modulo 2³².
    time: u32,
    /// When it ran last.
    moment: M,
}

/// Other blocks that share code with a block, by number.
#[derive(Clone, Debug, Default)]
struct Overlap {
    /// Those that hold its first byte and begin before it.
    around: Vec<u32>,
    /// Those that begin inside it and are the first block of a loop, ascending by address.
    headers: Vec<u32>,
}

/// Blocks by address, numbered as they come.
///
/// Blocks may overlap: a block is identified by where it was entered and goes on to the next
/// branch, past places that other branches lead to. When it runs, the code of blocks that begin
/// inside it runs as well.
#[derive(Clone, Debug)]
pub(crate) struct VisitedBlocks<M> {
    blocks: Vec<VisitedBlock<M>>,
    /// Open addressing: number of a block and one, or 0. At most half full.
    slots: Vec<u32>,
    hash: AddressHash,
    /// Numbers of blocks by where they start.
    ordered: BTreeMap<u64, u32>,
    overlaps: Vec<Overlap>,
    /// Blocks that ran, modulo 2³².
    time: u32,
}

impl<M: Copy + Default> VisitedBlocks<M> {
    /// No block but number 0, which is none.
    pub fn new() -> Self {
        let mut known = VisitedBlocks {
            blocks: Vec::new(),
            slots: vec![0; 256],
            hash: AddressHash::new(),
            ordered: BTreeMap::new(),
            overlaps: vec![Overlap::default()],
            time: 0,
        };
        known.insert(u64::MAX);
        known
    }

    /// The number of a block, which came after block `last`.
    #[inline]
    pub fn find(&mut self, block: &BasicBlock, last: u32) -> u32 {
        let guess = self.blocks[last as usize].next;
        let seen = &self.blocks[guess as usize];
        if seen.start == block.start && seen.length >= block.length {
            return guess;
        }
        let slot = self.slot(block.start);
        let number = match self.slots[slot].checked_sub(1) {
            Some(number) => number,
            None => self.insert(block.start),
        };
        self.blocks[last as usize].next = number;
        if self.blocks[number as usize].length < block.length {
            self.lengthen(number, block.length);
        }
        number
    }

    fn slot(&self, start: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.hash.slot(start, self.slots.len());
        loop {
            match self.slots[slot].checked_sub(1) {
                Some(number) if self.blocks[number as usize].start != start => {
                    slot = (slot + 1) & mask;
                }
                _ => return slot,
            }
        }
    }

    fn insert(&mut self, start: u64) -> u32 {
        let number = self.blocks.len() as u32;
        self.blocks.push(VisitedBlock {
            start,
            ..VisitedBlock::default()
        });
        if self.blocks.len() * 2 > self.slots.len() {
            self.slots = vec![0; self.slots.len() * 2];
            for number in 0..self.blocks.len() {
                let slot = self.slot(self.blocks[number].start);
                self.slots[slot] = number as u32 + 1;
            }
        } else {
            let slot = self.slot(start);
            self.slots[slot] = number + 1;
        }
        let before = self.ordered.range(..start).rev().take(MOST_NEIGHBOURS);
        let around = before.map(|(_, before)| *before);
        let around: Vec<u32> = around.filter(|other| self.holds(*other, start)).collect();
        if !around.is_empty() {
            self.overlap(number).around = around;
        }
        self.ordered.insert(start, number);
        number
    }

    /// Whether a block begins before an address and goes on past it.
    fn holds(&self, number: u32, address: u64) -> bool {
        let block = &self.blocks[number as usize];
        let offset = address.wrapping_sub(block.start);
        offset > 0 && offset < u64::from(block.length)
    }

    /// A block is longer than it was: more blocks may begin inside it.
    fn lengthen(&mut self, number: u32, length: u32) {
        let block = &mut self.blocks[number as usize];
        block.length = length;
        let range = block.start.saturating_add(1)..block.start.saturating_add(u64::from(length));
        if range.is_empty() {
            return;
        }
        let inside = self.ordered.range(range).take(MOST_NEIGHBOURS);
        let inside: Vec<u32> = inside.map(|(_, inside)| *inside).collect();
        for inside in inside {
            let around = &mut self.overlap(inside).around;
            if around.len() < MOST_NEIGHBOURS && !around.contains(&number) {
                around.push(number);
            }
            if self.blocks[inside as usize].high > 0 {
                self.add_header(number, inside);
            }
        }
    }

    /// What overlaps a block, to be added to.
    fn overlap(&mut self, number: u32) -> &mut Overlap {
        let at = &mut self.blocks[number as usize].overlap;
        if *at == 0 {
            *at = self.overlaps.len() as u32;
            self.overlaps.push(Overlap::default());
        }
        &mut self.overlaps[*at as usize]
    }

    /// A loop begins inside a block.
    fn add_header(&mut self, number: u32, header: u32) {
        let mut headers = std::mem::take(&mut self.overlap(number).headers);
        let start = |header: &u32| self.blocks[*header as usize].start;
        if let Err(at) = headers.binary_search_by_key(&start(&header), start) {
            headers.insert(at, header);
        }
        self.overlap(number).headers = headers;
    }

    /// The first blocks of loops that begin inside a block, ascending by address.
    #[inline]
    pub fn headers_inside(&self, number: u32) -> &[u32] {
        let overlap = self.blocks[number as usize].overlap;
        &self.overlaps[overlap as usize].headers
    }

    /// Where a block begins.
    #[inline]
    pub fn start(&self, number: u32) -> u64 {
        self.blocks[number as usize].start
    }

    /// A block runs in a call, at this moment.
    #[inline]
    pub fn ran(&mut self, number: u32, activation: u32, moment: &M) {
        self.time = self.time.wrapping_add(1);
        let block = &mut self.blocks[number as usize];
        block.activation = activation;
        block.time = self.time;
        block.moment = *moment;
    }

    /// When a block that ran did so last.
    #[inline]
    pub fn moment(&self, number: u32) -> &M {
        &self.blocks[number as usize].moment
    }

    /// When the first instruction of a block ran last, by itself or within another block; none if
    /// that was not in this call.
    #[inline]
    pub fn ran_in(&self, number: u32, activation: u32) -> Option<&M> {
        let mut newest = &self.blocks[number as usize];
        let around = &self.overlaps[newest.overlap as usize].around;
        let age = |block: &VisitedBlock<M>| match block.activation {
            0 => u32::MAX,
            _ => self.time.wrapping_sub(block.time),
        };
        for other in around {
            let other = &self.blocks[*other as usize];
            if age(other) < age(newest) {
                newest = other;
            }
        }
        (newest.activation == activation).then_some(&newest.moment)
    }

    /// A loop begins with this block, and the edge from the code before `high` closes it. Returns
    /// whether that is new.
    pub fn loops(&mut self, number: u32, high: u64) -> bool {
        let block = &mut self.blocks[number as usize];
        let (new, least) = (block.high == 0, block.start.saturating_add(1));
        block.high = block.high.max(high).max(least);
        if new {
            let overlap = &self.overlaps[block.overlap as usize];
            for around in overlap.around.clone() {
                self.add_header(around, number);
            }
        }
        new
    }

    /// The code of the loop that begins with this block; ends at 0 if none does.
    #[inline]
    pub fn range(&self, number: u32) -> (u64, u64) {
        let block = &self.blocks[number as usize];
        (block.start, block.high)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let lists = self.overlaps.iter();
        let lists: usize = lists.map(|one| one.around.len() + one.headers.len()).sum();
        // A node of the tree is two thirds full.
        self.blocks.capacity() * size_of::<VisitedBlock<M>>()
            + (self.slots.capacity() + lists) * size_of::<u32>()
            + self.ordered.len() * 18
            + self.overlaps.capacity() * size_of::<Overlap>()
    }
}
