//! The instructions that access memory: a hash table that remembers, per instruction, the region
//! and the cell of its last access.

use reuselens_hugepages::random_key;
use reuselens_trace::Kind;

use crate::hash::GOLDEN;
use crate::places::CodePlace;
use crate::shadow::{NO_STRUCTURE, Region, Versions, Volatility};

/// An instruction, and what it did last. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct SiteSlot {
    pc: u64,
    /// Remembered region; `bytes` 0 = none.
    low: u64,
    bytes: u64,
    /// Context and thread of the remembered cell.
    pub owner: u64,
    version: u32,
    region_object: u32,
    structure: u32,
    /// Object of the remembered cell.
    pub object: u32,
    /// The remembered cell.
    pub cell: u32,
    /// Number of the site.
    pub site: u32,
    /// 0 = the slot is free.
    kind: u8,
    volatility: u8,
}

impl SiteSlot {
    const FREE: SiteSlot = SiteSlot {
        pc: 0,
        low: 0,
        bytes: 0,
        owner: u64::MAX,
        version: 0,
        region_object: 0,
        structure: NO_STRUCTURE,
        object: 0,
        cell: 0,
        site: 0,
        kind: 0,
        volatility: 0,
    };

    /// The object and the structure of an address, if the remembered region contains it and is
    /// still true.
    #[inline(always)]
    pub fn recall(&self, address: u64, versions: &Versions) -> Option<(u32, u32)> {
        let inside = address.wrapping_sub(self.low) < self.bytes;
        let true_yet = self.version == versions[usize::from(self.volatility & 3)];
        (inside & true_yet).then_some((self.region_object, self.structure))
    }

    /// Whether the remembered region is one of a frame: nothing comes before it.
    #[inline(always)]
    pub fn is_in_frame(&self) -> bool {
        self.volatility == Volatility::Frame as u8
    }

    /// The instruction.
    #[inline]
    pub fn pc(&self) -> u64 {
        self.pc
    }

    /// The remembered region: its low end and its bytes.
    #[inline]
    pub fn region(&self) -> (u64, u64) {
        (self.low, self.bytes)
    }

    /// Remembers a region, unless it is empty.
    #[inline]
    pub fn remember(&mut self, region: &Region, versions: &Versions) {
        if region.low < region.high {
            self.low = region.low;
            self.bytes = region.high - region.low;
            self.region_object = region.object;
            self.structure = region.structure;
            self.volatility = region.volatility as u8;
            self.version = versions[region.volatility as usize];
        }
    }
}

const _: () = assert!(size_of::<SiteSlot>() == 64);
const _: () = assert!(Volatility::Static as usize == 0 && Volatility::Heap as usize == 1);
const _: () = assert!(Volatility::Frame as usize == 2);

/// A site, for the tables at the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteKey {
    pub place: CodePlace,
    pub kind: Kind,
}

/// The sites of one process, by program counter and kind: open addressing, at most half full.
#[derive(Clone, Debug)]
pub(crate) struct SiteIndex {
    slots: Vec<SiteSlot>,
    used: usize,
    shift: u32,
    /// A random key: nobody can choose program counters that all begin at one place.
    key: u64,
    /// Program counter and number of the sites that had no module when they were made.
    unplaced: Vec<(u64, u32)>,
}

const FIRST_BITS: u32 = 6;
/// See [`SiteIndex::are_many`].
const MANY: usize = 1 << 10;

impl Default for SiteIndex {
    fn default() -> Self {
        Self::with_bits(FIRST_BITS, random_key())
    }
}

impl SiteIndex {
    fn with_bits(bits: u32, key: u64) -> Self {
        SiteIndex {
            slots: vec![SiteSlot::FREE; 1 << bits],
            used: 0,
            shift: 64 - bits,
            key,
            unplaced: Vec::new(),
        }
    }

    /// Where the search for an instruction begins.
    #[inline(always)]
    fn home(&self, pc: u64, kind: u8) -> usize {
        // The carries of the product spread a difference that the key has turned: which numbers
        // meet depends on it.
        let number = pc ^ self.key ^ u64::from(kind) << 32;
        (number.wrapping_mul(GOLDEN) >> self.shift) as usize
    }

    /// Whether most slots are outside the nearest cache.
    #[inline(always)]
    pub fn are_many(&self) -> bool {
        self.slots.len() > MANY
    }

    /// Asks for the slot of an instruction ahead of its use.
    #[inline(always)]
    pub fn prefetch(&self, pc: u64, kind: Kind) {
        reuselens_hugepages::prefetch(&self.slots, self.home(pc, kind as u8));
    }

