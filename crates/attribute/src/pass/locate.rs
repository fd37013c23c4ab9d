//! Which object an address belongs to, where its instruction does not remember.

use super::Pass;
use crate::objects::{Objects, Where};
use crate::shadow::NO_STRUCTURE;
use crate::stack::ShadowStack;

impl Pass<'_> {
    /// The object and the structure of an address that the site does not remember.
    #[inline(never)]
    pub(super) fn locate(&mut self, slot: usize, address: u64) -> (u32, u32) {
        let own = self.stack.holds(address);
        if own && !self.process.named_on_stack {
            return (frame_object(self.stack, address), NO_STRUCTURE);
        }
        let region = self.process.space.find(address);
        if own && region.structure == NO_STRUCTURE {
            return (frame_object(self.stack, address), NO_STRUCTURE);
        }
        if region.object == 0 {
            return (self.in_any_stack(address), NO_STRUCTURE);
        }
        let versions = self.process.space.versions();
        self.process.sites.slot(slot).remember(&region, &versions);
        (region.object, region.structure)
    }

    /// The object of an address that may lie in another thread's stack; 0 = in none.
    fn in_any_stack(&mut self, address: u64) -> u32 {
        if self.stack.contains(address) {
            return frame_object(self.stack, address);
        }
        let threads = self.threads;
        let holds = |thread: &usize| threads[*thread].stack.contains(address);
        let others = || {
            self.process
                .threads
                .iter()
                .map(|thread| *thread as usize)
                .find(holds)
        };
        match Some(self.neighbour).filter(holds).or_else(others) {
            Some(thread) => {
                self.neighbour = thread;
                frame_object(&threads[thread].stack, address)
            }
            None => 0,
        }
    }

    /// Where an address lies, whatever the program calls it.
    pub(super) fn place_of(&mut self, address: u64) -> Where {
        if let Some(region) = self.process.space.find_unnamed(address) {
            return self.shared.objects.place(region.object);
        }
        if self.in_any_stack(address) != 0 {
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
