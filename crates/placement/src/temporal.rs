//! The best placement where objects live at different times: a temporal knapsack, with a
//! constraint for each memory at each slot (a moment of a largest set of objects that live
//! together).
//!
//! A price for a byte of each memory at each slot gives a bound: each object goes where it is worth
//! the most after it has paid, and the memories earn their capacities. That holds for all prices of
//! 0 and more (Lagrangian relaxation); a fixed number of subgradient steps looks for prices that
//! make the bound small. With the prices, every decision has a *loss*, what it falls short of the
//! object's best, and a branch can be cut as soon as the bound without the losses so far is no more
//! than the best choice. So a node of the search costs the logarithm of the number of slots.
//!
//! Source: Held and Karp, *The traveling-salesman problem and minimum spanning trees: part II*,
//! 1971 (the steps); Bartlett, Frisch and others, *The temporal knapsack problem and its solution*,
//! 2005 (the problem).

use std::ops::Range;

use crate::optimum::Optimum;
use crate::problem::{Choice, Filling, Problem};
use crate::rules::RULES;
use crate::slots::{Occupancy, Slots};

/// Steps towards better prices.
const STEPS: usize = 600;
/// Steps without a better bound after which steps become half as long.
const PATIENCE: usize = 12;
/// A choice is made from the prices once in as many steps.
const CHOICE_EVERY: usize = 20;

/// The best choice; looks at `most_nodes` branches at most. The choice is at least as good as that
/// of every rule in [`RULES`]. Where the search is complete, no choice is better by more than
/// rounding (a part in 10¹² of the bound).
pub(crate) fn solve(problem: &Problem, slots: &Slots, most_nodes: u64) -> Optimum {
    let mut best = (vec![None; problem.items.len()], 0.0);
    for rule in RULES {
        keep_better(problem, &mut best, (rule.place)(problem));
    }
    let mut prices = Prices::new(problem, slots);
    prices.improve(&mut best);
    let mut search = TemporalSearch::new(&prices, best, most_nodes);
    search.run();
    let (choice, value) = search.best;
    let is_proven = search.open <= value;
    Optimum {
        value,
        bound: if is_proven { value } else { search.open },
        is_proven,
        choice,
    }
}

/// Keeps a choice that is worth more, without objects that gain nothing where they are.
fn keep_better(problem: &Problem, best: &mut (Choice, f64), mut choice: Choice) {
    let value = problem.value(&choice);
    if value > best.1 {
        for (item, bin) in choice.iter_mut().enumerate() {
            *bin = bin.filter(|&bin| problem.worth(bin, item) > 0.0);
        }
        *best = (choice, value);
    }
}

/// Prices, and the bound that they give.
struct Prices<'a> {
    problem: &'a Problem,
    slots: &'a Slots,
    /// The objects that count, each with the memories that take it.
    items: Vec<(usize, Vec<usize>)>,
    /// By memory and slot, the price of a byte.
    price: Vec<Vec<f64>>,
    /// By memory, the sums of the prices before each slot.
    before: Vec<Vec<f64>>,
}

impl<'a> Prices<'a> {
    fn new(problem: &'a Problem, slots: &'a Slots) -> Self {
        let bins = problem.bins.len();
        let taken_by = |item: usize| -> Vec<usize> {
            (0..bins)
                .filter(|&bin| {
                    let fits = problem.items[item].bytes <= problem.bins[bin].bytes;
                    fits && problem.takes(bin, item) && problem.worth(bin, item) > 0.0
                })
                .collect()
        };
        let items = (0..problem.items.len()).map(|item| (item, taken_by(item)));
        Prices {
            problem,
            slots,
            items: items.filter(|(_, bins)| !bins.is_empty()).collect(),
            price: vec![vec![0.0; slots.count]; bins],
            before: vec![vec![0.0; slots.count + 1]; bins],
        }
    }

    /// What an object is worth in a memory after it has paid.
    fn reduced(&self, bin: usize, item: usize) -> f64 {
        let Range { start, end } = self.slots.of[item];
        let price = self.before[bin][end] - self.before[bin][start];
        self.problem.worth(bin, item) - price * self.problem.items[item].bytes as f64
    }

