//! Accesses of which nothing is to be known but the items.

use std::ops::Range;

use reuselens_trace::{Block, Kind};

use super::{Access, Pass};
use crate::cells::CellKey;
use crate::shadow::NO_STRUCTURE;

impl Pass<'_> {
    /// The addresses are the items.
    pub(super) fn run_ids(&mut self, block: &Block) {
        let mut key = CellKey::default();
        if !self.options.is_whole() {
            key.thread = self.thread;
        }
        let cell = self.shared.cell(key);
        for (&kind, &item) in block.kinds().iter().zip(block.addrs()) {
            if self.options.kinds.counts(kind) {
                self.columns.push(item, cell);
                self.shared.references += 1;
            }
        }
    }

    /// Everything counts for one cell.
    pub(super) fn run_whole(&mut self, block: &Block) {
        // The first cell that there is.
        self.shared.cell(CellKey::default());
        /// Rows that are tried at once, at least and at most: where others come often, room for more would be
        /// made in vain.
        const ROWS: (usize, usize) = (8, 512);
        let (mut from, mut rows) = (0, ROWS.0);
        while from < block.len() {
            let end = block.len().min(from + rows);
            from += self.run_plain(block, from..end);
            if from == end {
                rows = (2 * rows).min(ROWS.1);
                continue;
            }
            rows = (rows / 2).max(ROWS.0);
            let Some(kind) = block.kinds().get(from) else {
                break;
            };
            match kind {
                Kind::Load | Kind::Store | Kind::Atomic => {
                    let (size, address) = (block.sizes()[from], block.addrs()[from]);
                    self.touch(*kind, block.pcs()[from], address, size.into());
                }
                Kind::Operand | Kind::Enter | Kind::Exit | Kind::Statement | Kind::BasicBlock => {}
                // Names need to know where the heap's blocks are.
                _ => self.rare::<false>(block, from),
            }
            from += 1;
        }
    }

    /// Takes the rows up to the first that is more than an access to one item; how many.
    #[inline(always)]
    fn run_plain(&mut self, block: &Block, rows: Range<usize>) -> usize {
        let (kinds, sizes) = (&block.kinds()[rows.clone()], &block.sizes()[rows.clone()]);
        let addrs = &block.addrs()[rows];
        let rows = addrs.len();
        let (fold, granularity, counts) = (self.fold, self.granularity, self.options.kinds);
        let items = self.columns.room(rows);
        let (mut touches, mut taken) = (0, 0);
        for ((&kind, &size), &address) in kinds.iter().zip(sizes).zip(addrs) {
            let (first, last) = granularity.cover(address ^ fold, size.into());
            let skipped = matches!(
                kind,
                Kind::Operand | Kind::Enter | Kind::Exit | Kind::BasicBlock
            );
            let access = matches!(kind, Kind::Load | Kind::Store | Kind::Atomic);
            if !(skipped | (access & (first == last))) {
                break;
            }
            items[touches] = first;
            touches += usize::from(access & counts.counts(kind));
            taken += 1;
        }
        self.columns.give_back(rows - touches);
        self.shared.references += touches as u64;
        taken
    }

    /// Counts an access of the one cell.
    #[inline(always)]
    pub(super) fn touch(&mut self, kind: Kind, pc: u64, address: u64, size: u64) {
        if !self.options.kinds.counts(kind) {
            return;
        }
        self.shared.references += 1;
        let (first, last) = self.granularity.cover(address ^ self.fold, size);
        self.columns.push(first, 0);
        if last != first {
            let access = Access {
                kind,
                pc,
                address,
                size,
            };
            self.push_rest(access, NO_STRUCTURE, 0);
        }
    }
}