    /// The slot of an instruction: where it is, or the free one where it belongs.
    #[inline(always)]
    fn find(&self, pc: u64, kind: u8) -> usize {
        let mask = self.slots.len() - 1;
        let mut index = self.home(pc, kind);
        loop {
            let slot = &self.slots[index & mask];
            if (slot.pc == pc && slot.kind == kind) || slot.kind == 0 {
                return index & mask;
            }
            index += 1;
        }
    }

    /// The slot of an instruction, if it has one. The index is valid until a slot is added.
    #[inline(always)]
    pub fn known(&self, pc: u64, kind: Kind) -> Option<usize> {
        let index = self.find(pc, kind as u8);
        (self.slots[index].kind != 0).then_some(index)
    }

    /// The slot of an instruction, made with the number that `site` gives if it is new. The index
    /// is good until the next call.
    #[inline(always)]
    pub fn entry(&mut self, pc: u64, kind: Kind, site: impl FnOnce() -> u32) -> usize {
        let index = self.find(pc, kind as u8);
        if self.slots[index].kind != 0 {
            index
        } else {
            self.add(pc, kind as u8, site())
        }
    }

    #[inline(always)]
    pub fn slot(&mut self, index: usize) -> &mut SiteSlot {
        &mut self.slots[index]
    }

    #[cold]
    fn add(&mut self, pc: u64, kind: u8, site: u32) -> usize {
        if 2 * (self.used + 1) > self.slots.len() {
            self.grow();
        }
        self.used += 1;
        let index = self.find(pc, kind);
        self.slots[index] = SiteSlot {
            pc,
            kind,
            site,
            ..SiteSlot::FREE
        };
        index
    }

    fn grow(&mut self) {
        let bits = self.slots.len().trailing_zeros() + 1;
        let old = std::mem::replace(self, Self::with_bits(bits, self.key));
        (self.used, self.unplaced) = (old.used, old.unplaced);
        for slot in old.slots.into_iter().filter(|slot| slot.kind != 0) {
            let index = self.find(slot.pc, slot.kind);
            self.slots[index] = slot;
        }
    }

    /// Forgets the remembered cells that `is_gone` holds for. Cost: linear in all instructions.
    pub fn forget_cells(&mut self, is_gone: impl Fn(u32) -> bool) {
        for slot in &mut self.slots {
            if slot.owner != SiteSlot::FREE.owner && is_gone(slot.cell) {
                slot.owner = SiteSlot::FREE.owner;
            }
        }
    }

    /// Remembers that a site has no module yet.
    pub fn add_unplaced(&mut self, pc: u64, site: u32) {
        self.unplaced.push((pc, site));
    }

    /// Program counter and number of the sites that had no module when they were made.
    pub fn unplaced(&self) -> &[(u64, u32)] {
        &self.unplaced
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        (self.slots.len() * size_of::<SiteSlot>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_keeps_its_number_while_the_table_grows() {
        let mut index = SiteIndex::default();
        for round in 0..2 {
            for pc in 0..5000_u64 {
                for (kind, number) in [(Kind::Load, 2 * pc), (Kind::Store, 2 * pc + 1)] {
                    let slot = index.entry(pc * 4, kind, || {
                        assert_eq!(round, 0, "{pc}");
                        number as u32
                    });
                    assert_eq!(index.slot(slot).site, number as u32);
                }
            }
        }
        assert_eq!(index.used, 10_000);
        assert_eq!(index.known(5000 * 4, Kind::Load), None);
    }

    /// The inverse of an odd number modulo 2⁶⁴, by Newton's iteration.
    fn inverse(odd: u64) -> u64 {
        (0..6).fold(odd, |found, _| {
            found.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(found)))
        })
    }

    /// The slots that a search for each instruction passes over, added up.
    fn passed_over(index: &SiteIndex) -> usize {
        let mask = index.slots.len() - 1;
        let away = |(place, slot): (usize, &SiteSlot)| {
            place.wrapping_sub(index.home(slot.pc, slot.kind)) & mask
        };
        let slots = index.slots.iter().enumerate();
        slots.filter(|(_, slot)| slot.kind != 0).map(away).sum()
    }

    #[test]
    fn instructions_chosen_to_collide_do_not() {
        let number = |kind: Kind| u64::from(kind as u8) << 32;
        let chosen = |at: u64| at.wrapping_mul(inverse(GOLDEN)) ^ number(Kind::Load);
        let filled = |key: u64| {
            let mut index = SiteIndex::with_bits(FIRST_BITS, key);
            (0..4000).for_each(|at| {
                index.entry(chosen(at), Kind::Load, || at as u32);
            });
            passed_over(&index)
        };
        assert_eq!(filled(0), 4000 * 3999 / 2, "all begin at one place");
        assert!(filled(random_key()) < 40_000);
        let mut index = SiteIndex::default();
        (0..4000).for_each(|at| {
            index.entry(chosen(at), Kind::Load, || at as u32);
        });
        assert!(passed_over(&index) < 40_000, "{}", passed_over(&index));
    }
}
