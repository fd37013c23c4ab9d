//! Rows to item accesses, for consumers that asked for
//! [`Projection::Items`](reuselens_trace::Projection::Items): all that is left of a row is the
//! number of its item.
//!
//! Most rows are accesses to one item, or count for nothing. Their addresses go through the buffer
//! of an [`ItemExtractor`] many at a time, without a branch for each: from blocks of rows by
//! `row_classifier` and `iterations`, from blocks of templates by `decode_templates::items`. All
//! others go through [`ItemExtractor::row`] one by one: operands, accesses to several items,
//! ranges, and rows that consumers must see as they are, which become rows of the block
//! ([`ItemBatch`](reuselens_trace::ItemBatch) says which).
//!
//! The item accesses of a block are either plain accesses (loads, stores, atomics, ranges) or
//! accesses that the program names; those of the other sort become rows. A program has one sort or
//! the other, so the rows of the chunk so far decide which sort the next block has.
//!
//! *Invariant:* items and rows are appended to a block in the order of the rows that they are from.
//! A row that waits for its operand is either the last address of the buffer (`last_waits`), or in
//! `operand_of`, never in both.

use crate::processor::Processor;
use reuselens_trace::{Block, ItemProjection, Kind, Row};

/// Addresses that the buffer holds.
const BUFFER: usize = 2048;
/// Addresses that may be appended after [`ItemExtractor::make_room`] without a check.
pub(super) const APPEND_ROOM: usize = 512;
/// An access to more items than this becomes a row.
const MAX_ITEMS: u64 = 4;

// The classes of rows, a bit each: see `row_classifier::classes`.

/// A load, store or atomic that counts.
pub(super) const COUNTED: u8 = 1;
/// A row that is looked at by itself.
pub(super) const SPECIAL: u8 = 2;
/// An access that the program names; its base follows as an operand.
pub(super) const NAMED: u8 = 4;
/// An operand row.
pub(super) const OPERAND: u8 = 8;
/// An access to a range that counts; its length follows as an operand.
pub(super) const RANGE: u8 = 16;

/// What the operand rows that come next belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperandOf {
    /// Nothing that matters: they are dropped.
    Nothing,
    /// A range operation or a named access, which waits for its operand.
    Waiting(Row),
    /// A row of the block: they become rows too.
    KeptRow,
}

/// Makes item accesses of rows. The same extractor serves all blocks of a file.
pub(super) struct ItemExtractor {
    projection: ItemProjection,
    /// Whether the item accesses of this block are those that the program names.
    by_name: bool,
    /// The same of the next block, as far as the rows so far say.
    by_name_next: bool,
    /// The bits of an address below its item's number.
    mask: u64,
    operand_of: OperandOf,
    /// Addresses that wait to become items; the first `used` are valid.
    addrs: Box<[u64; BUFFER]>,
    /// The bases of named accesses, each where its address is.
    bases: Box<[u64; BUFFER]>,
    used: usize,
    /// Whether the last address is of a row that waits for its operand.
    last_waits: bool,
    /// The kind of that row.
    waiting_kind: Kind,
    /// Items beyond the first of accesses to several, among those in the buffer.
    extra_items: u64,
    /// Whether the item of a named access follows from its address alone, without its base: true
    /// as long as no element of a named structure can be in several items.
    address_only: bool,
    /// The structure whose operands are being read: its base, and the operands so far.
    structure: Option<(u64, u8)>,
}

impl ItemExtractor {
    pub(super) fn new(projection: ItemProjection) -> ItemExtractor {
        ItemExtractor {
            address_only: true,
            structure: None,
            projection,
            by_name: false,
            by_name_next: false,
            mask: projection.granularity.bytes() - 1,
            operand_of: OperandOf::Nothing,
            addrs: Box::new([0; BUFFER]),
            bases: Box::new([0; BUFFER]),
            used: 0,
            last_waits: false,
            waiting_kind: Kind::Named,
            extra_items: 0,
        }
    }

