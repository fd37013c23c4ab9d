//! Ends a source early, at the request of a signal: what was read so far is still worth a report.
//!
//! The command line hands a [`Stop`] to its signal handler, which calls [`Stop::ask`], and wraps
//! the source as [`Stoppable`], which looks at it before each piece. A first signal asks for an
//! end; a second one insists.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use reuselens_units::{Accesses, Bytes};

use crate::{
    AnySegment, Block, ItemProjection, Projection, Segmented, Source, Step, TraceError,
    TraceSegment,
};

/// A request to end, by the number of the signal that brought it. Clones share it: whoever receives
/// signals asks, and whoever works looks now and then.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<StopState>);

#[derive(Debug, Default)]
struct StopState {
    /// The first signal; 0 for none.
    signal: AtomicI32,
    insists: AtomicBool,
    heeded: AtomicBool,
    closed: AtomicBool,
}

impl Stop {
    /// Asks for an end. From the second call on it [insists](Self::insists); after
    /// [`Self::close`] from the first.
    pub fn ask(&self, signal: i32) {
        if self.0.closed.load(Ordering::SeqCst) {
            self.0.insists.store(true, Ordering::SeqCst);
            return;
        }
        let first = self
            .0
            .signal
            .compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
        if first.is_err() {
            self.0.insists.store(true, Ordering::SeqCst);
        }
    }

    /// The signal, if an end was asked for. Does not count as heeded.
    pub fn signal(&self) -> Option<i32> {
        Some(self.0.signal.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// The signal, for a caller that then ends: from now on the request is heeded. One load as long
    /// as nobody asks.
    pub fn heed(&self) -> Option<i32> {
        let signal = self.signal()?;
        self.0.heeded.store(true, Ordering::SeqCst);
        Some(signal)
    }

    /// Everything was read, and the report is being made: a request from now on does not stop a
    /// source, since the report is what it would get.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
        self.0.heeded.store(true, Ordering::SeqCst);
    }

    /// Whether some caller ends, so that a request needs nothing more.
    pub fn is_heeded(&self) -> bool {
        self.0.heeded.load(Ordering::SeqCst)
    }

    /// Whether it was asked for more than once.
    pub fn insists(&self) -> bool {
        self.0.insists.load(Ordering::Relaxed)
    }
}

/// A source that ends with [`TraceError::Stopped`] when an end is asked for.
pub struct Stoppable<S> {
    source: S,
    stop: Stop,
    stopped: bool,
}

impl<S: Source> Stoppable<S> {
    /// `source`, until `stop` is asked for.
    pub fn new(source: S, stop: Stop) -> Self {
        Stoppable {
            source,
            stop,
            stopped: false,
        }
    }

    /// The segment, until an end is asked for.
    fn stoppable(&self, segment: AnySegment) -> AnySegment {
        Box::new(Stoppable::new(segment, self.stop.clone()))
    }
}

impl<S: Source> Source for Stoppable<S> {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        if self.stopped {
            return Ok(Step::End);
        }
        match self.stop.heed() {
            Some(signal) => {
                self.stopped = true;
                Err(TraceError::Stopped { signal })
            }
            None => self.source.next(block),
        }
    }

    fn has_addresses(&self) -> bool {
        self.source.has_addresses()
    }

    fn is_of_one_thread(&self) -> bool {
        self.source.is_of_one_thread()
    }

    fn describe(&self) -> String {
        self.source.describe()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }

    fn memory(&self) -> Bytes {
        self.source.memory()
    }

    fn read_ahead_within(&mut self, most: Bytes) {
        self.source.read_ahead_within(most);
    }

    fn project(&mut self, projection: Projection) -> bool {
        self.source.project(projection)
    }
}

impl<S: Segmented> Segmented for Stoppable<S> {
    fn segments(
        &mut self,
        projection: ItemProjection,
        most: usize,
        shortest: Accesses,
    ) -> Result<Vec<AnySegment>, TraceError> {
        let segments = self.source.segments(projection, most, shortest)?;
        Ok(segments
            .into_iter()
            .map(|one| self.stoppable(one))
            .collect())
    }
}

impl<S: TraceSegment> TraceSegment for Stoppable<S> {
    fn split_off(&mut self, shortest: Accesses) -> Result<Option<AnySegment>, TraceError> {
        let half = self.source.split_off(shortest)?;
        Ok(half.map(|half| self.stoppable(half)))
    }

    fn buffers(&self) -> Bytes {
        self.source.buffers()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One block of one row after the other, without end.
    struct Endless;

    impl Source for Endless {
        fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
            block.clear();
            block.push_operand(1);
            Ok(Step::Block)
        }

        fn has_addresses(&self) -> bool {
            false
        }

        fn describe(&self) -> String {
            "endless".to_owned()
        }

        fn is_of_one_thread(&self) -> bool {
            false
        }

        fn progress(&self) -> Option<(u64, u64)> {
            None
        }

        fn memory(&self) -> Bytes {
            Bytes(0)
        }

        fn read_ahead_within(&mut self, _most: Bytes) {}

        fn project(&mut self, _projection: Projection) -> bool {
            false
        }
    }

    #[test]
    fn stopped_source_fails_once_and_then_ends() {
        let stop = Stop::default();
        let mut source = Stoppable::new(Endless, stop.clone());
        let mut block = Block::new();
        assert!(!matches!(source.next(&mut block), Ok(Step::End) | Err(_)));
        assert!(!stop.is_heeded());
        stop.ask(15);
        assert!(!stop.insists());
        let stopped = source.next(&mut block);
        assert!(matches!(stopped, Err(TraceError::Stopped { signal: 15 })));
        assert!(matches!(source.next(&mut block), Ok(Step::End)));
        assert!(stop.is_heeded());
    }

    #[test]
    fn first_signal_counts_and_second_insists() {
        let stop = Stop::default();
        assert_eq!(stop.heed(), None);
        assert!(!stop.is_heeded());
        stop.ask(1);
        stop.ask(15);
        assert_eq!(stop.signal(), Some(1));
        assert!(stop.insists() && !stop.is_heeded());
    }

    #[test]
    fn signal_after_close_insists_at_once() {
        let stop = Stop::default();
        stop.close();
        assert!(stop.is_heeded() && !stop.insists());
        stop.ask(15);
        assert_eq!(stop.signal(), None);
        assert!(stop.insists());
    }
}
