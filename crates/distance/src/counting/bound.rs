//! [`LookupBound`]: only the table look-ups of the counting tree. Benchmarks give the speed of an
//! engine as a share of its speed.

use reuselens_simd::entry_point;

#[cfg(target_arch = "x86_64")]
use super::compare::{Avx2, Avx512};
use super::compare::{Compare, Portable};
use super::direct::{BATCH, LookupBatch, ask_ahead};
use super::line::NEVER;
use super::sparse::Sparse;
use super::table::Table;
use crate::Simd;

/// Nothing but the look-up of last accesses, with the code, the batches and the order of asking for
/// memory of [`CountingTree`](crate::CountingTree): not an engine, but the speed that one can reach
/// at most. For benchmarks, which give the speed of an engine as a share of this.
pub struct LookupBound {
    table: Sparse,
    step: u32,
    reuse_times: u64,
    simd: Simd,
}

entry_point! {
    /// [`LookupBound::process_here`] with the instructions of `level`.
    fn process_bound(level, bound: &mut LookupBound, items: &[u64]) {
        Icelake(proof) => bound.process_here(Avx512::with(proof), items),
        V3(proof) => bound.process_here(Avx2::with(proof), items),
        _ => bound.process_here(Portable, items),
    }
}

impl LookupBound {
    /// A table that has seen nothing.
    pub fn new() -> Self {
        LookupBound {
            table: Sparse::new(),
            step: 0,
            reuse_times: 0,
            simd: Simd::Avx512,
        }
    }

    /// The same with these instructions at most.
    #[must_use]
    pub fn with_simd(self, simd: Simd) -> Self {
        LookupBound { simd, ..self }
    }

    /// Looks up the next items of the stream.
    pub fn process(&mut self, items: &[u64]) {
        process_bound(self.simd.level(), self, items);
    }

    /// The sum of all reuse times, counted from the beginning of a batch: proof that the work was
    /// done.
    pub fn reuse_times(&self) -> u64 {
        self.reuse_times
    }

    #[inline(always)]
    pub(crate) fn process_here(&mut self, compare: impl Compare, items: &[u64]) {
        let (mut current, mut next) = (LookupBatch::EMPTY, LookupBatch::EMPTY);
        let table = &mut self.table;
        let (mut batch, mut rest) = items.split_at(BATCH.min(items.len()));
        table.make_room(2 * BATCH);
        current.locate_now(table, batch);
        while !batch.is_empty() {
            if table.make_room(2 * BATCH) {
                current.locate_now(table, batch);
            }
            let (following, after) = rest.split_at(BATCH.min(rest.len()));
            ask_ahead(after);
            // 32 bits that come round, past the mark of what was never met: enough to keep the
            // look-up busy.
            let now = self.step.max(NEVER + 1);
            let now = if now > u32::MAX - BATCH as u32 {
                NEVER + 1
            } else {
                now
            };
            current.look_up(compare, table, now, batch, |_| {});
            next.locate(table, following);
            current.look_further(compare, table, now, batch, |_| {});
            let mut left = batch.len();
            let mut sum = 0_u64;
            for found in current.found(&next, table) {
                for &previous in &found[..left.min(found.len())] {
                    sum = sum.wrapping_add(now.wrapping_sub(previous).into());
                }
                left -= left.min(found.len());
            }
            self.reuse_times = self.reuse_times.wrapping_add(sum);
            self.step = now + batch.len() as u32;
            std::mem::swap(&mut current, &mut next);
            (batch, rest) = (following, after);
        }
    }
}

impl Default for LookupBound {
    fn default() -> Self {
        Self::new()
    }
}
