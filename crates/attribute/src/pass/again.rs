//! Rows that come again: see [`reuselens_trace::Folds`].
//!
//! Of a row that comes again the instruction is known, and mostly the object too: that of the memory in which it fell before. So what a
//! pattern's accesses fell in is kept side by side, and where a pattern comes again its addresses are compared with that, several at a time. Nothing is
//! looked up by instruction. Accesses that fall elsewhere, and rows that are more than accesses, are taken one by one as others are.

use std::ops::Range;

use reuselens_trace::{Again, Block, Kind};

use super::Pass;
use super::rows::Rows;
use crate::shadow::NO_STRUCTURE;

/// Accesses of a pattern that follow each other, or another row.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Which rows of the pattern.
    from: u16,
    to: u16,
    is_accesses: bool,
    /// Where what is known of its accesses is.
    at: u32,
    /// What that was found in.
    when: When,
}

/// What the cell of an access depends on besides its address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct When {
    owner: u64,
    versions: [u32; 2],
    /// The innermost frame.
    top: (u64, u64, u32),
    /// Slots of the table of instructions: none was never.
    slots: usize,
}

/// Where an access fell: memory that belongs to one object, as far as is known, and the cell of the instruction's accesses to that.
#[derive(Clone, Copy, Debug, Default)]
struct Fallen {
    low: u64,
    bytes: u64,
    object: u32,
    cell: u32,
}

/// The patterns of a block, and what is known of them.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    /// Which parts each has; none if it did not come yet.
    of: Vec<Range<u32>>,
    parts: Vec<Part>,
    /// Where each access fell, its object, and its cell. Of no bytes if that is not to be told.
    lows: Vec<u64>,
    bytes: Vec<u64>,
    objects: Vec<u32>,
    cells: Vec<u32>,
    /// Addresses of laps, and items.
    addrs: Vec<u64>,
    items: Vec<u64>,
    steps: Vec<u64>,
    lap_cells: Vec<u32>,
}

impl Patterns {
    fn begin(&mut self, patterns: usize) {
        self.of.clear();
        self.of.resize(patterns, 0..0);
        self.parts.clear();
        self.lows.clear();
        self.bytes.clear();
        self.objects.clear();
        self.cells.clear();
    }

    fn put(&mut self, at: usize, fallen: Fallen) {
        (self.lows[at], self.bytes[at]) = (fallen.low, fallen.bytes);
        (self.objects[at], self.cells[at]) = (fallen.object, fallen.cell);
    }

    /// The parts of a pattern, found when it comes for the first time.
    fn parts(&mut self, pattern: u32, kinds: &[Kind]) -> Range<usize> {
        let of = &mut self.of[pattern as usize];
        if of.start == of.end {
            let first = self.parts.len() as u32;
            let mut from = 0;
            for same in kinds.chunk_by(|one, next| is_plain(*one) && is_plain(*next)) {
                let to = from + same.len();
                let is_accesses = is_plain(same[0]);
                if is_accesses || same[0] != Kind::Operand {
                    self.parts.push(Part {
                        from: from as u16,
                        to: to as u16,
                        is_accesses,
                        at: self.cells.len() as u32,
                        when: When::default(),
                    });
                }
                if is_accesses {
                    let known = self.cells.len() + same.len();
                    self.lows.resize(known, 0);
                    self.bytes.resize(known, 0);
                    self.objects.resize(known, 0);
                    self.cells.resize(known, 0);
                }
                from = to;
            }
            *of = first..self.parts.len() as u32;
        }
        of.start as usize..of.end as usize
    }
}

fn is_plain(kind: Kind) -> bool {
    matches!(kind, Kind::Load | Kind::Store | Kind::Atomic)
}

