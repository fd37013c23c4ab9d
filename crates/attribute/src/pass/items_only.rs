//! The fast path where only the items are asked for: all accesses that count do so for one cell.
//!
//! It replaces the row-by-row pass where nothing is broken down (`--by program`), and looks up
//! neither sites nor objects nor contexts. Rows are classified 64 at a time, by loops that the
//! compiler makes vectors of; a bit mask then leads to the few that need more. Gain: 3 ns a row
//! became 1 (2026-11-22).
//!
//! A source that was asked for items delivers most accesses without rows
//! ([`reuselens_trace::ItemBatch`]): these are copied.

use std::ops::Range;

use reuselens_trace::{Block, Kind};
use reuselens_units::Granularity;

use super::Pass;
use super::access::RawAccess;
use super::rows::Rows;
use crate::cells::CellKey;
use crate::options::Kinds;
use crate::shadow::NO_STRUCTURE;
use crate::state::ProcessState;

/// Rows that are classified together.
const BATCH: usize = 64;

/// Rows whose items are appended together if all count. Short, so that one that does not count
/// sends few others to the slower loop.
const LANES: usize = 8;

/// The columns of a batch.
#[derive(Clone, Copy)]
struct RowBatch<'a> {
    kinds: &'a [Kind; BATCH],
    sizes: &'a [u8; BATCH],
    addrs: &'a [u64; BATCH],
}

/// What the rows of a batch are.
struct RowClasses {
    /// 1 for an access that counts.
    counts: [u8; BATCH],
    /// 1 for a row that is neither an access to one item nor without effect here.
    slow: [u8; BATCH],
}

impl<'a> RowBatch<'a> {
    /// The rows from `from` on, if a batch is left.
    #[inline(always)]
    fn of(block: &'a Block, from: usize) -> Option<Self> {
        Some(RowBatch {
            kinds: block.kinds().get(from..)?.first_chunk()?,
            sizes: block.sizes().get(from..)?.first_chunk()?,
            addrs: block.addrs().get(from..)?.first_chunk()?,
        })
    }

    /// Classifies the rows. No branch and no early exit: the loop works on vectors of bytes.
    #[inline(always)]
    fn classify(self, granularity: Granularity, kinds: Kinds) -> RowClasses {
        let rooms = self.bytes_to_item_end(granularity);
        let (loads, stores) = (kinds.counts(Kind::Load), kinds.counts(Kind::Store));
        let mut classes = RowClasses {
            counts: [0; BATCH],
            slow: [0; BATCH],
        };
        let columns = self.kinds.iter().zip(self.sizes).zip(&rooms);
        let results = classes.counts.iter_mut().zip(&mut classes.slow);
        for ((counts, slow), ((&kind, size), room)) in results.zip(columns) {
            let is = |other: Kind| kind as u8 == other as u8;
            let is_access = is(Kind::Load) | is(Kind::Store) | is(Kind::Atomic);
            let is_skipped = is(Kind::Operand)
                | is(Kind::Enter)
                | is(Kind::Exit)
                | is(Kind::Statement)
                | is(Kind::BasicBlock);
            let is_counted =
                (is(Kind::Load) & loads) | (is(Kind::Store) & stores) | is(Kind::Atomic);
            *counts = u8::from(is_counted);
            *slow = u8::from(!(is_skipped | (is_access & (size <= room))));
        }
        classes
    }

    /// The bytes from each address to the end of its item, at most 255. It is a loop of its own, so
    /// that the loop over kinds and sizes is one over bytes, 64 to a vector.
    #[inline(always)]
    fn bytes_to_item_end(self, granularity: Granularity) -> [u8; BATCH] {
        // Items above 1 GiB are treated as of 1 GiB: some accesses are then slow needlessly, and
        // nothing else changes.
        let item = granularity.bytes().min(1 << 30) as u32;
        // By index: `map` would copy the addresses first.
        std::array::from_fn(|row| (item - (self.addrs[row] as u32 & (item - 1))).min(255) as u8)
    }
}

impl RowClasses {
    #[inline(always)]
    fn all_count(&self) -> bool {
        self.counts.iter().fold(1, |all, one| all & one) == 1
    }

    #[inline(always)]
    fn any_counts(&self) -> bool {
        self.counts.iter().fold(0, |any, one| any | one) == 1
    }

