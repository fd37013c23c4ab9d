//! [`WeightedTree`]: reuse distances in bytes, of objects that have sizes, as a cache of objects
//! needs them.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use reuselens_units::{Bytes, Distance, Items};

/// Steps of an empty time axis.
const SMALLEST: usize = 1 << 10;

/// The last request for an object.
#[derive(Clone, Copy)]
struct Last {
    time: u64,
    /// The size that it had then, 1 or more.
    bytes: u64,
}

/// A hash map from object to its last request, and a Fenwick tree that has the object's size at the
/// time of that request: engines of plain distances have ones instead of sizes.
///
/// The distance of a request is the number of bytes before the last byte of its object in the LRU
/// stack: the sizes of the distinct other objects requested since the last request for it, and its
/// own size less one. So a cache of C bytes hits if the distance is below C, and with objects of
/// one byte it is the reuse distance. The size of an object is that of the last request for it; a
/// size of 0 counts as 1, since every object takes some room.
///
/// The model is the stack: an object larger than a cache takes all of the cache, where real caches
/// often let it pass.
///
/// Cost: a look-up in the map and three walks of O(log M) steps, for M distinct objects. Memory: 27
/// to 55 bytes per distinct object for the map, 8 to 64 for the tree.
///
/// Source: the stack distance of Mattson, Gecsei, Slutz and Traiger, *Evaluation techniques for
/// storage hierarchies*, 1970, section on variable page sizes; the tree: Fenwick, *A new data
/// structure for cumulative frequency tables*, 1994.
///
/// ```
/// use reuselens_distance::WeightedTree;
/// use reuselens_units::Distance;
///
/// let mut distances = [Distance::COLD; 4];
/// WeightedTree::new().process(&[7, 8, 9, 7], &[10, 200, 3000, 10], &mut distances);
/// assert_eq!(distances[3], Distance::new(3209));
/// ```
pub struct WeightedTree {
    last: HashMap<u64, Last>,
    /// Node `t` has the sizes at the times after `t - lowest(t)`, up to `t`. Node 0 is not used.
    sums: Vec<u64>,
    now: usize,
    /// The sizes of all objects.
    total: u64,
}

impl WeightedTree {
    /// An engine that has seen nothing.
    pub fn new() -> Self {
        WeightedTree {
            last: HashMap::new(),
            sums: vec![0; SMALLEST + 1],
            now: 0,
            total: 0,
        }
    }

    /// Processes the next requests of the stream, in order: `distances[i]` becomes the distance in
    /// bytes of the request for object `ids[i]` of `sizes[i]` bytes, [`Distance::COLD`] if it is
    /// the first for that object.
    ///
    /// # Panics
    /// If the three slices differ in length, or the sizes of all objects sum to 2⁶⁴ or more
    /// (faults of the caller).
    pub fn process(&mut self, ids: &[u64], sizes: &[u64], distances: &mut [Distance]) {
        assert_eq!(ids.len(), sizes.len(), "one size per object");
        assert_eq!(ids.len(), distances.len(), "one distance per object");
        for ((&id, &bytes), distance) in ids.iter().zip(sizes).zip(distances) {
            *distance = self.access(id, bytes.max(1));
        }
    }

    /// The number of distinct objects so far.
    pub fn distinct(&self) -> Items {
        Items(self.last.len() as u64)
    }

    /// The sizes of all distinct objects, as they were at the last request for each.
    pub fn total(&self) -> Bytes {
        Bytes(self.total)
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        let sums = self.sums.capacity() * size_of::<u64>();
        Bytes((size_of::<Self>() + sums + self.last.allocation_size()) as u64)
    }

