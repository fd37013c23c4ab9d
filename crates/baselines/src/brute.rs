//! [`BruteForce`]: the definition of the reuse distance as code. The oracle of tests.

use reuselens_distance::{Engine, growth};
use reuselens_units::{Bytes, Distance, Items};

/// The LRU stack itself: a list of the items, most recently accessed first, in which the index of
/// an item is its distance (Mattson et al. 1970).
///
/// An oracle for tests, so simple that it can be seen to be right. O(M) per access for M distinct
/// items, 8 bytes per item.
#[derive(Default)]
pub struct BruteForce {
    stack: Vec<u64>,
}

impl BruteForce {
    /// An engine that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Engine for BruteForce {
    fn name(&self) -> &'static str {
        "brute"
    }

    fn process(&mut self, items: &[u64], distances: &mut [Distance]) {
        assert_eq!(items.len(), distances.len(), "one distance per item");
        for (&item, distance) in items.iter().zip(distances) {
            let place = self.stack.iter().position(|&other| other == item);
            *distance = place.map_or(Distance::COLD, |place| Distance::new(place as u64));
            match place {
                Some(place) => self.stack[..=place].rotate_right(1),
                None => self.stack.insert(0, item),
            }
        }
    }

    fn distinct(&self) -> Items {
        Items(self.stack.len() as u64)
    }

    fn memory(&self) -> Bytes {
        let stack = self.stack.capacity() * size_of::<u64>();
        Bytes((size_of::<Self>() + stack) as u64)
    }

    fn memory_ahead(&self, accesses: u64) -> Bytes {
        let more = usize::try_from(accesses).unwrap_or(usize::MAX);
        let stack = growth::vec_ahead(&self.stack, more.min(self.stack.len()));
        Bytes((size_of::<Self>() + stack) as u64)
    }
}
