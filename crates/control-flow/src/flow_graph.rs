//! [`FlowGraph`]: the places where a thread's basic blocks begin, and the ways between them that it
//! took so far.

use std::collections::BTreeMap;

use reuselens_hugepages::random_key;

use crate::{BasicBlock, BlockEnd};

/// Places that are asked whether their block reaches to another one. A rewriter's block has at most
/// 64 instructions.
const MOST_NEIGHBOURS: usize = 64;

/// A way from one place to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowStep {
    /// Where it leads to.
    pub to: u32,
    /// Whether the thread is in the same iterations of the same loops after it.
    pub keeps_loops: bool,
}

/// When a place ran last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlaceRun {
    /// The call; 0 if it never ran.
    pub activation: u32,
    /// The thread's blocks before it.
    pub clock: u64,
    /// The time by the caller's measure.
    pub time: u64,
}

/// A place where blocks begin.
#[derive(Clone, Copy, Debug, Default)]
struct FlowNode {
    start: u64,
    /// The most bytes that a block from here had.
    length: u32,
    /// The next place inside that block; 0 if there is none.
    inside: u32,
    /// The ways that were taken last.
    steps: [FlowStep; 2],
    run: PlaceRun,
}

/// All ways to and from a place, and how its block ends.
#[derive(Clone, Debug, Default)]
struct FlowEdges {
    to: Vec<u32>,
    from: Vec<u32>,
    end: BlockEnd,
}

/// Places by address, numbered as they are found, from 1 on.
///
/// Blocks may overlap: a block goes on to the next branch, past places that other branches lead to.
/// Such a block is several places, one after the other, and what follows it follows the last one.
/// A place that is found inside a block takes over the ways that leave the block.
///
/// Cost: per way that was taken before, one comparison for each of the last two from its place,
/// else a hashed look-up. Memory: 250 bytes per place.
#[derive(Clone, Debug)]
pub(crate) struct FlowGraph {
    nodes: Vec<FlowNode>,
    edges: Vec<FlowEdges>,
    /// Open addressing: numbers, or 0. At most half full.
    slots: Vec<u32>,
    /// A random key of the hash, so that nobody can choose addresses that collide.
    key: u64,
    ordered: BTreeMap<u64, u32>,
}

impl FlowGraph {
    /// No place but number 0, which is none.
    pub fn new() -> Self {
        FlowGraph {
            nodes: vec![FlowNode::default()],
            edges: vec![FlowEdges::default()],
            slots: vec![0; 256],
            key: random_key(),
            ordered: BTreeMap::new(),
        }
    }

    /// The way from a place to a block, if it is one of the last two.
    #[inline]
    pub fn known_step(&self, from: u32, block: &BasicBlock) -> Option<FlowStep> {
        let steps = &self.nodes[from as usize].steps;
        let leads = |step: &&FlowStep| {
            let to = &self.nodes[step.to as usize];
            to.start == block.start && to.length >= block.length && step.to != 0
        };
        steps.iter().find(leads).copied()
    }

    /// Whether the way from one place to another keeps the loops, if it is one of the last two.
    #[inline]
    pub fn step_to(&self, from: u32, to: u32) -> Option<FlowStep> {
        let steps = &self.nodes[from as usize].steps;
        steps.iter().find(|step| step.to == to).copied()
    }

    /// Remembers a way as the last one from a place.
    pub fn remember(&mut self, from: u32, step: FlowStep) {
        let steps = &mut self.nodes[from as usize].steps;
        if steps[0].to != step.to {
            steps[1] = steps[0];
        }
        steps[0] = step;
    }

    /// Where the way remembered last from a place leads to; the place itself if there is none.
    pub fn last_step(&self, from: u32) -> u32 {
        match self.nodes[from as usize].steps[0].to {
            0 => from,
            to => to,
        }
    }

    /// The loops of a place changed: forgets which ways to and from it keep the loops.
    pub fn forget_steps(&mut self, place: u32) {
        for step in &mut self.nodes[place as usize].steps {
            step.keeps_loops = false;
        }
        for from in &self.edges[place as usize].from {
            for step in &mut self.nodes[*from as usize].steps {
                step.keeps_loops &= step.to != place;
            }
        }
    }

    /// The place where a block begins, and for a new one `Some` of the place whose block it is
    /// inside of, which is 0 if there is none.
    pub fn place(&mut self, block: &BasicBlock) -> (u32, Option<u32>) {
        let slot = self.slot(block.start);
        let (number, around) = match self.slots[slot] {
            0 => {
                let (number, around) = self.insert(block.start, slot);
                (number, Some(around))
            }
            number => (number, None),
        };
        if self.nodes[number as usize].length < block.length || around.is_some() {
            self.lengthen(number, block);
        }
        (number, around)
    }

