//! Accesses that came without rows: see [`reuselens_trace::Touches`].
//!
//! Most touches are items already. Those that have bases are of the element that their address lies
//! in, of the structure that the base enters.

use std::ops::Range;

use reuselens_trace::{Block, Kind};

use super::Pass;
use crate::cells::CellKey;

impl Pass<'_> {
    /// Everything counts for one cell, as in [`run_whole_here`](Self::run_whole_here).
    pub(super) fn run_touches(&mut self, block: &Block) {
        // The first cell that there is.
        self.shared.cell(CellKey::default());
        let touches = &block.touches;
        let mut from = 0;
        for (row, before) in touches.before.iter().enumerate() {
            let before = *before as usize;
            self.touches(block, from..before);
            from = before;
            self.row_whole(block, row);
        }
        self.touches(block, from..touches.items.len());
        if !touches.named {
            self.shared.references += touches.references;
        } else if !self.process.instrumented && self.options.kinds.counts(Kind::Named) {
            // Those that have bases were counted one by one.
            self.shared.references += touches.references - touches.bases.len() as u64;
        }
    }

    fn touches(&mut self, block: &Block, range: Range<usize>) {
        let touches = &block.touches;
        if range.is_empty() {
            return;
        }
        let plain = touches.items.len() - touches.bases.len();
        let named = touches.named && self.process.instrumented;
        if named || range.end > plain {
            return self.named_touches(block, range);
        }
        if touches.named && !self.options.kinds.counts(Kind::Named) {
            return;
        }
        // What is folded in lies above the bits of an item's address that are left out.
        let fold = self.fold >> self.granularity.shift();
        let items = touches.items[range].iter();
        self.columns.extend_items(items.map(|item| item ^ fold));
    }

    /// Touches that have bases, or do not count, as others see the same accesses.
    fn named_touches(&mut self, block: &Block, range: Range<usize>) {
        let touches = &block.touches;
        let plain = touches.items.len() - touches.bases.len();
        for at in range {
            let (address, base) = match at.checked_sub(plain) {
                Some(place) => (touches.items[at], touches.bases[place]),
                None => (0, 0),
            };
            if self.process.instrumented || !self.entered_at_once(address, base) {
                self.named::<false>(0, address, base);
            }
        }
    }
}
