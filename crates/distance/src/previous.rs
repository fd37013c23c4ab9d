//! [`Previous`]: for each access of a stream, how many accesses ago its item was accessed, and by
//! whom. Reuse times and forward distances are made of it; it is no engine.

use reuselens_hugepages::random_key;
use reuselens_units::Bytes;

use crate::mix::mix;
use crate::prefetch::prefetch;

/// Accesses whose slots are asked for together.
const BATCH: usize = 32;
/// Slots of an empty table, as a power of two.
const SMALLEST: u32 = 10;
/// The time of an empty slot; accesses are numbered from 1.
const NEVER: u64 = 0;

/// An item, the number of its last access, and whose access that was.
#[derive(Clone, Copy, Default)]
struct Slot {
    item: u64,
    time: u64,
    tag: u32,
}

/// The previous access of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreviousAccess {
    /// Accesses to other items between the two: the *reuse time*, 0 for an immediate repetition;
    /// [`Self::NONE`] if there was no access before.
    pub between: u64,
    /// The tag of the previous access; 0 if there was none.
    pub tag: u32,
}

impl PreviousAccess {
    /// What `between` is for a first access.
    pub const NONE: u64 = u64::MAX;

    /// Of a first access.
    pub const FIRST: PreviousAccess = PreviousAccess {
        between: Self::NONE,
        tag: 0,
    };
}

/// For every access of a stream, how many accesses ago its item was accessed before, and by whom:
/// what reuse times, footprints and forward distances are made of.
///
/// A *tag* is any number that the caller gives to an access, such as that of its instruction. The
/// forward distance of an access is the backward distance of the next access to its item; so the
/// distance of each access is, forward, one of the tag of its previous access, and each item's last
/// access has none ([`last_accesses`](Self::last_accesses)).
///
/// Cost per access: one look-up in an open-addressing table, 32 asked for at a time. Memory: 48 to
/// 96 bytes per distinct item. Times have 64 bits.
///
/// ```
/// use reuselens_distance::{Previous, PreviousAccess};
///
/// let mut previous = Previous::new();
/// let mut found = [PreviousAccess::FIRST; 4];
/// previous.process(&[7, 8, 8, 7], &[1, 2, 3, 4], &mut found);
/// assert_eq!(found[1], PreviousAccess::FIRST);
/// assert_eq!((found[2].between, found[2].tag), (0, 2));
/// assert_eq!((found[3].between, found[3].tag), (2, 1));
/// ```
pub struct Previous {
    slots: Vec<Slot>,
    used: usize,
    now: u64,
    /// A random key of the hash, so that nobody can make ids that collide. No result depends on it.
    key: u64,
}

impl Previous {
    /// A table that has seen nothing.
    pub fn new() -> Self {
        Previous {
            slots: vec![Slot::default(); 1 << SMALLEST],
            used: 0,
            now: 0,
            key: random_key(),
        }
    }

    /// The next accesses: `found[i]` becomes the access before the one of `tags[i]` to `items[i]`.
    ///
    /// # Panics
    /// If the slices differ in length (a fault of the caller).
    pub fn process(&mut self, items: &[u64], tags: &[u32], found: &mut [PreviousAccess]) {
        assert!(
            items.len() == tags.len() && items.len() == found.len(),
            "one tag and one answer per item"
        );
        let mut homes = [0; BATCH];
        let batches = items.chunks(BATCH).zip(tags.chunks(BATCH));
        for ((items, tags), found) in batches.zip(found.chunks_mut(BATCH)) {
            if (self.used + BATCH) * 2 > self.slots.len() {
                self.grow();
            }
            for (&item, home) in items.iter().zip(&mut homes) {
                *home = self.home(item);
                prefetch(&self.slots, *home);
            }
            for (((&item, &tag), &home), found) in items.iter().zip(tags).zip(&homes).zip(found) {
                *found = self.replace(item, tag, home);
            }
        }
    }

    /// The number of accesses so far.
    pub fn accesses(&self) -> u64 {
        self.now
    }

    /// The number of distinct items so far.
    pub fn distinct(&self) -> u64 {
        self.used as u64
    }

    /// Each item's last access, in no order that means anything: how many accesses came after it,
    /// and its tag.
    pub fn last_accesses(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let used = self.slots.iter().filter(|slot| slot.time != NEVER);
        used.map(|slot| (self.now - slot.time, slot.tag))
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        Bytes((size_of::<Self>() + self.slots.capacity() * size_of::<Slot>()) as u64)
    }

    /// The most memory that is held until `accesses` more accesses are processed, of which at most
    /// as many are to new items as there are items: a table that grows is held beside its
    /// successor, which is twice as large.
    pub fn memory_ahead(&self, accesses: u64) -> Bytes {
        let more = usize::try_from(accesses).map_or(self.used, |more| more.min(self.used));
        if (self.used + more + BATCH) * 2 > self.slots.len() {
            Bytes(3 * self.memory().get())
        } else {
            self.memory()
        }
    }

    /// Where to look for an item first.
    #[inline(always)]
    fn home(&self, item: u64) -> usize {
        // At least 2¹⁰ slots, so the shift is below 64.
        (mix(item ^ self.key) >> (64 - self.slots.len().ilog2())) as usize
    }

    /// Stores an access and returns the one before it. There must be an empty slot.
    #[inline(always)]
    fn replace(&mut self, item: u64, tag: u32, home: usize) -> PreviousAccess {
        self.now += 1;
        let time = self.now;
        let slots = self.slots.as_mut_slice();
        let mask = slots.len() - 1;
        let mut index = home;
        loop {
            let slot = &mut slots[index & mask];
            if slot.time == NEVER {
                *slot = Slot { item, time, tag };
                self.used += 1;
                return PreviousAccess::FIRST;
            }
            if slot.item == item {
                let old = std::mem::replace(slot, Slot { item, time, tag });
                return PreviousAccess {
                    between: time - old.time - 1,
                    tag: old.tag,
                };
            }
            index += 1;
        }
    }

    /// Doubles the table: every home changes.
    #[cold]
    fn grow(&mut self) {
        let larger = vec![Slot::default(); self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, larger);
        let mask = self.slots.len() - 1;
        for slot in old.into_iter().filter(|slot| slot.time != NEVER) {
            let mut index = self.home(slot.item);
            while self.slots[index & mask].time != NEVER {
                index += 1;
            }
            self.slots[index & mask] = slot;
        }
    }
}

impl Default for Previous {
    fn default() -> Self {
        Self::new()
    }
}