    /// A chunk begins. What it depends on of the chunks before is only whether named accesses are
    /// `address_only`.
    pub(super) fn begin_chunk(&mut self, address_only: bool) {
        self.by_name_next = false;
        self.address_only = address_only;
        self.forget();
    }

    #[inline(always)]
    pub(super) fn is_address_only(&self) -> bool {
        self.address_only
    }

    /// A block of item accesses begins.
    pub(super) fn begin_block(&mut self) {
        self.by_name = self.by_name_next;
        self.forget();
    }

    /// Empties the buffer, and drops the access that waits for an operand.
    pub(super) fn forget(&mut self) {
        self.operand_of = OperandOf::Nothing;
        self.last_waits = false;
        self.structure = None;
        (self.used, self.extra_items) = (0, 0);
    }

    /// Whether the item accesses of this block are those that the program names.
    pub(super) fn is_by_name(&self) -> bool {
        self.by_name
    }

    /// Whether the next block has the other sort of item accesses.
    pub(super) fn sort_changes(&self) -> bool {
        self.by_name != self.by_name_next
    }

    /// A block of the file is over: operands that come next belong to no row of it.
    pub(super) fn end_block(&mut self, out: &mut Block) {
        self.take_waiting_out();
        self.close(out);
        self.flush(out);
    }

