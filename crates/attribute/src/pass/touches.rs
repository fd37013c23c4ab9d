//! Accesses that came without rows: see [`reuselens_trace::Touches`].
//!
//! The touches of plain accesses are the items already. Of those that the program names, each is of the element that its address
//! lies in, of the structure that its base enters. As long as all elements of all structures lie within one item, that is the
//! address's item whatever the structure is, and also if there is none: nothing is looked up then.

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
        }
    }

    fn touches(&mut self, block: &Block, range: Range<usize>) {
        let touches = &block.touches;
        if range.is_empty() {
            return;
        }
        if touches.named {
            return self.named_touches(block, range);
        }
        // What is folded in lies above the bits of an item's address that are left out.
        let fold = self.fold >> self.granularity.shift();
        let items = touches.items[range].iter();
        self.columns.extend_items(items.map(|item| item ^ fold));
    }

    fn named_touches(&mut self, block: &Block, range: Range<usize>) {
        let addrs = &block.touches.items[range.clone()];
        let bases = &block.touches.bases[range];
        if !self.process.instrumented && !self.process.uneven {
            if !self.options.kinds.counts(Kind::Named) {
                return;
            }
            self.shared.references += addrs.len() as u64;
            let (fold, shift) = (self.fold, self.granularity.shift());
            let items = addrs.iter().map(|addr| (addr ^ fold) >> shift);
            return self.columns.extend_items(items);
        }
        for (addr, base) in addrs.iter().zip(bases) {
            if self.process.instrumented || !self.entered_at_once(*addr, *base) {
                self.named::<false>(0, *addr, *base);
            }
        }
    }
}
