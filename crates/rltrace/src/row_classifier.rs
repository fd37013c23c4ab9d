//! Decoded rows to item accesses, 64 at a time.
//!
//! `decode::items` passes an [`ItemSink`] to `decode_rows`. The sink collects rows in a
//! [`RowBatch`]. A full batch is classified by masks with a bit for each row ([`RowMasks`]):
//! vectors compute them without a branch for each row. Between rows on the slow path, the addresses
//! of all item accesses are appended at once; rows on the slow path go through
//! [`ItemExtractor::row`] one by one.
//!
//! *Invariant:* the items and rows of the block are the same as if each row went through
//! `ItemExtractor::row`.

use std::ops::Range;

use crate::decode_rows::{GROUP_ROWS, RowDecoder, RowPosition, RowSink, SiteState};
use crate::item_extractor::{COUNTED, ItemExtractor, NAMED, OPERAND, RANGE, SPECIAL};
use crate::iterations;
use crate::processor::Processor;
use reuselens_io::varint::Damage;
use reuselens_trace::{Block, ItemProjection, Kind, Row};

/// Rows that are classified together: as many as there are bits in a word.
const BATCH_ROWS: usize = 64;

/// The class of each kind, by its number: [`COUNTED`], [`RANGE`], [`NAMED`], [`OPERAND`],
/// [`SPECIAL`], or 0 for rows that items do not depend on.
pub(super) fn classes(projection: &ItemProjection) -> [u8; 16] {
    let mut classes = [SPECIAL; 16];
    for (number, class) in (0..).zip(&mut classes) {
        *class =
            match Kind::from_u8(number) {
                Some(Kind::Enter | Kind::Exit | Kind::Statement | Kind::BasicBlock) => 0,
                Some(Kind::Operand) => OPERAND,
                Some(Kind::Named) => NAMED,
                Some(kind @ (Kind::Load | Kind::Store | Kind::Atomic)) => {
                    if projection.counts(kind) { COUNTED } else { 0 }
                }
                Some(kind @ (Kind::RangeLoad | Kind::RangeStore)) if projection.counts(kind) => {
                    RANGE
                }
                _ => SPECIAL,
            };
    }
    classes
}

/// Rows that wait to be classified, in columns. There is room for a group beyond a full batch.
pub(super) struct RowBatch {
    addrs: [u64; BATCH_ROWS + GROUP_ROWS],
    /// Numbers of their sites.
    sites: [u32; BATCH_ROWS + GROUP_ROWS],
    classes: [u8; BATCH_ROWS + GROUP_ROWS],
    sizes: [u8; BATCH_ROWS + GROUP_ROWS],
    count: usize,
}

impl RowBatch {
    pub(super) fn new() -> RowBatch {
        RowBatch {
            addrs: [0; BATCH_ROWS + GROUP_ROWS],
            sites: [0; BATCH_ROWS + GROUP_ROWS],
            classes: [0; BATCH_ROWS + GROUP_ROWS],
            sizes: [0; BATCH_ROWS + GROUP_ROWS],
            count: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Removes the first [`BATCH_ROWS`] rows.
    fn shift(&mut self) {
        self.addrs.copy_within(BATCH_ROWS.., 0);
        self.sites.copy_within(BATCH_ROWS.., 0);
        self.classes.copy_within(BATCH_ROWS.., 0);
        self.sizes.copy_within(BATCH_ROWS.., 0);
        self.count -= BATCH_ROWS;
    }
}

/// The first [`BATCH_ROWS`] of a column.
#[inline(always)]
fn first<T>(column: &[T; BATCH_ROWS + GROUP_ROWS]) -> &[T; BATCH_ROWS] {
    match column.first_chunk() {
        Some(first) => first,
        None => unreachable!("a column is longer"),
    }
}

/// The mask of the rows `rows`.
#[inline(always)]
fn bits(rows: Range<usize>) -> u64 {
    match rows.len() {
        0 => 0,
        count => (u64::MAX >> (BATCH_ROWS - count)) << rows.start,
    }
}

/// What the rows of a batch are: bit i is about row i.
struct RowMasks {
    /// Its address is an item access.
    items: u64,
    /// It is an item access whose operand follows.
    opens: u64,
    /// It is the operand of the item access before it.
    closes: u64,
    /// It is looked at by itself.
    slow: u64,
}

/// Makes item accesses of decoded rows, for a block. With `BY_NAME` the item accesses are those
/// that the program names, otherwise plain ones.
pub(super) struct ItemSink<'a, const BY_NAME: bool> {
    pub(super) extractor: &'a mut ItemExtractor,
    pub(super) batch: &'a mut RowBatch,
    pub(super) out: &'a mut Block,
}

impl<const BY_NAME: bool> ItemSink<'_, BY_NAME> {
    /// Classifies all rows that wait.
    #[inline(always)]
    pub(super) fn classify_rest(&mut self, squeeze: impl Processor, sites: &[SiteState]) {
        self.classify(squeeze, self.batch.count, sites);
        self.batch.clear();
    }