    fn slot(&self, start: u64) -> usize {
        let mask = self.slots.len() - 1;
        let hash = (start ^ self.key).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return slot,
                number if self.nodes[number as usize].start == start => return slot,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn insert(&mut self, start: u64, slot: usize) -> (u32, u32) {
        let number = self.nodes.len() as u32;
        self.nodes.push(FlowNode {
            start,
            ..FlowNode::default()
        });
        self.edges.push(FlowEdges::default());
        if self.nodes.len() * 2 > self.slots.len() {
            self.slots = vec![0; self.slots.len() * 2];
            for number in 1..self.nodes.len() {
                let slot = self.slot(self.nodes[number].start);
                self.slots[slot] = number as u32;
            }
        } else {
            self.slots[slot] = number;
        }
        let mut before = self.ordered.range(..start).rev().take(MOST_NEIGHBOURS);
        let around = before.find(|(_, other)| self.reaches(**other, start));
        let mut around = around.map_or(0, |(_, other)| *other);
        if around != 0 {
            // One that was shorter may be between.
            while let inside = self.inside(around)
                && inside != 0
                && self.start(inside) < start
            {
                around = inside;
            }
            self.split(around, number);
        }
        self.ordered.insert(start, number);
        (number, around)
    }

    /// Whether the block from a place holds a later address.
    fn reaches(&self, place: u32, address: u64) -> bool {
        let node = &self.nodes[place as usize];
        address.wrapping_sub(node.start) < u64::from(node.length)
    }

    /// A place is found inside the block of another one.
    fn split(&mut self, around: u32, inside: u32) {
        let [outer, inner] = [around as usize, inside as usize];
        self.nodes[inner].inside = self.nodes[outer].inside;
        self.nodes[inner].run = self.nodes[outer].run;
        self.nodes[outer].inside = inside;
        self.nodes[outer].steps = [FlowStep::default(); 2];
        let leading = std::mem::replace(&mut self.edges[outer].to, vec![inside]);
        for to in &leading {
            for from in &mut self.edges[*to as usize].from {
                if *from == around {
                    *from = inside;
                }
            }
        }
        self.edges[inner].to = leading;
        self.edges[inner].from.push(around);
        self.edges[inner].end = self.edges[outer].end;
    }

    /// A block is longer than those from its place were.
    fn lengthen(&mut self, number: u32, block: &BasicBlock) {
        let node = &mut self.nodes[number as usize];
        node.length = node.length.max(block.length);
        self.edges[number as usize].end = block.end;
        let range = block.start.saturating_add(1)..block.after().max(block.start.saturating_add(1));
        if let Some((_, inside)) = self.ordered.range(range).next() {
            node.inside = *inside;
        }
    }

    /// Adds a way; false if it was there.
    pub fn add_edge(&mut self, from: u32, to: u32) -> bool {
        let leading = &mut self.edges[from as usize].to;
        if leading.contains(&to) {
            return false;
        }
        leading.push(to);
        self.edges[to as usize].from.push(from);
        true
    }

    /// Whether a way leads from a place.
    pub fn leads_on(&self, place: u32) -> bool {
        !self.edges[place as usize].to.is_empty()
    }

    /// The places that a way leads from to this one.
    pub fn before(&self, place: u32) -> &[u32] {
        &self.edges[place as usize].from
    }

    /// How the block from a place ends, and the address after it.
    pub fn end(&self, place: u32) -> (BlockEnd, u64) {
        let node = &self.nodes[place as usize];
        let after = node.start.saturating_add(u64::from(node.length.max(1)));
        (self.edges[place as usize].end, after)
    }

    /// The next place inside the block from this one; 0 if there is none.
    #[inline]
    pub fn inside(&self, place: u32) -> u32 {
        self.nodes[place as usize].inside
    }

    /// Where a place is.
    #[inline]
    pub fn start(&self, place: u32) -> u64 {
        self.nodes[place as usize].start
    }

    /// When a place ran last.
    #[inline]
    pub fn run(&self, place: u32) -> &PlaceRun {
        &self.nodes[place as usize].run
    }

    /// A place runs.
    #[inline]
    pub fn ran(&mut self, place: u32, run: PlaceRun) {
        self.nodes[place as usize].run = run;
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let edges = self.edges.iter();
        let edges: usize = edges
            .map(|edges| edges.to.capacity() + edges.from.capacity())
            .sum();
        // A node of the tree is two thirds full.
        self.nodes.capacity() * size_of::<FlowNode>()
            + self.edges.capacity() * size_of::<FlowEdges>()
            + (self.slots.capacity() + edges) * size_of::<u32>()
            + self.ordered.len() * 18
    }
}
