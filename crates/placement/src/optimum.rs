//! The best placement, by branch and bound.
//!
//! Large objects are decided first, each for every memory that takes it and for none; then the
//! small ones, by falling weight for each byte. A branch is cut where even fractions of the objects
//! that are left could not make it better: since an object's worth is its weight times the memory's
//! gain, the best fractions put the densest bytes into the memory with the largest gain (Dantzig's
//! bound, for several memories by the rearrangement inequality). The bound ignores whose memory a
//! core's is, and stays a bound.
//!
//! Objects that live at different times may share room; where there are any, another search with
//! other bounds does the work (the module `temporal`).
//!
//! Fractions of small objects are worth little, so where the search for the best set of small
//! objects stops early, the bound is still close.

use std::ops::Range;

use crate::greedy::by_density;
use crate::problem::{Choice, Problem};
use crate::rules::RULES;
use crate::slots::Slots;
use crate::temporal;

/// Branches that are looked at, at most, unless a caller says otherwise: about two seconds.
pub const NODES: u64 = 4_000_000;
/// The same where objects live at different times: a branch costs more there, and gains less after
/// the prices are known.
pub const NODES_OF_LIVES: u64 = 400_000;
/// Branches of small objects for one choice of large ones.
const SMALL_NODES: u64 = 20_000;
/// Objects that count as large, at most: the search calls itself as deep.
const MOST_LARGE: usize = 40;
/// An object is large that takes this part of the largest memory.
const LARGE_PART: u64 = 64;

/// The best choice found, and how good it can be.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// The choice; within the capacities.
    pub choice: Choice,
    /// What it is worth.
    pub value: f64,
    /// No choice is worth more than this.
    pub bound: f64,
    /// Whether it is known that no choice is worth more than this one.
    pub is_proven: bool,
}

impl Optimum {
    /// How much of the bound the choice may miss, from 0 to 1.
    pub fn gap(&self) -> f64 {
        if self.bound > 0.0 {
            (1.0 - self.value / self.bound).max(0.0)
        } else {
            0.0
        }
    }
}

/// The best choice. Looks at `most_nodes` branches at most; the choice is at least as good as that
/// of every rule in [`RULES`], and the bound holds, even where that is too few.
///
/// Cost: n log n, and for each branch one binary search for each memory. Memory: linear.
pub fn solve(problem: &Problem, most_nodes: u64) -> Optimum {
    let slots = Slots::new(problem);
    if slots.count > 1 {
        return temporal::solve(problem, &slots, most_nodes);
    }
    let mut search = Search::new(problem, most_nodes);
    search.large(0, 0.0);
    let value = problem.value(&search.best);
    let is_proven = search.open <= search.best_value;
    Optimum {
        choice: search.best,
        value,
        bound: if is_proven { value } else { search.open },
        is_proven,
    }
}

/// A level of the search among small objects: an object, and the next memory to try.
#[derive(Clone, Copy)]
struct SmallLevel {
    item: usize,
    /// Index of a memory, the number of memories for none of them, or one more if all was tried.
    next: usize,
}

