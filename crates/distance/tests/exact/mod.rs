//! What estimates are compared with.

use reuselens_distance::{CountingTree, Engine};
use reuselens_units::Distance;

/// The misses of caches of 0, 1, … items.
pub fn exact_misses(items: &[u64]) -> Vec<u64> {
    let mut tree = CountingTree::new();
    let mut distances = vec![Distance::COLD; items.len()];
    tree.process(items, &mut distances);
    let distinct = tree.distinct().get() as usize;
    let mut misses = vec![0; distinct + 1];
    for distance in distances {
        misses[distance.items().map_or(distinct, |items| items as usize)] += 1;
    }
    for size in (0..distinct).rev() {
        misses[size] += misses[size + 1];
    }
    misses
}
