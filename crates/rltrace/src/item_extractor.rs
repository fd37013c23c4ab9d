//! Rows to touches: what is left of rows where nothing but the items is to be known of an access.
//!
//! Most rows are accesses to one item, or nothing that counts. Those go through a buffer of
//! addresses a few at a time, without a branch for each ([`super::row_classifier`]). The others are
//! taken one by one: what an operand is of, accesses to several items, ranges; and what becomes a
//! row of the block, as whoever takes it must know more
//! ([`ItemBatch`](reuselens_trace::ItemBatch)).
//!
//! A block's touches are either plain accesses or those that the program names; those of the other
//! sort become rows. A program has one or the other, so the rows so far of a chunk say which.

use crate::processor::Processor;
use reuselens_trace::{Block, ItemProjection, Kind, Row};

/// Addresses that wait to become items.
pub(super) const ROOM: usize = 2048;
/// Addresses that may be appended without a look at the room.
pub(super) const AT_ONCE: usize = 512;
/// An access to more items than this stays a row.
const MOST_ITEMS: u64 = 4;

/// An access that counts.
pub(super) const COUNTED: u8 = 1;
/// What is to be looked at by itself.
pub(super) const SPECIAL: u8 = 2;
/// An access that the program names.
pub(super) const NAMED: u8 = 4;
/// An operand.
pub(super) const OPERAND: u8 = 8;

/// An access to a range, which has its length behind it, and counts.
pub(super) const RANGE: u8 = 16;

/// What operands that come next are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    /// A row that needs none.
    Nothing,
    /// A range operation or a named access, which waits for its operand.
    Access(Row),
    /// A row of the block.
    Row,
}

/// Makes touches of rows.
pub(super) struct Toucher {
    projection: ItemProjection,
    /// Whether touches are what the program names, in this block and in the next.
    by_name: bool,
    by_name_next: bool,
    /// The bits of an address below its item's.
    mask: u64,
    open: Open,
    /// Addresses.
    addrs: Box<[u64; ROOM]>,
    /// The bases of named accesses.
    bases: Box<[u64; ROOM]>,
    /// How many there are.
    used: usize,
    /// Whether the last is of a row that waits for its operand.
    waits: bool,
    /// Of what kind that is.
    waiting: Kind,
    /// Items beyond the first of accesses, among those in the buffer.
    more: u64,
    /// Whether named accesses are items, without their bases.
    bare: bool,
    /// The structure that is being named: its base, and how many operands of the row there were.
    data: Option<(u64, u8)>,
}

impl Toucher {
    pub(super) fn new(projection: ItemProjection) -> Toucher {
        Toucher {
            bare: true,
            data: None,
            projection,
            by_name: false,
            by_name_next: false,
            mask: projection.granularity.bytes() - 1,
            open: Open::Nothing,
            addrs: Box::new([0; ROOM]),
            bases: Box::new([0; ROOM]),
            used: 0,
            waits: false,
            waiting: Kind::Named,
            more: 0,
        }
    }

    /// A chunk begins: what touches are does not depend on others, but for whether named ones are
    /// `bare`.
    pub(super) fn clear(&mut self, bare: bool) {
        self.by_name_next = false;
        self.bare = bare;
        self.forget();
    }

    #[inline(always)]
    pub(super) fn is_bare(&self) -> bool {
        self.bare
    }

    pub(super) fn begin(&mut self) {
        self.by_name = self.by_name_next;
        self.forget();
    }

    pub(super) fn forget(&mut self) {
        self.open = Open::Nothing;
        self.waits = false;
        self.data = None;
        (self.used, self.more) = (0, 0);
    }

    pub(super) fn is_by_name(&self) -> bool {
        self.by_name
    }

    pub(super) fn changes(&self) -> bool {
        self.by_name != self.by_name_next
    }

    /// A block of rows is over: operands that come next are of no row of it.
    pub(super) fn end(&mut self, out: &mut Block) {
        self.settle();
        self.close(out);
        self.flush(out);
    }

