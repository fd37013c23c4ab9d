//! When objects are live: the moments at which a memory can overflow, and the room at each.
//!
//! Objects that do not live at the same time may share room. A memory holds its objects at all
//! times if it does at each *slot*: a moment for every largest set of objects that live together
//! (a maximal clique of the intervals). Each object then lives for a range of slots.

use std::ops::Range;

use crate::problem::{Problem, ProblemItem};

/// The slots of a problem: one, if everything lives all the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    /// Number of slots, at least 1.
    pub count: usize,
    /// By item, the slots at which it is live; never empty.
    pub of: Vec<Range<usize>>,
}

impl Slots {
    /// Cost: n log n.
    pub fn new(problem: &Problem) -> Slots {
        let mut ends: Vec<(u64, bool)> = Vec::new();
        for (begin, end) in problem.items.iter().filter_map(ordered) {
            ends.extend([(begin, false), (end, true)]);
        }
        // An object that begins when another ends lives beside it.
        ends.sort_unstable();
        let moments: Vec<u64> = ends
            .windows(2)
            .filter(|pair| !pair[0].1 && pair[1].1)
            .map(|pair| pair[0].0)
            .collect();
        let count = moments.len().max(1);
        let slots = |item: &ProblemItem| match ordered(item) {
            None => 0..count,
            Some((begin, end)) => {
                let first = moments.partition_point(|&moment| moment < begin);
                first..moments.partition_point(|&moment| moment <= end)
            }
        };
        Slots {
            count,
            of: problem.items.iter().map(slots).collect(),
        }
    }
}

/// The first and the last moment of an item that does not live all the time.
fn ordered(item: &ProblemItem) -> Option<(u64, u64)> {
    item.live.map(|(begin, end)| (begin, end.max(begin)))
}

/// What a memory holds at each slot: a tree of maxima, so that a range costs the logarithm of the
/// number of slots.
#[derive(Clone, Debug)]
pub(crate) struct Occupancy {
    capacity: u64,
    /// Number of leaves, a power of two.
    leaves: usize,
    /// By node, the most within it, and what is added to all of it. The root is node 1.
    most: Vec<u64>,
    added: Vec<u64>,
}

impl Occupancy {
    pub fn new(slots: usize, capacity: u64) -> Occupancy {
        let leaves = slots.next_power_of_two();
        Occupancy {
            capacity,
            leaves,
            most: vec![0; 2 * leaves],
            added: vec![0; 2 * leaves],
        }
    }

    /// Puts `bytes` in for these slots, if there is room; whether there was.
    pub fn put(&mut self, slots: &Range<usize>, bytes: u64) -> bool {
        let most = self.most_in(slots, 1, 0..self.leaves);
        let fits = most
            .checked_add(bytes)
            .is_some_and(|sum| sum <= self.capacity);
        if fits {
            self.change(slots, 1, 0..self.leaves, |count| count + bytes);
        }
        fits
    }

    /// Takes out what [`Self::put`] put in for exactly these slots.
    pub fn take(&mut self, slots: &Range<usize>, bytes: u64) {
        self.change(slots, 1, 0..self.leaves, |count| count - bytes);
    }

    fn most_in(&self, slots: &Range<usize>, node: usize, under: Range<usize>) -> u64 {
        if slots.start >= under.end || under.start >= slots.end {
            return 0;
        }
        if slots.start <= under.start && under.end <= slots.end {
            return self.most[node];
        }
        let middle = under.start.midpoint(under.end);
        let left = self.most_in(slots, 2 * node, under.start..middle);
        let right = self.most_in(slots, 2 * node + 1, middle..under.end);
        left.max(right) + self.added[node]
    }

    fn change(
        &mut self,
        slots: &Range<usize>,
        node: usize,
        under: Range<usize>,
        by: impl Fn(u64) -> u64 + Copy,
    ) {
        if slots.start >= under.end || under.start >= slots.end {
            return;
        }
        if slots.start <= under.start && under.end <= slots.end {
            self.most[node] = by(self.most[node]);
            self.added[node] = by(self.added[node]);
            return;
        }
        let middle = under.start.midpoint(under.end);
        self.change(slots, 2 * node, under.start..middle, by);
        self.change(slots, 2 * node + 1, middle..under.end, by);
        self.most[node] = self.most[2 * node].max(self.most[2 * node + 1]) + self.added[node];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots_of(lives: &[Option<(u64, u64)>]) -> Slots {
        let item = |live: &Option<(u64, u64)>| ProblemItem {
            bytes: 1,
            weight: 1.0,
            owner: None,
            frequency: 1.0,
            live: *live,
        };
        Slots::new(&Problem {
            items: lives.iter().map(item).collect(),
            bins: Vec::new(),
        })
    }

    #[test]
    fn slots_are_the_largest_sets_that_live_together() {
        let slots = slots_of(&[
            Some((0, 10)),
            Some((5, 20)),
            Some((11, 30)),
            None,
            Some((30, 40)),
        ]);
        assert_eq!(slots.count, 3);
        assert_eq!(slots.of, [0..1, 0..2, 1..3, 0..3, 2..3]);
        assert_eq!(slots_of(&[None, None]).count, 1);
        assert_eq!(slots_of(&[Some((3, 3)), Some((4, 4))]).of, [0..1, 1..2]);
    }

    #[test]
    fn occupancy_agrees_with_an_array() {
        let (count, capacity) = (11, 40);
        let (mut tree, mut plain) = (Occupancy::new(count, capacity), vec![0_u64; count]);
        let (mut seed, mut inside) = (1_u64, Vec::new());
        for _ in 0..5_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (start, length) = ((seed >> 33) as usize % count, (seed >> 40) as usize % 5);
            let slots = start..(start + 1 + length).min(count);
            let bytes = 1 + (seed >> 50) % 9;
            let fits = plain[slots.clone()]
                .iter()
                .all(|used| used + bytes <= capacity);
            assert_eq!(tree.put(&slots, bytes), fits);
            if fits {
                plain[slots.clone()]
                    .iter_mut()
                    .for_each(|used| *used += bytes);
                inside.push((slots, bytes));
            } else if let Some((slots, bytes)) = inside.pop() {
                tree.take(&slots, bytes);
                plain[slots].iter_mut().for_each(|used| *used -= bytes);
            }
        }
    }
}
