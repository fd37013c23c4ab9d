//! Rows to touches: what is left of rows where nothing but the items is to be known of an access.
//!
//! Most rows are accesses to one item, or nothing that counts. Those go through a buffer of addresses a few at a time, without
//! a branch for each. The others are taken one by one: what an operand is of, accesses to several items, ranges; and what becomes
//! a row of the block, as whoever takes it must know more ([`Touches`](crate::Touches)).
//!
//! The first access of a block says whether its touches are plain accesses or those that the program names; those of the
//! other sort become rows.

use crate::{Block, Kind, Row, Wish};

/// Addresses that wait to become items.
pub(super) const ROOM: usize = 2048;
/// Addresses that may be appended without a look at the room.
pub(super) const AT_ONCE: usize = 512;
/// An access to more items than this stays a row.
const MOST_ITEMS: u64 = 4;

/// A row that is not an access, or does not count.
const SKIPPED: u8 = 0;
/// An access that counts.
const COUNTED: u8 = 1;
/// A row that has operands that matter, or is not for touches: to be looked at by itself.
const SPECIAL: u8 = 2;

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

/// What the touches of a block are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// There was no access yet.
    Unknown,
    Plain,
    Named,
}

/// Makes touches of rows.
pub(super) struct Toucher {
    wish: Wish,
    /// By number of a kind.
    classes: [u8; 16],
    mode: Mode,
    /// The bits of an address below its item's.
    mask: u64,
    open: Open,
    buffer: Box<[u64; ROOM]>,
    /// The bases of named accesses.
    bases: Box<[u64; ROOM]>,
    used: usize,
    /// Items beyond the first of accesses, among those in the buffer.
    more: u64,
}

/// Addresses that are written behind those in the buffer, and not counted yet.
#[derive(Clone, Copy, Default)]
pub(super) struct Some8 {
    count: usize,
    /// Not 0 if one of the rows is to be looked at by itself.
    odd: u8,
}

impl Toucher {
    pub(super) fn new(wish: Wish) -> Toucher {
        Toucher {
            wish,
            classes: classes(&wish, Mode::Unknown),
            mode: Mode::Unknown,
            mask: wish.granularity.bytes() - 1,
            open: Open::Nothing,
            buffer: Box::new([0; ROOM]),
            bases: Box::new([0; ROOM]),
            used: 0,
            more: 0,
        }
    }

    /// A block of touches begins.
    pub(super) fn begin(&mut self) {
        self.mode = Mode::Unknown;
        self.classes = classes(&self.wish, Mode::Unknown);
        self.forget();
    }

    /// Forgets what is in the buffer.
    pub(super) fn forget(&mut self) {
        self.open = Open::Nothing;
        (self.used, self.more) = (0, 0);
    }

    /// A block of rows is over: operands that come next are of no row of it.
    pub(super) fn end(&mut self, out: &mut Block) {
        self.close(out);
        self.flush(out);
    }

    /// Whether plain accesses can be appended: [`Toucher::append`].
    #[inline(always)]
    pub(super) fn is_calm(&self) -> bool {
        self.mode == Mode::Plain && self.open == Open::Nothing
    }

    /// Whether rows may be left out: operands that come next are of none of those before.
    #[inline(always)]
    pub(super) fn is_closed(&self) -> bool {
        self.open == Open::Nothing
    }

    /// Makes room for [`AT_ONCE`] addresses.
    #[inline(always)]
    pub(super) fn make_room(&mut self, out: &mut Block) {
        if self.used > ROOM - AT_ONCE {
            self.flush(out);
        }
    }

    /// Looks at one of up to eight rows.
    #[inline(always)]
    pub(super) fn try_one(&mut self, some: &mut Some8, (kind, size): (Kind, u8), addr: u64) {
        let class = self.classes[kind as usize % 16];
        let over = (addr & self.mask) + u64::from(size) > self.mask + 1;
        some.odd |= (class & SPECIAL) | u8::from(over);
        self.buffer[(self.used + some.count) % ROOM] = addr;
        some.count += usize::from(class & COUNTED);
    }