    /// The most memory held until `requests` more requests are processed, of which at most as many
    /// are for new objects as there are objects: a table that grows is held twice for a moment.
    pub fn memory_ahead(&self, requests: u64) -> Bytes {
        let known = self.last.len();
        let requests = usize::try_from(requests).unwrap_or(usize::MAX);
        let objects = known + requests.min(known);
        let known_map = self.last.allocation_size();
        let (map, moving) = if objects > self.last.capacity() {
            (2 * known_map, known_map)
        } else {
            (known_map, 0)
        };
        let (mut sums, mut order) = (self.sums.capacity() * size_of::<u64>(), 0);
        if requests >= self.sums.len() - self.now {
            sums = sums.max((steps_for(objects) + 1) * size_of::<u64>());
            order = objects * size_of::<&Last>();
        }
        // The map does not grow while times are renumbered.
        Bytes((size_of::<Self>() + map + sums + moving.max(order)) as u64)
    }

    fn access(&mut self, id: u64, bytes: u64) -> Distance {
        if self.now + 1 == self.sums.len() {
            self.compact();
        }
        self.now += 1;
        let last = Last {
            time: self.now as u64,
            bytes,
        };
        let before = self.total;
        let grown = before.checked_add(bytes);
        self.total = grown.unwrap_or_else(|| panic!("objects of more than 2^64 bytes"));
        let previous = match self.last.entry(id) {
            Entry::Occupied(mut entry) => std::mem::replace(entry.get_mut(), last),
            Entry::Vacant(entry) => {
                entry.insert(last);
                self.add(self.now, bytes);
                return Distance::COLD;
            }
        };
        self.total -= previous.bytes;
        let at = previous.time as usize;
        let others = before - self.up_to(at);
        self.add(at, previous.bytes.wrapping_neg());
        self.add(self.now, bytes);
        Distance::new(others + previous.bytes - 1)
    }

    /// The sizes at times up to `time`.
    fn up_to(&self, mut time: usize) -> u64 {
        let mut sum = 0_u64;
        while time > 0 {
            sum = sum.wrapping_add(self.sums[time]);
            time &= time - 1;
        }
        sum
    }

    /// Adds to the size at `time`, modulo 2⁶⁴.
    fn add(&mut self, mut time: usize, bytes: u64) {
        while let Some(sum) = self.sums.get_mut(time) {
            *sum = sum.wrapping_add(bytes);
            time += lowest(time);
        }
    }

    /// Renumbers the last requests 1, 2, …, and makes room for three times as many.
    #[cold]
    fn compact(&mut self) {
        let mut order: Vec<&mut Last> = self.last.values_mut().collect();
        order.sort_unstable_by_key(|last| last.time);
        self.now = order.len();
        let steps = steps_for(self.now);
        if self.sums.capacity() > steps {
            self.sums.clear();
            self.sums.resize(steps + 1, 0);
        } else {
            // The old sums go before the new ones come.
            self.sums = Vec::new();
            self.sums = vec![0; steps + 1];
        }
        for (time, last) in (1..).zip(order) {
            last.time = time as u64;
            self.sums[time] = last.bytes;
        }
        // Each node passes its sum on to the next one that covers it.
        for time in 1..=steps {
            let next = time + lowest(time);
            if next <= steps {
                self.sums[next] = self.sums[next].wrapping_add(self.sums[time]);
            }
        }
    }
}

/// Steps of the time axis after it was renumbered for that many objects.
fn steps_for(objects: usize) -> usize {
    (4 * objects).next_power_of_two().max(SMALLEST)
}

impl Default for WeightedTree {
    fn default() -> Self {
        Self::new()
    }
}