    /// Bit i is set if row i is slow.
    #[inline(always)]
    fn slow_mask(&self) -> u64 {
        // Most batches have no slow row, and need no mask.
        if self.slow.iter().fold(0, |any, one| any | one) == 0 {
            return 0;
        }
        let rows = (0..).zip(&self.slow);
        rows.fold(0, |mask, (row, &slow)| mask | u64::from(slow) << row)
    }
}

/// Rows.
impl Pass<'_> {
    /// Takes a block whose addresses are the items.
    pub(super) fn run_ids(&mut self, block: &Block) {
        let mut key = CellKey::default();
        if !self.options.is_totals_only() {
            key.thread = self.thread;
        }
        let cell = self.shared.cell(key).cell;
        if block.item_batch.is_used() {
            self.columns
                .extend_items(block.item_batch.items.iter().copied());
            self.shared.references += block.item_batch.references;
        }
        for (&kind, &item) in block.kinds().iter().zip(block.addrs()) {
            if self.options.kinds.counts(kind) {
                self.columns.push(item, cell);
                self.mark_stores(kind);
                self.shared.references += 1;
            }
        }
    }

    /// Takes the rows of a block for the one cell. Compiled for each processor by
    /// [`super::dispatch`].
    #[inline(always)]
    pub(super) fn run_items_only_here(&mut self, block: &Block) {
        // Makes the cell, if this is the first block.
        self.shared.cell(CellKey::default());
        let mut from = 0;
        while let Some(rows) = RowBatch::of(block, from) {
            let classes = rows.classify(self.granularity, self.options.kinds);
            // Where the program names its accesses, whole batches have no other.
            let any_counts = classes.any_counts();
            let (mut start, mut slow) = (0, classes.slow_mask());
            while slow != 0 {
                let row = slow.trailing_zeros() as usize;
                // Clears the lowest bit.
                slow &= slow - 1;
                if any_counts {
                    self.push_counted(rows, &classes, start..row);
                }
                if !self.take_recent_named(block, from + row) {
                    self.row_items_only(block, from + row);
                }
                start = row + 1;
            }
            if any_counts {
                self.push_counted(rows, &classes, start..BATCH);
            }
            from += BATCH;
        }
        for row in from..block.len() {
            self.row_items_only(block, row);
        }
    }

    /// Appends the items of the rows of a range that count. None of them is slow.
    #[inline(always)]
    fn push_counted(&mut self, rows: RowBatch<'_>, classes: &RowClasses, range: Range<usize>) {
        let (process_bits, shift) = (self.process_bits, self.granularity.shift());
        let item = |address: &u64| (address ^ process_bits) >> shift;
        if range.len() == BATCH && classes.all_count() {
            self.columns.extend_items(rows.addrs.iter().map(item));
            self.shared.references += BATCH as u64;
            return;
        }
        let mut items = [0; BATCH + LANES];
        let (mut done, mut row) = (0, range.start);
        while row < range.end {
            let lanes = (
                rows.addrs[row..range.end].first_chunk::<LANES>(),
                items[done..].first_chunk_mut(),
            );
            if let (Some(addrs), Some(into)) = lanes
                && classes.counts[row..row + LANES] == [1; LANES]
            {
                *into = addrs.map(|address| item(&address));
                done += LANES;
                row += LANES;
                continue;
            }
            // Each item is written, and overwritten by the next if its row does not count: a branch
            // would be mispredicted, as nothing predicts which rows count.
            for row in row..range.end.min(row + LANES) {
                items[done] = item(&rows.addrs[row]);
                done += usize::from(classes.counts[row]);
            }
            row += LANES;
        }
        self.columns.extend_items(items[..done].iter().copied());
        self.shared.references += done as u64;
    }

    /// Takes an access that the program names, if its structure was entered lately. Returns whether
    /// it did; the result is that of [`row_items_only`](Self::row_items_only). Programs that name
    /// their accesses have little else.
    #[inline(always)]
    fn take_recent_named(&mut self, block: &Block, row: usize) -> bool {
        let kinds = block.kinds();
        if kinds[row] != Kind::Named
            || kinds.get(row + 1) != Some(&Kind::Operand)
            || self.process.instrumented
        {
            return false;
        }
        self.access_recent_structure(block.addrs()[row], block.addrs()[row + 1])
    }

    /// Counts an access, at `address`, to the structure that `base` enters, if that was entered
    /// lately. Returns whether it did.
    #[inline(always)]
    fn access_recent_structure(&mut self, address: u64, base: u64) -> bool {
        let ProcessState { entries, space, .. } = &*self.process;
        let structure = entries.entered_lately(base, space);
        let element = structure.and_then(|structure| structure.element(address));
        if let Some((start, size)) = element {
            self.access_items_only(Kind::Named, 0, start, size);
        }
        element.is_some()
    }

    /// Takes a row of any kind.
    #[inline(never)]
    pub(super) fn row_items_only(&mut self, block: &Block, row: usize) {
        match block.kinds()[row] {
            kind @ (Kind::Load | Kind::Store | Kind::Atomic) => {
                let (size, address) = (block.sizes()[row], block.addrs()[row]);
                self.access_items_only(kind, block.pcs()[row], address, size.into());
            }
            Kind::Operand | Kind::Enter | Kind::Exit | Kind::Statement | Kind::BasicBlock => {}
            // Only accesses that the program names need the memory map, and those of an
            // instrumented process do not count.
            Kind::Alloc | Kind::Free | Kind::Data | Kind::PartialData
                if self.process.instrumented => {}
            _ => self.rare_row::<false>(Rows::of(block), row),
        }
    }

    /// Counts an access for the one cell.
    #[inline(always)]
    pub(super) fn access_items_only(&mut self, kind: Kind, pc: u64, address: u64, size: u64) {
        if !self.options.kinds.counts(kind) {
            return;
        }
        self.shared.references += 1;
        let (first, last) = self.granularity.cover(address ^ self.process_bits, size);
        self.columns.push(first, 0);
        if last != first {
            let access = RawAccess {
                kind,
                pc,
                address,
                size,
            };
            self.push_items(access, first + 1..=last, (NO_STRUCTURE, 0));
        }
        self.mark_stores(kind);
    }
}