    /// Whether operands that come next belong to no row before.
    #[inline(always)]
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed_outside() && !self.last_waits
    }

    /// Whether operands that come next belong to no row before, except the last in the buffer.
    #[inline(always)]
    pub(super) fn is_closed_outside(&self) -> bool {
        self.operand_of == OperandOf::Nothing
    }

    /// Whether that many bytes are at least one, and within one item.
    #[inline(always)]
    pub(super) fn is_in_one(&self, addr: u64, bytes: u64) -> bool {
        bytes.wrapping_sub(1) <= self.mask && (addr & self.mask) + bytes <= self.mask + 1
    }

    /// Makes room for [`APPEND_ROOM`] addresses.
    #[inline(always)]
    pub(super) fn make_room(&mut self, out: &mut Block) {
        if self.used > BUFFER - APPEND_ROOM {
            self.flush(out);
        }
    }

    /// The bits of an address below its item's number.
    pub(super) fn mask(&self) -> u64 {
        self.mask
    }

    /// Whether the last address of the buffer waits for its operand.
    #[inline(always)]
    pub(super) fn last_waits(&self) -> bool {
        self.last_waits
    }

    /// The address that waits in the buffer; 0 if none does.
    pub(super) fn waiting_addr(&self) -> u64 {
        match (self.last_waits, self.used.checked_sub(1)) {
            (true, Some(last)) => self.addrs[last],
            _ => 0,
        }
    }

    /// The places for the bases of addresses that have none yet, from that of the address that
    /// waits on. `None` if there are not `N`.
    #[inline(always)]
    pub(super) fn free_bases<const N: usize>(&mut self) -> Option<&mut [u64; N]> {
        self.bases[self.used - usize::from(self.last_waits)..].first_chunk_mut()
    }

    /// Says whether the last address waits for its operand: with the kind of its row if it does.
    #[inline(always)]
    pub(super) fn set_waiting(&mut self, kind: Option<Kind>) {
        self.last_waits = kind.is_some();
        self.waiting_kind = kind.unwrap_or(self.waiting_kind);
    }

    /// The free places for addresses, and the item mask. After [`Self::make_room`] there are
    /// [`APPEND_ROOM`] or more.
    #[inline(always)]
    pub(super) fn free(&mut self) -> (&mut [u64], u64) {
        (&mut self.addrs[self.used..], self.mask)
    }

    /// The first `count` of the free places were filled, with accesses to one item each.
    #[inline(always)]
    pub(super) fn append(&mut self, count: usize) {
        self.used += count;
    }

    /// Takes a plain access that counts, if it is to one item. Returns whether it did. There must
    /// be room.
    #[inline(always)]
    pub(super) fn push_simple(&mut self, addr: u64, size: u8) -> bool {
        self.addrs[self.used % BUFFER] = addr;
        let is_in_one = (addr & self.mask) + u64::from(size) <= self.mask + 1;
        let simple = self.is_closed_outside() && is_in_one;
        self.used += usize::from(simple);
        simple
    }

    /// The next row is no operand, so an access that waits for one gets none.
    #[inline(always)]
    pub(super) fn close_before(&mut self, out: &mut Block) {
        if !self.is_closed() {
            self.take_waiting_out();
            self.close(out);
        }
    }

    /// Whether named accesses become item accesses by their addresses alone.
    #[inline(always)]
    pub(super) fn takes_names(&self) -> bool {
        self.by_name && self.address_only
    }

    /// Whether rows of a kind are plain accesses that become item accesses.
    #[inline(always)]
    pub(super) fn takes(&self, kind: Kind) -> bool {
        let plain = matches!(kind, Kind::Load | Kind::Store | Kind::Atomic);
        plain && !self.by_name && self.projection.counts(kind)
    }

    /// Takes up to [`APPEND_ROOM`] plain accesses that count, if each is to one item, else none.
    /// Returns whether it did.
    #[inline(always)]
    pub(super) fn append_plain(
        &mut self,
        squeeze: impl Processor,
        addrs: &[u64],
        sizes: &[u64],
        out: &mut Block,
    ) -> bool {
        self.make_room(out);
        let into = &mut self.addrs[self.used..][..addrs.len()];
        let all_in_items = squeeze.copy_if_in_items(addrs, sizes, self.mask, into);
        self.used += if all_in_items { addrs.len() } else { 0 };
        all_in_items
    }

    /// Takes up to [`APPEND_ROOM`] numbers: the addresses of named accesses, each followed by its
    /// base.
    pub(super) fn append_pairs(&mut self, pairs: &[u64], out: &mut Block) {
        self.make_room(out);
        let pairs = pairs.as_chunks::<2>().0;
        let addrs = &mut self.addrs[self.used..][..pairs.len()];
        let bases = &mut self.bases[self.used..][..pairs.len()];
        for ((addr, base), pair) in addrs.iter_mut().zip(bases).zip(pairs) {
            [*addr, *base] = *pair;
        }
        self.used += pairs.len();
    }

    /// Takes any row. No address in the buffer may wait for an operand.
    #[inline(never)]
    pub(super) fn row(&mut self, row: Row, out: &mut Block) {
        if row.kind == Kind::Operand {
            return self.operand(row, out);
        }
        self.close(out);
        match row.kind {
            Kind::Enter | Kind::Exit | Kind::Statement | Kind::BasicBlock => {}
            Kind::Load | Kind::Store | Kind::Atomic if !self.projection.counts(row.kind) => {}
            Kind::Load | Kind::Store | Kind::Atomic if !self.by_name => {
                self.push_bytes(row, row.size.into(), None, out);
            }
            Kind::RangeLoad | Kind::RangeStore if !self.by_name => {
                self.operand_of = OperandOf::Waiting(row);
            }
            Kind::Named if self.by_name => self.operand_of = OperandOf::Waiting(row),
            _ => {
                self.keep(row, out);
                // Named accesses decide for names only if they come before all plain ones: beside
                // those they do not count.
                let first = out.item_batch.items.is_empty();
                self.by_name_next = match row.kind {
                    Kind::Named => first || self.by_name_next,
                    kind => !kind.is_access() && self.by_name_next,
                };
            }
        }
    }

    fn operand(&mut self, operand: Row, out: &mut Block) {
        match self.operand_of {
            OperandOf::Nothing => {}
            OperandOf::KeptRow => self.keep(operand, out),
            OperandOf::Waiting(row) if row.kind == Kind::Named => {
                self.operand_of = OperandOf::Nothing;
                self.append_pairs(&[row.addr, operand.addr], out);
            }
            OperandOf::Waiting(row) => {
                self.operand_of = OperandOf::Nothing;
                self.push_bytes(row, operand.addr, Some(operand), out);
            }
        }
    }

    /// The pending access has no operand: it becomes a row.
    fn close(&mut self, out: &mut Block) {
        if let OperandOf::Waiting(row) = self.operand_of {
            self.keep(row, out);
        }
        self.operand_of = OperandOf::Nothing;
    }

    /// Moves the access that waits for its operand from the buffer to `operand_of`, so that rows
    /// can be taken one by one.
    pub(super) fn take_waiting_out(&mut self) {
        if std::mem::take(&mut self.last_waits) {
            self.used -= 1;
            self.operand_of = OperandOf::Waiting(Row {
                kind: self.waiting_kind,
                size: 0,
                pc: 0,
                addr: self.addrs[self.used],
            });
        }
    }

    /// Takes an access to `bytes` bytes: all its items, or the row if they are many. `operand` is
    /// the row of its length if it is to a range, which may be empty.
    fn push_bytes(&mut self, row: Row, bytes: u64, operand: Option<Row>, out: &mut Block) {
        let items = self.item_count(row.addr, bytes);
        if items > MAX_ITEMS {
            self.keep(row, out);
            return operand.map_or((), |operand| self.keep(operand, out));
        }
        let is_empty = operand.is_some() && bytes == 0;
        if is_empty || !self.projection.counts(row.kind) {
            return;
        }
        self.make_room(out);
        for item in 0..items {
            let further = item << self.projection.granularity.shift();
            self.addrs[self.used] = row.addr.wrapping_add(further);
            self.used += 1;
        }
        self.extra_items += items - 1;
    }

    /// How many items the bytes cover. `u64::MAX` if they reach beyond the 48 bits that a process
    /// can address, where they could be another's.
    fn item_count(&self, addr: u64, bytes: u64) -> u64 {
        let shift = self.projection.granularity.shift();
        match addr.checked_add(bytes.saturating_sub(1)) {
            Some(last) if (last ^ addr) >> 48 == 0 => (last >> shift) - (addr >> shift) + 1,
            _ => u64::MAX,
        }
    }

    /// Appends a row to the block; its operands will follow it.
    fn keep(&mut self, row: Row, out: &mut Block) {
        // Items before the row must be in the block, so that their number is known.
        self.flush(out);
        out.item_batch
            .before
            .push(out.item_batch.items.len() as u32);
        out.push(row);
        self.operand_of = OperandOf::KeptRow;
        // The operands of a structure are its bytes, then those of an element.
        self.structure = match (row.kind, self.structure) {
            (Kind::Data, _) => Some((row.addr, 0)),
            (Kind::Operand, Some((base, 1))) => {
                self.check_structure(base, row.addr, out);
                None
            }
            (Kind::Operand, Some((base, operands))) => Some((base, operands + 1)),
            _ => None,
        };
    }

    /// Looks at a structure with elements of `element` bytes. If an element can be in several
    /// items, the items of named accesses depend on their bases from now on.
    fn check_structure(&mut self, base: u64, element: u64, out: &mut Block) {
        let within_items = element.is_power_of_two()
            && element <= self.projection.granularity.bytes()
            && base.is_multiple_of(element);
        if !within_items {
            self.address_only = false;
            out.item_batch.elements_straddle = true;
        }
    }

    /// Makes items of the addresses in the buffer, except of one that waits for its operand.
    #[inline(never)]
    fn flush(&mut self, out: &mut Block) {
        let batch = &mut out.item_batch;
        batch.named = self.by_name;
        let ready = self.used - usize::from(self.last_waits);
        let addrs = &self.addrs[..ready];
        if self.by_name && !self.address_only {
            batch.bases.extend_from_slice(&self.bases[..ready]);
            batch.items.extend_from_slice(addrs);
        } else {
            let shift = self.projection.granularity.shift();
            batch.items.extend(addrs.iter().map(|addr| addr >> shift));
        }
        batch.references += ready as u64 - self.extra_items;
        // The address that waits becomes the first. Without one, what is copied is not used.
        self.addrs[0] = self.addrs[ready % BUFFER];
        (self.used, self.extra_items) = (self.used - ready, 0);
    }
}