impl Pass<'_> {
    /// Takes a block of which everything counts, with the rows that are not there. Compiled for the processor at hand by
    /// [`super::dispatch`].
    #[inline(always)]
    pub(super) fn run_folded_here(&mut self, block: &Block) {
        let mut patterns = std::mem::take(&mut self.shared.patterns);
        patterns.begin(block.folds.patterns.len());
        let mut row = 0;
        for (again, pattern, numbers) in block.folds.iter() {
            let before = again.before as usize;
            if row < before {
                self.take::<true>(block, row..before);
                row = before;
            }
            let first = pattern.first as usize;
            let range = first..first + numbers.len();
            let rows = Rows {
                kinds: &block.kinds()[range.clone()],
                sizes: &block.sizes()[range.clone()],
                pcs: &block.pcs()[range.clone()],
                addrs: numbers,
            };
            let parts = patterns.parts(again.pattern, rows.kinds);
            if again.laps == 0 {
                self.once(&mut patterns, parts, rows);
            } else {
                let addrs = &block.addrs()[range];
                self.laps(
                    &mut patterns,
                    parts,
                    Rows { addrs, ..rows },
                    (again, numbers),
                );
            }
        }
        self.take::<true>(block, row..block.len());
        self.resolve();
        self.shared.patterns = patterns;
    }

    /// Takes the rows of a pattern at their addresses.
    #[inline(always)]
    fn once(&mut self, patterns: &mut Patterns, parts: Range<usize>, rows: Rows<'_>) {
        for part in parts {
            let Part {
                from,
                to,
                is_accesses,
                ..
            } = patterns.parts[part];
            if !is_accesses {
                self.row::<true>(rows, from.into());
                continue;
            }
            let range = usize::from(from)..usize::from(to);
            let when = self.when();
            if patterns.parts[part].when != when {
                self.know(patterns, part, rows, when);
            }
            let at = patterns.parts[part].at as usize;
            let known = at..at + range.len();
            let (lows, bytes) = (
                &patterns.lows[known.clone()],
                &patterns.bytes[known.clone()],
            );
            let (addrs, sizes) = (&rows.addrs[range.clone()], &rows.sizes[range.clone()]);
            let mask = self.granularity.bytes() - 1;
            let mut odd = false;
            for ((addr, size), (low, bytes)) in addrs.iter().zip(sizes).zip(lows.iter().zip(bytes))
            {
                odd |= addr.wrapping_sub(*low) >= *bytes;
                odd |= ((addr ^ self.fold) & mask) + u64::from(*size) > mask + 1;
            }
            if odd {
                self.one_by_one(patterns, known, rows, range);
                continue;
            }
            let (fold, shift) = (self.fold, self.granularity.shift());
            self.columns.extend_told(
                addrs.iter().map(|addr| (addr ^ fold) >> shift),
                &patterns.cells[known],
            );
            self.shared.references += range.len() as u64;
        }
    }

    /// What the cells of accesses depend on now.
    #[inline(always)]
    fn when(&self) -> When {
        When {
            owner: self.owner,
            versions: self.process.space.versions(),
            top: (self.top_low, self.top_bytes, self.top_object),
            slots: self.process.sites.capacity(),
        }
    }

    /// Finds out where the accesses of a part fall now, and their cells.
    #[inline(never)]
    fn know(&mut self, patterns: &mut Patterns, part: usize, rows: Rows<'_>, when: When) {
        self.resolve();
        let Part { from, to, at, .. } = patterns.parts[part];
        for (row, at) in (usize::from(from)..usize::from(to)).zip(at as usize..) {
            patterns.put(at, self.fallen(rows, row, true).unwrap_or_default());
        }
        // What was looked up may have made the table of instructions larger.
        patterns.parts[part].when = When {
            slots: self.process.sites.capacity(),
            ..when
        };
    }

    /// Where an access falls, as far as its instruction remembers, or, if that is to be looked for, as is known; `None` if nothing is to be told
    /// of the next.
    fn fallen(&mut self, rows: Rows<'_>, row: usize, look: bool) -> Option<Fallen> {
        let addr = rows.addrs[row];
        let place = self.process.sites.known(rows.pcs[row], rows.kinds[row])?;
        if addr.wrapping_sub(self.top_low) < self.top_bytes {
            return Some(Fallen {
                low: self.top_low,
                bytes: self.top_bytes,
                object: self.top_object,
                cell: self.cell(place, self.top_object),
            });
        }
        let versions = self.process.space.versions();
        let slot = *self.process.sites.slot(place);
        if look && slot.recall(addr, &versions).is_none() {
            self.locate(place, addr);
        }
        let slot = *self.process.sites.slot(place);
        let Some((object, structure)) = slot.recall(addr, &versions) else {
            // The object may be known without the memory around.
            let of_owner = slot.owner == self.owner;
            return of_owner.then_some(Fallen {
                object: slot.object,
                cell: slot.cell,
                ..Fallen::default()
            });
        };
        let (low, bytes) = slot.region();
        // The innermost frame comes first, whatever else lies there.
        let apart = self.top_bytes == 0
            || low.saturating_add(bytes) <= self.top_low
            || self.top_low.saturating_add(self.top_bytes) <= low;
        if structure != NO_STRUCTURE || !apart {
            return None;
        }
        Some(Fallen {
            low,
            bytes,
            object,
            cell: self.cell(place, object),
        })
    }

    /// Takes accesses of which some are not where they fell before, or to several items.
    #[inline(never)]
    fn one_by_one(
        &mut self,
        patterns: &mut Patterns,
        known: Range<usize>,
        rows: Rows<'_>,
        range: Range<usize>,
    ) {
        for (row, at) in range.zip(known) {
            let addr = rows.addrs[row];
            let (first, last) = self
                .granularity
                .cover(addr ^ self.fold, rows.sizes[row].into());
            let near = addr.wrapping_sub(patterns.lows[at]) < patterns.bytes[at];
            if first == last && (near || self.is_of(addr, patterns.objects[at])) {
                self.columns.push(first, patterns.cells[at]);
                self.shared.references += 1;
                continue;
            }
            self.row::<true>(rows, row);
            if !near {
                // It may stay there.
                self.resolve();
                if let Some(fallen) = self.fallen(rows, row, false) {
                    patterns.put(at, fallen);
                }
            }
        }
    }

    /// Whether an address is known at once to be of an object that lies in no stack.
    #[inline(always)]
    fn is_of(&self, addr: u64, object: u32) -> bool {
        let (low, high) = self.stack.bounds();
        let own = low <= addr && addr < high;
        let in_top = addr.wrapping_sub(self.top_low) < self.top_bytes;
        object != 0 && !own && !in_top && self.process.space.quick(addr) == object
    }

    /// Takes laps of a pattern.
    #[inline(always)]
    fn laps(
        &mut self,
        patterns: &mut Patterns,
        parts: Range<usize>,
        rows: Rows<'_>,
        (again, steps): (Again, &[u64]),
    ) {
        let mut addrs = std::mem::take(&mut patterns.addrs);
        addrs.clear();
        addrs.extend_from_slice(rows.addrs);
        let mut left = again.laps;
        let all_at_once = matches!(
            patterns.parts[parts.clone()],
            [Part {
                is_accesses: true,
                ..
            }]
        );
        while left > 0 {
            for (addr, step) in addrs.iter_mut().zip(steps) {
                *addr = addr.wrapping_add(*step);
            }
            let rows = Rows {
                addrs: &addrs,
                ..rows
            };
            let taken = match all_at_once {
                true => self.many_laps(patterns, parts.start, rows, steps, left),
                false => 0,
            };
            if taken == 0 {
                self.once(patterns, parts.clone(), rows);
                left -= 1;
            } else {
                left -= taken;
                for (addr, step) in addrs.iter_mut().zip(steps) {
                    *addr = addr.wrapping_add(step.wrapping_mul(u64::from(taken) - 1));
                }
            }
            if self.columns.len() >= self.piece {
                self.resolve();
                self.hand_over();
            }
        }
        patterns.addrs = addrs;
    }

    /// Takes as many laps as stay where they are, the first at the addresses of `rows`; how many.
    #[inline(always)]
    fn many_laps(
        &mut self,
        patterns: &mut Patterns,
        part: usize,
        rows: Rows<'_>,
        steps: &[u64],
        left: u32,
    ) -> u32 {
        let when = self.when();
        if patterns.parts[part].when != when {
            self.know(patterns, part, rows, when);
        }
        let at = patterns.parts[part].at as usize;
        let count = steps.len();
        let known = at..at + count;
        let mut laps = u64::from(left.min(LAPS_AT_ONCE));
        for (row, at) in known.clone().enumerate().map(|(row, at)| (row, at)) {
            let (addr, step) = (rows.addrs[row], steps[row]);
            let inside = stays(
                addr.wrapping_sub(patterns.lows[at]),
                patterns.bytes[at],
                step,
            );
            laps = laps
                .min(inside)
                .min(self.in_one_item(addr, step, rows.sizes[row]));
        }
        if laps < 2 {
            return 0;
        }
        self.push_laps(patterns, known, rows.addrs, steps, laps as usize);
        laps as u32
    }

    /// How many laps an access stays in one item each.
    #[inline(always)]
    fn in_one_item(&self, addr: u64, step: u64, size: u8) -> u64 {
        let (size, item) = (u64::from(size.max(1)), self.granularity.bytes());
        let offset = addr & (item - 1);
        let aligned = size.is_power_of_two() && size <= item && (addr | step) & (size - 1) == 0;
        if aligned {
            return u64::MAX;
        }
        if offset + size > item {
            return 0;
        }
        match step & (item - 1) {
            0 => u64::MAX,
            // Until the first that reaches into the next.
            _ if step < item => (item - size - offset) / step + 1,
            _ => 1,
        }
    }

    /// Appends so many laps, the first at these addresses.
    #[inline(always)]
    fn push_laps(
        &mut self,
        patterns: &mut Patterns,
        known: Range<usize>,
        addrs: &[u64],
        steps: &[u64],
        laps: usize,
    ) {
        let (fold, shift, one) = (self.fold, self.granularity.shift(), addrs.len());
        let times = (TOGETHER / one).clamp(1, laps);
        let Patterns {
            items,
            steps: further,
            lap_cells,
            cells,
            ..
        } = patterns;
        items.clear();
        further.clear();
        lap_cells.clear();
        for lap in 0..times as u64 {
            let all = addrs.iter().zip(steps);
            items.extend(all.map(|(addr, step)| addr.wrapping_add(step.wrapping_mul(lap))));
            further.extend(steps.iter().map(|step| step.wrapping_mul(times as u64)));
            lap_cells.extend_from_slice(&cells[known.clone()]);
        }
        let mut left = laps * one;
        loop {
            let count = left.min(items.len());
            let ready = items[..count].iter().map(|addr| (addr ^ fold) >> shift);
            self.columns.extend_told(ready, &lap_cells[..count]);
            left -= count;
            if left == 0 {
                break;
            }
            for (addr, step) in items.iter_mut().zip(&*further) {
                *addr = addr.wrapping_add(*step);
            }
        }
        self.shared.references += (laps * one) as u64;
    }
}