    /// Takes the first `count` rows of the batch.
    #[inline(always)]
    fn classify(&mut self, squeeze: impl Processor, count: usize, sites: &[SiteState]) {
        let masks = self.masks(squeeze, count);
        let mut start = 0;
        loop {
            // Operands of a row that is not in the buffer go one by one until it has them all. The
            // masks know nothing of that row.
            while start < count && !self.extractor.is_closed_outside() {
                self.one(start, sites);
                start += 1;
            }
            if start >= count {
                return;
            }
            // All rows up to the next one on the slow path, at once.
            let fast = (masks.slow >> start).trailing_zeros() as usize;
            let end = count.min(start + fast);
            if start < end {
                self.append(squeeze, &masks, start..end, sites);
            }
            start = end;
            if start < count {
                self.extractor.take_waiting_out();
                self.one(start, sites);
                start += 1;
            }
        }
    }

    #[inline(always)]
    fn masks(&self, squeeze: impl Processor, count: usize) -> RowMasks {
        let classes = first(&self.batch.classes);
        let rows_with = |class: u8| squeeze.rows_with(classes, class);
        let operands = rows_with(OPERAND);
        let (items, opens, refused) = if BY_NAME {
            let named = rows_with(NAMED);
            (named, named, rows_with(SPECIAL | COUNTED | RANGE))
        } else {
            (
                rows_with(COUNTED | RANGE),
                rows_with(RANGE),
                rows_with(SPECIAL | NAMED),
            )
        };
        let valid = bits(0..count);
        // The rows that should be operands: after each row that opens, and the first if an address
        // waits. Those that are no operands go the slow path.
        let operand_due = (opens << 1 | u64::from(self.extractor.last_waits())) & valid;
        let closes = operand_due & operands;
        let mut slow = refused | (operand_due & !operands);
        if !BY_NAME {
            let (addrs, sizes) = (first(&self.batch.addrs), first(&self.batch.sizes));
            slow |= squeeze.rows_over(addrs, sizes, self.extractor.mask());
            slow |= self.long_ranges(closes);
        }
        RowMasks {
            items,
            opens,
            closes,
            slow: slow & valid,
        }
    }

    /// The ranges that are not within one item, both rows of each. Their lengths are in the rows of
    /// `closes`.
    #[inline(always)]
    fn long_ranges(&self, mut closes: u64) -> u64 {
        let mut long = 0;
        while closes != 0 {
            let row = closes.trailing_zeros() as usize;
            closes &= closes - 1;
            let (addr, both) = match row {
                0 => (self.extractor.waiting_addr(), 1),
                row => (self.batch.addrs[row - 1], 3 << (row - 1)),
            };
            if !self.extractor.is_in_one(addr, self.batch.addrs[row]) {
                long |= both;
            }
        }
        long
    }

    /// Appends the item accesses of rows of which none is on the slow path.
    #[inline(always)]
    fn append(
        &mut self,
        squeeze: impl Processor,
        masks: &RowMasks,
        rows: Range<usize>,
        sites: &[SiteState],
    ) {
        self.extractor.make_room(self.out);
        let (last, rows) = (rows.end - 1, bits(rows));
        let addrs = first(&self.batch.addrs);
        // Bases first: their places depend on how many addresses there were before.
        if BY_NAME
            && !self.extractor.is_address_only()
            && let Some(into) = self.extractor.free_bases()
        {
            squeeze.compress(addrs, masks.closes & rows, into);
        }
        let Some(into) = self.extractor.free().0.first_chunk_mut() else {
            return;
        };
        let count = squeeze.compress(addrs, masks.items & rows, into);
        self.extractor.append(count);
        let waits = masks.opens >> last & 1 == 1;
        let waiting = waits.then(|| sites[self.batch.sites[last] as usize].kind);
        self.extractor.set_waiting(waiting);
    }

    /// Takes a row by itself.
    #[inline(never)]
    fn one(&mut self, row: usize, sites: &[SiteState]) {
        let addr = self.batch.addrs[row];
        let SiteState { kind, size, pc, .. } = sites[self.batch.sites[row] as usize];
        let row = Row {
            kind,
            size,
            pc,
            addr,
        };
        self.extractor.row(row, self.out);
    }
}

impl<const BY_NAME: bool> RowSink for ItemSink<'_, BY_NAME> {
    #[inline(always)]
    fn put(&mut self, (_, row): (usize, usize), (number, site): (usize, &SiteState), addr: u64) {
        let at = self.batch.count + row;
        self.batch.addrs[at] = addr;
        self.batch.sites[at] = number as u32;
        self.batch.classes[at] = site.class;
        self.batch.sizes[at] = site.size;
    }

    #[inline(always)]
    fn end_group(&mut self, squeeze: impl Processor, rows: usize, sites: &[SiteState]) {
        self.batch.count += rows;
        if self.batch.count >= BATCH_ROWS {
            self.classify(squeeze, BATCH_ROWS, sites);
            self.batch.shift();
        }
    }

    #[inline(always)]
    fn end_block(&mut self, squeeze: impl Processor, sites: &[SiteState]) {
        self.classify_rest(squeeze, sites);
    }

    #[inline(always)]
    fn iterations(
        &mut self,
        squeeze: impl Processor,
        rows: &mut RowDecoder,
        position: &mut RowPosition,
        length: usize,
        range: Range<usize>,
    ) -> Result<(), Damage> {
        iterations::extract(squeeze, rows, position, length, self, range)
    }
}
