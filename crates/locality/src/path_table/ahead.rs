//! Memory of the steps that come, asked for before it is needed.

use super::nodes::number;
use super::{PathStep, PathTable};

/// How many steps ahead the slot, the node and the first count of a step are asked for.
pub(super) const AHEAD: [usize; 3] = [18, 12, 6];
/// Room for the nodes that are guessed ahead.
pub(super) const ROOM: usize = 16;

impl PathTable {
    /// Asks for the memory of the steps that come.
    #[inline(always)]
    pub(super) fn ask(&self, steps: &[PathStep], at: usize, guesses: &mut [u32; ROOM]) {
        if let Some(step) = steps.get(at + AHEAD[0]) {
            reuselens_memory::prefetch(&self.slots, self.home(step));
        }
        if let Some(step) = steps.get(at + AHEAD[1]) {
            let guess = number(self.slots[self.home(step)]);
            guesses[(at + AHEAD[1]) % ROOM] = guess;
            reuselens_memory::prefetch(&self.nodes, (guess as usize).saturating_sub(1));
        }
        if at + AHEAD[2] < steps.len() && at > 0 {
            let guess = guesses[(at + AHEAD[2]) % ROOM];
            if let Some(node) = self.nodes.get((guess as usize).wrapping_sub(1)) {
                // Two share a line.
                reuselens_memory::prefetch(&self.counts, node.first as usize);
                reuselens_memory::prefetch(&self.counts, node.first as usize + 2);
            }
        }
    }
}
