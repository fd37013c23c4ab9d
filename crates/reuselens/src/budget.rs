//! The memory that an analysis may take, and when it is looked at.

use reuselens_units::Bytes;

use crate::AnalysisOptions;
use crate::available::{address_space, available_memory};
use crate::counts::Counts;

/// The most memory that an analysis may take: what was asked for, or three quarters of what is
/// free. No more than half of the address space that is left, where that is limited: allocators,
/// stacks of threads and tables on their way to larger ones take their part of it.
pub(crate) fn memory_limit(options: &AnalysisOptions) -> Bytes {
    let free = || available_memory().map_or(Bytes(u64::MAX), |free| Bytes(free.get() / 4 * 3));
    let limit = options.memory_limit.unwrap_or_else(free);
    address_space().map_or(limit, |left| limit.min(Bytes(left.get() / 2)))
}

/// The memory that an analysis may take.
pub(crate) struct Budget {
    pub limit: Bytes,
    /// The number of steps ([`Counts::steps`]) at which the memory is looked at next.
    pub next_look: u64,
    /// What the source held when the memory was last looked at.
    pub of_source: Bytes,
    /// The cells that there were then.
    pub cells: usize,
    /// What is held beside the counts, when it was last looked at.
    pub others: Bytes,
}

/// The memory held is looked at once per so many accesses, which cannot add much.
pub(crate) const LOOK_AT_MEMORY_EVERY: u64 = 1 << 17;

/// The memory is looked at before its time where the source has taken so much more: a name may be
/// as long as a line.
pub(crate) const SOURCE_GROWTH: u64 = 1 << 20;

/// The same for cells: each takes the memory of many accesses, and all may be of other
/// instructions.
pub(crate) const NEW_CELLS: usize = 1 << 13;

/// Bytes that a cell of an instruction of its own takes in all tables together; measured.
pub(crate) const CELL: u64 = 900;

/// What a sample may take however little was allowed: it needs some tables to begin with, and is of
/// more use than a beginning of the trace.
const SMALLEST_SAMPLE: Bytes = Bytes(8 << 20);

impl Budget {
    /// Whether the look that is due is long due.
    pub fn is_late(&self, counts: &dyn Counts) -> bool {
        counts.steps() >= self.next_look + LOOK_AT_MEMORY_EVERY
    }

    /// The memory held, if it is more than it may be and nothing can be given up.
    pub fn look(&mut self, counts: &mut dyn Counts) -> Option<Bytes> {
        self.next_look = counts.steps() + LOOK_AT_MEMORY_EVERY;
        if counts.memory() + self.others <= self.limit {
            return None;
        }
        counts.settle();
        let memory = counts.memory() + self.others;
        (memory > self.limit && !self.shrink(counts)).then_some(memory)
    }

    /// Whether the way of counting can do with less.
    fn shrink(&self, counts: &mut dyn Counts) -> bool {
        let left = self.limit.max(SMALLEST_SAMPLE).get();
        let left = left.checked_sub(self.others.get());
        left.is_some_and(|left| counts.shrink(Bytes(left), self.limit))
    }
}