    /// Whether operands that come next are of none of the rows before.
    #[inline(always)]
    pub(super) fn is_closed(&self) -> bool {
        self.nothing_open() && !self.waits
    }

    /// The same, but for a row that is in the buffer.
    #[inline(always)]
    pub(super) fn nothing_open(&self) -> bool {
        self.open == Open::Nothing
    }

    /// Whether so many bytes are there, and in one item.
    #[inline(always)]
    pub(super) fn is_in_one(&self, addr: u64, bytes: u64) -> bool {
        bytes.wrapping_sub(1) <= self.mask && (addr & self.mask) + bytes <= self.mask + 1
    }

    /// Makes room for [`AT_ONCE`] addresses.
    #[inline(always)]
    pub(super) fn make_room(&mut self, out: &mut Block) {
        if self.used > ROOM - AT_ONCE {
            self.flush(out);
        }
    }

    pub(super) fn mask(&self) -> u64 {
        self.mask
    }

    #[inline(always)]
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// That address; 0 if there is none.
    pub(super) fn waiting_addr(&self) -> u64 {
        match (self.waits, self.used.checked_sub(1)) {
            (true, Some(last)) => self.addrs[last],
            _ => 0,
        }
    }

    /// The places for bases of those that have none, if there is room.
    #[inline(always)]
    pub(super) fn free_bases<const N: usize>(&mut self) -> Option<&mut [u64; N]> {
        self.bases[self.used - usize::from(self.waits)..].first_chunk_mut()
    }

    /// The last address waits for its operand, if it is of a row of some kind that has one.
    #[inline(always)]
    pub(super) fn waits_for_operand(&mut self, kind: Option<Kind>) {
        self.waits = kind.is_some();
        self.waiting = kind.unwrap_or(self.waiting);
    }

    /// The places that are free, [`AT_ONCE`] or more, and the bits of an address below its item's.
    #[inline(always)]
    pub(super) fn free(&mut self) -> (&mut [u64], u64) {
        (&mut self.addrs[self.used..], self.mask)
    }

    /// The first so many of the free places were filled with plain accesses to one item each.
    #[inline(always)]
    pub(super) fn append(&mut self, count: usize) {
        self.used += count;
    }

    /// Takes a plain access that counts, if it is to one item; whether it is. There is room.
    #[inline(always)]
    pub(super) fn push_simple(&mut self, addr: u64, size: u8) -> bool {
        self.addrs[self.used % ROOM] = addr;
        let simple = self.nothing_open() && (addr & self.mask) + u64::from(size) <= self.mask + 1;
        self.used += usize::from(simple);
        simple
    }

    /// What comes next begins with no operand.
    #[inline(always)]
    pub(super) fn starts(&mut self, out: &mut Block) {
        if !self.is_closed() {
            self.settle();
            self.close(out);
        }
    }

    /// Whether named accesses become touches, by their addresses alone.
    #[inline(always)]
    pub(super) fn takes_names(&self) -> bool {
        self.by_name && self.bare
    }

    /// Whether rows of a kind are plain accesses that become touches.
    #[inline(always)]
    pub(super) fn takes(&self, kind: Kind) -> bool {
        let plain = matches!(kind, Kind::Load | Kind::Store | Kind::Atomic);
        plain && !self.by_name && self.projection.counts(kind)
    }

