//! Compiles the items-only pass and the pass over repeats for vectors of 512 bits, of 256 bits, and
//! for any processor. The other ways over a block gain nothing from vectors.

use reuselens_simd::{Level, entry_point};
use reuselens_trace::Block;

use super::Pass;

impl Pass<'_> {
    /// [`run_items_only_here`](Self::run_items_only_here) for the processor at hand.
    pub(super) fn run_items_only(&mut self, block: &Block) {
        run_items_only(Level::best(), self, block);
    }

    /// [`run_repeats_here`](Self::run_repeats_here) for the processor at hand.
    pub(super) fn run_repeats(&mut self, block: &Block) {
        run_repeats(Level::best(), self, block);
    }
}

entry_point! {
    fn run_items_only(level, pass: &mut Pass<'_>, block: &Block) {
        V4(_) => pass.run_items_only_here(block),
        V3(_) => pass.run_items_only_here(block),
        _ => pass.run_items_only_here(block),
    }
}

entry_point! {
    fn run_repeats(level, pass: &mut Pass<'_>, block: &Block) {
        V4(_) => pass.run_repeats_here(block),
        V3(_) => pass.run_repeats_here(block),
        _ => pass.run_repeats_here(block),
    }
}
