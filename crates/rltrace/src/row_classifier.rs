//! Rows to touches, many at a time: those between two that are to be looked at by themselves are
//! taken by a few instructions on vectors.

use std::ops::Range;

use crate::decode_rows::{Entry, Here, Rows, Sink, TOGETHER};
use crate::item_extractor::{COUNTED, NAMED, OPERAND, RANGE, SPECIAL, Toucher};
use crate::iterations;
use crate::processor::Processor;
use reuselens_io::varint::Damage;
use reuselens_trace::{Block, ItemProjection, Kind, Row};

/// Rows that are judged together: as many as there are bits in a word.
const JUDGED: usize = 64;

/// What rows are, by number of a kind: [`COUNTED`], [`RANGE`], [`NAMED`], [`OPERAND`], [`SPECIAL`],
/// or 0 for what does not matter.
pub(super) fn classes(projection: &ItemProjection) -> [u8; 16] {
    let mut classes = [SPECIAL; 16];
    for (number, class) in (0..).zip(&mut classes) {
        *class = match Kind::from_u8(number) {
            Some(Kind::Enter | Kind::Exit | Kind::Statement | Kind::BasicBlock) => 0,
            Some(Kind::Operand) => OPERAND,
            Some(Kind::Named) => NAMED,
            Some(kind @ (Kind::Load | Kind::Store | Kind::Atomic)) => {
                u8::from(projection.counts(kind))
            }
            Some(kind @ (Kind::RangeLoad | Kind::RangeStore)) if projection.counts(kind) => RANGE,
            _ => SPECIAL,
        };
    }
    classes
}

/// Rows that wait to be judged.
pub(super) struct Stage {
    addrs: [u64; JUDGED + TOGETHER],
    /// Numbers of their sites.
    sites: [u32; JUDGED + TOGETHER],
    classes: [u8; JUDGED + TOGETHER],
    sizes: [u8; JUDGED + TOGETHER],
    count: usize,
}

impl Stage {
    pub(super) fn new() -> Stage {
        Stage {
            addrs: [0; JUDGED + TOGETHER],
            sites: [0; JUDGED + TOGETHER],
            classes: [0; JUDGED + TOGETHER],
            sizes: [0; JUDGED + TOGETHER],
            count: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Takes off the first [`JUDGED`] rows.
    fn shift(&mut self) {
        self.addrs.copy_within(JUDGED.., 0);
        self.sites.copy_within(JUDGED.., 0);
        self.classes.copy_within(JUDGED.., 0);
        self.sizes.copy_within(JUDGED.., 0);
        self.count -= JUDGED;
    }
}

/// The first of some numbers.
#[inline(always)]
fn first<T>(numbers: &[T; JUDGED + TOGETHER]) -> &[T; JUDGED] {
    match numbers.first_chunk() {
        Some(first) => first,
        None => unreachable!("there are more"),
    }
}

/// The bits of rows.
#[inline(always)]
fn bits(rows: Range<usize>) -> u64 {
    match rows.len() {
        0 => 0,
        count => (u64::MAX >> (JUDGED - count)) << rows.start,
    }
}

/// Bit i says what row i is.
struct Judged {
    /// Its address is a touch.
    touches: u64,
    /// A touch that has an operand behind it.
    opens: u64,
    /// What waits in front of it gets its operand.
    closes: u64,
    /// It is to be looked at by itself.
    odd: u64,
}

/// Rows become touches of a block; `BY_NAME` if those are the accesses that the program names.
pub(super) struct Touching<'a, const BY_NAME: bool> {
    pub(super) toucher: &'a mut Toucher,
    pub(super) stage: &'a mut Stage,
    pub(super) out: &'a mut Block,
}

impl<const BY_NAME: bool> Touching<'_, BY_NAME> {
    /// Takes the first `count` rows that wait.
    #[inline(always)]
    fn judge(&mut self, squeeze: impl Processor, count: usize, sites: &[Entry]) {
        let judged = self.judged(squeeze, count);
        let mut start = 0;
        loop {
            while start < count && !self.toucher.nothing_open() {
                self.one(start, sites);
                start += 1;
            }
            if start >= count {
                return;
            }
            let calm = (judged.odd >> start).trailing_zeros() as usize;
            let end = count.min(start + calm);
            if start < end {
                self.append(squeeze, &judged, start..end, sites);
            }
            start = end;
            if start < count {
                self.toucher.settle();
                self.one(start, sites);
                start += 1;
            }
        }
    }

