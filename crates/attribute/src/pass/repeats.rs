//! Rows that come again: see [`reuselens_trace::Folds`].
//!
//! Of a row that comes again the instruction is known, and mostly the object too: that of the
//! memory in which it fell before. So what a pattern's accesses fell in is kept side by side, and
//! where a pattern comes again its addresses are compared with that, several at a time. Nothing is
//! looked up by instruction. Accesses that fall elsewhere, and rows that are more than accesses,
//! are taken one by one as others are.

use std::ops::Range;

use reuselens_trace::{Again, Block, Repeated};

use super::Pass;
use super::repeat_cache::{Fallen, Fell, Part, Patterns, SCORE, When};
use super::rows::Rows;
use crate::cells::Packed;
use crate::shadow::NO_STRUCTURE;

/// How it is found out where an access falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// It is what the instruction remembers: the access was just taken.
    Remember,
    /// Objects are looked for, and cells made.
    Make,
    /// Objects are looked for.
    Look,
}

impl Pass<'_> {
    /// Takes a block of which everything counts, with the rows that are not there. Compiled for the
    /// processor at hand by [`super::dispatch`].
    #[inline(always)]
    pub(super) fn run_folded_here(&mut self, block: &Block) {
        let mut patterns = std::mem::take(&mut self.shared.patterns);
        let mut all_fit = patterns.begin(block);
        let (mut row, mut numbers) = (0, 0);
        for (again, own) in block.folds.iter() {
            let before = again.before as usize;
            numbers += own.len();
            if before < row || before > block.len() {
                all_fit = false;
                continue;
            }
            if row < before {
                self.rows_between(block, row..before);
                row = before;
            }
            all_fit &= self.again(&mut patterns, block, again, own);
        }
        if !all_fit || numbers != block.folds.numbers.len() {
            self.malformed();
        }
        self.rows_between(block, row..block.len());
        self.resolve();
        self.shared.patterns = patterns;
    }

    /// Takes what comes again; whether there is what it says.
    #[inline(always)]
    fn again(
        &mut self,
        patterns: &mut Patterns,
        block: &Block,
        again: Again,
        numbers: &[u64],
    ) -> bool {
        match again.what {
            Repeated::Pattern(number) => self.pattern(patterns, number, numbers),
            Repeated::Laps { first, times } => {
                let first = first as usize;
                let fits = first + numbers.len() <= again.before as usize;
                if fits {
                    let rows = Rows::of(block).range(first..first + numbers.len());
                    self.laps(patterns, rows, (times, numbers));
                }
                fits
            }
        }
    }

    /// Takes a pattern at these addresses; whether it has as many rows.
    #[inline(always)]
    fn pattern(&mut self, patterns: &mut Patterns, number: u32, addrs: &[u64]) -> bool {
        let Some((parts, rows)) = patterns.pattern(number) else {
            return false;
        };
        if rows.len() != addrs.len() {
            return false;
        }
        let Patterns {
            kinds,
            sizes,
            pcs,
            parts: all,
            fell,
            ..
        } = patterns;
        let rows = Rows {
            kinds: &kinds[rows.clone()],
            sizes: &sizes[rows.clone()],
            pcs: &pcs[rows],
            addrs,
        };
        self.once(&mut all[parts], fell, rows);
        true
    }

    /// Takes the rows of a pattern at their addresses.
    #[inline(always)]
    pub(super) fn once(&mut self, parts: &mut [Part], fell: &mut Fell, rows: Rows<'_>) {
        for part in parts {
            let Part {
                from,
                to,
                is_accesses,
                ..
            } = *part;
            if !is_accesses {
                self.row::<true>(rows, from as usize);
                continue;
            }
            let range = from as usize..to as usize;
            if !part.comes(&self.when()) {
                self.take_apart(rows, range);
                continue;
            }
            if !part.is_known {
                self.know(part, fell, rows);
            }
            let at = part.at as usize;
            let known = at..at + range.len();
            let (lows, bytes) = (&fell.lows[known.clone()], &fell.bytes[known.clone()]);
            let (addrs, sizes) = (&rows.addrs[range.clone()], &rows.sizes[range.clone()]);
            let mask = self.granularity.bytes() - 1;
            let mut odd = false;
            for ((addr, size), (low, bytes)) in addrs.iter().zip(sizes).zip(lows.iter().zip(bytes))
            {
                odd |= addr.wrapping_sub(*low) >= *bytes;
                odd |= ((addr ^ self.fold) & mask) + u64::from(*size) > mask + 1;
            }
            if odd {
                part.score = (part.score - 2).max(-SCORE);
                self.one_by_one(fell, known, rows, range);
                continue;
            }
            let (fold, shift) = (self.fold, self.granularity.shift());
            self.columns.extend_told(
                addrs.iter().map(|addr| (addr ^ fold) >> shift),
                &fell.cells[known],
            );
            self.shared.references += range.len() as u64;
        }
    }

    /// Takes rows of the block that nothing comes between: what is behind them is no operand of
    /// theirs.
    fn rows_between(&mut self, block: &Block, range: Range<usize>) {
        let rows = Rows::of(block).range(range);
        self.take_apart(rows, 0..rows.addrs.len());
    }

    /// Takes rows as if they came for the first time.
    #[inline(never)]
    pub(super) fn take_apart(&mut self, rows: Rows<'_>, range: Range<usize>) {
        self.take::<true>(rows, range);
    }

    /// What the cells of accesses depend on now.
    #[inline(always)]
    pub(super) fn when(&self) -> When {
        When {
            events: self.shared.events,
            owner: self.owner,
            fold: self.fold,
            versions: self.process.space.versions(),
            top: (self.top_low, self.top_bytes, self.top_object),
        }
    }

    /// Finds out where the accesses of a part fall now, and their cells.
    #[inline(never)]
    pub(super) fn know(&mut self, part: &mut Part, fell: &mut Fell, rows: Rows<'_>) {
        self.resolve();
        let mut how = How::Make;
        let Part { from, to, at, .. } = *part;
        // Those in other threads' stacks are found again when they are taken, from where they were
        // found last before.
        let neighbour = self.neighbour;
        for (row, at) in (from as usize..to as usize).zip(at as usize..) {
            let fallen = self.fallen(rows, row, how).unwrap_or_default();
            if fallen.bytes == 0 {
                // It may have a new cell, which comes before those of the accesses behind it.
                how = How::Look;
            }
            fell.put(at, fallen);
        }
        self.neighbour = neighbour;
        part.is_known = true;
    }

    /// Where an access falls, as far as that is found out so; `None` if nothing is to be told of
    /// the next.
    fn fallen(&mut self, rows: Rows<'_>, row: usize, how: How) -> Option<Fallen> {
        let addr = rows.addrs[row];
        let place = self.process.sites.known(rows.pcs[row], rows.kinds[row])?;
        if addr.wrapping_sub(self.top_low) < self.top_bytes {
            return Some(Fallen {
                low: self.top_low,
                bytes: self.top_bytes,
                object: self.top_object,
                cell: self.cell_of(place, self.top_object, how)?,
            });
        }
        let versions = self.process.space.versions();
        let slot = *self.process.sites.slot(place);
        if how != How::Remember && slot.recall(addr, &versions).is_none() {
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
        // The innermost frame comes first, and then the thread's stack, whatever else lies there.
        let apart = are_apart((low, bytes), (self.top_low, self.top_bytes))
            && (slot.is_in_frame() || are_apart((low, bytes), self.stack.extent()));
        if structure != NO_STRUCTURE || !apart {
            return None;
        }
        Some(Fallen {
            low,
            bytes,
            object,
            cell: self.cell_of(place, object, how)?,
        })
    }

    /// The cell of a site's access to an object; none if there is none yet and none is to be made.
    /// Where not every key gets one, what has none is not looked at, as each look counts as an
    /// access.
    fn cell_of(&mut self, place: usize, object: u32, how: How) -> Option<u32> {
        if how == How::Look || !self.shared.cells.has_room() {
            self.resolve();
            let site = self.process.sites.slot(place).site;
            let key = Packed::new(site, object, self.owner);
            return self.shared.cells.look(key, key.hash());
        }
        Some(self.cell(place, object))
    }

    /// Takes accesses of which some are not where they fell before, or to several items.
    #[inline(never)]
    fn one_by_one(
        &mut self,
        fell: &mut Fell,
        known: Range<usize>,
        rows: Rows<'_>,
        range: Range<usize>,
    ) {
        for (row, at) in range.zip(known) {
            let addr = rows.addrs[row];
            let (first, last) = self
                .granularity
                .cover(addr ^ self.fold, rows.sizes[row].into());
            let near = addr.wrapping_sub(fell.lows[at]) < fell.bytes[at];
            if first == last && (near || self.is_of(addr, fell.objects[at])) {
                self.columns.push(first, fell.cells[at]);
                self.shared.references += 1;
                continue;
            }
            self.row::<true>(rows, row);
            if !near {
                // It may stay there.
                self.resolve();
                if let Some(fallen) = self.fallen(rows, row, How::Remember) {
                    fell.put(at, fallen);
                }
            }
        }
    }

    /// Whether an address is known at once to be of an object that lies in no stack.
    #[inline(always)]
    fn is_of(&self, addr: u64, object: u32) -> bool {
        let in_top = addr.wrapping_sub(self.top_low) < self.top_bytes;
        let in_stack = in_top || self.stack.holds(addr);
        object != 0 && !in_stack && self.process.space.quick(addr) == object
    }
}

/// Whether no address lies in both: low ends, and bytes.
fn are_apart(one: (u64, u64), other: (u64, u64)) -> bool {
    let high = |(low, bytes): (u64, u64)| low.saturating_add(bytes);
    one.1 == 0 || other.1 == 0 || high(one) <= other.0 || high(other) <= one.0
}
