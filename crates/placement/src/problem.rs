//! The numbers of a placement: a knapsack problem with a bin for each fast memory.

use crate::slots::{Occupancy, Slots};

/// An object, as numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct ProblemItem {
    /// Its size.
    pub bytes: u64,
    /// What it counts with ([`Objective::weight`](crate::Objective::weight)).
    pub weight: f64,
    /// The only thread that accesses it; `None` if several do.
    pub owner: Option<u32>,
    /// Its accesses, for rules that look at nothing else.
    pub frequency: f64,
    /// The first and the last moment of its life, on any clock that all objects share; `None` if it
    /// lives all the time. Objects that never live at the same moment may share room.
    pub live: Option<(u64, u64)>,
}

/// A memory that objects are put into: a tier, or one core's part of a tier of cores.
#[derive(Clone, Debug, PartialEq)]
pub struct ProblemBin {
    /// Index of the tier.
    pub tier: usize,
    /// How much it holds.
    pub bytes: u64,
    /// What a unit of weight gains in it, above 0 ([`Objective::gain`](crate::Objective::gain)).
    pub gain: f64,
    /// The thread whose objects it takes; `None` if it takes all.
    pub owner: Option<u32>,
}

/// Objects and bins. Bins are ordered by falling gain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problem {
    /// The objects, in the order of [`candidates`](crate::candidates).
    pub items: Vec<ProblemItem>,
    /// The fast memories.
    pub bins: Vec<ProblemBin>,
}

/// For each object, the bin that it is in; `None` for the slowest tier.
pub type Choice = Vec<Option<usize>>;

impl Problem {
    /// Whether a bin may take an object (Shen 2021, section 2.5.2: a memory that belongs to a core
    /// takes what only that core's thread accesses).
    pub fn takes(&self, bin: usize, item: usize) -> bool {
        let owner = self.bins[bin].owner;
        owner.is_none() || owner == self.items[item].owner
    }

    /// What an object is worth in a bin.
    pub fn worth(&self, bin: usize, item: usize) -> f64 {
        self.bins[bin].gain * self.items[item].weight
    }

    /// What a choice is worth.
    pub fn value(&self, choice: &[Option<usize>]) -> f64 {
        let placed = choice.iter().enumerate();
        placed
            .filter_map(|(item, bin)| Some(self.worth((*bin)?, item)))
            .fold(0.0, |sum, worth| sum + worth)
    }

    /// The most bytes that a choice puts into each bin at one time.
    pub fn used(&self, choice: &[Option<usize>]) -> Vec<u64> {
        let slots = Slots::new(self);
        let mut changes = vec![vec![(0_u64, 0_u64); slots.count + 1]; self.bins.len()];
        for (item, bin) in choice.iter().enumerate() {
            if let Some(bin) = bin {
                let (bytes, live) = (self.items[item].bytes, &slots.of[item]);
                let (come, gone) = (live.start, live.end);
                changes[*bin][come].0 = changes[*bin][come].0.saturating_add(bytes);
                changes[*bin][gone].1 = changes[*bin][gone].1.saturating_add(bytes);
            }
        }
        let most = |changes: Vec<(u64, u64)>| {
            let (mut used, mut most) = (0_u64, 0);
            for (come, gone) in changes {
                used = used.saturating_sub(gone).saturating_add(come);
                most = used.max(most);
            }
            most
        };
        changes.into_iter().map(most).collect()
    }

    /// Whether each bin of a choice has room for what is put into it, and may take it.
    pub fn is_feasible(&self, choice: &[Option<usize>]) -> bool {
        let used = self.used(choice);
        let mut fits = used.iter().zip(&self.bins);
        let mut placed = choice.iter().enumerate();
        fits.all(|(used, bin)| *used <= bin.bytes)
            && placed.all(|(item, bin)| bin.is_none_or(|bin| self.takes(bin, item)))
    }
}

/// Puts items into bins in a given order, each into the first bin of `bins` that takes it and has
/// room.
pub(crate) struct Filling<'a> {
    problem: &'a Problem,
    slots: Slots,
    room: Vec<Occupancy>,
    choice: Choice,
}

impl<'a> Filling<'a> {
    pub fn new(problem: &'a Problem) -> Self {
        let (slots, bins) = (Slots::new(problem), problem.bins.iter());
        Filling {
            problem,
            room: bins
                .map(|bin| Occupancy::new(slots.count, bin.bytes))
                .collect(),
            slots,
            choice: vec![None; problem.items.len()],
        }
    }

    /// Puts an item that is in no bin yet into a bin, if the bin takes it and has room; whether it
    /// did.
    pub fn put(&mut self, bin: usize, item: usize) -> bool {
        let bytes = self.problem.items[item].bytes;
        let fits = self.choice[item].is_none()
            && self.problem.takes(bin, item)
            && self.room[bin].put(&self.slots.of[item], bytes);
        if fits {
            self.choice[item] = Some(bin);
        }
        fits
    }

    pub fn finish(self) -> Choice {
        self.choice
    }
}
