//! [`FenwickTree`]: an exact engine with a Fenwick tree over time, as most tools have it. A
//! baseline.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use reuselens_distance::{Engine, growth};
use reuselens_units::{Bytes, Distance, Items};

/// Steps of an empty time axis.
const SMALLEST: usize = 1 << 10;

/// A hash map from item to the time of its last access, and a Fenwick tree that has a one at each
/// of those times: the distance of an access is the sum of the ones after the previous access to
/// its item. The time axis is compacted when it is full, to four times the distinct items or more,
/// so that memory does not grow with the stream.
///
/// This is the engine of many tools and papers, here as they have it: a general hash map, one
/// access after the other. It is a second baseline beside [`OlkenTree`](crate::OlkenTree).
///
/// Cost: a look-up in the map and three walks of O(log M) steps in the tree, for M distinct items.
/// Memory: 19 to 39 bytes per distinct item for the map, 4 to 32 for the tree. At most 2³² − 1
/// distinct items.
///
/// Source: Fenwick, *A new data structure for cumulative frequency tables*, 1994; the ones on the
/// time axis are from Bennett & Kruskal 1975.
///
/// ```
/// use reuselens_baselines::FenwickTree;
/// use reuselens_distance::Engine;
/// use reuselens_units::Distance;
///
/// let mut distances = [Distance::COLD; 4];
/// FenwickTree::new().process(&[7, 8, 9, 7], &mut distances);
/// assert_eq!(distances[3], Distance::new(2));
/// ```
pub struct FenwickTree {
    /// The time of the last access to each item, from 1.
    last: HashMap<u64, u64>,
    /// Node `t` has the ones of the times after `t - lowest(t)`, up to `t`. Node 0 is not used.
    sums: Vec<u32>,
    now: usize,
}

impl FenwickTree {
    /// An engine that has seen nothing.
    pub fn new() -> Self {
        FenwickTree {
            last: HashMap::new(),
            sums: vec![0; SMALLEST + 1],
            now: 0,
        }
    }

    fn access(&mut self, item: u64) -> Distance {
        if self.now + 1 == self.sums.len() {
            self.compact();
        }
        self.now += 1;
        let live = self.last.len() as u64;
        let previous = match self.last.entry(item) {
            Entry::Occupied(mut entry) => std::mem::replace(entry.get_mut(), self.now as u64),
            Entry::Vacant(entry) => {
                entry.insert(self.now as u64);
                self.add(self.now, 1);
                return Distance::COLD;
            }
        };
        let previous = previous as usize;
        let distance = live - u64::from(self.up_to(previous));
        self.add(previous, u32::MAX);
        self.add(self.now, 1);
        Distance::new(distance)
    }

    /// The ones at times up to `time`.
    fn up_to(&self, mut time: usize) -> u32 {
        let mut sum = 0_u32;
        while time > 0 {
            sum = sum.wrapping_add(self.sums[time]);
            time &= time - 1;
        }
        sum
    }

    /// Adds to the one at `time`; `u32::MAX` takes one away.
    fn add(&mut self, mut time: usize, number: u32) {
        while let Some(sum) = self.sums.get_mut(time) {
            *sum = sum.wrapping_add(number);
            time += lowest(time);
        }
    }

    /// Renumbers the last accesses 1, 2, …, and makes room for three times as many.
    #[cold]
    fn compact(&mut self) {
        // From the first on: then each node's left neighbour is a running sum already.
        for time in 1..self.sums.len() {
            let before = self.sums[time - lowest(time)];
            self.sums[time] = self.sums[time].wrapping_add(before);
        }
        for time in self.last.values_mut() {
            *time = u64::from(self.sums[*time as usize]);
        }
        self.now = self.last.len();
        let steps = steps_for(self.now);
        self.sums.resize(steps + 1, 0);
        for time in 1..=steps {
            let first = time - lowest(time);
            self.sums[time] = (time.min(self.now) - first.min(self.now)) as u32;
        }
    }
}

/// The steps of a time axis for this many items: after it is compacted, it has room for three times
/// as many accesses.
fn steps_for(items: usize) -> usize {
    (4 * items).next_power_of_two().max(SMALLEST)
}

/// The lowest bit that is set: the number of times that a node sums.
#[inline(always)]
fn lowest(time: usize) -> usize {
    time & time.wrapping_neg()
}

impl Default for FenwickTree {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for FenwickTree {
    fn name(&self) -> &'static str {
        "fenwick"
    }

    fn process(&mut self, items: &[u64], distances: &mut [Distance]) {
        assert_eq!(items.len(), distances.len(), "one distance per item");
        for (&item, distance) in items.iter().zip(distances) {
            *distance = self.access(item);
        }
    }

    fn distinct(&self) -> Items {
        Items(self.last.len() as u64)
    }

    fn memory(&self) -> Bytes {
        let sums = self.sums.capacity() * size_of::<u32>();
        Bytes((size_of::<Self>() + sums + self.last.allocation_size()) as u64)
    }

    /// At most as many of the accesses are to new items as there are items.
    fn memory_ahead(&self, accesses: u64) -> Bytes {
        let known = self.last.len();
        let accesses = usize::try_from(accesses).unwrap_or(usize::MAX);
        let more = accesses.min(known);
        let mut steps = self.sums.capacity();
        if accesses >= self.sums.len() - self.now {
            let needed = steps_for(known + more) + 1;
            // A vector that grows has at least twice the room.
            steps = if needed > steps {
                needed.max(2 * steps)
            } else {
                steps
            };
        }
        let map = growth::map_ahead(&self.last, more);
        Bytes((size_of::<Self>() + steps * size_of::<u32>() + map) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compaction_keeps_the_order_and_the_sums() {
        let mut tree = FenwickTree::new();
        for step in 0..20_000_u64 {
            tree.access(step * step % 613);
            if step % 997 == 0 {
                tree.compact();
                let mut times: Vec<u64> = tree.last.values().copied().collect();
                times.sort_unstable();
                let live = tree.last.len() as u64;
                assert!(times.into_iter().eq(1..=live));
                for time in 0..=tree.now {
                    assert_eq!(tree.up_to(time) as usize, time);
                }
                assert_eq!(u64::from(tree.up_to(tree.sums.len() - 1)), live);
            }
        }
    }

    #[test]
    fn memory_does_not_grow_with_time() {
        let mut tree = FenwickTree::new();
        for step in 0..100_000 {
            tree.access(step % 300);
        }
        assert!(tree.memory().get() < 40_000, "{}", tree.memory());
    }
}
