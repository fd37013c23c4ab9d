//! A way of counting, and what is counted beside its distances.

use reuselens_attribute::Columns;
use reuselens_units::{Bytes, Distance};

use super::{CountMethod, Counted, Observer, RunEvent};

/// A way of counting with observers, which get each piece after it.
pub(super) struct Observed {
    method: Box<dyn CountMethod>,
    observers: Vec<Box<dyn Observer>>,
}

impl Observed {
    /// The way of counting alone if there are no observers.
    pub(super) fn with(
        method: Box<dyn CountMethod>,
        observers: Vec<Box<dyn Observer>>,
    ) -> Box<dyn CountMethod> {
        if observers.is_empty() {
            return method;
        }
        Box::new(Observed { method, observers })
    }
}

impl CountMethod for Observed {
    fn event(&mut self, event: RunEvent) {
        self.method.event(event);
        for observer in &mut self.observers {
            observer.event(event);
        }
    }

    fn by_thread(&self) -> bool {
        self.method.by_thread() || self.observers.iter().any(|it| it.by_thread())
    }

    fn add(&mut self, columns: &Columns) {
        self.method.add(columns);
        let distances = self.method.distances().unwrap_or_default();
        for observer in &mut self.observers {
            observer.add(columns, distances);
        }
    }

    fn distances(&self) -> Option<&[Distance]> {
        self.method.distances()
    }

    fn accesses(&self) -> u64 {
        self.method.accesses()
    }

    fn steps(&self) -> u64 {
        self.method.steps()
    }

    fn memory(&self) -> Bytes {
        let observers = self.observers.iter().map(|it| it.memory());
        observers.fold(self.method.memory(), |sum, memory| sum + memory)
    }

    /// Observers first: they give up the finest of a breakdown, the method exact distances.
    fn shrink(&mut self, limit: Bytes, whole: Bytes) -> bool {
        let all = self.memory().get();
        for observer in &mut self.observers {
            // What the others hold is not given up: this one may have the rest.
            let others = all - observer.memory().get();
            if observer.shrink(Bytes(limit.get().saturating_sub(others))) {
                return true;
            }
        }
        let own = self.memory().get() - self.method.memory().get();
        let left = limit.get().checked_sub(own);
        left.is_some_and(|left| self.method.shrink(Bytes(left), whole))
    }

    fn finish(self: Box<Self>) -> Counted {
        let mut counted = self.method.finish();
        for observer in self.observers {
            observer.finish(&mut counted);
        }
        counted
    }
}

#[cfg(test)]
mod tests {
    use reuselens_distance::CountingTree;

    use super::*;
    use crate::counts::exact::Exact;

    /// Holds so many bytes, and can do with `least`.
    struct Holds {
        bytes: u64,
        least: u64,
    }

    impl Observer for Holds {
        fn event(&mut self, _event: RunEvent) {}

        fn by_thread(&self) -> bool {
            false
        }

        fn add(&mut self, columns: &Columns, distances: &[Distance]) {
            assert_eq!(columns.len(), distances.len());
        }

        fn memory(&self) -> Bytes {
            Bytes(self.bytes)
        }

        fn shrink(&mut self, limit: Bytes) -> bool {
            self.bytes = self.least.max(limit.get().min(self.bytes));
            self.bytes <= limit.get()
        }

        fn finish(self: Box<Self>, counted: &mut Counted) {
            counted
                .elements
                .add_column(&[self.bytes as u32], &[Distance::ZERO]);
        }
    }

    #[test]
    fn observers_give_memory_up_before_the_method() {
        // The first can give nothing up, the second all but 10 bytes, and the engine nothing.
        for (limit, second) in [(200, Some(100)), (110, Some(10)), (109, None)] {
            let holds = |bytes, least| Box::new(Holds { bytes, least });
            let observers: Vec<Box<dyn Observer>> = vec![holds(100, 100), holds(900, 10)];
            let engine = Exact::new(Box::new(CountingTree::new()), "counting", false);
            let mut observed = Observed::with(Box::new(engine), observers);
            observed.add(&Columns {
                items: vec![7; 3],
                cells: vec![0; 3],
                ..Columns::default()
            });
            let of_engine = observed.memory().get() - 1000;
            let limit = Bytes(of_engine + limit);
            let can = observed.shrink(limit, limit);
            assert_eq!(can, second.is_some(), "{limit}");
            let mut elements = observed.finish().elements;
            assert!(elements.take(100).is_some(), "{limit}");
            assert!(elements.take(second.unwrap_or(10)).is_some(), "{limit}");
        }
    }
}
