//! The elements of structures, numbered as they turn up.

/// Which element: an index into the objects of the same [`Tables`](crate::Tables), and the
/// element's index in that object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ElementKey {
    /// Index into the objects.
    pub object: u32,
    /// Index of the element, from 0 in the order of memory.
    pub index: u64,
}

/// The accesses to an element, and its number among those with distances.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counter {
    pub accesses: u64,
    /// 0 = it has none.
    pub number: u32,
}

/// Counters in all objects together: 64 MiB.
const MAX_COUNTERS: usize = 1 << 22;
/// Most elements with numbers: distances are kept for each of them.
const MAX_NUMBERS: usize = 1 << 17;

/// What all objects' elements have in common.
#[derive(Debug)]
pub(crate) struct Elements {
    /// By number; the first is none.
    keys: Vec<ElementKey>,
    /// Counters that may still be made.
    counters_left: usize,
    /// Whether a counter could not be made, or a number not be given.
    pub counters_full: bool,
    pub numbers_full: bool,
    /// Whether an access covered several elements and only one item.
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

    /// Makes sure that there are counters for `elements` elements, within the limit on all of them.
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

    /// Counts an access to an element; its number, or 0.
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

    /// The elements by number; the first is none.
    pub fn keys(&self) -> &[ElementKey] {
        &self.keys
    }

    /// Memory held, that of the counters included.
    pub fn memory(&self) -> u64 {
        let counters = (MAX_COUNTERS - self.counters_left) * size_of::<Counter>();
        (counters + self.keys.capacity() * size_of::<ElementKey>()) as u64
    }
}
