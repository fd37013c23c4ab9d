//! [`Coherent`]: the reuse distances of several cores, each with a cache of its own, which are kept
//! coherent: a store of one core invalidates the item in the stacks of the others.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use reuselens_units::{Bytes, Distance};

use crate::growth::map_ahead;
use crate::mix::Mixing;
use crate::{CountingTree, Engine};

/// A stack for each core. A store of one core invalidates the item's entries in the other cores'
/// stacks.
///
/// An invalidated entry keeps its place, so the distances of other items stay what they were. The
/// core's own next access to the item is cold, and reported as *invalidated*: a private cache of
/// any size misses. That access puts the item on top again, valid. Loads leave other stacks alone,
/// so several cores may hold an item.
///
/// A stack's order does not depend on which entries are valid, so each stack is an exact engine.
/// Validity is a number beside it: an item counts the stores to it, and a core stores that count at
/// each of its accesses to the item. A core's entry is valid if the count is still the one that the
/// core stored: its own stores are accesses of its own.
///
/// Cost per access: that of the engine, and two look-ups in hash tables. Memory: that of the
/// engines, and 17 to 39 bytes for each item and for each pair of a core and an item. Source:
/// Schuff, Parsons and Pai, *Multicore-Aware Reuse Distance Analysis*, IPDPSW 2010, as described in
/// Garrido 2013, section 4.1.1.
pub struct Coherent {
    cores: BTreeMap<u32, Core>,
    /// The stores to each item so far.
    stores: Counters,
    engine: Box<dyn Fn() -> Box<dyn Engine> + Send>,
    /// Bytes that the cores hold: the sum of what their engines report.
    held: u64,
}

/// A number for each item.
type Counters = HashMap<u64, u64, Mixing>;

struct Core {
    engine: Box<dyn Engine>,
    /// The stores to each item at this core's last access to it.
    noted: Counters,
    /// Bytes that it held after its last accesses, and may take before the next look.
    held: u64,
}

impl Coherent {
    /// No cores yet, each to have a counting tree.
    pub fn new() -> Coherent {
        Coherent::with(|| Box::new(CountingTree::new()))
    }

    /// No cores yet, each to have an engine that `engine` makes: one that reports all distances.
    pub fn with(engine: impl Fn() -> Box<dyn Engine> + Send + 'static) -> Coherent {
        Coherent {
            cores: BTreeMap::new(),
            stores: Counters::default(),
            engine: Box::new(engine),
            held: 0,
        }
    }

    /// Processes the next accesses of one core, in order: `distances[i]` becomes the distance of
    /// the access to `items[i]` in its stack, [`Distance::COLD`] if it is the first, or the first
    /// since another core stored to the item. `stores[i]` says whether it is a store (an atomic
    /// operation is one). `invalidated` becomes the indices of the accesses that are cold because
    /// another core stored to their item, ascending. Any number is a core.
    ///
    /// # Panics
    /// If slices differ in length (a fault of the caller).
    pub fn process(
        &mut self,
        core: u32,
        items: &[u64],
        stores: &[bool],
        distances: &mut [Distance],
        invalidated: &mut Vec<u32>,
    ) {
        assert_eq!(items.len(), stores.len(), "one kind per item");
        let new = || Core {
            engine: (self.engine)(),
            noted: Counters::default(),
            held: 0,
        };
        let core = self.cores.entry(core).or_insert_with(new);
        core.engine.process(items, distances);
        invalidated.clear();
        let accesses = items.iter().zip(stores).zip(distances);
        for (index, ((&item, &store), distance)) in (0..).zip(accesses) {
            let count = self.stores.entry(item).or_default();
            let before = *count;
            *count += u64::from(store);
            if core
                .noted
                .insert(item, *count)
                .is_some_and(|noted| noted != before)
            {
                *distance = Distance::COLD;
                invalidated.push(index);
            }
        }
        let held = core.engine.memory_ahead(AHEAD) + bytes_ahead(&core.noted);
        self.held = self.held - core.held + held.get();
        core.held = held.get();
    }

    /// Gives up what a core holds: no access of it follows. What it stored stays stored. If one
    /// follows after all, it is of a new core of that number.
    pub fn end(&mut self, core: u32) {
        if let Some(core) = self.cores.remove(&core) {
            self.held -= core.held;
        }
    }

    /// The most memory that is held within the next 2¹⁷ accesses: see [`Engine::memory_ahead`].
    /// Cost: none to speak of, however many cores there are.
    pub fn memory_ahead(&self) -> Bytes {
        bytes_ahead(&self.stores) + Bytes(self.held)
    }
}