    /// Takes the rows that were looked at, if all of them can be taken together; whether they could.
    #[inline(always)]
    pub(super) fn take(&mut self, some: Some8) -> bool {
        let calm = some.odd == 0 && self.open == Open::Nothing;
        self.used += if calm { some.count } else { 0 };
        calm
    }

    /// Takes up to [`AT_ONCE`] plain accesses that count.
    #[inline(always)]
    pub(super) fn append_plain(&mut self, addrs: &[u64], sites: &[(Kind, u8)], out: &mut Block) {
        self.make_room(out);
        let into = &mut self.buffer[self.used..][..addrs.len()];
        let mut odd = false;
        for ((into, addr), (_, size)) in into.iter_mut().zip(addrs).zip(sites) {
            *into = *addr;
            odd |= (addr & self.mask) + u64::from(*size) > self.mask + 1;
        }
        if !odd {
            self.used += addrs.len();
            return;
        }
        for (&addr, &(kind, size)) in addrs.iter().zip(sites) {
            let pc = 0;
            self.row(
                Row {
                    kind,
                    size,
                    pc,
                    addr,
                },
                out,
            );
        }
    }

    /// The places that are free, [`AT_ONCE`] or more, and the bits of an address below its item's.
    #[inline(always)]
    pub(super) fn free(&mut self) -> (&mut [u64], u64) {
        (&mut self.buffer[self.used..], self.mask)
    }

    /// The first so many of the free places were filled with plain accesses to one item each.
    #[inline(always)]
    pub(super) fn append(&mut self, count: usize) {
        self.used += count;
    }

    /// Whether plain accesses become touches, those that come now the first of all, if there was none before. No operand comes
    /// before them.
    #[inline(always)]
    pub(super) fn starts_plain(&mut self, out: &mut Block) -> bool {
        if !self.is_calm() {
            self.start_plain(out);
        }
        self.mode == Mode::Plain
    }

    #[cold]
    #[inline(never)]
    fn start_plain(&mut self, out: &mut Block) {
        self.close(out);
        if self.mode == Mode::Unknown {
            self.decide(Kind::Load);
        }
    }

    pub(super) fn counts(&self, kind: Kind) -> bool {
        self.wish.counts(kind)
    }

    pub(super) fn is_named(&self) -> bool {
        self.mode == Mode::Named
    }

    /// Takes up to [`AT_ONCE`] numbers: named accesses, each with its base behind it.
    pub(super) fn append_pairs(&mut self, pairs: &[u64], out: &mut Block) {
        self.make_room(out);
        let pairs = pairs.as_chunks::<2>().0;
        let addrs = &mut self.buffer[self.used..][..pairs.len()];
        let bases = &mut self.bases[self.used..][..pairs.len()];
        for ((addr, base), pair) in addrs.iter_mut().zip(bases).zip(pairs) {
            [*addr, *base] = *pair;
        }
        self.used += pairs.len();
    }

    /// Takes any row.
    #[inline(never)]
    pub(super) fn row(&mut self, row: Row, out: &mut Block) {
        if row.kind == Kind::Operand {
            return self.operand(row, out);
        }
        self.close(out);
        if self.mode == Mode::Unknown && row.kind.is_access() {
            self.decide(row.kind);
        }
        match row.kind {
            Kind::Load | Kind::Store | Kind::Atomic if self.mode == Mode::Plain => {
                if self.wish.counts(row.kind) {
                    self.access(row, out);
                }
            }
            Kind::RangeLoad | Kind::RangeStore if self.mode == Mode::Plain => {
                self.open = Open::Access(row);
            }
            Kind::Named if self.mode == Mode::Named => self.open = Open::Access(row),
            Kind::Enter | Kind::Exit | Kind::Statement | Kind::BasicBlock => {}
            Kind::Load | Kind::Store | Kind::Atomic if !self.wish.counts(row.kind) => {}
            _ => self.keep(row, out),
        }
    }

