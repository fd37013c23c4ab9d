//! Which object an address is in. These are asked, in this order:
//!
//! 1. The innermost frame of the thread ([`TopFrame`]), unless memory is named on a stack
//!    (`Pass::frame_changed` in `rows.rs`). Frames do not overlap, so asking it first saves time;
//!    which frame an address between two known ones is in, [`ShadowStack::find`] says.
//! 2. What the instruction's slot remembers: the region of its last access, while its version is
//!    the present one ([`NearMemory::recall`]).
//! 3. The memory that the program named, if that may be on the stack.
//! 4. The other frames of the thread, and the variables in them.
//! 5. The memory map of the process: blocks, static variables, named memory.
//! 6. The stacks of the other threads.
//!
//! The first two answer most accesses, and take no search ([`Pass::locate`] is the rest). Batches
//! of rows ask a [`NearMemory`] for them too, and so does `Pass::find_region` in `repeats.rs`, for
//! all of a region at once: it asks the frame and the slot itself, in this order. Outside the
//! thread's stack the memory map is next, so what it knows without a search is the answer there as
//! well ([`NearMemory::outside_stack`]). How far an answer holds, for accesses to many bytes, is
//! asked of the same places in the same order ([`Pass::owner_end`]).
//!
//! Without the names that the program gives, memory is looked for by `Pass::owner_of` in `rows.rs`.
//! Where an element begins, once its object is known: `offsets.rs`.

use super::Pass;
use crate::locals::Local;
use crate::objects::{Objects, Where};
use crate::shadow::{NO_STRUCTURE, PAGE_SHIFT, Region, Versions, Volatility};
use crate::sites::SiteSlot;
use crate::space::AddressSpace;
use crate::stack::{ShadowStack, TopFrame};

/// Most stacks searched for an address where no order leads to the right one. A trace may have any
/// number of threads, and each access to an unknown object searches.
const MAX_STACKS: usize = 64;

/// What decides, without a search, which object an address is in. Valid until a function is entered
/// or left, or memory is allocated, freed or named. Where the innermost frame does not win, as
/// memory in it is named, `top` has no bytes.
#[derive(Clone, Copy)]
pub(super) struct NearMemory {
    top: TopFrame,
    /// The thread's stack: its low end and its bytes.
    stack: (u64, u64),
    /// Whether the program may have named memory on a stack.
    named_on_stack: bool,
    pub versions: Versions,
}

impl NearMemory {
    /// The object and the structure of an address, if it is in the innermost frame, or in the
    /// region that the slot remembers.
    #[inline(always)]
    pub fn known(&self, slot: &SiteSlot, address: u64) -> Option<(u32, u32)> {
        if self.top.contains(address) {
            return Some((self.top.object, NO_STRUCTURE));
        }
        self.recall(slot, address)
    }

    /// The object and the structure of an address outside the innermost frame, if the slot
    /// remembers a region around it that is its owner.
    #[inline(always)]
    pub fn recall(&self, slot: &SiteSlot, address: u64) -> Option<(u32, u32)> {
        let recalled = slot.recall(address, &self.versions)?;
        // Another thread's access may have remembered a region around this thread's stack, whose
        // frames come first: hence the condition.
        let is_owner = !self.is_in_stack(address)
            || slot.is_in_frame()
            || (self.named_on_stack && recalled.1 != NO_STRUCTURE);
        is_owner.then_some(recalled)
    }

    /// Whether the region that the slot remembers is the answer for each of its addresses: no frame
    /// comes before it.
    pub fn owns_whole_region(&self, slot: &SiteSlot) -> bool {
        let region = slot.region();
        are_disjoint(region, (self.top.low, self.top.bytes))
            && (slot.is_in_frame() || are_disjoint(region, self.stack))
    }

    /// The object of an address outside the thread's stack, if the memory map knows it at once.
    #[inline(always)]
    pub fn outside_stack(&self, space: &AddressSpace, address: u64) -> Option<u32> {
        let object = space.quick(address);
        let is_in_stack = self.top.contains(address) || self.is_in_stack(address);
        (object != 0 && !is_in_stack).then_some(object)
    }

    #[inline(always)]
    fn is_in_stack(&self, address: u64) -> bool {
        address.wrapping_sub(self.stack.0) < self.stack.1
    }
}

/// Whether no address is in both ranges (low end, bytes).
fn are_disjoint(one: (u64, u64), other: (u64, u64)) -> bool {
    let high = |(low, bytes): (u64, u64)| low.saturating_add(bytes);
    one.1 == 0 || other.1 == 0 || high(one) <= other.0 || high(other) <= one.0
}