    /// Where an object is worth the most after it has paid, and how much; `None` for no memory.
    fn best_of(&self, item: usize, bins: &[usize]) -> (Option<usize>, f64) {
        let mut best = (None, 0.0);
        for &bin in bins {
            let worth = self.reduced(bin, item);
            if worth > best.1 {
                best = (Some(bin), worth);
            }
        }
        best
    }

    /// Sets prices, and the sums of them.
    fn set(&mut self, price: Vec<Vec<f64>>) {
        for (before, price) in self.before.iter_mut().zip(&price) {
            let mut sum = 0.0;
            for (before, price) in before[1..].iter_mut().zip(price) {
                sum += price;
                *before = sum;
            }
        }
        self.price = price;
    }

    /// The bound, and what the memories have left at each slot where every object is at its best
    /// (less than nothing where they overflow).
    fn bound(&self) -> (f64, Vec<Vec<f64>>) {
        let mut sum = 0.0;
        let mut left: Vec<Vec<f64>> = Vec::new();
        for (bin, before) in self.problem.bins.iter().zip(&self.before) {
            sum += bin.bytes as f64 * before[self.slots.count];
            left.push(vec![0.0; self.slots.count + 1]);
        }
        for (item, bins) in &self.items {
            let (bin, worth) = self.best_of(*item, bins);
            sum += worth;
            if let Some(bin) = bin {
                let (slots, bytes) = (&self.slots.of[*item], self.problem.items[*item].bytes);
                left[bin][slots.start] -= bytes as f64;
                left[bin][slots.end] += bytes as f64;
            }
        }
        for (bin, left) in self.problem.bins.iter().zip(&mut left) {
            let mut used = 0.0;
            for change in left.iter_mut() {
                used += *change;
                *change = bin.bytes as f64 + used;
            }
            left.pop();
        }
        (sum, left)
    }

    /// Looks for prices with a small bound, and for choices that they suggest.
    fn improve(&mut self, best: &mut (Choice, f64)) {
        let (mut bound, mut left) = self.bound();
        let mut best_bound = (bound, self.price.clone());
        let (mut length, mut idle) = (1.5, 0);
        for step in 0..STEPS {
            let square: f64 = left.iter().flatten().map(|left| left * left).sum();
            if bound <= best.1 || square <= 0.0 {
                break;
            }
            let factor = length * (bound - best.1) / square;
            let moved = |(price, left): (&f64, &f64)| (price - factor * left).max(0.0);
            let moved = |(price, left): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
                price.iter().zip(left).map(moved).collect()
            };
            let price: Vec<Vec<f64>> = self.price.iter().zip(&left).map(moved).collect();
            self.set(price);
            (bound, left) = self.bound();
            idle += 1;
            if bound < best_bound.0 {
                (best_bound, idle) = ((bound, self.price.clone()), 0);
            } else if idle == PATIENCE {
                (length, idle) = (length / 2.0, 0);
                self.set(best_bound.1.clone());
                (bound, left) = self.bound();
            }
            if step % CHOICE_EVERY == 0 {
                keep_better(self.problem, best, self.choice());
            }
        }
        self.set(best_bound.1);
        keep_better(self.problem, best, self.choice());
    }

    /// A choice by the prices: the objects by what they are worth after they have paid, for each
    /// byte, each into the memory where that is most.
    fn choice(&self) -> Choice {
        let mut order: Vec<(f64, usize, usize)> = Vec::new();
        for (item, bins) in &self.items {
            let bytes = self.problem.items[*item].bytes as f64;
            order.extend(
                bins.iter()
                    .map(|&bin| (self.reduced(bin, *item) / bytes, *item, bin)),
            );
        }
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let mut filling = Filling::new(self.problem);
        for (_, item, bin) in order {
            filling.put(bin, item);
        }
        filling.finish()
    }
}

/// An object to decide about.
struct Decision {
    item: usize,
    /// The memories that it may go to and `None`, each with its loss, ascending.
    options: Vec<(Option<usize>, f64)>,
    /// The next option to try.
    next: usize,
    /// The memory that it is in now.
    taken: Option<usize>,
    /// What the levels before it lose, and are worth.
    before: Spent,
}

