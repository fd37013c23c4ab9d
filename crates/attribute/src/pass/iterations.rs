//! Laps of a loop: the same rows again and again, each a step further each time.
//!
//! As long as each access stays in the object in which it is, the laps differ in their addresses
//! alone. How many they are is a division for each access; their items and cells are then written
//! together.

use std::ops::Range;

use reuselens_trace::Kind;

use super::Pass;
use super::repeat_cache::{Part, Patterns};
use super::rows::Rows;

/// Accesses that laps are put together to, about.
const TOGETHER: usize = 64;
/// Laps that are taken row by row at most before it is seen again whether they stay somewhere.
const ALONE: u32 = 512;
/// Accesses that are taken before the columns are looked at, about.
const AT_ONCE: u32 = 1 << 16;

/// Memory for laps: where the present one is, and some that are put together, with steps and cells.
#[derive(Debug, Default)]
pub(super) struct Laps {
    addrs: Vec<u64>,
    together: Vec<u64>,
    steps: Vec<u64>,
    cells: Vec<u32>,
    kinds: Vec<Kind>,
    sizes: Vec<u8>,
    pcs: Vec<u64>,
}

impl Pass<'_> {
    /// Takes so many laps of rows of the block, the first further by these steps than the rows are.
    pub(super) fn laps(
        &mut self,
        patterns: &mut Patterns,
        rows: Rows<'_>,
        (times, steps): (u32, &[u64]),
    ) {
        let accesses = patterns.fell.cells.len();
        let parts = patterns.parts(rows.kinds);
        let mut laps = std::mem::take(&mut patterns.laps);
        let mut addrs = std::mem::take(&mut laps.addrs);
        addrs.clear();
        addrs.extend_from_slice(rows.addrs);
        let (mut left, mut alone) = (times, (TOGETHER / steps.len().max(1)).max(1) as u32);
        while left > 0 {
            further(&mut addrs, steps, 1);
            let now = Rows {
                addrs: &addrs,
                ..rows
            };
            let mut taken = self.many_laps(patterns, &parts, now, (left, steps), &mut laps);
            if taken == 0 {
                // Where laps do not stay in one object, it is not looked at each of them whether
                // they do.
                taken = alone.min(left);
                alone = (2 * alone).min(ALONE);
                self.rows_of_laps(&mut laps, now, steps, taken);
            }
            left -= taken;
            further(&mut addrs, steps, u64::from(taken) - 1);
            if self.columns.len() >= self.piece {
                self.resolve();
                self.hand_over();
            }
        }
        laps.addrs = addrs;
        patterns.laps = laps;
        patterns.forget(parts, accesses);
    }

    /// Takes so many laps as the rows that they are, the first at the addresses of `rows`.
    #[inline(never)]
    fn rows_of_laps(&mut self, laps: &mut Laps, rows: Rows<'_>, steps: &[u64], many: u32) {
        let Laps {
            together,
            kinds,
            sizes,
            pcs,
            ..
        } = laps;
        let count = rows.addrs.len() * many as usize;
        repeat(kinds, rows.kinds, count);
        repeat(sizes, rows.sizes, count);
        repeat(pcs, rows.pcs, count);
        together.clear();
        for lap in 0..u64::from(many) {
            together.extend(lap_further(rows.addrs, steps, lap));
        }
        let rows = Rows {
            kinds,
            sizes,
            pcs,
            addrs: together,
        };
        self.take_apart(rows, 0..rows.addrs.len());
    }

    /// Takes as many laps as stay where they are, the first at the addresses of `rows`; how many.
    #[inline(always)]
    fn many_laps(
        &mut self,
        patterns: &mut Patterns,
        parts: &Range<usize>,
        rows: Rows<'_>,
        (left, steps): (u32, &[u64]),
        laps: &mut Laps,
    ) -> u32 {
        let Patterns {
            parts: all, fell, ..
        } = patterns;
        let [
            part @ Part {
                is_accesses: true, ..
            },
        ] = &mut all[parts.clone()]
        else {
            return 0;
        };
        part.comes(&self.when());
        if !part.is_known {
            self.know(part, fell, rows);
        }
        let at = part.at as usize;
        let known = at..at + steps.len();
        let most = (AT_ONCE / steps.len().max(1) as u32).max(2);
        let mut many = u64::from(left.min(most));
        let accesses = rows.addrs.iter().zip(steps).zip(rows.sizes);
        for (((addr, step), size), at) in accesses.zip(known.clone()) {
            let inside = stays(addr.wrapping_sub(fell.lows[at]), fell.bytes[at], *step);
            many = many.min(inside).min(self.in_one_item(*addr, *step, *size));
        }
        if many < 2 {
            // It may be elsewhere when it is looked at again.
            part.is_known = false;
            return 0;
        }
        self.push_laps(laps, &fell.cells[known], rows.addrs, steps, many as usize);
        many as u32
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
        laps: &mut Laps,
        cells: &[u32],
        addrs: &[u64],
        steps: &[u64],
        many: usize,
    ) {
        let (fold, shift, one) = (self.fold, self.granularity.shift(), addrs.len());
        let times = (TOGETHER / one).clamp(1, many);
        laps.together.clear();
        laps.steps.clear();
        laps.cells.clear();
        for lap in 0..times as u64 {
            laps.together.extend(lap_further(addrs, steps, lap));
            laps.steps
                .extend(steps.iter().map(|step| step.wrapping_mul(times as u64)));
            laps.cells.extend_from_slice(cells);
        }
        let mut left = many * one;
        loop {
            let count = left.min(laps.together.len());
            let items = laps.together[..count].iter();
            self.columns.extend_told(
                items.map(|addr| (addr ^ fold) >> shift),
                &laps.cells[..count],
            );
            left -= count;
            if left == 0 {
                break;
            }
            further(&mut laps.together, &laps.steps, 1);
        }
        self.shared.references += (many * one) as u64;
    }
}

/// Writes `of` again and again, up to `count` elements.
fn repeat<T: Copy>(into: &mut Vec<T>, of: &[T], count: usize) {
    into.clear();
    into.extend_from_slice(of);
    while into.len() < count {
        // What is there by then repeats too: twice as much each time.
        into.extend_from_within(..into.len().min(count - into.len()));
    }
}

/// The addresses so many laps further on.
#[inline(always)]
fn lap_further(addrs: &[u64], steps: &[u64], laps: u64) -> impl Iterator<Item = u64> {
    let all = addrs.iter().zip(steps);
    all.map(move |(addr, step)| addr.wrapping_add(step.wrapping_mul(laps)))
}

/// Goes on by so many steps.
#[inline(always)]
fn further(addrs: &mut [u64], steps: &[u64], times: u64) {
    for (addr, step) in addrs.iter_mut().zip(steps) {
        *addr = addr.wrapping_add(step.wrapping_mul(times));
    }
}

/// How often an access that is `offset` bytes into some `bytes` comes before it leaves them, if it
/// goes on by `step`.
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
