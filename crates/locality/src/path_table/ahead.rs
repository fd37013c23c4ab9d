//! Prefetches the memory of the steps that come next.

use super::{PathStep, PathTable};

/// How many steps ahead the slot, the node and the first count of a step are prefetched.
pub(super) const AHEAD: [usize; 3] = [18, 12, 6];
/// The length that most shortened paths have.
const SHORTENED: u32 = 16;
/// Room for the nodes that are guessed ahead.
pub(super) const ROOM: usize = 16;

impl PathTable {
    /// Prefetches the memory of the steps after `at`.
    #[inline(always)]
    pub(super) fn ask(&self, steps: &[PathStep], at: usize, guesses: &mut [u32; ROOM]) {
        if let Some(step) = steps.get(at + AHEAD[0]) {
            reuselens_hugepages::prefetch(&self.slots, self.home(step));
        }
        if let Some(step) = steps.get(at + AHEAD[1]) {
            let guess = self.guess(step, self.length);
            guesses[(at + AHEAD[1]) % ROOM] = guess;
            match guess.checked_sub(1) {
                Some(node) => reuselens_hugepages::prefetch(&self.nodes, node as usize),
                // A path that is missing is often found by its end.
                None if self.has_shortened() => {
                    reuselens_hugepages::prefetch(&self.slots, self.home_of(step, SHORTENED));
                }
                None => {}
            }
        }
        if at + AHEAD[2] < steps.len() && at > 0 {
            let guess = guesses[(at + AHEAD[2]) % ROOM];
            if guess == 0
                && self.has_shortened()
                && let Some(step) = steps.get(at + AHEAD[2])
            {
                let node = self.guess(step, SHORTENED).wrapping_sub(1);
                reuselens_hugepages::prefetch(&self.nodes, node as usize);
            } else if let Some(node) = self.nodes.get((guess as usize).wrapping_sub(1)) {
                // Two counts share a cache line.
                reuselens_hugepages::prefetch(&self.counts, node.first as usize);
                reuselens_hugepages::prefetch(&self.counts, node.first as usize + 2);
            }
        }
    }
}