/// The lowest bit that is set: the number of times that a node sums.
#[inline(always)]
fn lowest(time: usize) -> usize {
    time & time.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CountingTree, Engine};

    /// A stream with objects of many sizes, some of which change.
    fn requests(count: u64) -> (Vec<u64>, Vec<u64>) {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        (0..count)
            .map(|step| {
                let id = next() % (step % 700 + 1);
                let grows = u64::from(next() % 16 == 0);
                (id, (id * id * 37 + grows * 5) % 100_000)
            })
            .unzip()
    }

    #[test]
    fn distances_are_those_of_a_stack_of_sizes() {
        let (ids, sizes) = requests(20_000);
        let mut distances = vec![Distance::COLD; ids.len()];
        let mut tree = WeightedTree::new();
        // However the stream is cut.
        for cut in [0..777, 777..778, 778..20_000] {
            tree.process(&ids[cut.clone()], &sizes[cut.clone()], &mut distances[cut]);
        }
        let mut stack: Vec<(u64, u64)> = Vec::new();
        for ((&id, &bytes), &distance) in ids.iter().zip(&sizes).zip(&distances) {
            let place = stack.iter().position(|&(other, _)| other == id);
            let expected = place.map(|place| {
                let sum: u64 = stack[..=place].iter().map(|(_, bytes)| bytes).sum();
                stack.remove(place);
                sum - 1
            });
            assert_eq!(distance, expected.map_or(Distance::COLD, Distance::new));
            stack.insert(0, (id, bytes.max(1)));
        }
        assert_eq!(tree.distinct().get(), stack.len() as u64);
        let total: u64 = stack.iter().map(|(_, bytes)| bytes).sum();
        assert_eq!(tree.total().get(), total);
    }

    /// Misses of an LRU cache of objects, as one would write it.
    fn simulate(ids: &[u64], sizes: &[u64], capacity: u64) -> usize {
        let (mut cache, mut used, mut misses) = (Vec::<(u64, u64)>::new(), 0, 0);
        for (&id, &bytes) in ids.iter().zip(sizes) {
            match cache.iter().position(|&(other, _)| other == id) {
                Some(place) => used -= cache.remove(place).1,
                None => misses += 1,
            }
            cache.insert(0, (id, bytes));
            used += bytes;
            while used > capacity {
                used -= cache.pop().unwrap().1;
            }
        }
        misses
    }

    #[test]
    fn misses_are_those_of_a_simulated_cache_of_objects() {
        let (ids, _) = requests(5_000);
        let sizes: Vec<u64> = ids.iter().map(|id| id * id % 991 + 1).collect();
        let mut distances = vec![Distance::COLD; ids.len()];
        WeightedTree::new().process(&ids, &sizes, &mut distances);
        for capacity in [1_000, 4_096, 30_000, 200_000, 1_000_000] {
            let hits = distances.iter().filter(|one| one.raw() < capacity).count();
            assert_eq!(ids.len() - hits, simulate(&ids, &sizes, capacity));
        }
    }

    #[test]
    fn objects_of_one_byte_have_plain_reuse_distances() {
        let (ids, _) = requests(30_000);
        let (mut weighted, mut plain) = (vec![Distance::COLD; ids.len()], Vec::new());
        plain.clone_from(&weighted);
        // A size of 0 counts as 1 byte.
        WeightedTree::new().process(&ids, &vec![0; ids.len()], &mut weighted);
        CountingTree::new().process(&ids, &mut plain);
        assert_eq!(weighted, plain);
    }

    #[test]
    fn memory_ahead_covers_growth() {
        let mut tree = WeightedTree::new();
        for object in 0..300_000_u64 {
            let ahead = tree.memory_ahead(1);
            let before = (tree.last.allocation_size(), tree.sums.len());
            tree.access(object, 1);
            // While they grow, the map is there twice, and the sums are not.
            let copied = if tree.last.allocation_size() > before.0 {
                before.0
            } else {
                0
            };
            let held = tree.memory().get() + copied as u64;
            assert!(
                object < 2 || held <= ahead.get(),
                "{object}: {held} > {ahead}"
            );
        }
        assert_eq!(tree.memory_ahead(0), tree.memory());
    }

    #[test]
    fn memory_does_not_grow_with_time() {
        let mut tree = WeightedTree::new();
        for step in 0..100_000 {
            tree.access(step % 300, 1 << 40);
        }
        assert!(tree.memory().get() < 60_000, "{}", tree.memory());
    }
}
