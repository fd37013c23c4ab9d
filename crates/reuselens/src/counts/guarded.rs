//! Counting that ends where the system refuses memory, with what was counted before.

use reuselens_attribute::Columns;
use reuselens_hugepages::{OutOfMemory, catch};
use reuselens_trace::{ProcessId, Sampling, ThreadId};
use reuselens_units::Bytes;

use super::bursts::Bursts;
use super::private::Private;
use super::{CountMethod, Counted, Counts, DeviceFault, ThreadMethod};

/// A way of counting, by what it must know of program threads and where it works.
pub(super) enum AnyMethod {
    /// All program threads together.
    Together(Box<dyn CountMethod>),
    /// By program thread.
    ByThread(Box<dyn ThreadMethod>),
    /// By program thread, on threads of its own.
    Private(Box<Private>),
    /// Of a run that is sampled in bursts.
    Bursts(Box<Bursts>),
}

impl AnyMethod {
    fn counts(&self) -> &dyn CountMethod {
        match self {
            AnyMethod::Together(method) => &**method,
            AnyMethod::ByThread(method) => &**method,
            AnyMethod::Private(method) => &**method,
            AnyMethod::Bursts(method) => &**method,
        }
    }

    fn counts_mut(&mut self) -> &mut dyn CountMethod {
        match self {
            AnyMethod::Together(method) => &mut **method,
            AnyMethod::ByThread(method) => &mut **method,
            AnyMethod::Private(method) => &mut **method,
            AnyMethod::Bursts(method) => &mut **method,
        }
    }

    /// The way of counting, if it must know which program thread an access is of.
    fn by_thread(&mut self) -> Option<&mut dyn ThreadMethod> {
        match self {
            AnyMethod::Together(_) | AnyMethod::Bursts(_) => None,
            AnyMethod::ByThread(method) => Some(&mut **method),
            AnyMethod::Private(method) => Some(&mut **method),
        }
    }
}

/// A way of counting, which counts no more after the system has refused it a table.
pub(super) struct Guarded {
    method: AnyMethod,
    refused: Option<OutOfMemory>,
    fault: DeviceFault,
}

impl Guarded {
    pub(super) fn begin(method: AnyMethod) -> Box<dyn Counts> {
        Self::begin_on_device(method, DeviceFault::default())
    }

    /// With what a device refuses the way of counting, if it has one.
    pub(super) fn begin_on_device(method: AnyMethod, fault: DeviceFault) -> Box<dyn Counts> {
        Box::new(Guarded {
            method,
            refused: None,
            fault,
        })
    }

    /// Does this with what counts, unless that has no memory.
    fn guard<T>(&mut self, work: impl FnOnce(&mut AnyMethod) -> T) -> Option<T> {
        if self.refused.is_some() {
            return None;
        }
        match catch(|| work(&mut self.method)) {
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
        self.guard(|method| {
            if let Some(method) = method.by_thread() {
                method.thread(process, thread);
            }
        });
    }

    fn thread_ended(&mut self, thread: ThreadId) {
        self.guard(|method| {
            if let Some(method) = method.by_thread() {
                method.thread_ended(thread);
            }
        });
    }

    fn sampling(&mut self, sampling: Sampling) {
        self.guard(|method| {
            if let AnyMethod::Bursts(method) = method {
                method.sampling(sampling);
            }
        });
    }

    fn by_thread(&self) -> bool {
        !matches!(self.method, AnyMethod::Together(_) | AnyMethod::Bursts(_))
    }

    fn add(&mut self, columns: &Columns) {
        self.guard(|method| method.counts_mut().add(columns));
    }

    fn take(&mut self, columns: &mut Columns) {
        self.add(columns);
        columns.clear();
    }

    fn accesses(&self) -> u64 {
        self.method.counts().accesses()
    }

    fn steps(&self) -> u64 {
        match &self.method {
            AnyMethod::Together(method) => method.accesses(),
            AnyMethod::ByThread(method) => method.steps(),
            AnyMethod::Private(method) => method.steps(),
            AnyMethod::Bursts(method) => method.accesses(),
        }
    }

    fn memory(&self) -> Bytes {
        self.method.counts().memory()
    }

    fn refused(&self) -> Option<OutOfMemory> {
        let of_method = match &self.method {
            AnyMethod::Private(method) => method.refused(),
            _ => None,
        };
        self.refused.or(of_method)
    }

    fn fault(&self) -> DeviceFault {
        self.fault.clone()
    }

    fn shrink(&mut self, limit: Bytes, whole: Bytes) -> bool {
        let shrunk = self.guard(|method| method.counts_mut().shrink(limit, whole));
        shrunk.unwrap_or(false)
    }

    fn drain(&mut self) {
        self.guard(|method| {
            if let AnyMethod::Private(method) = method {
                method.drain();
            }
        });
    }

    fn finish(self: Box<Self>) -> Counted {
        match self.method {
            AnyMethod::Together(method) => method.finish(),
            AnyMethod::ByThread(method) => method.finish(),
            AnyMethod::Private(method) => method.finish(),
            AnyMethod::Bursts(method) => method.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use reuselens_distance::CountingTree;
    use reuselens_hugepages::Huge;

    use super::*;
    use crate::counts::totals::TotalCounts;

    /// Counts well until it needs more memory than there is.
    struct Greedy(TotalCounts);

    impl CountMethod for Greedy {
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
            Guarded::begin(AnyMethod::Together(Box::new(Greedy(counts))))
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
