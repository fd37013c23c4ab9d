//! Counting that ends where the system refuses memory, with what was counted before.

use reuselens_attribute::Columns;
use reuselens_hugepages::{OutOfMemory, catch};
use reuselens_units::Bytes;

use super::{CountMethod, Counted, Counts, DeviceFault, RunEvent};

/// A way of counting, which counts no more after the system has refused it a table.
pub(super) struct Guarded {
    method: Box<dyn CountMethod>,
    by_thread: bool,
    refused: Option<OutOfMemory>,
    fault: DeviceFault,
}

impl Guarded {
    /// With what a device refuses the way of counting, if it has one.
    pub(super) fn begin(method: Box<dyn CountMethod>, fault: DeviceFault) -> Box<dyn Counts> {
        Box::new(Guarded {
            by_thread: method.by_thread(),
            method,
            refused: None,
            fault,
        })
    }

    /// Does this with what counts, unless that has no memory.
    fn guard<T>(&mut self, work: impl FnOnce(&mut dyn CountMethod) -> T) -> Option<T> {
        if self.refused.is_some() {
            return None;
        }
        match catch(|| work(&mut *self.method)) {
            Ok(done) => Some(done),
            Err(refused) => {
                self.refused = Some(refused);
                None
            }
        }
    }
}

impl Counts for Guarded {
    fn event(&mut self, event: RunEvent) {
        if self.by_thread || matches!(event, RunEvent::Sampling(_)) {
            self.guard(|method| method.event(event));
        }
    }

    fn by_thread(&self) -> bool {
        self.by_thread
    }

    fn add(&mut self, columns: &Columns) {
        self.guard(|method| method.add(columns));
    }

    fn take(&mut self, columns: &mut Columns) {
        self.add(columns);
        columns.clear();
    }

    fn accesses(&self) -> u64 {
        self.method.accesses()
    }

    fn steps(&self) -> u64 {
        self.method.steps()
    }

    fn memory(&self) -> Bytes {
        self.method.memory()
    }

    fn refused(&self) -> Option<OutOfMemory> {
        self.refused
    }

    fn fault(&self) -> DeviceFault {
        self.fault.clone()
    }

    fn shrink(&mut self, limit: Bytes, whole: Bytes) -> bool {
        let shrunk = self.guard(|method| method.shrink(limit, whole));
        shrunk.unwrap_or(false)
    }

    /// Nothing goes on elsewhere.
    fn drain(&mut self) {}

    fn finish(self: Box<Self>) -> Counted {
        self.method.finish()
    }
}

#[cfg(test)]
mod tests {
    use reuselens_distance::CountingTree;
    use reuselens_hugepages::Huge;
    use reuselens_units::Distance;

    use super::*;
    use crate::counts::totals::TotalCounts;

    /// Counts well until it needs more memory than there is.
    struct Greedy(TotalCounts);

    impl CountMethod for Greedy {
        fn event(&mut self, _event: RunEvent) {}

        fn by_thread(&self) -> bool {
            false
        }

        fn add(&mut self, columns: &Columns) {
            if self.0.accesses() >= 3 {
                Huge::<u64>::new(1 << 58);
            }
            self.0.add(columns);
        }

        fn distances(&self) -> Option<&[Distance]> {
            None
        }

        fn accesses(&self) -> u64 {
            self.0.accesses()
        }

        fn steps(&self) -> u64 {
            self.0.steps()
        }

        fn memory(&self) -> Bytes {
            self.0.memory()
        }

        fn shrink(&mut self, _limit: Bytes, _whole: Bytes) -> bool {
            false
        }

        fn finish(self: Box<Self>) -> Counted {
            Box::new(self.0).finish()
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
            let counts = TotalCounts::new(Box::new(CountingTree::new()), "counting");
            Guarded::begin(Box::new(Greedy(counts)), DeviceFault::default())
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
