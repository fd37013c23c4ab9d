//! Counting that ends where the system refuses memory, with what was counted before.

use reuselens_attribute::Columns;
use reuselens_hugepages::{OutOfMemory, catch};
use reuselens_trace::{ProcessId, ThreadId};
use reuselens_units::{Bytes, Distance};

use super::{Counted, Counts};

/// Another way of counting, which counts no more after the system has refused it a table.
pub(super) struct Guarded {
    inner: Box<dyn Counts>,
    refused: Option<OutOfMemory>,
}

impl Guarded {
    pub(super) fn begin(inner: Box<dyn Counts>) -> Box<dyn Counts> {
        Box::new(Guarded {
            inner,
            refused: None,
        })
    }

    /// Does this with what counts, unless that has no memory.
    fn guard<T>(&mut self, work: impl FnOnce(&mut dyn Counts) -> T) -> Option<T> {
        if self.refused.is_some() {
            return None;
        }
        match catch(|| work(&mut *self.inner)) {
            Ok(done) => Some(done),
            Err(refused) => {
                self.refused = Some(refused);
                None
            }
        }
    }
}

impl Counts for Guarded {
    fn thread(&mut self, process: ProcessId, thread: ThreadId) {
        self.guard(|inner| inner.thread(process, thread));
    }

    fn thread_ended(&mut self, thread: ThreadId) {
        self.guard(|inner| inner.thread_ended(thread));
    }

    fn by_thread(&self) -> bool {
        self.inner.by_thread()
    }

    fn add(&mut self, columns: &Columns) {
        self.guard(|inner| inner.add(columns));
    }

    fn take(&mut self, columns: &mut Columns) {
        self.guard(|inner| inner.take(columns));
        columns.clear();
    }

    fn accesses(&self) -> u64 {
        self.inner.accesses()
    }

    fn steps(&self) -> u64 {
        self.inner.steps()
    }

    fn memory(&self) -> Bytes {
        self.inner.memory()
    }

    fn refused(&self) -> Option<OutOfMemory> {
        self.refused.or_else(|| self.inner.refused())
    }

    fn distances(&self) -> Option<&[Distance]> {
        self.inner.distances()
    }

    fn shrink(&mut self, limit: Bytes, whole: Bytes) -> bool {
        let shrunk = self.guard(|inner| inner.shrink(limit, whole));
        shrunk.unwrap_or(false)
    }

    fn drain(&mut self) {
        self.guard(|inner| inner.drain());
    }

    fn finish(self: Box<Self>) -> Counted {
        self.inner.finish()
    }
}

#[cfg(test)]
mod tests {
    use reuselens_hugepages::Huge;

    use super::*;
    use crate::AnalysisOptions;

    /// Counts well until it needs more memory than there is.
    struct Greedy(Box<dyn Counts>);

    impl Counts for Greedy {
        fn add(&mut self, columns: &Columns) {
            if self.0.accesses() >= 3 {
                Huge::<u64>::new(1 << 58);
            }
            self.0.add(columns);
        }

        fn accesses(&self) -> u64 {
            self.0.accesses()
        }

        fn memory(&self) -> Bytes {
            self.0.memory()
        }

        fn finish(self: Box<Self>) -> Counted {
            self.0.finish()
        }
    }

    #[test]
    fn what_was_counted_before_memory_ended_is_kept() {
        let columns = Columns {
            items: vec![1, 2, 1],
            cells: vec![0; 3],
            ..Columns::default()
        };
        let greedy = || {
            let options = AnalysisOptions::default();
            Guarded::begin(Box::new(Greedy(crate::counts::counts(&options).unwrap())))
        };
        for mut counts in [
            greedy(),
            crate::counts::background::BackgroundCounts::begin(greedy()),
        ] {
            for _ in 0..3 {
                counts.add(&columns);
                counts.drain();
            }
            let refused = counts.refused().map(|refused| refused.bytes);
            assert_eq!(refused, Some(8 << 58));
            let counted = counts.finish();
            assert_eq!(counted.histogram.accesses(), 3);
            assert_eq!(counted.histogram.cold(), 2);
        }
    }
}
