//! The fast path for loops: iterations of the same rows. Each row has a stride, the difference
//! between its addresses in two successive iterations.
//!
//! Without this path, the rows would run once for each iteration. As long as each access begins in
//! its region and is in one item, the iterations differ in their addresses alone. A division for
//! each access says for how many iterations that holds; their items and cells are then appended
//! about 64 at a time. Gain: see `repeats.rs`.

use std::ops::Range;

use reuselens_trace::Kind;

use super::Pass;
use super::repeat_cache::{RepeatCache, TemplatePart};
use super::rows::Rows;

/// Accesses to which short iterations are unrolled, about: enough that appending them is copying.
const UNROLLED: usize = 64;
/// Most iterations taken as rows before regions are compared again.
const MAX_AS_ROWS: u32 = 512;
/// Accesses appended before the columns may be sent, about.
const MAX_APPENDED: u32 = 1 << 16;

/// Memory for the present iteration, and for several unrolled, with their strides and cells.
#[derive(Debug, Default)]
pub(super) struct IterationBuffer {
    addrs: Vec<u64>,
    unrolled: Vec<u64>,
    strides: Vec<u64>,
    cells: Vec<u32>,
    kinds: Vec<Kind>,
    sizes: Vec<u8>,
    pcs: Vec<u64>,
}

impl Pass<'_> {
    /// Takes `times` iterations of rows of the block. `rows` themselves are the iteration before
    /// the first of them, and were taken already: see [`RepeatOf::Loop`].
    ///
    /// [`RepeatOf::Loop`]: reuselens_trace::RepeatOf::Loop
    #[inline(always)]
    pub(super) fn run_iterations(
        &mut self,
        cache: &mut RepeatCache,
        rows: Rows<'_>,
        times: u32,
        strides: &[u64],
    ) {
        let accesses = cache.regions.cells.len();
        let parts = cache.add_parts(rows.kinds);
        let mut buffer = std::mem::take(&mut self.repeats.iterations);
        let mut addrs = std::mem::take(&mut buffer.addrs);
        addrs.clear();
        addrs.extend_from_slice(rows.addrs);
        let mut left = times;
        // Iterations to take as rows the next time that `take_iterations` takes none.
        let mut as_rows = (UNROLLED / strides.len().max(1)).max(1) as u32;
        while left > 0 {
            // From the last iteration taken to the next one, the first of this round.
            advance(&mut addrs, strides, 1);
            let present = Rows {
                addrs: &addrs,
                ..rows
            };
            let mut taken =
                self.take_iterations(cache, &parts, present, (left, strides), &mut buffer);
            if taken == 0 {
                // In this iteration or the next, an access is outside its region or may reach into
                // a second item; or only one iteration is left; or a row is no plain access.
                // Comparing regions again at each iteration would cost more than it saves, so the
                // number of iterations until then doubles.
                taken = as_rows.min(left);
                as_rows = (2 * as_rows).min(MAX_AS_ROWS);
                self.take_iterations_as_rows(&mut buffer, present, strides, taken);
            }
            left -= taken;
            // From the first iteration of this round to its last.
            advance(&mut addrs, strides, u64::from(taken) - 1);
            if self.columns.len() >= self.piece {
                self.resolve_pending();
                self.send_columns();
            }
        }
        buffer.addrs = addrs;
        self.repeats.iterations = buffer;
        cache.remove_parts(parts, accesses);
    }

    /// Takes `count` iterations row by row, the first at the addresses of `rows`.
    #[inline(never)]
    fn take_iterations_as_rows(
        &mut self,
        buffer: &mut IterationBuffer,
        rows: Rows<'_>,
        strides: &[u64],
        count: u32,
    ) {
        let IterationBuffer {
            unrolled,
            kinds,
            sizes,
            pcs,
            ..
        } = buffer;
        let len = rows.addrs.len() * count as usize;
        repeat_to(kinds, rows.kinds, len);
        repeat_to(sizes, rows.sizes, len);
        repeat_to(pcs, rows.pcs, len);
        unrolled.clear();
        for iteration in 0..u64::from(count) {
            unrolled.extend(advanced(rows.addrs, strides, iteration));
        }
        let rows = Rows {
            kinds,
            sizes,
            pcs,
            addrs: unrolled,
        };
        self.take_uncached(rows, 0..rows.addrs.len());
    }

    /// Takes as many of `left` iterations as surely have each access in its region and in one item,
    /// the first at the addresses of `rows`. Returns how many: 0 if there are fewer than two, or if
    /// a row is no plain access; else at most about [`MAX_APPENDED`] accesses.
    #[inline(always)]
    fn take_iterations(
        &mut self,
        cache: &mut RepeatCache,
        parts: &Range<usize>,
        rows: Rows<'_>,
        (left, strides): (u32, &[u64]),
        buffer: &mut IterationBuffer,
    ) -> u32 {
        let RepeatCache {
            parts: all,
            regions,
            ..
        } = cache;
        let [
            part @ TemplatePart {
                is_accesses: true, ..
            },
        ] = &mut all[parts.clone()]
        else {
            return 0;
        };
        // Drops the regions if what they depend on changed. `begin` also returns whether the cache
        // pays, which is not needed: `run_iterations` tries less often where it does not.
        part.begin(&self.generation());
        if !part.is_filled {
            self.fill_regions(part, regions, rows);
        }
        let at = part.at as usize;
        let cached = at..at + strides.len();
        let most = (MAX_APPENDED / strides.len().max(1) as u32).max(2);
        let mut count = u64::from(left.min(most));
        let accesses = rows.addrs.iter().zip(strides).zip(rows.sizes);
        for (((addr, stride), size), at) in accesses.zip(cached.clone()) {
            // An access counts for the object of its first byte, wherever it ends.
            let offset = addr.wrapping_sub(regions.lows[at]);
            let inside = iterations_inside(offset, regions.bytes[at], *stride);
            count = count.min(inside);
            count = count.min(self.iterations_in_one_item(*addr, *stride, *size));
        }
        if count < 2 {
            // The next attempt begins at other addresses, which may be in other regions.
            part.is_filled = false;
            return 0;
        }
        let cells = &regions.cells[cached];
        self.push_iterations(buffer, cells, rows.addrs, strides, count as usize);
        count as u32
    }

    /// For how many iterations, the first at `addr`, an access is in one item each. The number is
    /// never too large. It may be too small where the stride is negative or longer than an item.
    #[inline(always)]
    fn iterations_in_one_item(&self, addr: u64, stride: u64, size: u8) -> u64 {
        let (size, item) = (u64::from(size.max(1)), self.granularity.bytes());
        let offset = addr & (item - 1);
        let aligned = size.is_power_of_two() && size <= item && (addr | stride) & (size - 1) == 0;
        if aligned {
            return u64::MAX;
        }
        if offset + size > item {
            return 0;
        }
        match stride & (item - 1) {
            // The offset in the item stays the same.
            0 => u64::MAX,
            // Until the first access that reaches beyond the present item.
            _ if stride < item => (item - size - offset) / stride + 1,
            // A negative stride, which is large without its sign, or one longer than an item: this
            // iteration alone.
            _ => 1,
        }
    }

    /// Appends `count` iterations of at least one access, the first at these addresses.
    #[inline(always)]
    fn push_iterations(
        &mut self,
        buffer: &mut IterationBuffer,
        cells: &[u32],
        addrs: &[u64],
        strides: &[u64],
        count: usize,
    ) {
        let (process_bits, shift) = (self.process_bits, self.granularity.shift());
        // Not 0: every part of plain accesses has one.
        let accesses = addrs.len();
        // Unrolled to about `UNROLLED` accesses, which then advance together.
        let times = (UNROLLED / accesses).clamp(1, count);
        buffer.unrolled.clear();
        buffer.strides.clear();
        buffer.cells.clear();
        for iteration in 0..times as u64 {
            let unrolled = advanced(addrs, strides, iteration);
            buffer.unrolled.extend(unrolled);
            let strides = strides.iter();
            buffer
                .strides
                .extend(strides.map(|stride| stride.wrapping_mul(times as u64)));
            buffer.cells.extend_from_slice(cells);
        }
        let mut left = count * accesses;
        loop {
            // The last round may be a part of the unrolled iterations.
            let round = left.min(buffer.unrolled.len());
            let addrs = buffer.unrolled[..round].iter();
            self.columns.extend_with_cells(
                addrs.map(|addr| (addr ^ process_bits) >> shift),
                &buffer.cells[..round],
            );
            left -= round;
            if left == 0 {
                break;
            }
            advance(&mut buffer.unrolled, &buffer.strides, 1);
        }
        self.shared.references += (count * accesses) as u64;
    }
}

