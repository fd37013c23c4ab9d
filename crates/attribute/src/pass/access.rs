//! Which object an address belongs to, where its instruction does not remember.

use super::Pass;
use crate::locals::Local;
use crate::objects::{Objects, Where};
use crate::shadow::{NO_STRUCTURE, Region, Volatility};
use crate::stack::ShadowStack;

/// Stacks that an address is looked for in, of those that no order says more about: a trace may
/// have any number of threads, and each access that is in no object looks.
const MOST_STACKS: usize = 64;

impl Pass<'_> {
    /// The object and the structure of an address that the site does not remember.
    #[inline(never)]
    pub(super) fn locate(&mut self, slot: usize, address: u64) -> (u32, u32) {
        let own = self.stack.holds(address);
        if own && !self.process.named_on_stack {
            return self.in_own_stack(slot, address);
        }
        let region = self.process.space.find(address);
        if own && region.structure == NO_STRUCTURE {
            return self.in_own_stack(slot, address);
        }
        if region.object == 0 {
            return self.in_any_stack(slot, address);
        }
        self.remember(slot, &region);
        (region.object, region.structure)
    }

    fn remember(&mut self, slot: usize, region: &Region) {
        let versions = self.process.space.versions();
        self.process.sites.slot(slot).remember(region, &versions);
    }

    /// The object and the structure of an address in the stack of the thread that runs. The site
    /// remembers it if its frame has variables: others are found at once or are not often asked
    /// for.
    fn in_own_stack(&mut self, slot: usize, address: u64) -> (u32, u32) {
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

    /// The object and the structure of an address that may lie in another thread's stack; object
    /// 0: in none.
    fn in_any_stack(&mut self, slot: usize, address: u64) -> (u32, u32) {
        if self.stack.contains(address) {
            return self.in_own_stack(slot, address);
        }
        (self.in_others_stack(address), NO_STRUCTURE)
    }

    /// The object of an address that may lie in the stack of a thread that does not run; 0 = in
    /// none.
    fn in_others_stack(&mut self, address: u64) -> u32 {
        let threads = self.threads;
        let holds = |thread: &usize| threads[*thread].stack.contains(address);
        let process = &*self.process;
        let others = || {
            // Stacks of threads that live at the same time do not overlap, so it is the last that
            // begins before the address: of those that say they begin there, the oldest.
            let (low, _) = process.stacks.range(..=(address, u32::MAX)).next_back()?;
            let begin_there = process.stacks.range((*low, 0)..=(*low, u32::MAX));
            let oldest = begin_there.take(MOST_STACKS);
            oldest.map(|(_, thread)| *thread as usize).find(holds)
        };
        let unbounded = || {
            let oldest = process.unbounded.iter().take(MOST_STACKS);
            oldest.map(|thread| *thread as usize).find(holds)
        };
        let found = Some(self.neighbour).filter(holds).or_else(others);
        match found.or_else(unbounded) {
            Some(thread) => {
                self.neighbour = thread;
                let stack = &threads[thread].stack;
                let found = stack.find_local(address, None, &self.shared.layouts);
                let local = found.and_then(|(_, _, local, _)| local);
                local.map_or_else(|| frame_object(stack, address), |local| local.object)
            }
            None => 0,
        }
    }

    /// Where an address lies, whatever the program calls it.
    pub(super) fn place_of(&mut self, address: u64) -> Where {
        if let Some(region) = self.process.space.find_unnamed(address) {
            return self.shared.objects.place(region.object);
        }
        if self.stack.contains(address) || self.in_others_stack(address) != 0 {
            Where::Stack
        } else {
            Where::Unknown
        }
    }
}

/// The object of an address in a stack.
fn frame_object(stack: &ShadowStack, address: u64) -> u32 {
    stack
        .find(address)
        .map_or(Objects::UNKNOWN_FRAME, |extent| extent.object)
}
