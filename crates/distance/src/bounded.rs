//! [`Bounded`]: an exact engine for distances up to a limit. Its memory grows with the limit and
//! not with the distinct items.

use reuselens_units::{Bytes, Distance, Items};

use crate::{CountingTree, Engine};

/// Items that are held beyond those that matter, as a multiple of the limit, before they are
/// dropped.
const SLACK: usize = 3;
/// Below this many items the memory is of no matter, and dropping items would only take time.
const SMALLEST: usize = 1 << 12;

/// A [`CountingTree`] that forgets: distances below the limit are exact, all others are
/// [`Distance::COLD`], which then means *a first access, or one from at least that far*.
///
/// An item that was not among the last `limit` different ones cannot come back from nearer than the
/// limit; so, whenever some four times as many are held, a new tree is begun with the last `limit`
/// items, in their order. It gives the same distances below the limit as the old one would have.
///
/// Cost: that of the counting tree, and for each new item beyond the limit a third of a pass over
/// the items held. Memory: that of a counting tree with up to five times `limit` items (at least
/// some thousands), however many there are.
///
/// ```
/// use reuselens_distance::{Bounded, Engine};
/// use reuselens_units::Distance;
///
/// let mut distances = [Distance::COLD; 6];
/// Bounded::new(2).process(&[7, 8, 7, 9, 6, 8], &mut distances);
/// assert_eq!(distances[2], Distance::new(1));
/// assert_eq!(distances[5], Distance::COLD); // it was 3
/// ```
pub struct Bounded {
    tree: CountingTree,
    limit: u64,
    /// The most items to hold before a block.
    most: usize,
    /// The most items to process at one time.
    block: usize,
}

impl Bounded {
    /// An engine that has seen nothing, and gives distances below `limit` items (1 at least).
    pub fn new(limit: u64) -> Self {
        let limit = limit.max(1);
        let items = usize::try_from(limit).unwrap_or(usize::MAX);
        Bounded {
            tree: CountingTree::new(),
            limit,
            most: items.saturating_mul(1 + SLACK).max(SMALLEST),
            block: items.max(SMALLEST),
        }
    }

    /// The smallest distance that is reported as cold.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Begins anew with the items that were accessed last.
    #[cold]
    fn forget(&mut self) {
        let items = self.tree.by_recency();
        let keep = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let recent = &items[items.len().saturating_sub(keep)..];
        self.tree = CountingTree::new();
        let mut ignored = [Distance::COLD; SMALLEST];
        for items in recent.chunks(SMALLEST) {
            self.tree.process(items, &mut ignored[..items.len()]);
        }
    }
}

impl Engine for Bounded {
    fn name(&self) -> &'static str {
        self.tree.name()
    }

    fn process(&mut self, items: &[u64], distances: &mut [Distance]) {
        assert_eq!(items.len(), distances.len(), "one distance per item");
        let blocks = items.chunks(self.block);
        for (items, distances) in blocks.zip(distances.chunks_mut(self.block)) {
            if self.tree.distinct().get() >= self.most as u64 {
                self.forget();
            }
            self.tree.process(items, distances);
            for distance in distances {
                // Cold is the largest number.
                if distance.raw() >= self.limit {
                    *distance = Distance::COLD;
                }
            }
        }
    }

    /// The items that are held: those seen, or about those that matter for what is still to come.
    fn distinct(&self) -> Items {
        self.tree.distinct()
    }

    fn memory(&self) -> Bytes {
        let tree = size_of::<CountingTree>() as u64;
        Bytes(self.tree.memory().get() - tree + size_of::<Self>() as u64)
    }

    /// Its tables grow to a bound and not beyond. When it begins anew, it holds the items in their
    /// order, twice while they are sorted, beside the tables that it had.
    fn memory_ahead(&self, accesses: u64) -> Bytes {
        let items = self.tree.distinct().get() * 2 * size_of::<(u64, u64)>() as u64;
        let anew = Bytes(self.memory().get() + items);
        anew.max(self.tree.memory_ahead(accesses))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Generator, Uniform};

    #[test]
    fn bounded_memory_does_not_grow_with_items() {
        let mut engine = Bounded::new(10_000);
        let mut items: Vec<u64> = (0..100_000).collect();
        let mut distances = vec![Distance::ZERO; items.len()];
        let mut most = Bytes(0);
        for _ in 0..30 {
            engine.process(&items, &mut distances);
            most = most.max(engine.memory());
            assert!(engine.distinct().get() <= 50_000);
            assert!(distances.iter().all(|distance| distance.is_cold()));
            items.iter_mut().for_each(|item| *item += 100_000);
        }
        assert!(most.get() < 50_000 * 68, "{most}");
    }

    #[test]
    fn a_limit_beyond_all_items_changes_nothing() {
        for limit in [5_000, u64::MAX] {
            let mut items = vec![0; 60_000];
            Uniform::new(5_000, 7).fill(&mut items);
            let mut bounded = vec![Distance::ZERO; items.len()];
            let mut free = bounded.clone();
            Bounded::new(limit).process(&items, &mut bounded);
            CountingTree::new().process(&items, &mut free);
            assert!(bounded == free, "{limit}");
        }
    }
}