/// The accesses that a core is asked to look ahead.
const AHEAD: u64 = 1 << 17;

impl Default for Coherent {
    fn default() -> Self {
        Coherent::new()
    }
}

/// The most memory of a table within the next [`AHEAD`] accesses, of which at most half as many are
/// to new items as the table has.
fn bytes_ahead(counters: &Counters) -> Bytes {
    let more = (AHEAD as usize).min(counters.len() / 2);
    Bytes(map_ahead(counters, more) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an access is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Use {
        First,
        Invalidated,
        Again(u64),
    }

    /// The definition: stacks as lists, each entry valid or not.
    struct Stacks(Vec<Vec<(u64, bool)>>);

    impl Stacks {
        fn access(&mut self, core: u32, item: u64, store: bool) -> Use {
            let core = core as usize;
            let stack = &mut self.0[core];
            let found = stack.iter().position(|entry| entry.0 == item);
            let is = match found {
                None => Use::First,
                Some(at) if stack.remove(at).1 => Use::Again(at as u64),
                Some(_) => Use::Invalidated,
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
            is
        }
    }

    fn one(coherent: &mut Coherent, core: u32, item: u64, store: bool) -> Use {
        let (mut distance, mut invalidated) = ([Distance::ZERO], vec![7]);
        coherent.process(core, &[item], &[store], &mut distance, &mut invalidated);
        match (distance[0].items(), &invalidated[..]) {
            (None, []) => Use::First,
            (None, [0]) => Use::Invalidated,
            (Some(items), []) => Use::Again(items),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn invalidated_entries_keep_their_place() {
        let mut coherent = Coherent::new();
        let (a, d) = (1, 4);
        assert_eq!(one(&mut coherent, 1, a, true), Use::First);
        assert_eq!(one(&mut coherent, 1, d, true), Use::First);
        assert_eq!(one(&mut coherent, 0, d, true), Use::First);
        // D is not valid any more, and is still between.
        assert_eq!(one(&mut coherent, 1, a, true), Use::Again(1));
        assert_eq!(one(&mut coherent, 1, d, false), Use::Invalidated);
        assert_eq!(one(&mut coherent, 1, d, false), Use::Again(0));
        // A load leaves the other's entry valid; a store does not.
        assert_eq!(one(&mut coherent, 0, d, false), Use::Again(0));
        assert_eq!(one(&mut coherent, 1, d, true), Use::Again(0));
        assert_eq!(one(&mut coherent, 0, d, false), Use::Invalidated);
    }

    #[test]
    fn random_accesses_have_the_distances_of_the_definition() {
        let mut seed = 7_u64;
        for cores in [1, 2, 3, 5, 70] {
            for items in [3, 20] {
                let mut stacks = Stacks(vec![Vec::new(); cores as usize]);
                let mut coherent = Coherent::new();
                for _ in 0..3000 {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let random = seed >> 33;
                    let core = (random % cores) as u32;
                    let (item, store) = (random / 7 % items, (random / 1000).is_multiple_of(4));
                    let right = stacks.access(core, item, store);
                    assert_eq!(one(&mut coherent, core, item, store), right);
                }
            }
        }
    }

    #[test]
    fn coherent_blocks_equal_single_accesses() {
        let items: Vec<u64> = (0..200).map(|at| at * at % 17).collect();
        let stores: Vec<bool> = (0..200).map(|at| at % 5 == 0).collect();
        let (mut whole, mut single) = (Coherent::new(), Coherent::new());
        for core in [0, 1, 0] {
            let mut distances = vec![Distance::ZERO; items.len()];
            let mut invalidated = Vec::new();
            whole.process(core, &items, &stores, &mut distances, &mut invalidated);
            for at in 0..items.len() {
                let right = match distances[at].items() {
                    Some(items) => Use::Again(items),
                    None if invalidated.contains(&(at as u32)) => Use::Invalidated,
                    None => Use::First,
                };
                assert_eq!(one(&mut single, core, items[at], stores[at]), right);
            }
        }
    }

    #[test]
    fn ended_cores_begin_anew() {
        let mut coherent = Coherent::new();
        assert_eq!(one(&mut coherent, 0, 9, true), Use::First);
        assert_eq!(one(&mut coherent, 1, 9, true), Use::First);
        let held = coherent.memory_ahead();
        coherent.end(1);
        assert!(coherent.memory_ahead() < held);
        assert_eq!(one(&mut coherent, 0, 9, false), Use::Invalidated);
        assert_eq!(one(&mut coherent, 1, 9, false), Use::First);
    }
}
