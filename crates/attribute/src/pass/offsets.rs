//! The offset of an access in its element, if the options ask for it.

use reuselens_locality::NO_OFFSET;

use super::Pass;
use crate::columns::Columns;
use crate::objects::Where;
use crate::shadow::{NO_STRUCTURE, Region, Volatility};
use crate::state::ProcessState;

/// The elements around an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurrentElements {
    /// Where the first begins.
    low: u64,
    /// The bytes of one.
    bytes: u32,
}

impl CurrentElements {
    /// The offset of an address in its element.
    #[inline(always)]
    pub fn offset(self, address: u64) -> u32 {
        (address.wrapping_sub(self.low) % u64::from(self.bytes)) as u32
    }

    /// The offset of an address in its element, if the elements around it are known.
    #[inline(always)]
    pub fn offset_in(elements: Option<Self>, address: u64) -> u32 {
        elements.map_or(NO_OFFSET, |elements| elements.offset(address))
    }

    pub fn new(low: u64, bytes: u32) -> Self {
        CurrentElements { low, bytes }
    }
}

impl Pass<'_> {
    /// Looks up the elements of an object around an address, for [`Self::mark_offsets`].
    #[inline(always)]
    pub(super) fn find_elements(
        &mut self,
        slot: usize,
        (object, structure): (u32, u32),
        address: u64,
    ) {
        if self.options.offsets {
            self.elements = self.elements_of(slot, (object, structure), address);
        }
    }

    fn elements_of(
        &mut self,
        slot: usize,
        (object, structure): (u32, u32),
        address: u64,
    ) -> Option<CurrentElements> {
        let bytes = self.shared.objects.spans.get(object)?;
        if structure != NO_STRUCTURE {
            let structure = self.shared.structures.get(structure)?;
            return Some(CurrentElements::new(structure.base, bytes));
        }
        let ProcessState { space, extents, .. } = &mut *self.process;
        let known = extents.recall(slot, object, address, &space.versions());
        let low = match known {
            Some(low) => low,
            None => self.find_extent(slot, object, address)?,
        };
        Some(CurrentElements::new(low, bytes))
    }

    /// Where the object of an address begins. The slot's extent is remembered.
    #[inline(never)]
    fn find_extent(&mut self, slot: usize, object: u32, address: u64) -> Option<u64> {
        let region = match self.shared.objects.place(object) {
            Where::Stack => return self.find_extent_in_stack(slot, object, address),
            _ => self.process.space.find_unnamed_whole(address)?,
        };
        if region.object != object {
            return None;
        }
        let start = self.shared.objects.start_of(object).1;
        // A chunk is a part of a block: its elements begin where the block does.
        let region = Region {
            low: region.low.checked_sub(start)?,
            ..region
        };
        let ProcessState { space, extents, .. } = &mut *self.process;
        extents.remember(slot, &region, &space.versions());
        Some(region.low)
    }

    /// Where the local variable of an address begins. Those of other threads are not remembered.
    fn find_extent_in_stack(&mut self, slot: usize, object: u32, address: u64) -> Option<u64> {
        let is_own = self.stack.contains(address);
        let ProcessState {
            sites,
            space,
            extents,
            ..
        } = &mut *self.process;
        let pc = is_own.then(|| sites.slot(slot).pc());
        let stack = match is_own {
            true => &*self.stack,
            // The thread in whose stack the address was found.
            false => &self.threads.get(self.last_stack)?.stack,
        };
        let (low, high, local, _) = stack.find_local(address, pc, &self.shared.layouts)?;
        if local?.object != object {
            return None;
        }
        if is_own && space.live_frames() != 0 {
            let region = Region {
                low,
                high,
                object,
                structure: NO_STRUCTURE,
                volatility: Volatility::Frame,
            };
            extents.remember(slot, &region, &space.versions());
        }
        Some(low)
    }

    /// Records the offsets of the item accesses without one: those of an access to the elements
    /// that were looked up last.
    pub(super) fn mark_offsets(&mut self, address: u64) {
        let (granularity, process_bits) = (self.granularity, self.process_bits);
        let elements = self.elements;
        let Columns { items, offsets, .. } = &mut *self.columns;
        let unmarked = &items[offsets.len()..];
        offsets.extend(unmarked.iter().map(|item| {
            let start = (item << granularity.shift()) ^ process_bits;
            CurrentElements::offset_in(elements, address.max(start))
        }));
    }
}