/// Fills `into` with `of` over and over, up to `len` elements.
fn repeat_to<T: Copy>(into: &mut Vec<T>, of: &[T], len: usize) {
    into.clear();
    into.extend_from_slice(of);
    while into.len() < len {
        // Copies all elements so far, so the length doubles.
        into.extend_from_within(..into.len().min(len - into.len()));
    }
}

/// The addresses of a later iteration.
#[inline(always)]
fn advanced(addrs: &[u64], strides: &[u64], iterations: u64) -> impl Iterator<Item = u64> {
    let all = addrs.iter().zip(strides);
    all.map(move |(addr, stride)| addr.wrapping_add(stride.wrapping_mul(iterations)))
}

/// Advances addresses by some iterations.
#[inline(always)]
fn advance(addrs: &mut [u64], strides: &[u64], iterations: u64) {
    for (addr, stride) in addrs.iter_mut().zip(strides) {
        *addr = addr.wrapping_add(stride.wrapping_mul(iterations));
    }
}

/// For how many iterations an access begins inside a region of `bytes` bytes, if the first one
/// begins `offset` bytes into it.
#[inline(always)]
fn iterations_inside(offset: u64, bytes: u64, stride: u64) -> u64 {
    if offset >= bytes {
        return 0;
    }
    match stride as i64 {
        0 => u64::MAX,
        stride if stride > 0 => (bytes - 1 - offset) / stride as u64 + 1,
        stride => offset / stride.unsigned_abs() + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_inside_ends_at_both_borders_of_the_region() {
        let cases = [(0, 64, 8), (3, 64, 7), (63, 64, 1), (0, 1, 5), (9, 64, 64)];
        for (offset, bytes, stride) in cases {
            let mut at = offset;
            let mut times = 0;
            while at < bytes {
                times += 1;
                at += stride;
            }
            assert_eq!(iterations_inside(offset, bytes, stride), times);
            let back = (0..).take_while(|times| times * stride <= offset).count() as u64;
            let down = stride.wrapping_neg();
            assert_eq!(iterations_inside(offset, bytes, down), back);
        }
        assert_eq!(iterations_inside(5, 9, 0), u64::MAX);
        assert_eq!(iterations_inside(9, 9, 0), 0);
    }
}
