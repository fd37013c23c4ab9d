//! [`FlowGraph`]: the places where a thread's basic blocks begin, and the ways between them that it
//! took so far.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};

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
pub(crate) struct PlaceRun<M> {
    /// The call; 0 if it never ran.
    pub activation: u32,
    /// The thread's blocks before it.
    pub clock: u64,
    /// The state of the thread then, as the caller sees it.
    pub moment: M,
}

/// A place where blocks begin.
#[derive(Clone, Copy, Debug, Default)]
struct FlowNode<M> {
    start: u64,
    /// The most bytes that a block from here had.
    length: u32,
    /// The next place inside that block; 0 if there is none.
    inside: u32,
    /// The ways within a call that were taken last.
    steps: [FlowStep; 2],
    /// The functions that were called last; 0 if there is none. They have a memory of their own, so
    /// that calls of several functions do not push out the way to where they return.
    callees: [u32; 2],
    run: PlaceRun<M>,
}

/// All ways to a place, and how its block ends.
#[derive(Clone, Debug, Default)]
struct FlowEdges {
    /// The exits that they come from.
    from: Vec<u32>,
    /// The number of its own exit.
    exit: u32,
    end: BlockEnd,
}

/// Where the ways that leave a block begin.
#[derive(Clone, Copy, Debug, Default)]
struct FlowExit {
    /// The last place of that block.
    place: u32,
    /// Whether there is such a way.
    leads_on: bool,
}

/// Places by address, numbered as they are found, from 1 on.
///
/// Blocks may overlap: a block goes on to the next branch, past places that other branches lead to.
/// Such a block is several places, one after the other, and what follows it follows the last one.
/// A place that is found inside a block takes over the ways that leave the block, which are those
/// of an exit.
///
/// Cost: per way that was taken before, one comparison for each of the last two from its place,
/// else a hashed look-up, however many ways lead from the place. For a new place, the nearest 64 by
/// address are asked.
#[derive(Clone, Debug)]
pub(crate) struct FlowGraph<M> {
    nodes: Vec<FlowNode<M>>,
    edges: Vec<FlowEdges>,
    /// By number of the exit.
    exits: Vec<FlowExit>,
    /// The ways, from exits to places.
    ways: HashSet<(u32, u32)>,
    /// By address. Its hash has a random key, so that nobody can choose addresses that collide.
    numbers: HashMap<u64, u32>,
    ordered: BTreeMap<u64, u32>,
}

impl<M: Copy + Default> FlowGraph<M> {
    /// No place but number 0, which is none.
    pub fn new() -> Self {
        FlowGraph {
            nodes: vec![FlowNode::default()],
            edges: vec![FlowEdges::default()],
            exits: vec![FlowExit::default()],
            ways: HashSet::new(),
            numbers: HashMap::new(),
            ordered: BTreeMap::new(),
        }
    }

    /// The way from a place to a block, if it is one of the last two.
    #[inline]
    pub fn known_step(&self, from: u32, block: &BasicBlock) -> Option<FlowStep> {
        let steps = &self.nodes[from as usize].steps;
        let leads = |step: &&FlowStep| self.begins(step.to, block);
        steps.iter().find(leads).copied()
    }

    /// The place where a called block begins, if it is one of the last two called from a place.
    #[inline]
    pub fn known_callee(&self, from: u32, block: &BasicBlock) -> Option<u32> {
        let callees = self.nodes[from as usize].callees;
        callees.into_iter().find(|to| self.begins(*to, block))
    }

    /// Whether a block begins at a place, and is no longer than the others from there.
    #[inline]
    fn begins(&self, place: u32, block: &BasicBlock) -> bool {
        let node = &self.nodes[place as usize];
        node.start == block.start && node.length >= block.length && place != 0
    }

    /// Remembers a function as the last one called from a place.
    pub fn remember_callee(&mut self, from: u32, to: u32) {
        let callees = &mut self.nodes[from as usize].callees;
        *callees = [to, callees[0]];
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
        for exit in &self.edges[place as usize].from {
            let from = self.exits[*exit as usize].place;
            for step in &mut self.nodes[from as usize].steps {
                step.keeps_loops &= step.to != place;
            }
        }
    }

    /// The place where a block begins, and for a new one `Some` of the place whose block it is
    /// inside of, which is 0 if there is none.
    pub fn place(&mut self, block: &BasicBlock) -> (u32, Option<u32>) {
        let (number, around) = match self.numbers.get(&block.start) {
            Some(number) => (*number, None),
            None => {
                let (number, around) = self.insert(block.start);
                (number, Some(around))
            }
        };
        if self.nodes[number as usize].length < block.length || around.is_some() {
            self.lengthen(number, block);
        }
        (number, around)
    }

    fn insert(&mut self, start: u64) -> (u32, u32) {
        let number = self.nodes.len() as u32;
        self.nodes.push(FlowNode {
            start,
            ..FlowNode::default()
        });
        self.edges.push(FlowEdges {
            exit: number,
            ..FlowEdges::default()
        });
        self.exits.push(FlowExit {
            place: number,
            leads_on: false,
        });
        self.numbers.insert(start, number);
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
        self.nodes[inner].callees = std::mem::take(&mut self.nodes[outer].callees);
        let exit = std::mem::replace(&mut self.edges[outer].exit, inside);
        self.edges[inner].exit = exit;
        self.exits[exit as usize].place = inside;
        self.exits[inner].place = around;
        self.edges[inner].end = self.edges[outer].end;
        self.add_edge(around, inside);
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
        let exit = self.edges[from as usize].exit;
        if !self.ways.insert((exit, to)) {
            return false;
        }
        self.exits[exit as usize].leads_on = true;
        self.edges[to as usize].from.push(exit);
        true
    }

    /// Whether a way leads from a place.
    pub fn leads_on(&self, place: u32) -> bool {
        self.exits[self.edges[place as usize].exit as usize].leads_on
    }

    /// The places that a way leads from to this one.
    pub fn before(&self, place: u32) -> impl ExactSizeIterator<Item = u32> {
        let exits = self.edges[place as usize].from.iter();
        exits.map(|exit| self.exits[*exit as usize].place)
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
    pub fn run(&self, place: u32) -> &PlaceRun<M> {
        &self.nodes[place as usize].run
    }

    /// A place runs.
    #[inline]
    pub fn ran(&mut self, place: u32, run: PlaceRun<M>) {
        self.nodes[place as usize].run = run;
    }

    /// Bytes held, about. Cost: none to speak of, however many places there are.
    pub fn memory(&self) -> usize {
        // Each way is in a list, and lists that have grown are up to half empty.
        let edges = self.ways.len() * 2;
        // A node of the tree is two thirds full.
        self.nodes.capacity() * size_of::<FlowNode<M>>()
            + self.edges.capacity() * size_of::<FlowEdges>()
            + self.exits.capacity() * size_of::<FlowExit>()
            + self.ways.allocation_size()
            + self.numbers.allocation_size()
            + edges * size_of::<u32>()
            + self.ordered.len() * 18
    }
}
