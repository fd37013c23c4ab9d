//! The data structures that the program named, and the addresses from which they are entered.
//!
//! Source: Ding & Zhong 2001, the run-time calls for source-level data.

use crate::hash::FastMap;
use crate::shadow::Volatility;
use crate::space::{AddressSpace, NamedOwner};

/// A structure at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Structure {
    pub base: u64,
    pub bytes: u64,
    /// Bytes of an element, at least 1.
    pub element: u64,
    pub object: u32,
}

impl Structure {
    /// The index of the element that contains an address at or after the base.
    #[inline]
    pub fn index(&self, address: u64) -> u64 {
        let offset = address.wrapping_sub(self.base);
        if self.element.is_power_of_two() {
            offset >> self.element.trailing_zeros()
        } else {
            offset / self.element
        }
    }

    /// Whether an address is in it.
    #[inline]
    pub fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.bytes
    }

    /// The first byte of the element that contains an address, and its bytes, if the structure
    /// does.
    #[inline]
    pub fn element(&self, address: u64) -> Option<(u64, u64)> {
        if !self.contains(address) {
            return None;
        }
        let before = self.index(address) * self.element;
        // The last element may be cut short.
        Some((self.base + before, self.element.min(self.bytes - before)))
    }
}

/// Structures beyond which no more are kept.
const MAX_STRUCTURES: usize = 1 << 20;

/// All structures of all processes; equal ones are one.
#[derive(Debug, Default)]
pub(crate) struct Structures {
    list: Vec<Structure>,
    numbers: FastMap<Structure, u32>,
}

impl Structures {
    /// The number of a structure, made if it is new; `None` if there are too many.
    pub fn get_or_add(&mut self, structure: Structure) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&structure) {
            return Some(number);
        }
        let number = self.list.len() as u32;
        if self.list.len() >= MAX_STRUCTURES {
            return None;
        }
        self.list.push(structure);
        self.numbers.insert(structure, number);
        Some(number)
    }

    /// A structure by its number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Structure> {
        self.list.get(number as usize)
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        (self.list.capacity() * 32 + self.numbers.capacity() * 41) as u64
    }
}

/// Further addresses from which a process enters its structures, and what was found lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    structures: FastMap<u64, u32>,
    /// By some bits of the base.
    recent: [Option<RecentEntry>; RECENT],
}

/// Structures that are found at once.
const RECENT: usize = 16;

/// Where a base is looked for among them.
#[inline(always)]
fn slot(base: u64) -> usize {
    ((base >> 4) ^ (base >> 12)) as usize % RECENT
}

/// What a base was found to enter, while the names of memory are those of this version.
#[derive(Clone, Copy, Debug)]
struct RecentEntry {
    base: u64,
    version: u32,
    number: u32,
    structure: Structure,
}

impl Entries {
    /// Lets `entry` enter the structure that `base` enters; false if that one is not known.
    pub fn add(&mut self, base: u64, entry: u64, space: &AddressSpace, all: &Structures) -> bool {
        let Some(number) = self.find(base, space, all) else {
            return false;
        };
        if self.structures.len() < MAX_STRUCTURES {
            self.structures.insert(entry, number);
        }
        self.recent = Default::default();
        true
    }

    /// Those of a forked child, whose memory has versions of its own.
    pub fn fork(&self) -> Entries {
        Entries {
            structures: self.structures.clone(),
            recent: Default::default(),
        }
    }

    /// A new structure begins here: an older entry at its base ends.
    pub fn forget(&mut self, base: u64) {
        self.structures.remove(&base);
        self.recent = Default::default();
    }

    /// As [`find`](Self::find), with the structure, and at once for what was found lately.
    #[inline]
    pub fn enter(
        &mut self,
        base: u64,
        space: &AddressSpace,
        all: &Structures,
    ) -> Option<(u32, Structure)> {
        // Names come and go with this version.
        let version = space.versions()[Volatility::Heap as usize];
        let recent = slot(base);
        match self.recent[recent] {
            Some(known) if (known.base, known.version) == (base, version) => {
                Some((known.number, known.structure))
            }
            _ => {
                let number = self.find(base, space, all)?;
                let structure = *all.get(number)?;
                self.recent[recent] = Some(RecentEntry {
                    base,
                    version,
                    number,
                    structure,
                });
                Some((number, structure))
            }
        }
    }

    /// The same if it was found lately.
    #[inline(always)]
    pub fn entered_lately(&self, base: u64, space: &AddressSpace) -> Option<&Structure> {
        let version = space.versions()[Volatility::Heap as usize];
        let known = self.recent[slot(base)].as_ref();
        let known = known.filter(|known| (known.base, known.version) == (base, version));
        known.map(|known| &known.structure)
    }

    /// The structure that an address enters, if it still lives.
    pub fn find(&self, base: u64, space: &AddressSpace, all: &Structures) -> Option<u32> {
        let named = |address| space.find_named(address).map(|region| region.structure);
        if let Some(&number) = self.structures.get(&base) {
            return (named(all.get(number)?.base) == Some(number)).then_some(number);
        }
        let number = named(base)?;
        (all.get(number)?.base == base).then_some(number)
    }
}

/// Who owns the bytes of a structure.
pub(crate) fn owner(number: u32, structure: &Structure) -> NamedOwner {
    NamedOwner {
        object: structure.object,
        structure: number,
    }
}