    /// The first access says what touches are.
    fn decide(&mut self, kind: Kind) {
        self.mode = match kind {
            Kind::Named => Mode::Named,
            _ => Mode::Plain,
        };
        self.classes = classes(&self.wish, self.mode);
    }

    /// Takes an operand.
    fn operand(&mut self, operand: Row, out: &mut Block) {
        match self.open {
            Open::Nothing => {}
            Open::Row => self.push(operand, out),
            Open::Access(row) if row.kind == Kind::Named => {
                self.open = Open::Nothing;
                self.append_pairs(&[row.addr, operand.addr], out);
            }
            Open::Access(row) => {
                self.open = Open::Nothing;
                if self.items(row.addr, operand.addr) > MOST_ITEMS {
                    self.push(row, out);
                    self.push(operand, out);
                } else if operand.addr > 0 && self.wish.counts(row.kind) {
                    self.push_items(row.addr, operand.addr, out);
                }
            }
        }
    }

    /// What waits for an operand gets none.
    fn close(&mut self, out: &mut Block) {
        if let Open::Access(row) = self.open {
            self.push(row, out);
        }
        self.open = Open::Nothing;
    }

    /// An access that counts.
    fn access(&mut self, row: Row, out: &mut Block) {
        if self.items(row.addr, row.size.into()) > MOST_ITEMS {
            return self.keep(row, out);
        }
        self.push_items(row.addr, row.size.into(), out);
    }

    /// How many items bytes cover; many if they reach the end of what a process can address, beyond which they
    /// could be another's.
    fn items(&self, addr: u64, size: u64) -> u64 {
        let Some(last) = addr.checked_add(size.saturating_sub(1)) else {
            return u64::MAX;
        };
        if (last ^ addr) >> 48 != 0 {
            return u64::MAX;
        }
        let shift = self.wish.granularity.shift();
        (last >> shift) - (addr >> shift) + 1
    }

    fn push_items(&mut self, addr: u64, size: u64, out: &mut Block) {
        self.make_room(out);
        let items = self.items(addr, size);
        for item in 0..items {
            self.buffer[self.used] = addr.wrapping_add(item << self.wish.granularity.shift());
            self.used += 1;
        }
        self.more += items - 1;
    }

    /// Leaves a row in the block, and its operands.
    fn keep(&mut self, row: Row, out: &mut Block) {
        self.push(row, out);
        self.open = Open::Row;
    }

    fn push(&mut self, row: Row, out: &mut Block) {
        self.flush(out);
        out.touches.before.push(out.touches.items.len() as u32);
        out.push(row);
    }

    /// Makes items of what is in the buffer.
    #[inline(never)]
    pub(super) fn flush(&mut self, out: &mut Block) {
        let touches = &mut out.touches;
        let addrs = &mut self.buffer[..self.used];
        if self.mode == Mode::Named {
            touches.named = true;
            touches.bases.extend_from_slice(&self.bases[..self.used]);
        } else {
            let shift = self.wish.granularity.shift();
            addrs.iter_mut().for_each(|addr| *addr >>= shift);
        }
        touches.items.extend_from_slice(addrs);
        touches.references += self.used as u64 - self.more;
        (self.used, self.more) = (0, 0);
    }
}

/// What rows are, by number of a kind.
fn classes(wish: &Wish, mode: Mode) -> [u8; 16] {
    let mut classes = [SPECIAL; 16];
    for (number, class) in (0..).zip(&mut classes) {
        *class = match Kind::from_u8(number) {
            Some(Kind::Enter | Kind::Exit | Kind::Statement | Kind::BasicBlock | Kind::Operand) => {
                SKIPPED
            }
            Some(kind @ (Kind::Load | Kind::Store | Kind::Atomic)) if mode == Mode::Plain => {
                u8::from(wish.counts(kind))
            }
            _ => SPECIAL,
        };
    }
    classes
}