struct Search<'a> {
    problem: &'a Problem,
    /// The large objects, by falling density, each with the number of small ones that are as dense.
    large: Vec<(usize, usize)>,
    /// The small objects, by falling density.
    small: Vec<SmallLevel>,
    /// By level, the bytes and the weight of all small objects before it; one entry more than
    /// levels.
    bytes: Vec<u64>,
    weight: Vec<f64>,
    /// What is placed now, and the room that it leaves.
    choice: Choice,
    room: Vec<u64>,
    best: Choice,
    best_value: f64,
    /// What a branch that was not looked at may be worth, at most.
    open: f64,
    nodes_left: u64,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem, most_nodes: u64) -> Self {
        let fits = |item: &usize| {
            let bytes = problem.items[*item].bytes;
            let mut bins = problem.bins.iter().enumerate();
            bins.any(|(bin, known)| bytes <= known.bytes && problem.takes(bin, *item))
        };
        let mut order = by_density(problem, |item| problem.items[item].weight);
        order.retain(fits);
        let is_large = large(problem, &order);
        let mut search = Search {
            problem,
            large: Vec::new(),
            small: Vec::new(),
            bytes: vec![0],
            weight: vec![0.0],
            choice: vec![None; problem.items.len()],
            room: problem.bins.iter().map(|bin| bin.bytes).collect(),
            best: vec![None; problem.items.len()],
            best_value: 0.0,
            open: 0.0,
            nodes_left: most_nodes,
        };
        for item in order {
            if is_large(item) {
                search.large.push((item, search.small.len()));
            } else {
                search.add_small(item);
            }
        }
        for rule in RULES {
            let choice = (rule.place)(problem);
            let value = problem.value(&choice);
            search.keep_if_better(choice, value);
        }
        search
    }

    fn add_small(&mut self, item: usize) {
        let (known, level) = (&self.problem.items[item], self.small.len());
        self.small.push(SmallLevel { item, next: 0 });
        self.bytes
            .push(self.bytes[level].saturating_add(known.bytes));
        self.weight.push(self.weight[level] + known.weight);
    }

    /// Keeps a choice that is worth more than the best so far, without the objects that gain
    /// nothing where they are.
    fn keep_if_better(&mut self, mut choice: Choice, value: f64) {
        if value > self.best_value {
            for (item, bin) in choice.iter_mut().enumerate() {
                *bin = bin.filter(|&bin| self.problem.worth(bin, item) > 0.0);
            }
            (self.best, self.best_value) = (choice, value);
        }
    }

    /// Decides the large objects from `depth` on, then the small ones. `value` is what is placed so
    /// far.
    fn large(&mut self, depth: usize, value: f64) {
        let bound = value + self.bound(depth, 0);
        if bound <= self.best_value {
            return;
        }
        if self.nodes_left == 0 {
            self.open = self.open.max(bound);
            return;
        }
        self.nodes_left -= 1;
        let Some(&(item, _)) = self.large.get(depth) else {
            if !self.small_ones(value) {
                self.open = self.open.max(bound);
            }
            return;
        };
        for bin in 0..self.room.len() {
            if let Some(worth) = self.put(bin, item) {
                self.large(depth + 1, value + worth);
                self.take_out(item);
            }
        }
        self.large(depth + 1, value);
    }

    /// Decides the small objects; whether all was looked at.
    fn small_ones(&mut self, start: f64) -> bool {
        let (mut depth, mut value) = (0, start);
        let mut is_complete = false;
        if let Some(first) = self.small.first_mut() {
            first.next = 0;
        }
        for _ in 0..SMALL_NODES.min(self.nodes_left) {
            self.nodes_left -= 1;
            let is_over = depth == self.small.len();
            if is_over && value > self.best_value {
                self.keep_if_better(self.choice.clone(), value);
            }
            if is_over || value + self.bound(self.large.len(), depth) <= self.best_value {
                match self.back(depth, &mut value) {
                    Some(level) => depth = level,
                    None => {
                        is_complete = true;
                        break;
                    }
                }
            }
            value += self.advance(depth);
            depth += 1;
            if let Some(level) = self.small.get_mut(depth) {
                level.next = 0;
            }
        }
        for level in 0..self.small.len() {
            self.take_out(self.small[level].item);
        }
        is_complete
    }

    /// Puts the small object of a level into the next memory that takes it, or into none; what that
    /// is worth.
    fn advance(&mut self, depth: usize) -> f64 {
        let SmallLevel { item, next } = self.small[depth];
        for bin in next..self.room.len() {
            if let Some(worth) = self.put(bin, item) {
                self.small[depth].next = bin + 1;
                return worth;
            }
        }
        self.small[depth].next = self.room.len() + 1;
        0.0
    }

    /// Takes small objects out again, from the level before `depth` on, until one has something
    /// left to try. That level, or `None` if nothing is left.
    fn back(&mut self, mut depth: usize, value: &mut f64) -> Option<usize> {
        while depth > 0 {
            depth -= 1;
            let SmallLevel { item, next } = self.small[depth];
            *value -= self.take_out(item);
            if next <= self.room.len() {
                return Some(depth);
            }
        }
        None
    }

    /// Puts an object into a memory, if the memory takes it and has room; what it is worth there.
    fn put(&mut self, bin: usize, item: usize) -> Option<f64> {
        let bytes = self.problem.items[item].bytes;
        if bytes > self.room[bin] || !self.problem.takes(bin, item) {
            return None;
        }
        self.room[bin] -= bytes;
        self.choice[item] = Some(bin);
        Some(self.problem.worth(bin, item))
    }

    /// Takes an object out of the memory that it is in, if it is in one; what it was worth there.
    fn take_out(&mut self, item: usize) -> f64 {
        match self.choice[item].take() {
            Some(bin) => {
                self.room[bin] += self.problem.items[item].bytes;
                self.problem.worth(bin, item)
            }
            None => 0.0,
        }
    }

    /// The most that the large objects from `depth` on and the small ones from `level` on can add
    /// with the room that is left.
    fn bound(&self, depth: usize, level: usize) -> f64 {
        let mut fill = Fill::new(self);
        let mut from = level;
        for &(item, denser) in &self.large[depth..] {
            fill.small(from..denser.max(from));
            from = denser.max(from);
            let known = &self.problem.items[item];
            fill.bytes(known.bytes, |taken| {
                known.weight * taken as f64 / known.bytes as f64
            });
        }
        fill.small(from..self.small.len());
        fill.sum
    }

    /// The weight of the first `bytes` bytes of all small objects; one that is cut counts in
    /// proportion.
    fn weight_before(&self, bytes: u64) -> f64 {
        let level = self.bytes.partition_point(|&before| before <= bytes) - 1;
        let Some(cut) = self.small.get(level) else {
            return self.weight[level];
        };
        let item = &self.problem.items[cut.item];
        let share = (bytes - self.bytes[level]) as f64 / item.bytes as f64;
        self.weight[level] + share * item.weight
    }
}