    #[inline(always)]
    fn judged(&self, squeeze: impl Processor, count: usize) -> Judged {
        let classes = first(&self.stage.classes);
        let is = |class: u8| squeeze.bits(classes, class);
        let operands = is(OPERAND);
        let (touches, opens, strange) = match BY_NAME {
            true => (is(NAMED), is(NAMED), is(SPECIAL | COUNTED | RANGE)),
            false => (is(COUNTED | RANGE), is(RANGE), is(SPECIAL | NAMED)),
        };
        let valid = bits(0..count);
        let waited = (opens << 1 | u64::from(self.toucher.waits())) & valid;
        let closes = waited & operands;
        let mut odd = strange | (waited & !operands);
        if !BY_NAME {
            let (addrs, sizes) = (first(&self.stage.addrs), first(&self.stage.sizes));
            odd |= squeeze.over(addrs, sizes, self.toucher.mask());
            odd |= self.long(closes);
        }
        Judged {
            touches,
            opens,
            closes,
            odd: odd & valid,
        }
    }

    /// The ranges that do not lie in one item, both rows of each. Their lengths are in the rows of
    /// `closes`.
    #[inline(always)]
    fn long(&self, mut closes: u64) -> u64 {
        let mut long = 0;
        while closes != 0 {
            let row = closes.trailing_zeros() as usize;
            closes &= closes - 1;
            let (addr, both) = match row {
                0 => (self.toucher.waiting_addr(), 1),
                row => (self.stage.addrs[row - 1], 3 << (row - 1)),
            };
            if !self.toucher.is_in_one(addr, self.stage.addrs[row]) {
                long |= both;
            }
        }
        long
    }

    /// Appends the touches of rows of which none is odd.
    #[inline(always)]
    fn append(
        &mut self,
        squeeze: impl Processor,
        judged: &Judged,
        rows: Range<usize>,
        sites: &[Entry],
    ) {
        self.toucher.make_room(self.out);
        let (last, rows) = (rows.end - 1, bits(rows));
        let addrs = first(&self.stage.addrs);
        if BY_NAME
            && !self.toucher.is_bare()
            && let Some(into) = self.toucher.free_bases()
        {
            squeeze.compress(addrs, judged.closes & rows, into);
        }
        let Some(into) = self.toucher.free().0.first_chunk_mut() else {
            return;
        };
        let count = squeeze.compress(addrs, judged.touches & rows, into);
        self.toucher.append(count);
        let waits = judged.opens >> last & 1 == 1;
        let waiting = waits.then(|| sites[self.stage.sites[last] as usize].kind);
        self.toucher.waits_for_operand(waiting);
    }

    /// Takes a row by itself.
    #[inline(never)]
    fn one(&mut self, row: usize, sites: &[Entry]) {
        let addr = self.stage.addrs[row];
        let Entry { kind, size, pc, .. } = sites[self.stage.sites[row] as usize];
        let row = Row {
            kind,
            size,
            pc,
            addr,
        };
        self.toucher.row(row, self.out);
    }
}

impl<const BY_NAME: bool> Sink for Touching<'_, BY_NAME> {
    #[inline(always)]
    fn put(&mut self, (_, row): (usize, usize), (number, site): (usize, &Entry), addr: u64) {
        let at = self.stage.count + row;
        self.stage.addrs[at] = addr;
        self.stage.sites[at] = number as u32;
        self.stage.classes[at] = site.class;
        self.stage.sizes[at] = site.size;
    }

    #[inline(always)]
    fn take(&mut self, squeeze: impl Processor, rows: usize, sites: &[Entry]) {
        self.stage.count += rows;
        if self.stage.count >= JUDGED {
            self.judge(squeeze, JUDGED, sites);
            self.stage.shift();
        }
    }

    #[inline(always)]
    fn end(&mut self, squeeze: impl Processor, sites: &[Entry]) {
        self.judge(squeeze, self.stage.count, sites);
        self.stage.clear();
    }

    #[inline(always)]
    fn laps(
        &mut self,
        squeeze: impl Processor,
        rows: &mut Rows,
        here: &mut Here,
        lap: usize,
        range: Range<usize>,
    ) -> Result<(), Damage> {
        iterations::touch(squeeze, rows, here, lap, self, range)
    }
}