/// Accesses that laps are put together to, about.
const TOGETHER: usize = 64;
/// Laps that are taken before the columns are looked at.
const LAPS_AT_ONCE: u32 = 1 << 14;

/// How often an access that is `offset` bytes into some `bytes` comes before it leaves them, if it goes on by `step`.
#[inline(always)]
fn stays(offset: u64, bytes: u64, step: u64) -> u64 {
    if offset >= bytes {
        return 0;
    }
    match step as i64 {
        0 => u64::MAX,
        step if step > 0 => (bytes - 1 - offset) / step as u64 + 1,
        step => offset / step.unsigned_abs() + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_stay_until_they_leave() {
        for (offset, bytes, step) in [(0, 64, 8), (3, 64, 7), (63, 64, 1), (0, 1, 5), (9, 64, 64)] {
            let mut at = offset;
            let mut times = 0;
            while at < bytes {
                times += 1;
                at += step;
            }
            assert_eq!(stays(offset, bytes, step), times);
            let back = (0..).take_while(|times| times * step <= offset).count() as u64;
            assert_eq!(stays(offset, bytes, step.wrapping_neg()), back);
        }
        assert_eq!(stays(5, 9, 0), u64::MAX);
        assert_eq!(stays(9, 9, 0), 0);
    }
}
