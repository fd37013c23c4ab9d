//! Accesses to several items.
//!
//! A block operation (`rep movs`, `memcpy`) can be longer than a chunk of its object, and can begin
//! in one object and end in another. Each of its item accesses counts for the owner of the first
//! byte that it covers in the item. Owners are looked up once for each *part*: the bytes from one
//! owner's memory, as far as its end is known.

use std::ops::RangeInclusive;

use super::Pass;
use super::access::RawAccess;
use crate::shadow::NO_STRUCTURE;

/// The structure and the cell that item accesses count for.
type PartOwner = (u32, u32);

impl Pass<'_> {
    /// Appends items of an access that count for one structure and cell.
    pub(super) fn push_items(
        &mut self,
        access: RawAccess,
        items: RangeInclusive<u64>,
        (structure, cell): PartOwner,
    ) {
        let RawAccess { address, size, .. } = access;
        for item in items {
            if self.columns.len() >= self.piece {
                self.mark(access);
                self.send_columns();
            }
            self.columns.push(item, cell);
            if structure != NO_STRUCTURE {
                let start = (item << self.granularity.shift()) ^ self.process_bits;
                let rest = size - start.wrapping_sub(address).min(size);
                self.count_element(structure, start, rest);
            }
        }
    }

    /// Appends the items of an access after the first, which counted for `owner`.
    #[cold]
    pub(super) fn push_further_parts(&mut self, slot: usize, access: RawAccess, owner: (u32, u32)) {
        self.push_parts(slot, access, Some(owner));
    }

    /// Takes an access whose first byte is in memory that does not count: later parts may be in
    /// memory that does.
    #[cold]
    pub(super) fn push_later_parts(&mut self, slot: usize, access: RawAccess) {
        self.push_parts(slot, access, None);
    }

    /// Appends the items of an access after the first. `owner` is that of the first one, if it
    /// counted.
    fn push_parts(&mut self, slot: usize, access: RawAccess, mut owner: Option<PartOwner>) {
        let (shift, process_bits) = (self.granularity.shift(), self.process_bits);
        let (first, last) = (self.granularity).cover(access.address ^ process_bits, access.size);
        let (mut address, mut next, mut least) = (access.address, first + 1, first);
        let mut is_counted = owner.is_some();
        loop {
            let end = self.owner_end(slot, address);
            // Damaged traces have ranges over the bits of the process: each part has an item.
            let to = ((end - 1) ^ process_bits) >> shift;
            let to = to.clamp(least, last);
            if let Some(owner) = owner {
                self.push_items(access, next..=to, owner);
            }
            if to >= last {
                return;
            }
            (next, least) = (to + 1, to + 1);
            address = (next << shift) ^ process_bits;
            owner = self.part_owner(slot, access, address, &mut is_counted);
        }
    }

    /// The owner of the part of an access that begins at `address`, if it counts.
    fn part_owner(
        &mut self,
        slot: usize,
        access: RawAccess,
        address: u64,
        is_counted: &mut bool,
    ) -> Option<PartOwner> {
        let (object, structure) = self.object_at(slot, address);
        if !self.data_counts(object) {
            return None;
        }
        if !*is_counted {
            // In statement mode, the first byte that counts decides for the access.
            if !self.is_first_in_statement(structure, address) {
                return None;
            }
            self.shared.references += 1;
            *is_counted = true;
        }
        let cell = self.resolve_cell(slot, object);
        if self.options.offsets {
            // The elements so far are those of the part before.
            self.mark_offsets(access.address);
            self.find_elements_of_part(slot, (object, structure), address);
        }
        Some((structure, cell))
    }
}
