//! [`Numbering`]: numbers for items, from 0 in the order of their first accesses. [`Grain`] says
//! what an item is.

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

/// Numbers items in the order in which they come. Shared memory is each block's own, local memory
/// each thread's.
pub(super) struct Numbering {
    grain: Grain,
    table: HashTable<u32>,
    keys: Vec<(u64, u64)>,
    sizes: Vec<u8>,
}

impl Numbering {
    pub(super) fn new(grain: Grain) -> Numbering {
        Numbering {
            grain,
            table: HashTable::new(),
            keys: Vec::new(),
            sizes: Vec::new(),
        }
    }

    /// The number of an item that `thread` of `block` touches.
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
        let key = (owner, item);
        let hash = hash(key);
        let keys = &mut self.keys;
        if let Some(&number) = self.table.find(hash, |&at| keys[at as usize] == key) {
            return number;
        }
        let number = keys.len() as u32;
        keys.push(key);
        self.sizes.push(bytes);
        self.table
            .insert_unique(hash, number, |&at| self::hash(keys[at as usize]));
        number
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Where each item begins, and the bytes of the first access to it.
    pub(super) fn finish(self) -> (Vec<u64>, Vec<u8>) {
        let grain = self.grain;
        let addresses = self.keys.into_iter().map(|(_, item)| grain.address(item));
        (addresses.collect(), self.sizes)
    }
}

#[inline]
fn hash((owner, item): (u64, u64)) -> u64 {
    let product = (item ^ owner.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 32)
}
