//! The part of the counting engine that no engine of its kind can do without.

use super::compare::Compare;
use super::direct::BATCH;
use super::line::NEVER;
use super::sparse::Sparse;
use super::table::Table;
use crate::dispatch;

/// Nothing but the look-up of last accesses, with the table, the batches and the prefetching of
/// [`CountingTree`](crate::CountingTree): not an engine, but the speed that one can reach at most. For
/// benchmarks, which give the speed of an engine as a share of this.
pub struct LookupBound {
    table: Sparse,
    step: u32,
    reuse_times: u64,
}

impl LookupBound {
    /// A table that has seen nothing.
    pub fn new() -> Self {
        LookupBound {
            table: Sparse::new(),
            step: 0,
            reuse_times: 0,
        }
    }

    /// Looks up the next items of the stream.
    pub fn process(&mut self, items: &[u64]) {
        dispatch::process_bound(self, items);
    }

    /// The sum of all reuse times: proof that the work was done.
    pub fn reuse_times(&self) -> u64 {
        self.reuse_times
    }

    #[inline(always)]
    pub(crate) fn process_here(&mut self, compare: impl Compare, items: &[u64]) {
        let (mut current, mut next) = ([0; BATCH], [0; BATCH]);
        let mut batches = items.chunks(BATCH);
        let mut batch = batches.next().unwrap_or_default();
        locate(batch, &mut current, &mut self.table);
        while !batch.is_empty() {
            if self.table.make_room(BATCH) {
                locate(batch, &mut current, &mut self.table);
            }
            let following = batches.next().unwrap_or_default();
            locate(following, &mut next, &mut self.table);
            for (&item, &home) in batch.iter().zip(&current) {
                // 32 bits that come round: enough to keep the look-up busy.
                self.step = self.step.wrapping_add(1).max(NEVER + 1);
                let previous = self.table.replace(compare, item, home, self.step);
                let time = self.step.wrapping_sub(previous);
                self.reuse_times = self.reuse_times.wrapping_add(time.into());
            }
            std::mem::swap(&mut current, &mut next);
            batch = following;
        }
    }
}

impl Default for LookupBound {
    fn default() -> Self {
        Self::new()
    }
}

/// Finds where the table may have the items and asks for that memory.
#[inline(always)]
fn locate(items: &[u64], homes: &mut [usize; BATCH], table: &mut Sparse) {
    for (&item, home) in items.iter().zip(homes) {
        *home = table.home(item);
        table.prefetch(*home);
    }
}
