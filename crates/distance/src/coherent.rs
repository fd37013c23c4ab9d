//! Reuse distances of several cores with caches of their own that are kept coherent.

use std::collections::HashMap;

use reuselens_units::Distance;

use crate::{CountingTree, Engine};

/// The most cores: a bit each.
const MAX_CORES: usize = 64;

/// A stack for each core. What one core stores is no longer valid in the others' stacks.
///
/// An entry that another core's store made invalid stays where it is, so that distances of other items are what
/// they were; but the core's own next access to it is cold, as if it were its first. That access puts the item
/// on top again, valid. Loads leave other stacks alone, so several cores may hold an item.
///
/// A stack's order does not depend on what is valid, so each is an exact engine, and validity is a bit for
/// each core beside it. Shared caches need none of this: one engine for all cores.
///
/// Memory: that of the engines, and 16 bytes or more an item. Source: Schuff, Parsons and Pai, *Multicore-Aware Reuse
/// Distance Analysis*, IPDPSW 2010, as described in Garrido 2013, section 4.1.1.
pub struct Coherent {
    cores: Vec<CountingTree>,
    /// Which cores have a valid entry.
    valid: HashMap<u64, u64>,
}

impl Coherent {
    /// For so many cores: 1 to 64.
    ///
    /// # Panics
    /// If there are none, or more than 64 (a fault of the caller).
    pub fn new(cores: usize) -> Coherent {
        assert!((1..=MAX_CORES).contains(&cores), "1 to {MAX_CORES} cores");
        Coherent {
            cores: (0..cores).map(|_| CountingTree::new()).collect(),
            valid: HashMap::new(),
        }
    }

    /// Processes the next accesses of one core, in order: `distances[i]` becomes the distance of the access to `items[i]`
    /// in its stack, [`Distance::COLD`] if it is the first, or the first since another core stored to the item.
    /// `stores[i]` says whether it is a store (an atomic operation is one).
    ///
    /// # Panics
    /// If slices differ in length, or there is no such core (faults of the caller).
    pub fn process(
        &mut self,
        core: usize,
        items: &[u64],
        stores: &[bool],
        distances: &mut [Distance],
    ) {
        assert_eq!(items.len(), stores.len());
        self.cores[core].process(items, distances);
        let own = 1 << core;
        for ((item, &store), distance) in items.iter().zip(stores).zip(distances) {
            let valid = self.valid.entry(*item).or_default();
            if *valid & own == 0 {
                *distance = Distance::COLD;
            }
            *valid = if store { own } else { *valid | own };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: stacks as lists, each entry valid or not.
    struct Stacks(Vec<Vec<(u64, bool)>>);

    impl Stacks {
        fn access(&mut self, core: usize, item: u64, store: bool) -> Distance {
            let stack = &mut self.0[core];
            let found = stack.iter().position(|entry| entry.0 == item);
            let distance = match found {
                Some(at) if stack.remove(at).1 => Distance::new(at as u64),
                _ => Distance::COLD,
            };
            stack.insert(0, (item, true));
            for (other, stack) in self.0.iter_mut().enumerate() {
                if store && other != core {
                    stack
                        .iter_mut()
                        .filter(|entry| entry.0 == item)
                        .for_each(|entry| entry.1 = false);
                }
            }
            distance
        }
    }

    fn one(coherent: &mut Coherent, core: usize, item: u64, store: bool) -> Distance {
        let mut distance = [Distance::ZERO];
        coherent.process(core, &[item], &[store], &mut distance);
        distance[0]
    }

    #[test]
    fn an_invalid_entry_keeps_its_place_and_its_next_use_is_cold() {
        let mut coherent = Coherent::new(2);
        let (a, d) = (1, 4);
        assert!(one(&mut coherent, 1, a, true).is_cold());
        assert!(one(&mut coherent, 1, d, true).is_cold());
        assert!(one(&mut coherent, 0, d, true).is_cold());
        // D is not valid any more, and still lies between.
        assert_eq!(one(&mut coherent, 1, a, true).items(), Some(1));
        assert!(one(&mut coherent, 1, d, false).is_cold());
        assert_eq!(one(&mut coherent, 1, d, false).items(), Some(0));
        // A load leaves the other's entry valid; a store does not.
        assert_eq!(one(&mut coherent, 0, d, false).items(), Some(0));
        assert_eq!(one(&mut coherent, 1, d, true).items(), Some(0));
        assert!(one(&mut coherent, 0, d, false).is_cold());
    }

    #[test]
    fn random_accesses_have_the_distances_of_the_definition() {
        let mut seed = 7_u64;
        for cores in [1, 2, 3, 5] {
            for items in [3, 20] {
                let mut stacks = Stacks(vec![Vec::new(); cores]);
                let mut coherent = Coherent::new(cores);
                for _ in 0..3000 {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let random = seed >> 33;
                    let core = (random % cores as u64) as usize;
                    let (item, store) = (random / 7 % items, (random / 1000).is_multiple_of(4));
                    let right = stacks.access(core, item, store);
                    assert_eq!(one(&mut coherent, core, item, store), right);
                }
            }
        }
    }

    #[test]
    fn blocks_of_accesses_are_as_single_ones() {
        let items: Vec<u64> = (0..200).map(|at| at * at % 17).collect();
        let stores: Vec<bool> = (0..200).map(|at| at % 5 == 0).collect();
        let (mut whole, mut single) = (Coherent::new(2), Coherent::new(2));
        for core in [0, 1, 0] {
            let mut distances = vec![Distance::ZERO; items.len()];
            whole.process(core, &items, &stores, &mut distances);
            for at in 0..items.len() {
                assert_eq!(one(&mut single, core, items[at], stores[at]), distances[at]);
            }
        }
    }
}