    /// Takes up to [`AT_ONCE`] plain accesses that count, if each is to one item; whether it did.
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
        let simple = squeeze.copy(addrs, sizes, self.mask, into);
        self.used += if simple { addrs.len() } else { 0 };
        simple
    }

    /// Takes up to [`AT_ONCE`] numbers: named accesses, each with its base behind it.
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

    /// Takes any row. Nothing is in the buffer that waits.
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
                self.bytes(row, row.size.into(), None, out);
            }
            Kind::RangeLoad | Kind::RangeStore if !self.by_name => self.open = Open::Access(row),
            Kind::Named if self.by_name => self.open = Open::Access(row),
            _ => {
                self.keep(row, out);
                // Beside plain accesses those that are named do not count.
                let first = out.item_batch.items.is_empty();
                self.by_name_next = match row.kind {
                    Kind::Named => first || self.by_name_next,
                    kind => !kind.is_access() && self.by_name_next,
                };
            }
        }
    }

    /// Takes an operand.
    fn operand(&mut self, operand: Row, out: &mut Block) {
        match self.open {
            Open::Nothing => {}
            Open::Row => self.keep(operand, out),
            Open::Access(row) if row.kind == Kind::Named => {
                self.open = Open::Nothing;
                self.append_pairs(&[row.addr, operand.addr], out);
            }
            Open::Access(row) => {
                self.open = Open::Nothing;
                self.bytes(row, operand.addr, Some(operand), out);
            }
        }
    }

    /// What waits for an operand gets none.
    fn close(&mut self, out: &mut Block) {
        if let Open::Access(row) = self.open {
            self.keep(row, out);
        }
        self.open = Open::Nothing;
    }

    /// What waits in the buffer waits outside.
    pub(super) fn settle(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.used -= 1;
            self.open = Open::Access(Row {
                kind: self.waiting,
                size: 0,
                pc: 0,
                addr: self.addrs[self.used],
            });
        }
    }

    /// A plain access, or one to a range, which has an operand and may be empty.
    fn bytes(&mut self, row: Row, bytes: u64, operand: Option<Row>, out: &mut Block) {
        let items = self.items(row.addr, bytes);
        if items > MOST_ITEMS {
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
        self.more += items - 1;
    }

    /// How many items bytes cover; many if they reach the end of what a process can address, beyond
    /// which they could be another's.
    fn items(&self, addr: u64, bytes: u64) -> u64 {
        let shift = self.projection.granularity.shift();
        match addr.checked_add(bytes.saturating_sub(1)) {
            Some(last) if (last ^ addr) >> 48 == 0 => (last >> shift) - (addr >> shift) + 1,
            _ => u64::MAX,
        }
    }

    /// Leaves a row in the block, and its operands.
    fn keep(&mut self, row: Row, out: &mut Block) {
        self.flush(out);
        out.item_batch
            .before
            .push(out.item_batch.items.len() as u32);
        out.push(row);
        self.open = Open::Row;
        self.data = match (row.kind, self.data) {
            (Kind::Data, _) => Some((row.addr, 0)),
            (Kind::Operand, Some((base, 1))) => {
                self.structure(base, row.addr, out);
                None
            }
            (Kind::Operand, Some((base, operands))) => Some((base, operands + 1)),
            _ => None,
        };
    }

    /// A structure with elements of so many bytes. Where one of them can lie in several items, what
    /// an access is to depends on the structure from now on.
    fn structure(&mut self, base: u64, element: u64, out: &mut Block) {
        let even = element.is_power_of_two()
            && element <= self.projection.granularity.bytes()
            && base.is_multiple_of(element);
        if !even {
            self.bare = false;
            out.item_batch.uneven = true;
        }
    }

    /// Makes items of what is in the buffer, but for what waits.
    #[inline(never)]
    fn flush(&mut self, out: &mut Block) {
        let touches = &mut out.item_batch;
        touches.named = self.by_name;
        let ready = self.used - usize::from(self.waits);
        let addrs = &self.addrs[..ready];
        if self.by_name && !self.bare {
            touches.bases.extend_from_slice(&self.bases[..ready]);
            touches.items.extend_from_slice(addrs);
        } else {
            let shift = self.projection.granularity.shift();
            touches.items.extend(addrs.iter().map(|addr| addr >> shift));
        }
        touches.references += ready as u64 - self.more;
        self.addrs[0] = self.addrs[ready % ROOM];
        (self.used, self.more) = (self.used - ready, 0);
    }
}