/// Which of the objects of `order`, by falling density, are large.
fn large(problem: &Problem, order: &[usize]) -> impl Fn(usize) -> bool + use<> {
    let most = problem.bins.iter().map(|bin| bin.bytes).max().unwrap_or(0);
    let bytes = |item: usize| problem.items[item].bytes;
    let mut large: Vec<usize> = order
        .iter()
        .copied()
        .filter(|&item| bytes(item) > most / LARGE_PART)
        .collect();
    large.sort_by_key(|&item| std::cmp::Reverse(bytes(item)));
    large.truncate(MOST_LARGE);
    large.sort_unstable();
    move |item| large.binary_search(&item).is_ok()
}

/// Bytes poured into the memories in order, the densest first.
struct Fill<'a> {
    search: &'a Search<'a>,
    bin: usize,
    /// What is left of that memory.
    room: u64,
    sum: f64,
}

impl<'a> Fill<'a> {
    fn new(search: &'a Search<'a>) -> Self {
        Fill {
            search,
            bin: 0,
            room: search.room.first().copied().unwrap_or(0),
            sum: 0.0,
        }
    }

    /// Pours small objects.
    fn small(&mut self, levels: Range<usize>) {
        let search = self.search;
        let start = search.bytes[levels.start];
        let bytes = search.bytes[levels.end] - start;
        self.bytes(bytes, |taken| {
            search.weight_before(start.saturating_add(taken)) - search.weight[levels.start]
        });
    }

    /// Pours bytes of which the first n weigh `weight(n)`.
    fn bytes(&mut self, bytes: u64, weight: impl Fn(u64) -> f64) {
        let (mut taken, mut before) = (0, 0.0);
        while taken < bytes {
            let Some(bin) = self.search.problem.bins.get(self.bin) else {
                return;
            };
            let part = self.room.min(bytes - taken);
            taken += part;
            self.room -= part;
            let until = weight(taken);
            self.sum += bin.gain * (until - before);
            before = until;
            if self.room == 0 {
                self.bin += 1;
                self.room = self.search.room.get(self.bin).copied().unwrap_or(0);
            }
        }
    }
}
