//! Memory of the steps that come, asked for before it is needed.

use super::{PathStep, PathTable};

/// How many steps ahead the slot, the node and the first count of a step are asked for.
pub(super) const AHEAD: [usize; 3] = [18, 12, 6];
/// The length that most folded paths have.
const FOLDED: u32 = 16;
/// Room for the nodes that are guessed ahead.
pub(super) const ROOM: usize = 16;

impl PathTable {
    /// Asks for the memory of the steps that come.
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
                // What is not there is often found by its end.
                None if self.is_folded() => {
                    reuselens_hugepages::prefetch(&self.slots, self.home_of(step, FOLDED));
                }
                None => {}
            }
        }
        if at + AHEAD[2] < steps.len() && at > 0 {
            let guess = guesses[(at + AHEAD[2]) % ROOM];
            if guess == 0
                && self.is_folded()
                && let Some(step) = steps.get(at + AHEAD[2])
            {
                let node = self.guess(step, FOLDED).wrapping_sub(1);
                reuselens_hugepages::prefetch(&self.nodes, node as usize);
            } else if let Some(node) = self.nodes.get((guess as usize).wrapping_sub(1)) {
                // Two share a line.
                reuselens_hugepages::prefetch(&self.counts, node.first as usize);
                reuselens_hugepages::prefetch(&self.counts, node.first as usize + 2);
            }
        }
    }
}