/// Accesses without rows. Most are items already. The last ones have bases: each is an address, and
/// accesses an element of the structure that its base enters.
impl Pass<'_> {
    /// Takes a block with accesses without rows, for the one cell.
    pub(super) fn run_item_accesses(&mut self, block: &Block) {
        // Makes the cell, if this is the first block.
        self.shared.cell(CellKey::default());
        let accesses = &block.item_batch;
        let mut from = 0;
        for (row, before) in accesses.before.iter().enumerate() {
            let before = *before as usize;
            self.take_item_accesses(block, from..before);
            from = before;
            self.row_items_only(block, row);
        }
        self.take_item_accesses(block, from..accesses.items.len());
        if !accesses.named {
            self.shared.references += accesses.references;
        } else if !self.process.instrumented && self.options.kinds.counts(Kind::Named) {
            // Those with bases were counted one by one.
            self.shared.references += accesses.references - accesses.bases.len() as u64;
        }
    }

    fn take_item_accesses(&mut self, block: &Block, range: Range<usize>) {
        let accesses = &block.item_batch;
        if range.is_empty() {
            return;
        }
        let without_base = accesses.items.len() - accesses.bases.len();
        let do_not_count = accesses.named && self.process.instrumented;
        if do_not_count || range.end > without_base {
            return self.take_named_item_accesses(block, range);
        }
        if accesses.named && !self.options.kinds.counts(Kind::Named) {
            return;
        }
        // The process number is above the bits that an item drops.
        let process_bits = self.process_bits >> self.granularity.shift();
        let items = accesses.items[range].iter();
        self.columns
            .extend_items(items.map(|item| item ^ process_bits));
    }

    /// Takes accesses with bases; or any, if they do not count as the process is instrumented: each
    /// causes the warning about that.
    fn take_named_item_accesses(&mut self, block: &Block, range: Range<usize>) {
        let accesses = &block.item_batch;
        let without_base = accesses.items.len() - accesses.bases.len();
        for at in range {
            let (address, base) = match at.checked_sub(without_base) {
                Some(index) => (accesses.items[at], accesses.bases[index]),
                None => (0, 0),
            };
            if self.process.instrumented || !self.access_recent_structure(address, base) {
                self.named_access::<false>(0, address, base);
            }
        }
    }
}