/// What decisions lose against the bound, and what they are worth.
#[derive(Clone, Copy, Default)]
struct Spent {
    loss: f64,
    value: f64,
}

struct TemporalSearch<'a> {
    problem: &'a Problem,
    slots: &'a Slots,
    /// The objects, those first where the second-best decision loses most.
    levels: Vec<Decision>,
    room: Vec<Occupancy>,
    /// The bound without losses.
    bound: f64,
    best: (Choice, f64),
    /// What a branch that was not looked at may be worth, at most.
    open: f64,
    nodes_left: u64,
}

impl<'a> TemporalSearch<'a> {
    fn new(prices: &Prices<'a>, best: (Choice, f64), most_nodes: u64) -> Self {
        let level = |(item, bins): &(usize, Vec<usize>)| {
            let most = prices.best_of(*item, bins).1;
            let paid = bins
                .iter()
                .map(|&bin| (Some(bin), most - prices.reduced(bin, *item)));
            let mut options: Vec<(Option<usize>, f64)> = paid.chain([(None, most)]).collect();
            options.sort_by(|a, b| a.1.total_cmp(&b.1));
            Decision {
                item: *item,
                options,
                next: 0,
                taken: None,
                before: Spent::default(),
            }
        };
        let mut levels: Vec<Decision> = prices.items.iter().map(level).collect();
        levels.sort_by(|a, b| {
            b.options[1]
                .1
                .total_cmp(&a.options[1].1)
                .then(a.item.cmp(&b.item))
        });
        let bins = prices.problem.bins.iter();
        TemporalSearch {
            problem: prices.problem,
            slots: prices.slots,
            levels,
            room: bins
                .map(|bin| Occupancy::new(prices.slots.count, bin.bytes))
                .collect(),
            bound: prices.bound().0,
            best,
            open: 0.0,
            nodes_left: most_nodes,
        }
    }

    /// Decides the objects one after the other.
    fn run(&mut self) {
        let (mut depth, mut sums) = (0, Spent::default());
        loop {
            if depth == self.levels.len() {
                self.keep(sums.value);
            } else if let Some(after) = self.advance(depth, sums) {
                (depth, sums) = (depth + 1, after);
                continue;
            }
            if depth == 0 {
                return;
            }
            depth -= 1;
            self.take_out(depth);
            sums = self.levels[depth].before;
        }
    }

    /// Takes the next option of a level that leaves a chance for better; the sums after it.
    fn advance(&mut self, depth: usize, sums: Spent) -> Option<Spent> {
        let level = &mut self.levels[depth];
        level.before = sums;
        while let Some(&(bin, more)) = level.options.get(level.next) {
            level.next += 1;
            let loss = sums.loss + more;
            let bound = self.bound - loss;
            let is_over = self.nodes_left == 0;
            if is_over || bound <= self.best.1 {
                if is_over && bound > self.best.1 {
                    self.open = self.open.max(bound);
                }
                // The options that follow lose more.
                level.next = level.options.len();
                break;
            }
            self.nodes_left -= 1;
            let bytes = self.problem.items[level.item].bytes;
            if bin.is_none_or(|bin| self.room[bin].put(&self.slots.of[level.item], bytes)) {
                level.taken = bin;
                let worth = bin.map_or(0.0, |bin| self.problem.worth(bin, level.item));
                let value = sums.value + worth;
                if let Some(next) = self.levels.get_mut(depth + 1) {
                    next.next = 0;
                }
                return Some(Spent { loss, value });
            }
        }
        None
    }

    fn take_out(&mut self, depth: usize) {
        let level = &mut self.levels[depth];
        if let Some(bin) = level.taken.take() {
            let bytes = self.problem.items[level.item].bytes;
            self.room[bin].take(&self.slots.of[level.item], bytes);
        }
    }

    /// Keeps the choice that is made now, if it is the best.
    fn keep(&mut self, value: f64) {
        if value <= self.best.1 {
            return;
        }
        let mut choice = vec![None; self.problem.items.len()];
        for level in &self.levels {
            choice[level.item] = level.taken;
        }
        keep_better(self.problem, &mut self.best, choice);
    }
}
