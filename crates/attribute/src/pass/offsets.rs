//! The offset of an access in its element, if the options ask for it.

use reuselens_profile::NO_OFFSET;

use super::Pass;
use crate::ballots::{ElementPlacement, HEAD};
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
    /// The offset of an address in its element; [`NO_OFFSET`] before the first.
    #[inline(always)]
    pub fn offset(self, address: u64) -> u32 {
        match address.checked_sub(self.low) {
            Some(inner) => (inner % u64::from(self.bytes)) as u32,
            None => NO_OFFSET,
        }
    }

    /// The offset of an address as ballots take it
    /// ([`Ballots::count_known`](crate::ballots::Ballots::count_known)), if the first element
    /// begins after `start` bytes of a block.
    #[inline(always)]
    pub fn known_offset(self, address: u64, start: u64) -> u32 {
        match self.offset(address) {
            NO_OFFSET => HEAD + (address.wrapping_add(start).wrapping_sub(self.low)) as u32,
            offset => offset,
        }
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
            let start = self.shared.objects.spans.start(object);
            let known = |elements: CurrentElements| elements.known_offset(address, start);
            let offset = self.elements.map_or(0, known);
            let site = self.process.sites.slot(slot).site;
            if !self.shared.ballots.count_known(object, site, offset) {
                self.vote(slot, object, address);
            }
        }
    }

    /// Looks up the elements of a part of an access after the first. The access has voted already.
    pub(super) fn find_elements_of_part(&mut self, slot: usize, owner: (u32, u32), address: u64) {
        self.elements = self.elements_of(slot, owner, address);
    }

    /// Lets an access vote for the type of its object. That may tell the bytes of an element.
    #[inline(never)]
    fn vote(&mut self, slot: usize, object: u32, address: u64) {
        let site = self.process.sites.slot(slot).site;
        self.shared.ask_access(site);
        // An instruction that shows nothing is known from now on.
        if self.shared.ballots.count_known(object, site, 0) {
            return;
        }
        let ProcessState { space, extents, .. } = &mut *self.process;
        let known = extents.recall(slot, object, address, &space.versions());
        let Some(low) = known.or_else(|| self.find_extent(slot, object, address)) else {
            return;
        };
        let elements = self.shared.ballots.vote(object, site, address - low);
        if let Some(elements) = elements {
            self.change_elements(object, elements);
            self.elements = self.elements_of(slot, (object, NO_STRUCTURE), address);
        }
    }

    /// The elements of an object are other ones from now on. Cells count offsets in elements of one
    /// size, so later accesses get other cells.
    fn change_elements(&mut self, object: u32, elements: ElementPlacement) {
        self.resolve_pending();
        self.shared.add_cells(self.options, self.columns);
        self.shared.objects.spans.set(object, elements);
        if self.shared.cells.retire(object) {
            let cells = &self.shared.cells;
            (self.process.sites).forget_cells(|cell| cells.is_retired(cell));
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
        let start = self.shared.objects.spans.start(object);
        Some(CurrentElements::new(low + start, bytes))
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
        let stack = if is_own {
            &*self.stack
        } else {
            // The thread in whose stack the address was found.
            &self.threads.get(self.last_stack)?.stack
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
