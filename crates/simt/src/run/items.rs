//! [`Numbering`]: numbers for items, from 0 in the order of their first accesses. [`Grain`] says
//! what an item is, and [`ItemTable`] what is known of each.

use hashbrown::HashTable;
use reuselens_units::Granularity;
use reuselens_warp::Space;

/// What counts as the same data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// The address at which an access begins: what programs call an element. An access of several
    /// elements at once (a vector load) is one item.
    Element,
    /// Lines of this many bytes; an access touches each that it covers.
    Lines(Granularity),
}

impl Grain {
    /// The items that an access covers, by the first and the last.
    #[inline]
    pub(super) fn cover(self, address: u64, bytes: u8) -> (u64, u64) {
        match self {
            Grain::Element => (address, address),
            Grain::Lines(granularity) => granularity.cover(address, bytes.into()),
        }
    }

    /// Where an item begins.
    fn address(self, item: u64) -> u64 {
        match self {
            Grain::Element => item,
            Grain::Lines(granularity) => item << granularity.shift(),
        }
    }
}

/// Some of the items: a class of several, which are about equally large. Items of one line of 4 KiB
/// are in one class.
///
/// What an analysis adds up over items can so be had from one class after the other, each with a
/// part of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemClass {
    /// Which class, from 0.
    pub index: u32,
    /// How many there are.
    pub count: u32,
}

impl ItemClass {
    /// All items.
    pub const ALL: ItemClass = ItemClass { index: 0, count: 1 };

    /// Whether it lacks any items.
    pub fn is_partial(self) -> bool {
        self.count > 1
    }

    fn has(self, address: u64, owner: u64) -> bool {
        let hash = hash(address >> 12, owner) >> 32;
        (hash * u64::from(self.count)) >> 32 == u64::from(self.index)
    }
}

/// In the place of the number of an item that is not in the class.
pub(crate) const OUTSIDE: u32 = u32::MAX;

/// A number for each item. As long as all are equal, as they mostly are, it takes no memory.
#[derive(Clone, Debug, Default)]
struct MostlyEqual<T> {
    /// Of all items, while `each` is empty.
    all: T,
    each: Vec<T>,
}

impl<T: Copy + PartialEq> MostlyEqual<T> {
    #[inline]
    fn get(&self, at: usize) -> T {
        self.each.get(at).copied().unwrap_or(self.all)
    }

    /// Adds the value of the next item; there are `count` before it.
    fn push(&mut self, count: usize, value: T) {
        if count == 0 {
            self.all = value;
        }
        if value != self.all && self.each.is_empty() {
            self.each.resize(count, self.all);
        }
        if value != self.all || !self.each.is_empty() {
            self.each.push(value);
        }
    }

    fn bytes(&self) -> usize {
        self.each.capacity() * size_of::<T>()
    }
}

/// What is known of each item. Memory: 8 bytes an item, and one more where accesses have several
/// sizes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ItemTable {
    addresses: Vec<u64>,
    sizes: MostlyEqual<u8>,
}

impl ItemTable {
    pub(crate) fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Where an item begins, in bytes; of shared and local memory within its block or thread.
    #[inline]
    pub(crate) fn address(&self, item: u32) -> u64 {
        self.addresses[item as usize]
    }

    /// Bytes of the first access to an item.
    pub(crate) fn size(&self, item: u32) -> u8 {
        self.sizes.get(item as usize)
    }

    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> u64 {
        (self.addresses.capacity() * 8 + self.sizes.bytes()) as u64
    }
}

/// Numbers items in the order in which they come. Shared memory is each block's own, local memory
/// each thread's.
///
/// Memory: that of the [`ItemTable`], 6 to 12 bytes an item for the hash table, and 8 more if items
/// are of several owners.
pub(super) struct Numbering {
    grain: Grain,
    class: ItemClass,
    table: HashTable<u32>,
    items: Vec<u64>,
    owners: MostlyEqual<u64>,
    sizes: MostlyEqual<u8>,
    /// The last number, how far it was from the one before, and whether that was expected.
    last: u32,
    step: u32,
    is_even: bool,
}

impl Numbering {
    pub(super) fn new(grain: Grain, class: ItemClass) -> Numbering {
        Numbering {
            grain,
            class,
            table: HashTable::new(),
            items: Vec::new(),
            owners: MostlyEqual::default(),
            sizes: MostlyEqual::default(),
            last: 0,
            step: 0,
            is_even: false,
        }
    }

    /// The number of an item that `thread` of `block` touches; [`OUTSIDE`] if it is not in the
    /// class.
    #[inline]
    pub(super) fn number(
        &mut self,
        space: Space,
        block: u32,
        thread: u32,
        item: u64,
        bytes: u8,
    ) -> u32 {
        // Blocks have 32 bits and threads of a block 16.
        let owner = match space {
            Space::Global | Space::Constant | Space::Parameter => 0,
            Space::Shared => u64::from(block) << 16,
            Space::Local => u64::from(block) << 16 | u64::from(thread),
        };
        let owner = owner | (space as u64) << 56;
        if self.class.is_partial() && !self.class.has(self.grain.address(item), owner) {
            return OUTSIDE;
        }
        // What lanes touch mostly has numbers as evenly apart as their addresses are: then there is
        // nothing to look up. Where they were not, only what is near the last one is tried, which
        // is in the processor's caches.
        let expected = self.last.wrapping_add(self.step);
        let is_near = self.is_even || self.step < 4;
        let number = if is_near && self.is(expected, item, owner) {
            expected
        } else {
            self.look_up(item, owner, bytes)
        };
        self.is_even = number == expected;
        (self.step, self.last) = (number.wrapping_sub(self.last), number);
        number
    }

    #[inline]
    fn is(&self, number: u32, item: u64, owner: u64) -> bool {
        let at = number as usize;
        self.items.get(at) == Some(&item) && self.owners.get(at) == owner
    }

    fn look_up(&mut self, item: u64, owner: u64, bytes: u8) -> u32 {
        let hash = hash(item, owner);
        if let Some(&number) = self.table.find(hash, |&at| self.is(at, item, owner)) {
            return number;
        }
        let count = self.items.len();
        self.items.push(item);
        self.owners.push(count, owner);
        self.sizes.push(count, bytes);
        let (items, owners) = (&self.items, &self.owners);
        self.table.insert_unique(hash, count as u32, |&at| {
            self::hash(items[at as usize], owners.get(at as usize))
        });
        count as u32
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Bytes that it takes, or soon will: each list doubles when it is full.
    pub(super) fn bytes(&self) -> u64 {
        let items = self.items.capacity() * 8;
        let table = self.table.capacity() * 8;
        (items + self.owners.bytes() + self.sizes.bytes() + table) as u64
    }

    /// What is known of each item.
    pub(super) fn finish(self) -> ItemTable {
        let mut addresses = self.items;
        for item in &mut addresses {
            *item = self.grain.address(*item);
        }
        addresses.shrink_to_fit();
        ItemTable {
            addresses,
            sizes: self.sizes,
        }
    }
}

#[inline]
fn hash(item: u64, owner: u64) -> u64 {
    let product = (item ^ owner.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 32)
}
