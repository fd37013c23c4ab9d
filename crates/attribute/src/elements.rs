//! The elements of structures: how often each is accessed, and the numbers of those that have
//! distances. Elements are numbered in the order of their first accesses.

/// Which element: an index into the objects of the same [`Tables`](crate::Tables), and the
/// element's index in that object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ElementKey {
    /// Index into the objects.
    pub object: u32,
    /// Index of the element, from 0 in the order of memory.
    pub index: u64,
}

/// The accesses to an element, and its number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counter {
    pub accesses: u64,
    /// The element's index in [`Tables::elements`](crate::Tables::elements), which distances are
    /// kept by. 0 = none: the element was not accessed yet, or no number was left.
    pub number: u32,
}

/// Most counters in all objects together: 64 MiB.
const MAX_COUNTERS: usize = 1 << 22;
/// Most elements with numbers. Each of them costs the memory of its distances, which is why only
/// the first ones have numbers.
const MAX_NUMBERS: usize = 1 << 17;

/// What the elements of all objects share: the numbers, and the limits on numbers and counters. The
/// counters themselves are in the objects.
#[derive(Debug)]
pub(crate) struct Elements {
    /// By number; the first stands for no element. The unknown object, which it names, has no
    /// elements. Objects have their numbers in [`crate::objects::Objects`] here.
    keys: Vec<ElementKey>,
    /// Counters that may still be made.
    counters_left: usize,
    /// Whether counters could not be made. Accesses to their elements are not counted by element.
    pub counters_full: bool,
    /// Whether an element could not be given a number. Its accesses are counted, and it has no
    /// distances.
    pub numbers_full: bool,
    /// Whether an access covered several elements in one item: only the first was counted.
    /// [`Shared::count_element`](crate::shared::Shared::count_element) sets it.
    pub shared_items: bool,
}

impl Elements {
    pub fn new() -> Self {
        Elements {
            keys: vec![ElementKey::default()],
            counters_left: MAX_COUNTERS,
            counters_full: false,
            numbers_full: false,
            shared_items: false,
        }
    }

    /// Makes sure that an object has counters for `elements` elements. If the limit on all counters
    /// does not allow that, it makes none.
    pub fn reserve(&mut self, counters: &mut Vec<Counter>, elements: u64) {
        let want = usize::try_from(elements).unwrap_or(usize::MAX);
        let more = want.saturating_sub(counters.len());
        if more > self.counters_left {
            self.counters_full = true;
        } else if more > 0 {
            self.counters_left -= more;
            counters.resize(want, Counter::default());
        }
    }

    /// Counts an access to an element. Returns the element's number, or 0 if no number is left.
    #[inline]
    pub fn count(&mut self, counter: &mut Counter, object: u32, index: u64) -> u32 {
        counter.accesses = counter.accesses.saturating_add(1);
        if counter.number == 0 {
            counter.number = self.number(ElementKey { object, index });
        }
        counter.number
    }

    fn number(&mut self, key: ElementKey) -> u32 {
        if self.keys.len() > MAX_NUMBERS {
            self.numbers_full = true;
            return 0;
        }
        self.keys.push(key);
        self.keys.len() as u32 - 1
    }

    /// The elements by number; the first stands for no element.
    pub fn keys(&self) -> &[ElementKey] {
        &self.keys
    }

    /// Memory held, that of the counters included.
    pub fn memory(&self) -> u64 {
        let counters = (MAX_COUNTERS - self.counters_left) * size_of::<Counter>();
        (counters + self.keys.capacity() * size_of::<ElementKey>()) as u64
    }
}
