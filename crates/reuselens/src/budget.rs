//! The memory that an analysis may take, and when it is looked at.

use std::num::NonZeroUsize;

use reuselens_units::Bytes;

use crate::AnalysisOptions;
use crate::available::{address_space, available_within};
use crate::counts::Counts;

/// Address space below which there is one thread: the stack of another and its share of the
/// allocator take more than it is worth, and the standard library panics in a thread that has room
/// for the one and not for the other.
const LITTLE: Bytes = Bytes(64 << 20);

impl AnalysisOptions {
    /// These options with the memory and the threads that the system allows now. An analysis begins
    /// with that, since files of the system are read for it.
    ///
    /// The memory is what was asked for, or three quarters of what is free, and no more than half
    /// of the address space that is left, where that is limited: allocators, stacks of threads and
    /// tables on their way to larger ones take their part of it.
    pub(crate) fn resolved(&self) -> AnalysisOptions {
        let left = address_space();
        let free =
            || available_within(left).map_or(Bytes(u64::MAX), |free| Bytes(free.get() / 4 * 3));
        let limit = self.memory_limit.unwrap_or_else(free);
        let limit = left.map_or(limit, |left| limit.min(Bytes(left.get() / 2)));
        let threads = if left.is_some_and(|left| left < LITTLE) {
            NonZeroUsize::MIN
        } else {
            self.threads()
        };
        AnalysisOptions {
            memory_limit: Some(limit),
            threads: Some(threads),
            ..self.clone()
        }
    }

    /// The most memory that the analysis may take: of options that are [resolved](Self::resolved).
    pub(crate) fn memory_limit(&self) -> Bytes {
        self.memory_limit.unwrap_or(Bytes(u64::MAX))
    }

    /// The most memory for what is read before it is needed: for decoded blocks, and as much for
    /// debug information. That may take time from the analysis, and never room that its tables
    /// need: where there is little, a block is decoded when it is taken, and a name is looked up
    /// when the tables are gone.
    pub(crate) fn memory_ahead(&self) -> Bytes {
        Bytes(self.memory_limit().get() / 8)
    }

    /// The threads that the analysis may work on.
    pub(crate) fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(reuselens_workers::processors)
    }
}

/// The memory held is looked at once per so many accesses, which cannot add much.
pub(crate) const LOOK_AT_MEMORY_EVERY: u64 = 1 << 17;

/// The memory is looked at before its time where the source has taken so much more: a name may be
/// as long as a line.
const SOURCE_GROWTH: u64 = 1 << 20;

/// The same for cells: each takes the memory of many accesses, and all may be of other
/// instructions.
const NEW_CELLS: usize = 1 << 13;

/// Bytes that a cell of an instruction of its own takes in all tables together; measured.
const CELL: u64 = 900;

/// What a sample may take however little was allowed: it needs some tables to begin with, and is of
/// more use than a beginning of the trace.
const SMALLEST_SAMPLE: Bytes = Bytes(8 << 20);

/// When the memory of an analysis is looked at next, and what there was at the last look.
pub(crate) struct Looks {
    /// The number of steps (accesses, and program threads by what they cost) of the next look.
    next: u64,
    of_source: Bytes,
    cells: usize,
}

impl Looks {
    /// Nothing was looked at yet.
    pub fn new() -> Looks {
        Looks {
            next: LOOK_AT_MEMORY_EVERY,
            of_source: Bytes(0),
            cells: 0,
        }
    }

    /// Whether it is time for a look after `steps` steps.
    pub fn is_due(&self, steps: u64) -> bool {
        steps >= self.next
    }

    /// Whether a look was due [`LOOK_AT_MEMORY_EVERY`] steps ago. That is asked within a block: a
    /// row is an access of up to 2³⁶ bytes, so one block may take many times the steps between two
    /// looks.
    pub fn is_late(&self, steps: u64) -> bool {
        steps >= self.next + LOOK_AT_MEMORY_EVERY
    }

    /// The bytes of the new cells that may come before the next look, if it is time for one: after
    /// `steps` steps, or because the source, which holds `of_source`, or the number of `cells` has
    /// grown.
    pub fn ahead(&mut self, steps: u64, of_source: Bytes, cells: usize) -> Option<Bytes> {
        let grown = of_source.get() >= self.of_source.get() + SOURCE_GROWTH
            || cells >= self.cells + NEW_CELLS;
        if !self.is_due(steps) && !grown {
            return None;
        }
        let ahead = Bytes((cells - self.cells) as u64 * CELL);
        (self.of_source, self.cells) = (of_source, cells);
        self.looked(steps);
        Some(ahead)
    }

    /// Notes a look after `steps` steps.
    pub fn looked(&mut self, steps: u64) {
        self.next = steps + LOOK_AT_MEMORY_EVERY;
    }
}

/// The memory that an analysis may take.
pub(crate) struct Budget {
    pub limit: Bytes,
    pub looks: Looks,
    /// What is held beside the counts, when it was last looked at.
    pub others: Bytes,
}

impl Budget {
    /// The memory held, if it is more than it may be and nothing can be given up.
    pub fn look(&mut self, counts: &mut dyn Counts) -> Option<Bytes> {
        self.looks.looked(counts.steps());
        if counts.memory() + self.others <= self.limit {
            return None;
        }
        counts.drain();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::available::tests::LOOKS;

    #[test]
    fn limits_of_the_system_are_read_once_for_an_analysis() {
        let analyze = |options: &AnalysisOptions| {
            let text = "a b a c b a\n".repeat(1000);
            let input = reuselens_io::Input::new(std::io::Cursor::new(text), "t.txt");
            let mut source = reuselens_formats::read(input, Some("text")).unwrap();
            LOOKS.set(0);
            crate::analyze(&mut *source, vec![], options, &mut |_| {}).unwrap();
            LOOKS.get()
        };
        for engine in ["auto", "counting", "hp-rda"] {
            let options = AnalysisOptions {
                engine: engine.to_owned(),
                ..AnalysisOptions::default()
            };
            assert_eq!(analyze(&options), 1, "{engine}");
        }
    }
}
