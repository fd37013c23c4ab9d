//! Rows to touches, a few at a time: which of them can be taken without a look at each.

use std::ops::Range;

use crate::formats::native::bytes::Damage;
use crate::formats::native::laps;
use crate::formats::native::rows::{Entry, Here, Rows, Sink, TOGETHER};
use crate::formats::native::touching::{COUNTED, NAMED, OPERAND, ROOM, SPECIAL, Toucher};
use crate::{Block, Row};

/// Rows become touches of a block; `BY_NAME` if those are the accesses that the program names.
pub(super) struct Touching<'a, const BY_NAME: bool> {
    pub(super) toucher: &'a mut Toucher,
    pub(super) out: &'a mut Block,
    /// Those that are to be taken together: numbers of sites, and addresses.
    rows: [(u32, u64); TOGETHER],
}

/// Addresses that are written behind those in the buffer, and not counted yet.
#[derive(Clone, Copy)]
pub(super) struct Some8 {
    count: usize,
    /// Not 0 if one of the rows is to be looked at by itself.
    odd: u8,
    /// 1 if the row before was a named access.
    waits: u8,
}

impl<'a, const BY_NAME: bool> Touching<'a, BY_NAME> {
    pub(super) fn new(toucher: &'a mut Toucher, out: &'a mut Block) -> Self {
        Touching {
            toucher,
            out,
            rows: [(0, 0); TOGETHER],
        }
    }

    /// A row of a program whose accesses are plain.
    #[inline(always)]
    fn plain(&mut self, some: &mut Some8, site: &Entry, addr: u64) {
        let over = self.toucher.is_over(addr, site.size);
        some.odd |= (site.class & (SPECIAL | NAMED)) | u8::from(over);
        self.toucher.addrs[(self.toucher.used + some.count) % ROOM] = addr;
        some.count += usize::from(site.class & COUNTED);
    }

    /// One of a program that names them: each has its base behind it.
    #[inline(always)]
    fn named(&mut self, some: &mut Some8, site: &Entry, addr: u64) {
        let named = u8::from(site.class & NAMED != 0);
        let operand = u8::from(site.class & OPERAND != 0);
        some.odd |= (site.class & (SPECIAL | COUNTED)) | (some.waits & (1 - operand));
        let end = self.toucher.used + some.count;
        self.toucher.addrs[end % ROOM] = addr;
        // Of no use where nothing waits; written behind all others then.
        let last = if some.waits & operand == 1 {
            end.wrapping_sub(1)
        } else {
            ROOM - 1
        };
        self.toucher.bases[last % ROOM] = addr;
        some.count += usize::from(named);
        some.waits = named;
    }

    /// Takes rows one by one.
    #[inline(never)]
    fn one_by_one(&mut self, rows: Range<usize>, sites: &[Entry]) {
        for at in rows {
            let (number, addr) = self.rows[at % TOGETHER];
            let Entry {
                kind,
                size,
                pc,
                class,
                ..
            } = sites[number as usize];
            if !BY_NAME && self.toucher.is_simple((class, size), addr) {
                self.toucher.push_simple(class, addr);
                continue;
            }
            let row = Row {
                kind,
                size,
                pc,
                addr,
            };
            self.toucher.row(row, self.out);
        }
    }
}

impl<const BY_NAME: bool> Sink for Touching<'_, BY_NAME> {
    type Some = Some8;

    #[inline(always)]
    fn begin(&mut self) -> Some8 {
        self.toucher.make_room(self.out);
        Some8 {
            count: 0,
            odd: 0,
            waits: u8::from(self.toucher.waits),
        }
    }

    #[inline(always)]
    fn put(&mut self, some: &mut Some8, at: usize, (number, site): (usize, &Entry), addr: u64) {
        if BY_NAME {
            self.named(some, site, addr);
        } else {
            self.plain(some, site, addr);
        }
        self.rows[at % TOGETHER] = (number as u32, addr);
    }

    #[inline(always)]
    fn take(&mut self, some: Some8, rows: Range<usize>, sites: &[Entry]) {
        if some.odd == 0 && self.toucher.nothing_open() {
            self.toucher.used += some.count;
            self.toucher.waits = some.waits == 1;
        } else {
            self.toucher.settle();
            self.one_by_one(rows, sites);
        }
    }

    fn laps(
        &mut self,
        rows: &mut Rows,
        here: &mut Here,
        lap: usize,
        range: Range<usize>,
    ) -> Result<(), Damage> {
        laps::touch(rows, here, lap, self, range)
    }
}