impl Pass<'_> {
    /// What is known without a search at present.
    #[inline(always)]
    pub(super) fn near_memory(&self) -> NearMemory {
        NearMemory {
            top: self.top,
            stack: self.stack.extent(),
            named_on_stack: self.process.named_on_stack,
            versions: self.process.space.versions(),
        }
    }

    /// The object and the structure of an address that the instruction of a slot accesses.
    #[inline(always)]
    pub(super) fn object_at(&mut self, slot: usize, address: u64) -> (u32, u32) {
        let near = self.near_memory();
        match near.known(self.process.sites.slot(slot), address) {
            Some(known) => known,
            None => self.locate(slot, address),
        }
    }

    /// The first address after `address` that may have another owner. Where that is not known at
    /// once, the next address.
    pub(super) fn owner_end(&mut self, slot: usize, address: u64) -> u64 {
        let top = self.top;
        if top.contains(address) {
            return top.low + top.bytes;
        }
        let next = address.saturating_add(1);
        let near = self.near_memory();
        let end = match near.recall(self.process.sites.slot(slot), address) {
            Some(_) => {
                let (low, bytes) = self.process.sites.slot(slot).region();
                low + bytes
            }
            None if self.stack.has_within_bounds(address) => {
                let end = self.stack.frame_end(address);
                end.filter(|_| !self.process.named_on_stack).unwrap_or(next)
            }
            None => self.unowned_end(address).unwrap_or(next),
        };
        // Nothing that owns memory around the innermost frame or the stack owns those.
        let (stack, _) = self.stack.extent();
        let inner = [top.low, stack].into_iter().filter(|low| *low > address);
        inner.fold(end, u64::min).max(next)
    }

    /// Where memory ends that nobody owns, within a page: stacks begin with pages.
    fn unowned_end(&mut self, address: u64) -> Option<u64> {
        let is_owned = self.process.space.find(address).object != 0
            || self.stack.contains(address)
            || self.locate_in_other_stacks(address) != 0;
        if is_owned {
            return None;
        }
        let page = (address | ((1 << PAGE_SHIFT) - 1)).saturating_add(1);
        Some(page.min(self.process.space.next_owned(address)))
    }

    /// The object and the structure of an address, by searching.
    #[inline(never)]
    pub(super) fn locate(&mut self, slot: usize, address: u64) -> (u32, u32) {
        let own = self.stack.has_within_bounds(address);
        if own && !self.process.named_on_stack {
            return self.locate_in_own_stack(slot, address);
        }
        let region = self.process.space.find(address);
        if own && region.structure == NO_STRUCTURE {
            return self.locate_in_own_stack(slot, address);
        }
        if region.object == 0 {
            return self.locate_in_any_stack(slot, address);
        }
        self.remember(slot, &region);
        (region.object, region.structure)
    }

    fn remember(&mut self, slot: usize, region: &Region) {
        let versions = self.process.space.versions();
        self.process.sites.slot(slot).remember(region, &versions);
    }

    /// The object and the structure of an address in the current thread's stack. The slot
    /// remembers it if its frame has variables. Other frames are the innermost one, which is
    /// compared first, or are rarely accessed.
    fn locate_in_own_stack(&mut self, slot: usize, address: u64) -> (u32, u32) {
        let pc = self.process.sites.slot(slot).pc();
        let found = self
            .stack
            .find_local(address, Some(pc), &self.shared.layouts);
        let Some((low, high, local, extent)) = found else {
            return (frame_object(self.stack, address), NO_STRUCTURE);
        };
        let (object, local) = match local.copied() {
            Some(local) => (local.object, local),
            None => (extent.object, Local::default()),
        };
        let region = Region {
            low,
            high,
            object,
            structure: self.shared.local_structure(low, &local),
            volatility: Volatility::Frame,
        };
        if self.process.space.live_frames() != 0 {
            self.remember(slot, &region);
        }
        (object, region.structure)
    }

    /// The object and the structure of an address outside the memory map; object 0 if no stack has
    /// it.
    fn locate_in_any_stack(&mut self, slot: usize, address: u64) -> (u32, u32) {
        if self.stack.contains(address) {
            return self.locate_in_own_stack(slot, address);
        }
        (self.locate_in_other_stacks(address), NO_STRUCTURE)
    }

    /// The object of an address in the stack of another thread; 0 if none has it.
    pub(super) fn locate_in_other_stacks(&mut self, address: u64) -> u32 {
        let threads = self.threads;
        let holds = |thread: &usize| threads[*thread].stack.contains(address);
        let process = &*self.process;
        let bounded = || {
            // Stacks of threads that live at the same time do not overlap, so it is the last that
            // begins at or before the address. If several claim that beginning, the oldest is it.
            let (low, _) = process.stacks.range(..=(address, u32::MAX)).next_back()?;
            let begin_there = process.stacks.range((*low, 0)..=(*low, u32::MAX));
            let oldest = begin_there.take(MAX_STACKS);
            oldest.map(|(_, thread)| *thread as usize).find(holds)
        };
        let unbounded = || {
            let oldest = process.unbounded.iter().take(MAX_STACKS);
            oldest.map(|thread| *thread as usize).find(holds)
        };
        let found = Some(self.last_stack).filter(holds).or_else(bounded);
        match found.or_else(unbounded) {
            Some(thread) => {
                self.last_stack = thread;
                let stack = &threads[thread].stack;
                let found = stack.find_local(address, None, &self.shared.layouts);
                let local = found.and_then(|(_, _, local, _)| local);
                local.map_or_else(|| frame_object(stack, address), |local| local.object)
            }
            None => 0,
        }
    }

    /// What kind of memory an address is in, whatever the program names it.
    pub(super) fn place_of(&mut self, address: u64) -> Where {
        if let Some(region) = self.process.space.find_unnamed(address) {
            return self.shared.objects.place(region.object);
        }
        if self.stack.contains(address) || self.locate_in_other_stacks(address) != 0 {
            Where::Stack
        } else {
            Where::Unknown
        }
    }
}

/// The object of an address in a stack: the frame around it.
fn frame_object(stack: &ShadowStack, address: u64) -> u32 {
    stack
        .find(address)
        .map_or(Objects::UNKNOWN_FRAME, |extent| extent.object)
}
